//! Cluster → role → node: the nearer setting wins.
//!
//! Of several roles on one machine the first listed wins. Labels and kubelet fields are laid over each other key by key;
//! an argument replaces the farther ones of its name, an image archive the one of its URL; taints, pointer, proxy, time and name servers
//! and sources of packages are taken whole from the
//! nearest that names any. Of the settings of the machines, maps are laid over each other key by key and lists add up, the
//! farthest first; an interface replaces a farther one of its name, a disk or mount one of its mount point, a file one of its path.

use std::collections::BTreeMap;

use firelay_yaml::{Branch, Spanned};

use crate::spec::{
    Arch, Argument, DeliveryForm, Disk, Exposure, HostFile, HostSettings, ImageArchive, Interface, Mount, NameServers,
    Ntp, PackageSource, Pointer, Proxy, Role, Settings, Spec, Taint,
};

/// What holds for a machine, borrowed from wherever it was written.
pub(super) struct Inherited<'a> {
    pub(super) os: Option<&'a Spanned<String>>,
    pub(super) platform: Option<&'a Spanned<String>>,
    pub(super) arch: Option<&'a Spanned<Arch>>,
    pub(super) labels: BTreeMap<&'a Spanned<String>, &'a Spanned<String>>,
    pub(super) taints: Option<&'a Vec<Taint>>,
    /// Without the cluster's, which the node gets by another way.
    pub(super) kubelet_config: BTreeMap<&'a Spanned<String>, &'a Branch>,
    pub(super) kubelet_args: Vec<&'a Argument>,
    pub(super) rung: Option<&'a Spanned<DeliveryForm>>,
    pub(super) pointer: Option<&'a Spanned<Pointer>>,
    pub(super) image_archives: Vec<&'a ImageArchive>,
    pub(super) max_exposure: Option<&'a Spanned<Exposure>>,
    pub(super) host: InheritedHost<'a>,
}

/// What is set on the machine itself.
#[derive(Default)]
pub(super) struct InheritedHost<'a> {
    pub(super) proxy: Option<&'a Spanned<Proxy>>,
    pub(super) ntp: Option<&'a Spanned<Ntp>>,
    pub(super) dns: Option<&'a Spanned<NameServers>>,
    pub(super) hosts: BTreeMap<&'a Spanned<String>, &'a Vec<Spanned<String>>>,
    pub(super) timezone: Option<&'a Spanned<String>>,
    pub(super) sysctls: BTreeMap<&'a Spanned<String>, &'a Spanned<String>>,
    pub(super) kernel_modules: Vec<&'a Spanned<String>>,
    pub(super) swap: Option<&'a Spanned<bool>>,
    pub(super) trusted_cas: Vec<&'a Spanned<String>>,
    pub(super) package_sources: Option<&'a Spanned<Vec<PackageSource>>>,
    pub(super) packages: Vec<&'a Spanned<String>>,
    pub(super) interfaces: Vec<&'a Interface>,
    pub(super) disks: Vec<&'a Disk>,
    pub(super) mounts: Vec<&'a Mount>,
    pub(super) files: Vec<&'a HostFile>,
    pub(super) first: Vec<&'a Spanned<String>>,
    pub(super) before: Vec<&'a Spanned<String>>,
    pub(super) after: Vec<&'a Spanned<String>>,
}

impl<'a> Inherited<'a> {
    /// Lays a node's or pool's settings over those of its roles and of the cluster.
    pub(super) fn new(spec: &'a Spec, roles: &[Spanned<Role>], own: Settings<'a>) -> Self {
        let mut inherited = Self {
            os: spec.os.as_ref(),
            platform: spec.platform.as_ref(),
            arch: spec.arch.as_ref(),
            labels: BTreeMap::new(),
            taints: None,
            kubelet_config: BTreeMap::new(),
            kubelet_args: spec.kubernetes.kubelet.extra_args.iter().collect(),
            rung: spec.delivery.rung.as_ref(),
            pointer: spec.delivery.pointer.as_ref(),
            image_archives: spec.artifacts.image_archives.iter().collect(),
            max_exposure: spec.security.max_exposure.as_ref(),
            host: InheritedHost::default(),
        };
        inherited.host.lay(spec.host());
        roles
            .iter()
            .rev()
            .for_each(|role| inherited.lay(of_role(spec, role.value)));
        inherited.lay(own);
        inherited
    }

