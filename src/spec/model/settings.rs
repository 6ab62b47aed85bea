//! The settings of the machines themselves, which stand at every level: cluster, role, node and pool.
//!
//! A setting is declared in [`host_settings`] and nowhere else; what lays one level over another is `plan`'s concern.

use super::{Commands, Disk, HostFile, NameServers, Ntp, Proxy};
use crate::yaml::Spanned;

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
            /// Data disks; they add up, and a nearer one replaces the one of its mount point.
            #[serde(default)]
            pub disks: Vec<Disk>,
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
            /// What is set here on the machines themselves.
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
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)]
        pub struct HostSettings<'a> { $(pub $field: &'a $type,)* }
    };
}
host_settings!(borrowed! {});
