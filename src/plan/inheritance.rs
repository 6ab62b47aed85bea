//! Cluster → role → node: the nearer setting wins.
//!
//! Of several roles on one machine the first listed wins. Labels and kubelet fields are laid over each other key by key;
//! an argument replaces the farther ones of its name; taints are taken whole from the nearest that names any.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    spec::{Arch, Argument, Role, Settings, Spec, Taint},
    yaml::Spanned,
};

/// What holds for a machine, borrowed from wherever it was written.
pub(super) struct Inherited<'a> {
    pub(super) os: Option<&'a Spanned<String>>,
    pub(super) platform: Option<&'a Spanned<String>>,
    pub(super) arch: Option<&'a Spanned<Arch>>,
    pub(super) labels: BTreeMap<&'a Spanned<String>, &'a Spanned<String>>,
    pub(super) taints: Option<&'a Vec<Taint>>,
    /// Without the cluster's, which the node gets by another way.
    pub(super) kubelet_config: BTreeMap<&'a Spanned<String>, &'a Value>,
    pub(super) kubelet_args: Vec<&'a Argument>,
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
        };
        roles
            .iter()
            .rev()
            .for_each(|role| inherited.lay(of_role(spec, role.value)));
        inherited.lay(own);
        inherited
    }

    fn lay(&mut self, nearer: Settings<'a>) {
        self.os = nearer.os.or(self.os);
        self.platform = nearer.platform.or(self.platform);
        self.arch = nearer.arch.or(self.arch);
        self.taints = nearer.taints.or(self.taints);
        for (key, value) in nearer.labels {
            // Removed first, so that the key's place is the nearer's too.
            self.labels.remove(key);
            self.labels.insert(key, value);
        }
        for (key, value) in &nearer.kubelet.config {
            self.kubelet_config.remove(key);
            self.kubelet_config.insert(key, value);
        }
        let args = &nearer.kubelet.extra_args;
        self.kubelet_args
            .retain(|farther| !args.iter().any(|arg| arg.name == farther.name));
        self.kubelet_args.extend(args);
    }
}

fn of_role(spec: &Spec, role: Role) -> Settings<'_> {
    match role {
        Role::ControlPlane => spec.roles.control_plane.settings(),
        Role::Worker => spec.roles.worker.settings(),
        Role::Etcd => spec.roles.etcd.settings(),
    }
}