    /// Whether a cloud's controller manager looks after the node.
    pub(super) fn has_cloud(&self) -> bool {
        let external = |arg: &&Argument| arg.name.as_str() == "cloud-provider" && arg.value.as_str() == "external";
        self.kubelet_args.iter().any(external)
    }

    fn lay(&mut self, nearer: Settings<'a>) {
        self.os = nearer.os.or(self.os);
        self.platform = nearer.platform.or(self.platform);
        self.arch = nearer.arch.or(self.arch);
        self.taints = nearer.taints.or(self.taints);
        lay_over(&mut self.labels, nearer.labels);
        lay_over(&mut self.kubelet_config, &nearer.kubelet.config);
        let args = &nearer.kubelet.extra_args;
        self.kubelet_args
            .retain(|farther| !args.iter().any(|arg| arg.name == farther.name));
        self.kubelet_args.extend(args);
        self.rung = nearer.delivery.rung.as_ref().or(self.rung);
        self.pointer = nearer.delivery.pointer.as_ref().or(self.pointer);
        let archives = nearer.image_archives;
        self.image_archives
            .retain(|farther| !archives.iter().any(|archive| archive.url == farther.url));
        self.image_archives.extend(archives);
        self.max_exposure = nearer.security.max_exposure.as_ref().or(self.max_exposure);
        self.host.lay(nearer.host);
    }
}

impl<'a> InheritedHost<'a> {
    fn lay(&mut self, nearer: HostSettings<'a>) {
        self.proxy = nearer.proxy.as_ref().or(self.proxy);
        self.ntp = nearer.ntp.as_ref().or(self.ntp);
        self.dns = nearer.dns.as_ref().or(self.dns);
        self.timezone = nearer.timezone.as_ref().or(self.timezone);
        self.package_sources = nearer.package_sources.as_ref().or(self.package_sources);
        self.swap = nearer.swap.as_ref().or(self.swap);
        lay_over(&mut self.hosts, nearer.hosts);
        lay_over(&mut self.sysctls, nearer.sysctls);
        self.kernel_modules.extend(nearer.kernel_modules);
        self.trusted_cas.extend(nearer.trusted_cas);
        self.packages.extend(nearer.packages);
        self.interfaces
            .retain(|farther| !nearer.interfaces.iter().any(|interface| interface.name == farther.name));
        self.interfaces.extend(nearer.interfaces);
        let taken = |mount: &str| {
            let disks = nearer.disks.iter().map(|disk| &disk.mount);
            let mounts = nearer.mounts.iter().map(|mount| &mount.mount);
            disks.chain(mounts).any(|point| point.as_str() == mount)
        };
        self.disks.retain(|farther| !taken(&farther.mount));
        self.disks.extend(nearer.disks);
        self.mounts.retain(|farther| !taken(&farther.mount));
        self.mounts.extend(nearer.mounts);
        self.files
            .retain(|farther| !nearer.files.iter().any(|file| file.path == farther.path));
        self.files.extend(nearer.files);
        self.first.extend(&nearer.commands.first);
        self.before.extend(&nearer.commands.before);
        self.after.extend(&nearer.commands.after);
    }
}

/// Key by key. A farther key is removed first, so that the key's place is the nearer's too.
fn lay_over<'a, V>(farther: &mut BTreeMap<&'a Spanned<String>, &'a V>, nearer: &'a BTreeMap<Spanned<String>, V>) {
    for (key, value) in nearer {
        farther.remove(key);
        farther.insert(key, value);
    }
}

fn of_role(spec: &Spec, role: Role) -> Settings<'_> {
    match role {
        Role::ControlPlane => spec.roles.control_plane.settings(),
        Role::Worker => spec.roles.worker.settings(),
        Role::Etcd => spec.roles.etcd.settings(),
    }
}
