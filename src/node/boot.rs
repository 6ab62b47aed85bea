//! The boot chain of a node: one unit, one driver, numbered steps, and `node.env` with everything that differs.
//!
//! The scripts come from `templates/boot/`, and its `steps.yaml` has the steps with their waits. A node's roles and settings select its
//! steps; the data is in `/etc/firelay/node.env`, so that nodes of one kind carry the same script bytes.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use firelay_base::memo::Memo;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    declaration::PhaseName,
    plan::{AddonPlan, ArtifactPlan, KernelPlan, ManifestSource, NodePlan, Plan, ProviderPlan},
    profile::{ArtifactFormat, DocumentFormat, Selinux},
    spec::{JoinIdentity, ProxyMode},
};

use super::{
    Error, NodeFile, NodeUnit,
    address::proc_form,
    endpoint,
    environment::{self, Validity},
    etcd, host, render,
    steps::{self, Condition, Step},
};

/// The file with everything in which machines of one kind differ.
pub const NODE_ENVIRONMENT: &str = "/etc/firelay/node.env";
/// The list of files that a machine fetches.
pub const ARTIFACTS: &str = "/etc/firelay/artifacts";
/// Where the founder's document has its manifests, in a directory for each phase.
pub const MANIFESTS: &str = "/etc/firelay/addons/";
/// Prefix of a manifest's name in the list.
pub const FETCHED: &str = "manifest-";
/// The maximum size of a document on EC2.
const SMALL_DOCUMENT: u64 = 16_384;

/// Values for the template of a step.
#[derive(Debug, Serialize)]
pub(super) struct StepContext<'a> {
    #[serde(flatten)]
    pub(super) context: &'a Value,
    /// The step's calls that wait, by name.
    pub(super) waits: BTreeMap<&'a str, String>,
}

/// Sources of packages in the place of the image's own: the patterns of those, the files of the user's, and their keys.
fn package_sources(node: &NodePlan) -> Option<Value> {
    let packages = node.os.package_sources.as_ref()?;
    Some(json!({
        "aside": packages.aside,
        "own": host::source_files(node).collect::<Vec<_>>(),
        "key_command": packages.key_command.as_deref().unwrap_or_default(),
        "keys": host::key_files(node).collect::<Vec<_>>(),
    }))
}

/// The least kernel of a node, and the plugin or add-on that needs it. kubeadm's preflight requires 5.4 (SystemVerification),
/// kube-proxy's nf_tables mode 5.13, and plugins declare their own minimum.
fn kernel(plan: &Plan, node: &NodePlan) -> Value {
    let proxy = plan.kubernetes.kube_proxy.as_ref().and_then(|proxy| proxy.mode);
    let nftables = (proxy == Some(ProxyMode::Nftables)).then_some((5, 13, "kube-proxy's nftables mode"));
    let implied = plan.requirements.kernel.as_ref();
    let implied = implied.map(|KernelPlan { major, minor, of }| (*major, *minor, of.as_str()));
    let further = nftables.into_iter().chain(implied).filter(|_| node.roles.kubernetes());
    let (major, minor, of) = further.fold((5, 4, "Kubernetes"), |most, one| {
        if (one.0, one.1) > (most.0, most.1) { one } else { most }
    });
    json!({ "major": major, "minor": minor, "of": of })
}

/// Scripts, environment and lists of a node. `founder` is false for a founder whose cluster exists already.
pub fn files(plan: &Plan, node: &NodePlan, validity: Validity, founder: bool) -> Result<Vec<NodeFile>, Error> {
    let context = context(plan, node, founder);
    let mut files = vec![
        NodeFile::new(NODE_ENVIRONMENT, 0o644, environment::render(plan, node, validity)?),
        NodeFile::new(ARTIFACTS, 0o644, fetched(plan, node, founder)),
    ];
    if !node.image_archives.is_empty() {
        files.push(NodeFile::new("/etc/firelay/images", 0o644, image_list(node)));
    }
    let is_there = |step: &&Step| step.when.is_none_or(|condition| holds(condition, plan, node, founder));
    let steps: Vec<_> = steps::all().iter().filter(is_there).collect();
    files.extend_from_slice(&scripts_once(node, &context, &steps)?);
    Ok(files)
}

