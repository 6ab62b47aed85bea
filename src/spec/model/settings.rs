//! The settings of the machines themselves, which exist at every level: cluster, role, node and pool.
//!
//! Only [`host_settings`] declares a setting; `plan` merges the levels.

use std::collections::BTreeMap;

use firelay_yaml::Spanned;

use super::{Commands, Disk, HostFile, Interface, Mount, NameServers, Ntp, PackageSource, Proxy};

/// Hands the fields of all settings to another macro, behind what it is given itself.
macro_rules! host_settings {
    ($then:ident! { $($given:tt)* }) => {
        $then! { $($given)* [
            /// The way out of the machine; the nearest counts whole, and `{}` is none.
            pub proxy: Option<Spanned<Proxy>>,
            /// Time servers; the nearest counts whole, and `{}` leaves those of the image.
            pub ntp: Option<Spanned<Ntp>>,
            /// Name servers; the nearest counts whole, and `{}` leaves those of DHCP and the image.
            pub dns: Option<Spanned<NameServers>>,
            /// Lines of /etc/hosts, an address and its names each; the nearest counts for an address, and `[]` is none.
            #[serde(default)]
            pub hosts: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
            /// Time zone as in `/usr/share/zoneinfo`, `Europe/Berlin`; absent leaves the image's.
            pub timezone: Option<Spanned<String>>,
            /// Kernel parameters by name, `vm.max_map_count`; the nearest counts for a name. Some of those that a kubelet
            /// needs cannot be set otherwise.
            #[serde(default)]
            pub sysctls: BTreeMap<Spanned<String>, Spanned<String>>,
            /// Kernel modules that are loaded at every boot, beside those that firelay needs; they add up.
            #[serde(default)]
            pub kernel_modules: Vec<Spanned<String>>,
            /// Swap of the image stays on, and pods of QoS class Burstable may use it (the kubelet's `LimitedSwap`);
            /// `false` if absent, and then it is turned off.
            pub swap: Option<Spanned<bool>>,
            /// Certificates in PEM that the machine trusts beside those of the system, one or more in an entry; they add up.
            #[serde(default)]
            pub trusted_cas: Vec<Spanned<String>>,
            /// Where the package manager gets its packages, in the place of the image's own sources, which are put aside; the
            /// nearest list counts whole, and `[]` leaves those of the image.
            pub package_sources: Option<Spanned<Vec<PackageSource>>>,
            /// Packages that the package manager of the system installs before anything else is fetched; they add up.
            #[serde(default)]
            pub packages: Vec<Spanned<String>>,
            /// Network interfaces; they add up, and a nearer one replaces the one of its name. None leaves the network to the
            /// image and the platform.
            #[serde(default)]
            pub interfaces: Vec<Interface>,
            /// Data disks; they add up, and a nearer one replaces the one of its mount point.
            #[serde(default)]
            pub disks: Vec<Disk>,
            /// Further file systems; they add up, and a nearer one replaces the one of its mount point.
            #[serde(default)]
            pub mounts: Vec<Mount>,
            /// Files; they add up, and a nearer one replaces the one of its path.
            #[serde(default)]
            pub files: Vec<HostFile>,
            /// Commands; they add up, the cluster's first.
            #[serde(default)]
            pub commands: Commands,
        ] }
    };
}
pub(super) use host_settings;

/// Declares a level: a struct with fields of its own and the settings of the machines.
macro_rules! level {
    (
        $(#[$attr:meta])* pub struct $name:ident { $($own:tt)* }
        [ $($(#[$field_attr:meta])* pub $field:ident: $type:ty,)* ]
    ) => {
        $(#[$attr])*
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $($own)*
            $($(#[$field_attr])* pub $field: $type,)*
        }

        impl $name {
            /// The settings of the machines themselves at this level.
            pub fn host(&self) -> HostSettings<'_> {
                HostSettings { $($field: &self.$field,)* }
            }
        }
    };
}
pub(super) use level;

macro_rules! borrowed {
    ([ $($(#[$attr:meta])* pub $field:ident: $type:ty,)* ]) => {
        /// The settings of one level, borrowed.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct HostSettings<'a> { $(pub $field: &'a $type,)* }
    };
}
host_settings!(borrowed! {});
