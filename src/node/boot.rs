//! The boot chain of a node: one unit, one driver, numbered steps, and `node.env` with everything that differs.
//!
//! The scripts come from `templates/boot/`, and its `steps.yaml` has the steps with their waits. A node's roles and settings select its
//! steps; the data is in `/etc/firelay/node.env`, so that nodes of one kind carry the same script bytes.

use std::{collections::BTreeMap, net::IpAddr};

use serde::Serialize;

use crate::{
    declaration::PhaseName,
    plan::{AddonPlan, ArtifactPlan, KernelPlan, ManifestSource, NodePlan, Plan, ProviderPlan},
    profile::{ArtifactFormat, DocumentFormat, RuntimeService, Selinux},
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

/// The list of files that a machine fetches.
pub const ARTIFACTS: &str = "/etc/firelay/artifacts";
/// Where the founder's document has its manifests, in a directory for each phase.
pub const MANIFESTS: &str = "/etc/firelay/addons/";
/// Prefix of a manifest's name in the list.
const FETCHED: &str = "manifest-";
/// The maximum size of a document on EC2.
const SMALL_DOCUMENT: u64 = 16_384;

/// Values for the templates under `templates/boot/`.
#[derive(Debug, Serialize)]
pub(super) struct Context<'a> {
    lib: &'a str,
    bin: &'a str,
    founder: bool,
    external_etcd: bool,
    token: bool,
    control_plane: bool,
    named: bool,
    /// Shell that prints the new name of a pool machine, or nothing if it keeps its name.
    name_command: &'a str,
    /// /etc/hosts defines the address of the endpoint's name.
    led: bool,
    /// The static pod that the endpoint needs, or nothing.
    manifest: &'a str,
    /// kube-vip's address, and its form in /proc, on a node that may carry it.
    vip: Option<String>,
    vip_local: String,
    proxy: bool,
    ntp: bool,
    dns: bool,
    /// Lines of /etc/hosts from the spec.
    hosts: bool,
    timezone: &'a str,
    /// Kernel parameters from the spec.
    sysctls: bool,
    /// Kernel modules from the spec where there are no others.
    modules: bool,
    trust_command: &'a str,
    package_command: &'a str,
    packages: &'a [String],
    package_sources: Option<Sources<'a>>,
    cloud_init: bool,
    /// The document is fetched over the network, perhaps only once.
    served: bool,
    cluster_status: bool,
    /// The container runtime: the name of its service, and its socket.
    runtime: &'a RuntimeService,
    /// Archives of images are fetched and imported.
    archives: bool,
    /// CNI plugins that an image with its own binaries must have, as paths.
    cni_plugins: Vec<String>,
    /// Definitions of kinds are applied before what is of these kinds.
    crds: bool,
    /// The documents contain a network plugin, so that nodes become Ready.
    network: bool,
    kernel: Kernel,
    /// Packages with modules of the kernel that the image may lack.
    kernel_packages: bool,
    /// SELinux is to enforce, where nodes run so.
    enforcing: bool,
    /// SELinux is to report only.
    permissive: bool,
    /// Runs a member of external etcd.
    etcd: bool,
    /// Labels that need an administrator.
    admin_labels: bool,
    /// Directory of the API server's audit log, or nothing.
    audit: &'a str,
    /// The scripts are those of an update in place.
    update: bool,
    /// A timer takes snapshots of etcd.
    backup: bool,
    /// Plugins of key services run beside the API server.
    kms: bool,
}

/// Values for the template of a step.
#[derive(Debug, Serialize)]
pub(super) struct StepContext<'a> {
    #[serde(flatten)]
    pub(super) context: &'a Context<'a>,
    /// The step's calls that wait, by name.
    pub(super) waits: BTreeMap<&'a str, String>,
}

/// Sources of packages in the place of the image's own.
#[derive(Debug, Serialize)]
struct Sources<'a> {
    /// Patterns of the image's own.
    aside: &'a [String],
    /// Files that are not the image's.
    own: Vec<String>,
    key_command: &'a str,
    keys: Vec<String>,
}