/// The scripts, which are the same on every machine with this context, these steps and this directory of programs.
fn scripts_once(node: &NodePlan, context: &Value, steps: &[&Step]) -> Result<Arc<Vec<NodeFile>>, Error> {
    static SCRIPTS: LazyLock<Memo<Vec<NodeFile>>> = LazyLock::new(Memo::default);
    let names: Vec<_> = steps.iter().map(|step| &step.file).collect();
    let values =
        serde_json::to_vec(&(context, names, &node.bin_dir)).expect("contexts of texts, numbers and lists are JSON");
    SCRIPTS.try_of("", &values, || scripts(node, context, steps))
}

fn scripts(node: &NodePlan, context: &Value, steps: &[&Step]) -> Result<Vec<NodeFile>, Error> {
    let mut files = Vec::new();
    for step in steps {
        let context = StepContext {
            context,
            waits: step.waits(),
        };
        let name = format!("steps/{}", step.file);
        files.push(script(node, &name, &step.template(), &context)?);
    }
    files.extend([
        script(node, "driver", "boot/driver.j2", context)?,
        NodeFile {
            mode: 0o644,
            ..script(node, "lib.sh", "boot/lib.sh.j2", context)?
        },
        NodeFile {
            path: format!("{}/firelay-status", node.bin_dir),
            ..script(node, "", "boot/firelay-status.j2", context)?
        },
        NodeFile {
            path: format!("{}/firelay-reset", node.bin_dir),
            ..script(node, "", "boot/firelay-reset.j2", context)?
        },
    ]);
    if context["servers"] == true {
        files.push(script(node, "servers", "endpoint/servers.sh.j2", context)?);
    }
    if context["cluster_status"] == true {
        files.push(script(node, "cluster-status", "boot/cluster-status.j2", context)?);
    }
    Ok(files)
}

/// `firelay.service`, the unit that the document enables.
pub fn unit(node: &NodePlan) -> Result<NodeUnit, Error> {
    enabled(node, "firelay.service")
}

/// The unit that syncs the files of an Ignition document. Documents for cloud-init sync by a command.
pub fn sync_unit(node: &NodePlan) -> Result<Option<NodeUnit>, Error> {
    if node.os.document != DocumentFormat::Ignition {
        return Ok(None);
    }
    enabled(node, "firelay-sync.service").map(Some)
}

fn enabled(node: &NodePlan, name: &str) -> Result<NodeUnit, Error> {
    let context = json!({ "lib": node.os.paths.lib, "selinux": node.os.selinux != Selinux::Absent });
    let content = render::text(node, name, &format!("boot/{name}.j2"), &context)?;
    Ok(NodeUnit::new(name, content, true))
}

/// Values for the templates under `templates/boot/`.
fn context(plan: &Plan, node: &NodePlan, founder: bool) -> Value {
    let vip = match &plan.endpoint.provider {
        ProviderPlan::KubeVip { address, .. } if node.roles.control_plane => Some(address),
        _ => None,
    };
    let (host, encryption) = (&node.host, &plan.kubernetes.control_plane.encryption);
    let keys_are_served = encryption.as_ref().is_some_and(|own| own.kms().next().is_some());
    let enforcing = enforcing(plan, node);
    let mut context = json!({
        "lib": node.os.paths.lib,
        "bin": node.bin_dir,
        "founder": founder,
        "external_etcd": plan.etcd.external,
        "token": node.identity == JoinIdentity::Token,
        "control_plane": node.roles.control_plane,
        "named": !node.pool,
        // Shell that prints the new name of a pool machine, or nothing if it keeps its name.
        "name_command": name_command(node).unwrap_or_default(),
        "led": plan.endpoint.in_hosts(),
        "manifest": endpoint::manifest(plan, node).unwrap_or_default(),
        // On a node that may carry kube-vip's address, with its form in /proc.
        "vip": vip,
        "vip_local": vip.map(proc_form).unwrap_or_default(),
        "runtime": plan.runtime.service,
        "archives": !node.image_archives.is_empty(),
        "proxy": host.proxy.is_some(),
        "ntp": host.ntp.is_some(),
        "dns": host.dns.is_some(),
        "hosts": !host.hosts.is_empty(),
        "timezone": host.timezone.as_deref().unwrap_or_default(),
        "sysctls": !host.sysctls.is_empty(),
        "modules": !host.kernel_modules.is_empty() && !node.roles.kubernetes(),
        "trust_command": node.os.trust.as_ref().map_or("", |trust| &trust.command),
        "package_command": node.os.package_command.as_deref().unwrap_or_default(),
        "packages": host.packages,
        "package_sources": package_sources(node),
        "cloud_init": node.os.document == DocumentFormat::CloudInit,
        // The document is fetched over the network, perhaps only once.
        "served": node.platform.pxe,
        "kernel": kernel(plan, node),
        "cni_plugins": brought(plan, node),
        // Definitions of kinds are applied before what is of these kinds.
        "crds": defines_kinds(plan),
        // With a network plugin in the documents, nodes become Ready.
        "network": brings_network(plan),
        "kernel_packages": node.installs_modules(),
        "enforcing": enforcing,
        "permissive": node.os.selinux == Selinux::Permissive && !enforcing,
        "etcd": node.roles.etcd,
        "admin_labels": !node.admin_labels.is_empty(),
        "audit": audit(plan, node),
        "update": false,
        "backup": etcd::backup(plan, node).is_some(),
        "kms": node.roles.control_plane && keys_are_served,
        "cluster_status": node.roles.control_plane && !is_short(node, founder),
    });
    // A folder of files is fetched.
    context["trees"] = node
        .artifacts
        .iter()
        .any(|artifact| matches!(artifact.format, ArtifactFormat::TarBz2 | ArtifactFormat::TarZst))
        .into();
    // The digest of a program is SHA-512.
    context["sha512"] = node
        .artifacts
        .iter()
        .any(|artifact| artifact.digest.len() == 128)
        .into();
    context["programs"] = programs(plan, node).into();
    // An image may enforce SELinux until the chain ends that.
    context["selinux"] = (node.os.selinux != Selinux::Absent).into();
    context["network_manager"] = json!(node.os.network);
    context["short_reset"] = is_short(node, founder).into();
    context["kubernetes"] = node.roles.kubernetes().into();
    // Label of pods that no drain evicts, or nothing.
    context["undrained"] = plan.updates().map_or("", |(_, updates)| &updates.undrained).into();
    // The list of the own proxy's servers is refreshed.
    context["servers"] = plan.endpoint.proxy_on(node).into();
    context
}

