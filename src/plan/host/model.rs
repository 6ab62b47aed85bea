//! Settings of a machine itself, resolved.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use crate::{secret::Secret, spec::Filesystem};

/// Settings of a machine itself; everything empty leaves it as its image is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostPlan {
    pub proxy: Option<ProxyPlan>,
    pub ntp: Option<NtpPlan>,
    pub dns: Option<NameServersPlan>,
    /// Lines of /etc/hosts: an address and its names.
    pub hosts: BTreeMap<IpAddr, Vec<String>>,
    pub timezone: Option<String>,
    /// Kernel parameters of the user; those of firelay's own are not among them unless they have another value.
    pub sysctls: BTreeMap<String, String>,
    /// Kernel modules of the user, each once.
    pub kernel_modules: Vec<String>,
    /// Swap stays on.
    pub swap: bool,
    /// One PEM certificate each.
    pub trusted_cas: Vec<String>,
    /// Sources of packages; without any the image's own remain.
    pub package_sources: Vec<PackageSourcePlan>,
    /// Packages to install, those of the OS profile first, each once.
    pub packages: Vec<String>,
    /// Data disks, a mount point before those below it.
    pub disks: Vec<DiskPlan>,
    /// Further file systems, in the order in which they are mounted.
    pub mounts: Vec<MountPlan>,
    /// Files of the user, each path once.
    pub files: Vec<FilePlan>,
    /// Commands of the user before anything is fetched.
    pub first: Vec<String>,
    /// Commands of the user before joining.
    pub before: Vec<String>,
    /// Commands of the user after joining.
    pub after: Vec<String>,
}

/// `proxy`, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyPlan {
    /// For `http://` URLs; may contain a password.
    pub http: Option<Secret<String>>,
    /// For `https://` URLs; may contain a password.
    pub https: Option<Secret<String>>,
    /// Hosts that are reached directly, in the form of `no_proxy`.
    pub no_proxy: String,
}

/// `ntp`, resolved; at least one of both lists has an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NtpPlan {
    pub servers: Vec<String>,
    pub pools: Vec<String>,
}

/// `dns`, resolved; there is at least one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServersPlan {
    pub servers: Vec<String>,
    pub search: Vec<String>,
}

/// A source of packages.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PackageSourcePlan {
    pub name: String,
    /// Without `/` at the end.
    pub url: String,
    /// For apt; at least one there, none elsewhere.
    pub suites: Vec<String>,
    /// For apt; `main` or more there.
    pub components: Vec<String>,
    /// The key that signs it, ASCII-armoured; the distribution's own if absent.
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskPlan {
    pub device: String,
    pub filesystem: Filesystem,
    pub mount: String,
    pub label: String,
    /// Options of mount(8), separated by commas.
    pub options: String,
}

/// A file system that exists already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountPlan {
    pub source: String,
    pub mount: String,
    /// As in fstab(5); `none` for a bind mount.
    pub kind: String,
    /// Options of mount(8), separated by commas; never empty.
    pub options: String,
}

/// A file of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// Absolute path.
    pub path: String,
    pub mode: u32,
    /// Text, shared between machines; base64 if `placement` requires it.
    pub content: Arc<str>,
    /// How it gets where it belongs.
    pub placement: Placement,
}

/// How a file of the user gets where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The document writes it, owned by root.
    Document,
    /// The boot chain writes it: documents cannot express all its attributes in the same way for every OS.
    Chain {
        /// The content is base64.
        base64: bool,
        /// `USER`, `USER:` or `USER:GROUP`, in the syntax of chown(1).
        owner: Option<String>,
    },
    /// The boot chain appends it to the file.
    Append,
}
