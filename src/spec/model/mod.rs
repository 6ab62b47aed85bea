//! The spec as serde decodes it: `apiVersion: firelay.dev/v1alpha1`, `kind: Cluster`.
//!
//! Nothing is resolved here. An absent field is `None`; `plan` has the defaults.

#![allow(missing_docs, reason = "a test asks for the descriptions of all keys")]

mod access;
mod addons;
mod artifacts;
mod control_plane;
mod delivery;
mod etcd;
mod extra_output;
mod host;
mod interface;
mod kubernetes;
mod network;
mod node;
mod patch;
mod pxe;
mod registration;
mod runtime;
mod security;
mod settings;
mod trust;
mod update;

use std::collections::BTreeMap;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};
use schemars::JsonSchema;
use serde::Deserialize;

use super::FilePatch;
use crate::declaration::{self, Choice};

pub use access::*;
pub use addons::*;
pub use artifacts::*;
pub use control_plane::*;
pub use delivery::*;
pub use etcd::*;
pub use extra_output::*;
pub use host::*;
pub use interface::*;
pub use kubernetes::*;
pub use network::*;
pub use node::*;
pub use patch::*;
pub use pxe::*;
pub use registration::*;
pub use runtime::*;
pub use security::*;
pub use settings::HostSettings;
pub use trust::*;
pub use update::*;

use settings::{host_settings, level};

host_settings!(level! {
    /// The whole document.
    pub struct Spec {
        /// Always `firelay.dev/v1alpha1`.
        pub api_version: Spanned<String>,
        /// Always `Cluster`.
        pub kind: Spanned<String>,
        /// Files on which this one is based. A later file overrides an earlier one; paths are relative to this file. A file that is
        /// included need not be a whole spec, and may include others.
        #[serde(default)]
        pub include: Vec<Spanned<String>>,
        /// The cluster's name, an RFC 1123 label; kubeadm's `clusterName`.
        pub name: Spanned<String>,
        /// Version and settings of Kubernetes itself.
        pub kubernetes: Kubernetes,
        /// The name under which every node and user reaches the API.
        pub endpoint: Endpoint,
        /// Pods, services, CNI.
        #[serde(default)]
        pub network: Network,
        /// etcd, stacked or external (external as soon as a node has the `etcd` role).
        #[serde(default)]
        pub etcd: Etcd,
        /// The container runtime.
        #[serde(default)]
        pub runtime: Runtime,
        /// Where binaries and images come from.
        #[serde(default)]
        pub artifacts: Artifacts,
        /// Add-ons by name, with their parameters; `{}` takes the defaults.
        pub addons: Option<Addons>,
        /// Manifests of the user, applied by the founder after the add-ons.
        #[serde(default)]
        pub manifests: Vec<Manifest>,
        /// Users and SSH keys on every node.
        #[serde(default)]
        pub access: Access,
        /// Algorithms, validity, extra names.
        #[serde(default)]
        pub pki: Pki,
        /// How nodes prove who they are, and how long they wait.
        #[serde(default)]
        pub join: Join,
        /// A profile of settings, how much documents may tell, and what no other section has.
        #[serde(default)]
        pub security: Security,
        /// How documents come to the machines.
        #[serde(default)]
        pub delivery: Delivery,
        /// How a running cluster takes changes: what `firelay plan` orders.
        #[serde(default)]
        pub update: Update,
        /// OS profile of every node that names none.
        pub os: Option<Spanned<String>>,
        /// Platform profile of every node that names none.
        pub platform: Option<Spanned<String>>,
        /// Architecture of every node that names none.
        pub arch: Option<Spanned<Arch>>,
        /// Settings by role; they win over the cluster's and lose to a node's.
        #[serde(default)]
        pub roles: RoleSettings,
        /// Machines whose names and addresses are known.
        pub nodes: Spanned<Vec<Spanned<Node>>>,
        /// A CSV file with machines, relative to this file. Its columns are `name`, `role`, `address` and, if needed, `mac`,
        /// `uuid` and `labels`. An entry of `nodes` with the same name changes that machine.
        pub nodes_from: Option<Spanned<String>>,
        /// Machines whose names are not known yet.
        #[serde(default)]
        pub pools: Vec<Spanned<Pool>>,
        /// Changes of rendered files on every machine, after those in `patches/all/`.
        #[serde(default)]
        pub patches: Vec<Patch>,
        /// Those in files, in the order of folders and names.
        #[serde(skip)]
        pub patch_files: Vec<FilePatch>,
        /// The security profile that lies below it.
        #[serde(skip)]
        pub baseline: Option<String>,
    }
});

impl Spec {
    /// The network plugin, the add-ons and those that they need, and plugins of key services, with the findings in the form of their
    /// parameters.
    pub fn choices(&self) -> (Vec<Choice>, Vec<Diagnostic>) {
        let (cni, mut findings) = declaration::cni(self.network.cni.as_ref().map(|Cni(fragment)| &fragment.0));
        let (addons, wrong) = declaration::addons(self.addons.as_ref().map(|Addons(fragment)| &fragment.0));
        findings.extend(wrong);
        let encryption = self.kubernetes.api_server.encryption.as_ref();
        let (kms, wrong) = encryption.map(Encryption::kms).unwrap_or_default();
        findings.extend(wrong);
        let all = cni.into_iter().chain(addons).chain(kms).collect();
        (declaration::with_needed(all), findings)
    }

    /// The settings of roles, nodes and pools.
    pub fn below(&self) -> impl Iterator<Item = Settings<'_>> {
        let RoleSettings {
            control_plane,
            worker,
            etcd,
        } = &self.roles;
        let roles = [control_plane, worker, etcd].map(|role| role.settings());
        let nodes = self.nodes.iter().map(|node| node.settings());
        roles
            .into_iter()
            .chain(nodes)
            .chain(self.pools.iter().map(|pool| pool.settings()))
    }

    /// Settings of the machines themselves at every level: cluster, roles, nodes, pools.
    pub fn levels(&self) -> impl Iterator<Item = HostSettings<'_>> {
        std::iter::once(self.host()).chain(self.below().map(|settings| settings.host))
    }
}
