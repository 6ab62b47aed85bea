//! `nodes`, `pools` and `roles`, and the settings that all three share.

use std::collections::BTreeMap;

pub use firelay_tree::Role;
use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Arch, Commands, Disk, HostFile, HostSettings, ImageArchive, Interface, Kubelet, Mount, NameServers, NodeDelivery,
    NodeSecurity, Ntp, PackageSource, Patch, Proxy,
    settings::{host_settings, level},
};

/// `roles`: settings for every node of a role.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RoleSettings {
    /// Control planes.
    pub control_plane: NodeSettings,
    /// Workers.
    pub worker: NodeSettings,
    /// External etcd members.
    pub etcd: NodeSettings,
}

/// `effect` of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// Key.
    pub key: Spanned<String>,
    /// Value, may be absent.
    pub value: Option<Spanned<String>>,
    /// Effect.
    pub effect: TaintEffect,
}

/// Declares a level below the cluster: a struct with fields of its own, the settings of nodes and those of the machines.
macro_rules! with_node_settings {
    ($(#[$attr:meta])* pub struct $name:ident { $($own:tt)* }) => {
        host_settings!(level! {
            $(#[$attr])*
            pub struct $name {
                $($own)*
                /// OS profile.
                pub os: Option<Spanned<String>>,
                /// Platform profile.
                pub platform: Option<Spanned<String>>,
                /// Architecture.
                pub arch: Option<Spanned<Arch>>,
                /// Node labels.
                #[serde(default)]
                pub labels: BTreeMap<Spanned<String>, Spanned<String>>,
                /// Taints at registration; absent means the role's default, `[]` means none.
                pub taints: Option<Vec<Taint>>,
                /// Kubelet settings.
                #[serde(default)]
                pub kubelet: Kubelet,
                /// How documents come to the machines.
                #[serde(default)]
                pub delivery: NodeDelivery,
                /// OCI archives beside those of `artifacts.imageArchives`; they add up, and a nearer one replaces the one of its
                /// URL.
                #[serde(default)]
                pub image_archives: Vec<ImageArchive>,
                /// How much documents may tell to who reads them.
                #[serde(default)]
                pub security: NodeSecurity,
                /// Changes of rendered files, after the cluster's.
                #[serde(default)]
                pub patches: Vec<Patch>,
            }
        });

        impl $name {
            /// The shared settings, borrowed.
            pub fn settings(&self) -> Settings<'_> {
                Settings {
                    os: self.os.as_ref(),
                    platform: self.platform.as_ref(),
                    arch: self.arch.as_ref(),
                    labels: &self.labels,
                    taints: self.taints.as_ref(),
                    kubelet: &self.kubelet,
                    delivery: &self.delivery,
                    image_archives: &self.image_archives,
                    security: &self.security,
                    host: self.host(),
                }
            }
        }
    };
}

/// The settings that a role, a node and a pool share, borrowed from whichever carries them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings<'a> {
    pub os: Option<&'a Spanned<String>>,
    pub platform: Option<&'a Spanned<String>>,
    pub arch: Option<&'a Spanned<Arch>>,
    pub labels: &'a BTreeMap<Spanned<String>, Spanned<String>>,
    pub taints: Option<&'a Vec<Taint>>,
    pub kubelet: &'a Kubelet,
    pub delivery: &'a NodeDelivery,
    pub image_archives: &'a [ImageArchive],
    pub security: &'a NodeSecurity,
    pub host: HostSettings<'a>,
}

impl Settings<'_> {
    /// Whether nothing is set at this level.
    pub fn is_empty(&self) -> bool {
        *self == NodeSettings::default().settings()
    }
}

with_node_settings! {
    /// Settings of a role.
    #[derive(Default)]
    pub struct NodeSettings {}
}

with_node_settings! {
    /// A machine, or with ranges in `name` and `addresses` a row of machines.
    pub struct Node {
        /// Node name; `{1..40}` counts.
        pub name: Spanned<String>,
        /// Roles.
        pub roles: Spanned<Vec<Spanned<Role>>>,
        /// Addresses, the first is the node's own; `A-B` counts along with the name.
        pub addresses: Spanned<Vec<Spanned<String>>>,
        /// MAC address of the boot interface; stands in manifest.json for what serves documents by it.
        pub mac: Option<Spanned<String>>,
        /// MAC addresses of several machines, one for each name, in the order of the names.
        #[serde(default)]
        pub macs: Vec<Spanned<String>>,
        /// SMBIOS system UUID of the machine, likewise: `dmidecode -s system-uuid`.
        pub uuid: Option<Spanned<String>>,
    }
}

with_node_settings! {
    /// Machines whose names are not known yet.
    pub struct Pool {
        /// The pool's name, an RFC 1123 label.
        pub name: Spanned<String>,
        /// Roles; only `worker`.
        pub roles: Spanned<Vec<Spanned<Role>>>,
    }
}