impl<'a> Sources<'a> {
    fn of(node: &'a NodePlan) -> Option<Self> {
        let packages = node.os.package_sources.as_ref()?;
        Some(Self {
            aside: &packages.aside,
            own: host::source_files(node).collect(),
            key_command: packages.key_command.as_deref().unwrap_or_default(),
            keys: host::key_files(node).collect(),
        })
    }
}

/// The least kernel of a node.
#[derive(Debug, Serialize)]
struct Kernel {
    major: u32,
    minor: u32,
    /// The plugin or add-on that needs it.
    of: String,
}

impl Kernel {
    /// kubeadm's preflight requires 5.4 (SystemVerification), kube-proxy's nf_tables mode 5.13, and plugins declare
    /// their own minimum.
    fn of(plan: &Plan, node: &NodePlan) -> Self {
        let proxy = plan.kubernetes.kube_proxy.as_ref().and_then(|proxy| proxy.mode);
        let nftables = (proxy == Some(ProxyMode::Nftables)).then_some((5, 13, "kube-proxy's nftables mode"));
        let implied = plan.requirements.kernel.as_ref();
        let implied = implied.map(|KernelPlan { major, minor, of }| (*major, *minor, of.as_str()));
        let further = nftables.into_iter().chain(implied).filter(|_| node.roles.kubernetes());
        let (major, minor, of) = further.fold((5, 4, "Kubernetes"), |most, one| {
            if (one.0, one.1) > (most.0, most.1) { one } else { most }
        });
        Self {
            major,
            minor,
            of: of.to_owned(),
        }
    }
}

/// Scripts, environment and lists of a node. `founder` is false for a founder whose cluster exists already.
pub fn files(plan: &Plan, node: &NodePlan, validity: Validity, founder: bool) -> Result<Vec<NodeFile>, Error> {
    let context = context(plan, node, founder);
    let mut files = vec![
        NodeFile::new(
            "/etc/firelay/node.env",
            0o644,
            environment::render(plan, node, validity)?,
        ),
        NodeFile::new(ARTIFACTS, 0o644, fetched(plan, node, founder)),
    ];
    if !node.image_archives.is_empty() {
        files.push(NodeFile::new("/etc/firelay/images", 0o644, image_list(node)));
    }
    let is_there = |step: &&Step| step.when.is_none_or(|condition| holds(condition, plan, node, founder));
    for step in steps::all().iter().filter(is_there) {
        let context = StepContext {
            context: &context,
            waits: step.waits(),
        };
        let name = format!("steps/{}", step.file);
        files.push(script(node, &name, &step.template(), &context)?);
    }
    files.extend([
        script(node, "driver", "boot/driver.j2", &context)?,
        NodeFile {
            mode: 0o644,
            ..script(node, "lib.sh", "boot/lib.sh.j2", &context)?
        },
        NodeFile {
            path: format!("{}/firelay-status", node.bin_dir),
            ..script(node, "", "boot/firelay-status.j2", &context)?
        },
        NodeFile {
            path: format!("{}/firelay-reset", node.bin_dir),
            ..script(node, "", "boot/firelay-reset.j2", &context)?
        },
    ]);
    if context.cluster_status {
        files.push(script(node, "cluster-status", "boot/cluster-status.j2", &context)?);
    }
    Ok(files)
}

/// `firelay.service`, the unit that the document enables.
pub fn unit(plan: &Plan, node: &NodePlan) -> Result<NodeUnit, Error> {
    let content = render::text(
        node,
        "firelay.service",
        "boot/firelay.service.j2",
        &context(plan, node, false),
    )?;
    Ok(NodeUnit {
        name: "firelay.service".into(),
        content,
        enabled: true,
        dropins: Vec::new(),
    })
}