/// A founder's document on EC2 has no room for the report on the whole cluster, and for all that a reset cleans.
fn is_short(node: &NodePlan, founder: bool) -> bool {
    founder && is_small(node)
}

/// Nor for the public keys of its certificates, which the machine can compute. A payload has.
pub(super) fn leaves_out_public_keys(node: &NodePlan, founder: bool) -> bool {
    is_short(node, founder) && node.delivery.pointer.is_none()
}

/// OCI runtimes of add-ons that the node fetches.
fn programs<'p>(plan: &'p Plan, node: &NodePlan) -> Vec<&'p str> {
    let handlers = plan.requirements.runtimes.iter();
    let programs = handlers.filter_map(|handler| handler.program.as_deref());
    let fetched = |program: &&str| node.artifacts.iter().any(|artifact| artifact.name == **program);
    programs.filter(fetched).collect()
}

/// The context of an update's scripts, which have a library and a downloader of their own.
pub(super) fn update_context(plan: &Plan, node: &NodePlan, lib: &str) -> Value {
    let mut context = context(plan, node, false);
    for (name, value) in [("lib", json!(lib)), ("archives", json!(false)), ("update", json!(true))] {
        context[name] = value;
    }
    context
}

/// Whether the document has as few bytes as on EC2.
fn is_small(node: &NodePlan) -> bool {
    let limit = node.os.user_data(&node.platform).and_then(|data| data.limit);
    limit.is_some_and(|limit| limit <= SMALL_DOCUMENT)
}

fn audit<'p>(plan: &'p Plan, node: &NodePlan) -> &'p str {
    let directory = plan.kubernetes.control_plane.audit_directory.as_deref();
    directory.filter(|_| node.roles.control_plane).unwrap_or_default()
}

/// Whether SELinux is to enforce on a node.
pub(super) fn enforcing(plan: &Plan, node: &NodePlan) -> bool {
    node.os.enforcing && plan.security.enforcing
}

/// The CNI plugins that an image must bring. The release that firelay fetches has all; without one, no pod starts.
fn brought(plan: &Plan, node: &NodePlan) -> Vec<String> {
    let wanted = plan.requirements.cni_plugins.iter();
    let wanted = wanted.filter(|_| node.preinstalled && node.roles.kubernetes());
    wanted.map(|name| format!("{}/{name}", node.os.paths.cni_bin)).collect()
}

fn name_command(node: &NodePlan) -> Option<&str> {
    let hostname = node.platform.hostname.as_ref().filter(|_| node.pool)?;
    hostname.command.as_deref()
}

