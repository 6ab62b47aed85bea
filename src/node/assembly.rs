//! All files and units of one node, in the order in which a document lists them.

use std::sync::Arc;

use super::{
    Error, NodeDirectory, NodeFile, NodeFiles, NodeUser, boot, containerd, control_plane, crio, endpoint,
    environment::Validity,
    etcd, firewall, host, interfaces, kernel,
    kubeadm::{self, JoinCredentials},
    network, public_keys, tools, units,
};
use crate::{
    addons::Phase,
    pki::{NodePki, PkiFile},
    plan::{NodePlan, Plan, among},
    profile::ContainerdProfile,
    secret::Secret,
};

/// firelay's directory for secret files; every other directory keeps the system's mode.
const STAGING: &str = "/etc/firelay";

/// The configuration of `kubeadm join`.
pub const JOIN_CONFIGURATION: &str = "/etc/firelay/kubeadm/join.yaml";

/// Inputs of every node of a cluster.
#[derive(Debug)]
pub struct Shared<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Token and CA hash.
    pub credentials: JoinCredentials,
    /// Keys of encryption at rest with their names, for control planes alone.
    pub encryption_keys: Vec<(String, Secret<String>)>,
    /// Manifests in the order of applying.
    pub phases: Vec<Phase>,
    /// How this version of containerd is configured; absent for CRI-O.
    pub containerd: Option<Arc<ContainerdProfile>>,
    /// The cluster exists: no node is a founder.
    pub founded: bool,
}

/// Everything of one node. Secrets come first and scripts last: this order compresses best, by 1 %.
pub fn assemble(shared: &Shared<'_>, node: &NodePlan, pki: &NodePki) -> Result<NodeFiles, Error> {
    let plan = shared.plan;
    let founder = node.founder && !shared.founded;
    let validity = Validity {
        not_before: pki.not_before,
        not_after: pki.expires,
    };
    let mut files: Vec<_> = pki.files.iter().map(staged).collect();
    if boot::leaves_out_public_keys(node, founder) {
        public_keys::leave_out(&mut files);
    }
    files.extend(host(shared, node)?);
    files.extend(endpoint::files(plan, node)?);
    if node.roles.etcd {
        files.push(etcd::environment(plan, node));
    }
    files.extend(host::files(node)?);
    files.extend(interfaces::files(node)?);
    files.extend(cluster(shared, node, founder)?);
    files.extend(boot::files(plan, node, validity, founder)?);
    files.extend(etcd::scripts(plan, node)?);
    Ok(NodeFiles {
        hostname: (!node.pool).then(|| node.name.clone()),
        directories: directories(),
        files,
        links: Vec::new(),
        units: units(plan, node)?,
        masked_units: node.os.mask_units.clone(),
        ssh_authorized_keys: plan
            .access
            .ssh_authorized_keys
            .iter()
            .map(|key| key.value.clone())
            .collect(),
        users: users(plan),
    })
}

fn directories() -> Vec<NodeDirectory> {
    vec![NodeDirectory {
        path: STAGING.into(),
        mode: 0o700,
    }]
}

/// Kernel, network and runtime.
fn host(shared: &Shared<'_>, node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let plan = shared.plan;
    let mut files: Vec<_> = kernel::sysctl(plan, node).into_iter().collect();
    files.extend(kernel::modules(plan, node));
    let wanted = plan
        .requirements
        .files
        .iter()
        .filter(|file| among(&file.roles, node.roles));
    let implied = wanted.map(|file| NodeFile::new(&file.path, file.mode, file.content.as_str()));
    if !node.roles.kubernetes() {
        files.extend(implied);
        return Ok(files);
    }
    files.extend(firewall::rules(plan, node)?);
    files.extend(network::file(plan, node)?);
    files.extend(implied);
    files.extend(match &shared.containerd {
        Some(profile) => containerd::files(plan, node, profile)?,
        None => crio::files(plan, node)?,
    });
    files.extend(tools::files(plan, node)?);
    Ok(files)
}

/// kubeadm's configuration and, on the founder, the manifests.
fn cluster(shared: &Shared<'_>, node: &NodePlan, founder: bool) -> Result<Vec<NodeFile>, Error> {
    let plan = shared.plan;
    let mut files = Vec::new();
    if !node.roles.kubernetes() {
        return Ok(files);
    }
    files.extend(control_plane::files(plan, node, &shared.encryption_keys)?);
    for (name, content) in kubeadm::patches(plan, node)? {
        files.push(NodeFile::new(
            &format!("{STAGING}/kubeadm/patches/{name}"),
            0o600,
            content,
        ));
    }
    if founder {
        for phase in &shared.phases {
            for (name, content) in &phase.files {
                files.push(NodeFile::new(
                    &format!("{STAGING}/addons/{}/{name}", phase.name),
                    0o600,
                    content.clone(),
                ));
            }
        }
        let init = kubeadm::init(plan, node, &shared.credentials)?;
        files.push(NodeFile::new(
            &format!("{STAGING}/kubeadm/init.yaml"),
            0o600,
            init.expose().as_str(),
        ));
    }
    let join = kubeadm::join(plan, node, &shared.credentials)?;
    files.push(NodeFile::new(JOIN_CONFIGURATION, 0o600, join.expose().as_str()));
    Ok(files)
}

fn staged(file: &PkiFile) -> NodeFile {
    NodeFile::new(
        &format!("{STAGING}/{}", file.path),
        file.mode,
        on_one_line(file.content.expose()),
    )
}

/// PEM with the base64 of each block on one line. Line breaks at every 64th character are at different offsets in each
/// certificate, and prevent gzip from compressing their common parts: 2 % of a document. Every reader on a node accepts
/// it (docs/adr/0008-pem-on-one-line.md).
pub fn on_one_line(pem: &str) -> String {
    let mut text = String::with_capacity(pem.len());
    for line in pem.lines() {
        let border = line.starts_with("-----");
        if border && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        if border {
            text.push('\n');
        }
    }
    text
}

fn units(plan: &Plan, node: &NodePlan) -> Result<Vec<super::NodeUnit>, Error> {
    let mut all = vec![boot::unit(node)?];
    all.extend(boot::sync_unit(node)?);
    all.extend(units::kubelet(plan, node)?);
    all.extend(units::runtime(plan, node)?);
    all.extend(units::etcd(plan, node)?);
    all.extend(units::firewall(plan, node)?);
    all.extend(units::implied(plan, node));
    all.extend(etcd::backup_units(plan, node)?);
    all.extend(endpoint::units(plan, node)?);
    if plan.security.sandbox_units {
        units::sandbox(plan, node, &mut all)?;
    }
    Ok(all)
}

fn users(plan: &Plan) -> Vec<NodeUser> {
    let texts = |list: &[firelay_yaml::Spanned<String>]| list.iter().map(|text| text.value.clone()).collect::<Vec<_>>();
    let text = |text: &Option<firelay_yaml::Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let user = |user: &crate::spec::User| NodeUser {
        name: user.name.value.clone(),
        gecos: text(&user.gecos),
        home_dir: text(&user.home_dir),
        primary_group: text(&user.primary_group),
        groups: texts(&user.groups),
        password_hash: user.password_hash.as_ref().map(|hash| hash.value.clone()),
        ssh_authorized_keys: texts(&user.ssh_authorized_keys),
        sudo: user.sudo,
        shell: user
            .shell
            .as_ref()
            .map_or_else(|| "/bin/bash".into(), |shell| shell.value.clone()),
    };
    plan.access.users.iter().map(user).collect()
}
