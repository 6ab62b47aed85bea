//! Settings of the machines themselves, key by key; `settings` lists the keys.

use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{secret::Secret, spec::Loaded};

/// `proxy`: the way out for containerd, for what the boot chain fetches and for the commands of the user. `{}` is none.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Proxy {
    /// For `http://` URLs: `http://[USER:PASSWORD@]HOST:PORT`.
    #[schemars(extend("format" = "uri"))]
    pub http: Option<Spanned<Secret<String>>>,
    /// For `https://` URLs, likewise; the proxy itself is usually an `http://` one.
    #[schemars(extend("format" = "uri"))]
    pub https: Option<Spanned<Secret<String>>>,
    /// Names, domains (`.example.com`), addresses and ranges reached directly, beside those that firelay works out.
    pub no_proxy: Vec<Spanned<String>>,
}

/// `ntp`: where the time service of the image gets its time. `{}` leaves it as the image has it.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Ntp {
    /// Names or addresses, one machine each.
    pub servers: Vec<Spanned<String>>,
    /// Names behind which several machines are.
    pub pools: Vec<Spanned<String>>,
}

/// `dns`: the name servers of the machines. `{}` leaves them as DHCP and the image have them.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NameServers {
    /// Addresses, in the order in which they are asked.
    pub servers: Vec<Spanned<String>>,
    /// Domains that are tried behind a short name.
    pub search: Vec<Spanned<String>>,
}

/// A source of packages: a repository of the kind that the system's package manager reads.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageSource {
    /// Its name, which becomes that of a file.
    pub name: Spanned<String>,
    /// Where it is: for apt what stands before `dists/`, for dnf and zypper what stands before `repodata/`.
    pub url: Spanned<String>,
    /// For apt: the releases, `trixie`, `trixie-updates`; or directories that end with `/`, `./`, which have no components.
    #[serde(default)]
    pub suites: Vec<Spanned<String>>,
    /// For apt: the parts of each release; `[main]` if absent.
    #[serde(default)]
    pub components: Vec<Spanned<String>>,
    /// The public key that signs it, ASCII-armoured OpenPGP; the distribution's own, which the image has, if absent.
    pub key: Option<Spanned<String>>,
}

/// A data disk.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disk {
    /// A whole disk or a partition, `/dev/disk/by-id/…`.
    pub device: Spanned<String>,
    /// Made if the device is empty; ext4 if absent.
    pub filesystem: Option<Spanned<Filesystem>>,
    /// Where it is mounted.
    pub mount: Spanned<String>,
    /// Label of the file system, by which it is known again; the last part of `mount` if absent.
    pub label: Option<Spanned<String>>,
    /// Options of mount(8), one each: `noatime`.
    #[serde(default)]
    pub options: Vec<Spanned<String>>,
}

/// File systems of data disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Filesystem {
    Ext4,
    Xfs,
}

/// A file system that is there already: of a server, of another directory (`bind`), in memory, or on a device.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mount {
    /// The device or share, as the first field of fstab(5): `nas.example.com:/data`, `UUID=…`, a path, or `tmpfs`.
    pub source: Spanned<String>,
    /// Where it is mounted.
    pub mount: Spanned<String>,
    /// Type of the file system, `nfs`, or `bind` for a directory that stands elsewhere as well; found out if absent.
    pub r#type: Option<Spanned<String>>,
    /// Options of mount(8), one each: `ro`, `nfsvers=4.2`.
    #[serde(default)]
    pub options: Vec<Spanned<String>>,
}

/// A file of the user.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostFile {
    /// Absolute path.
    pub path: Spanned<String>,
    /// The file's content in `encoding`.
    #[schemars(extend("x-firelay-text" = true))]
    pub content: Option<Spanned<String>>,
    /// A file with the content, instead of `content`: text or other bytes, up to 1 MiB. The path is relative to the
    /// spec that names it.
    pub source: Option<Spanned<String>>,
    /// The file that `source` names.
    #[serde(skip)]
    pub loaded: Option<Loaded>,
    /// How `content` is written; `plain` if absent.
    pub encoding: Option<Spanned<FileEncoding>>,
    /// Permission bits in octal digits, quoted; `"0644"` if absent.
    pub mode: Option<Spanned<String>>,
    /// `USER` or `USER:GROUP`; root if absent. A user without a group brings the group of its login.
    pub owner: Option<Spanned<String>>,
    /// Whether the content goes behind what is in the file already, unless it is there; owner and mode stay.
    #[serde(default)]
    pub append: bool,
}

/// How the content of a file is written in the spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileEncoding {
    /// Text.
    #[default]
    Plain,
    /// base64 (RFC 4648 §4) of bytes that need not be text; blanks and line breaks in it do not count.
    Base64,
}

/// `commands`: text for bash, each entry run once.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Commands {
    /// Before anything is fetched.
    #[schemars(extend("x-firelay-text" = true))]
    pub first: Vec<Spanned<String>>,
    /// With the runtime up, before the node joins.
    #[schemars(extend("x-firelay-text" = true))]
    pub before: Vec<Spanned<String>>,
    /// When the node has joined.
    #[schemars(extend("x-firelay-text" = true))]
    pub after: Vec<Spanned<String>>,
}