fn script(node: &NodePlan, name: &str, template: &str, context: &impl Serialize) -> Result<NodeFile, Error> {
    let path = format!("{}/{name}", node.os.paths.lib);
    Ok(NodeFile::new(
        &path,
        0o755,
        render::text(node, template, template, context)?,
    ))
}

/// Whether a machine has the steps of a condition.
fn holds(condition: Condition, plan: &Plan, node: &NodePlan, founder: bool) -> bool {
    let (roles, host) = (node.roles, &*node.host);
    match condition {
        Condition::PackageSources => !host.package_sources.is_empty(),
        Condition::PublicKeys => leaves_out_public_keys(node, founder),
        Condition::Files => host::placed(host).next().is_some(),
        Condition::Disks => !host.disks.is_empty(),
        Condition::TrustedCas => !host.trusted_cas.is_empty(),
        Condition::CommandsFirst => !host.first.is_empty(),
        Condition::KernelPackages => node.installs_modules(),
        Condition::Packages => !host.packages.is_empty(),
        Condition::Mounts => !host.mounts.is_empty(),
        Condition::MetadataFirewall => !plan.kept_from_pods(node).is_empty(),
        Condition::Kubernetes => roles.kubernetes(),
        Condition::Etcd => roles.etcd,
        Condition::CommandsBefore => !host.before.is_empty(),
        Condition::ControlPlane => roles.control_plane,
        Condition::Worker => roles.worker && !roles.control_plane,
        Condition::EndpointInHosts => roles.kubernetes() && plan.endpoint.in_hosts(),
        Condition::Founder => founder,
        Condition::CommandsAfter => !host.after.is_empty(),
        Condition::RestrictFiles => plan.security.restrict_files && roles.kubernetes(),
    }
}

/// Whether the founder applies a network plugin: one of firelay's, or a manifest of the plugins' phase.
fn brings_network(plan: &Plan) -> bool {
    let mut plugins = plan.addons.iter().filter(|addon| addon.is_cni());
    let brings = |addon: &AddonPlan| {
        let declaration = &addon.choice.declaration;
        !declaration.files.is_empty() || declaration.manifests.is_some()
    };
    plugins.any(brings) || plan.manifests.iter().any(|manifest| manifest.phase == PhaseName::Cni)
}

fn defines_kinds(plan: &Plan) -> bool {
    let files = plan.addons.iter().flat_map(|addon| &addon.choice.declaration.files);
    let own = plan.manifests.iter().map(|manifest| manifest.phase);
    files
        .map(|file| file.phase)
        .chain(own)
        .any(|phase| phase == PhaseName::Crds)
}

/// The artifacts that the node fetches. The founder also fetches the user's manifests into the folders of the others.
fn fetched(plan: &Plan, node: &NodePlan, founder: bool) -> String {
    let mut list = artifact_list(&node.artifacts);
    for (file, manifest) in plan.manifest_files().filter(|_| founder) {
        if let ManifestSource::Url { url, sha256, .. } = &manifest.source {
            let (name, phase) = (&manifest.name, manifest.phase.directory());
            list += &format!("{FETCHED}{name} {sha256} binary {url} {MANIFESTS}{phase} {file}\n");
        }
    }
    list
}

/// Lines of the manifests that a founder with these files fetches.
pub fn fetched_manifests(files: &[NodeFile]) -> impl Iterator<Item = &str> {
    let list = files.iter().filter(|file| file.path == ARTIFACTS);
    let lines = list.flat_map(|file| file.content.lines());
    lines.filter(|line| line.starts_with(FETCHED))
}

/// `name digest format url directory member...`, one line per file.
fn artifact_list(artifacts: &[ArtifactPlan]) -> String {
    artifacts
        .iter()
        .map(|artifact| {
            let format = match artifact.format {
                ArtifactFormat::Binary => "binary",
                ArtifactFormat::TarGz => "tar-gz",
                ArtifactFormat::TarBz2 => "tar-bz2",
                ArtifactFormat::TarZst => "tar-zst",
            };
            let members = artifact.members.join(" ");
            let ArtifactPlan {
                name,
                digest,
                url,
                directory,
                ..
            } = artifact;
            format!("{name} {digest} {format} {url} {directory} {members}")
                .trim_end()
                .to_owned()
                + "\n"
        })
        .collect()
}

/// `sha256 url`, one line per archive.
fn image_list(node: &NodePlan) -> String {
    let archives = node.image_archives.iter();
    archives
        .map(|archive| format!("{} {}\n", archive.sha256, archive.url))
        .collect()
}
