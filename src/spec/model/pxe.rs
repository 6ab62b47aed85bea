//! `delivery.pxe`: machines that boot from the network.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use firelay_yaml::Spanned;

/// `delivery.pxe`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pxe {
    /// Where machines reach `firelay serve`.
    pub url: Spanned<String>,
    /// Where machines reach matchbox; then its profiles, groups and Ignition documents are written as well.
    pub matchbox: Option<Spanned<String>>,
    /// The systems to boot, by the OS profile's name.
    #[serde(default)]
    pub systems: BTreeMap<Spanned<String>, PxeSystem>,
}

/// A system to boot. A location without `https://` or `http://` is a path in the directory of `firelay serve --mirror`. `{arch}`
/// stands for `amd64` or `arm64`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PxeSystem {
    /// The kernel; the OS profile's if absent.
    pub kernel: Option<Spanned<String>>,
    /// The initial RAM disks, in order; the OS profile's if absent.
    pub initrd: Option<Vec<Spanned<String>>>,
    /// The live system's root, where that is a file of its own.
    pub rootfs: Option<Spanned<String>>,
    /// Install onto this disk, instead of running from memory.
    pub disk: Option<Spanned<String>>,
    /// The directory in which the installer of `disk` finds images, for systems whose installer is a program such as flatcar-install;
    /// the system's own site if absent.
    pub image: Option<Spanned<String>>,
    /// Further kernel arguments, a word each. `{instance}`, `{seed}` and `{document}` stand for cloud-init's ID of the machine and for
    /// the URLs of its directory and of its Ignition document.
    #[serde(default)]
    pub arguments: Vec<Spanned<String>>,
}
