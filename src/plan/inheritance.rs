//! Cluster → role → node: the more specific setting wins.
//!
//! Of several roles on one machine the first listed wins. Labels and kubelet fields are merged key by key. An argument
//! replaces a less specific one of its name, an image archive one of its URL. Taints, pointer, proxy, time servers,
//! name servers and package sources are used as a whole from the most specific level that has any. Of the settings of
//! the machines, maps are merged key by key and lists are joined, the least specific level first. An interface replaces
//! a less specific one of its name, a disk or mount one of its mount point, a file one of its path.

use std::{collections::BTreeMap, iter::once};

use firelay_yaml::{RawValue, Spanned};

use crate::spec::{
    Arch, Argument, DeliveryForm, Disk, Exposure, HostSettings, ImageArchive, Mount, Pointer, Role, Settings, Spec,
    Taint,
};

/// A mapping of the spec, merged from several levels.
pub(super) type Merged<'a, V> = BTreeMap<&'a Spanned<String>, &'a V>;

/// The effective settings of a machine, borrowed from their levels.
pub(super) struct Inherited<'a> {
    pub(super) os: Option<&'a Spanned<String>>,
    pub(super) platform: Option<&'a Spanned<String>>,
    pub(super) arch: Option<&'a Spanned<Arch>>,
    pub(super) labels: Merged<'a, Spanned<String>>,
    pub(super) taints: Option<&'a Vec<Taint>>,
    /// Without the cluster's, which the node gets by another way.
    pub(super) kubelet_config: Merged<'a, RawValue>,
    pub(super) kubelet_args: Vec<&'a Argument>,
    pub(super) form: Option<&'a Spanned<DeliveryForm>>,
    pub(super) pointer: Option<&'a Spanned<Pointer>>,
    pub(super) image_archives: Vec<&'a ImageArchive>,
    pub(super) max_exposure: Option<&'a Spanned<Exposure>>,
    pub(super) host: HostLevels<'a>,
}

/// The levels of what is set on the machine itself, the farthest first.
pub(super) struct HostLevels<'a>(Vec<HostSettings<'a>>);

impl<'a> Inherited<'a> {
    /// Merges a node's or pool's settings with those of its roles and of the cluster.
    pub(super) fn new(spec: &'a Spec, roles: &[Spanned<Role>], own: Settings<'a>) -> Self {
        let roles = roles.iter().rev().map(|role| of_role(spec, role.value));
        let levels: Vec<Settings<'a>> = roles.chain(once(own)).collect();
        let arguments = levels.iter().map(|level| &level.kubelet.extra_args);
        let archives = levels.iter().map(|level| level.image_archives);
        let hosts = levels.iter().map(|level| level.host);
        Self {
            os: nearest(&levels, |level| level.os).or(spec.os.as_ref()),
            platform: nearest(&levels, |level| level.platform).or(spec.platform.as_ref()),
            arch: nearest(&levels, |level| level.arch).or(spec.arch.as_ref()),
            labels: merged(levels.iter().map(|level| level.labels)),
            taints: nearest(&levels, |level| level.taints),
            kubelet_config: merged(levels.iter().map(|level| &level.kubelet.config)),
            kubelet_args: replaced(once(&spec.kubernetes.kubelet.extra_args).chain(arguments), |arg| {
                &arg.name
            }),
            form: nearest(&levels, |level| level.delivery.form.as_ref()).or(spec.delivery.form.as_ref()),
            pointer: nearest(&levels, |level| level.delivery.pointer.as_ref()).or(spec.delivery.pointer.as_ref()),
            image_archives: replaced(once(&*spec.artifacts.image_archives).chain(archives), |it| &it.url),
            max_exposure: nearest(&levels, |level| level.security.max_exposure.as_ref())
                .or(spec.security.max_exposure.as_ref()),
            host: HostLevels(once(spec.host()).chain(hosts).collect()),
        }
    }

    /// Whether a cloud's controller manager looks after the node.
    pub(super) fn has_cloud(&self) -> bool {
        let external = |arg: &&Argument| arg.name.as_str() == "cloud-provider" && arg.value.as_str() == "external";
        self.kubelet_args.iter().any(external)
    }
}

impl<'a> HostLevels<'a> {
    /// The nearest value of a key.
    pub(super) fn nearest<T>(&self, key: fn(&HostSettings<'a>) -> &'a Option<T>) -> Option<&'a T> {
        self.0.iter().rev().find_map(|level| key(level).as_ref())
    }

    /// A mapping, merged key by key.
    pub(super) fn merged<V>(&self, key: fn(&HostSettings<'a>) -> &'a BTreeMap<Spanned<String>, V>) -> Merged<'a, V> {
        merged(self.0.iter().map(key))
    }

    /// The entries of a list at all levels.
    pub(super) fn all<T>(&self, key: fn(&HostSettings<'a>) -> &'a Vec<T>) -> Vec<&'a T> {
        self.0.iter().flat_map(key).collect()
    }

    /// The entries of a list, of which a nearer replaces the farther ones of its name.
    pub(super) fn replaced<T>(
        &self,
        key: fn(&HostSettings<'a>) -> &'a Vec<T>,
        name: fn(&T) -> &Spanned<String>,
    ) -> Vec<&'a T> {
        replaced(self.0.iter().map(key), name)
    }

    /// Disks and mounts, of which a nearer replaces the farther ones of its mount point.
    pub(super) fn file_systems(&self) -> (Vec<&'a Disk>, Vec<&'a Mount>) {
        let (mut disks, mut mounts): (Vec<&Disk>, Vec<&Mount>) = (Vec::new(), Vec::new());
        for level in &self.0 {
            let points = level.disks.iter().map(|disk| &disk.mount);
            let points: Vec<_> = points.chain(level.mounts.iter().map(|mount| &mount.mount)).collect();
            disks.retain(|farther| !points.contains(&&farther.mount));
            mounts.retain(|farther| !points.contains(&&farther.mount));
            disks.extend(level.disks);
            mounts.extend(level.mounts);
        }
        (disks, mounts)
    }
}

fn nearest<'a, T>(levels: &[Settings<'a>], key: fn(&Settings<'a>) -> Option<&'a T>) -> Option<&'a T> {
    levels.iter().rev().find_map(key)
}

/// Removes a farther key first, so that the place of the key is the nearer's too.
fn merged<'a, V: 'a>(levels: impl Iterator<Item = &'a BTreeMap<Spanned<String>, V>>) -> Merged<'a, V> {
    let mut all = Merged::new();
    for (key, value) in levels.flatten() {
        all.remove(key);
        all.insert(key, value);
    }
    all
}

fn replaced<'a, T: 'a, L: IntoIterator<Item = &'a T> + Copy>(
    levels: impl Iterator<Item = L>,
    name: fn(&T) -> &Spanned<String>,
) -> Vec<&'a T> {
    let mut all: Vec<&T> = Vec::new();
    for level in levels {
        all.retain(|farther| !level.into_iter().any(|nearer| name(nearer) == name(farther)));
        all.extend(level);
    }
    all
}

fn of_role(spec: &Spec, role: Role) -> Settings<'_> {
    match role {
        Role::ControlPlane => spec.roles.control_plane.settings(),
        Role::Worker => spec.roles.worker.settings(),
        Role::Etcd => spec.roles.etcd.settings(),
    }
}