/// The unit that syncs the files of an Ignition document. Documents for cloud-init sync by a command.
pub fn sync_unit(plan: &Plan, node: &NodePlan) -> Result<Option<NodeUnit>, Error> {
    if node.os.document != DocumentFormat::Ignition {
        return Ok(None);
    }
    let name = "firelay-sync.service";
    let content = render::text(node, name, "boot/firelay-sync.service.j2", &context(plan, node, false))?;
    Ok(Some(NodeUnit {
        name: name.into(),
        content,
        enabled: true,
        dropins: Vec::new(),
    }))
}

fn context<'a>(plan: &'a Plan, node: &'a NodePlan, founder: bool) -> Context<'a> {
    let vip = match &plan.endpoint.provider {
        ProviderPlan::KubeVip { address, .. } if node.roles.control_plane => Some(address),
        _ => None,
    };
    let host = &node.host;
    Context {
        lib: &node.os.paths.lib,
        bin: &node.bin_dir,
        founder,
        external_etcd: plan.etcd.external,
        token: node.identity == JoinIdentity::Token,
        control_plane: node.roles.control_plane,
        named: !node.pool,
        name_command: name_command(node).unwrap_or_default(),
        led: plan.endpoint.in_hosts(),
        manifest: endpoint::manifest(plan, node).unwrap_or_default(),
        vip: vip.map(IpAddr::to_string),
        vip_local: vip.map(proc_form).unwrap_or_default(),
        runtime: &plan.runtime.service,
        archives: !node.image_archives.is_empty(),
        proxy: host.proxy.is_some(),
        ntp: host.ntp.is_some(),
        dns: host.dns.is_some(),
        hosts: !host.hosts.is_empty(),
        timezone: host.timezone.as_deref().unwrap_or_default(),
        sysctls: !host.sysctls.is_empty(),
        modules: !host.kernel_modules.is_empty() && !node.roles.kubernetes(),
        trust_command: node.os.trust.as_ref().map_or("", |trust| &trust.command),
        package_command: node.os.package_command.as_deref().unwrap_or_default(),
        packages: &host.packages,
        package_sources: Sources::of(node),
        cloud_init: node.os.document == DocumentFormat::CloudInit,
        served: node.platform.pxe,
        kernel: Kernel::of(plan, node),
        cni_plugins: brought(plan, node),
        crds: defines_kinds(plan),
        network: brings_network(plan),
        kernel_packages: !node.os.kernel_packages.is_empty(),
        enforcing: enforcing(plan, node),
        permissive: node.os.selinux == Selinux::Permissive && !enforcing(plan, node),
        etcd: node.roles.etcd,
        admin_labels: !node.admin_labels.is_empty(),
        audit: audit(plan, node),
        update: false,
        backup: etcd::backup(plan, node).is_some(),
        kms: node.roles.control_plane
            && plan
                .kubernetes
                .control_plane
                .encryption
                .as_ref()
                .is_some_and(|own| own.kms().next().is_some()),
        cluster_status: node.roles.control_plane && !(founder && is_small(node)),
    }
}

/// The context of an update's scripts, which have a library and a downloader of their own.
pub(super) fn update_context<'a>(plan: &'a Plan, node: &'a NodePlan, lib: &'a str) -> Context<'a> {
    Context {
        lib,
        archives: false,
        update: true,
        ..context(plan, node, false)
    }
}

/// Whether the document has as few bytes as on EC2, where a founder's has no room for the report on the whole cluster.
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
        Condition::Files => host::placed(host).next().is_some(),
        Condition::Disks => !host.disks.is_empty(),
        Condition::TrustedCas => !host.trusted_cas.is_empty(),
        Condition::CommandsFirst => !host.first.is_empty(),
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

/// `name sha256 format url directory member...`, one line per file.
fn artifact_list(artifacts: &[ArtifactPlan]) -> String {
    artifacts
        .iter()
        .map(|artifact| {
            let format = match artifact.format {
                ArtifactFormat::Binary => "binary",
                ArtifactFormat::TarGz => "tar-gz",
            };
            let members = artifact.members.join(" ");
            let ArtifactPlan {
                name,
                sha256,
                url,
                directory,
                ..
            } = artifact;
            format!("{name} {sha256} {format} {url} {directory} {members}")
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
