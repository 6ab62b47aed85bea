//! The parts of the specification that firelay uses.

use serde::Serialize;

use super::{Remote, data_url::data_url};
use crate::{
    encoding::{base64, gzip, sha256_hex, sha512_hex},
    node::{NodeFile, NodeFiles, NodeUnit, NodeUser},
};

/// A user of every Ignition image of the CoreOS family.
const DEFAULT_USER: &str = "core";

/// A value of `compression`.
const GZIP: &str = "gzip";

/// A whole document.
#[derive(Serialize)]
pub(super) struct Config<'a> {
    ignition: Header<'a>,
    #[serde(skip_serializing_if = "Passwd::is_empty")]
    passwd: Passwd<'a>,
    storage: Storage<'a>,
    systemd: Systemd<'a>,
}

#[derive(Serialize)]
struct Header<'a> {
    version: &'a str,
}

impl<'a> Config<'a> {
    pub(super) fn new(version: &'a str, files: &'a NodeFiles, implied: &[NodeFile]) -> Self {
        Self {
            ignition: Header { version },
            passwd: Passwd { users: users(files) },
            storage: Storage::new(files, implied),
            systemd: Systemd { units: units(files) },
        }
    }
}

#[derive(Serialize)]
struct Passwd<'a> {
    users: Vec<User<'a>>,
}

impl Passwd<'_> {
    fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct User<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gecos: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    home_dir: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_group: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    shell: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ssh_authorized_keys: Vec<&'a str>,
}

impl<'a> User<'a> {
    fn new(user: &'a NodeUser) -> Self {
        Self {
            name: &user.name,
            gecos: user.gecos.as_deref(),
            home_dir: user.home_dir.as_deref(),
            primary_group: user.primary_group.as_deref(),
            password_hash: user.password_hash.as_ref().map(|hash| hash.expose().as_str()),
            groups: &user.groups,
            shell: Some(&user.shell),
            ssh_authorized_keys: user.ssh_authorized_keys.iter().map(String::as_str).collect(),
        }
    }
}

/// Names are unique (spec, `passwd.users`): keys of the image's user join an entry that the spec has for the same name.
fn users(files: &NodeFiles) -> Vec<User<'_>> {
    let mut users: Vec<_> = files.users.iter().map(User::new).collect();
    let keys = files.ssh_authorized_keys.iter().map(String::as_str);
    if let Some(user) = users.iter_mut().find(|user| user.name == DEFAULT_USER) {
        user.ssh_authorized_keys.extend(keys);
    } else if !files.ssh_authorized_keys.is_empty() {
        users.insert(
            0,
            User {
                name: DEFAULT_USER,
                ssh_authorized_keys: keys.collect(),
                ..User::default()
            },
        );
    }
    users
}

#[derive(Serialize)]
struct Storage<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    directories: Vec<Directory<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<File>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link<'a>>,
}

/// Without `overwrite`, which would empty an existing directory; the mode is set in any case.
#[derive(Serialize)]
struct Directory<'a> {
    path: &'a str,
    mode: u32,
}

#[derive(Serialize)]
struct File {
    path: String,
    /// JSON has no octal: 0644 is 420.
    mode: u32,
    overwrite: bool,
    contents: Resource,
}

#[derive(Serialize)]
struct Link<'a> {
    path: &'a str,
    target: &'a str,
    overwrite: bool,
}

impl<'a> Storage<'a> {
    fn new(files: &'a NodeFiles, implied: &[NodeFile]) -> Self {
        let directories = files.directories.iter();
        let links = files.links.iter();
        Self {
            directories: directories
                .map(|directory| Directory {
                    path: &directory.path,
                    mode: directory.mode,
                })
                .collect(),
            files: implied.iter().chain(&files.files).map(File::new).collect(),
            links: links
                .map(|link| Link {
                    path: &link.path,
                    target: &link.target,
                    overwrite: true,
                })
                .collect(),
        }
    }
}

impl File {
    fn new(file: &NodeFile) -> Self {
        let contents = Resource {
            source: data_url(&file.content),
        };
        Self {
            path: file.path.clone(),
            mode: file.mode,
            overwrite: true,
            contents,
        }
    }
}

#[derive(Serialize)]
struct Resource {
    source: String,
}

#[derive(Serialize)]
struct Systemd<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    units: Vec<Unit<'a>>,
}

#[derive(Default, Serialize)]
struct Unit<'a> {
    name: &'a str,
    /// Left out rather than false: false would turn off what the image has turned on.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropins: Vec<Dropin<'a>>,
}

#[derive(Serialize)]
struct Dropin<'a> {
    name: &'a str,
    contents: &'a str,
}

fn units(files: &NodeFiles) -> Vec<Unit<'_>> {
    let masked = files.masked_units.iter().map(|name| Unit {
        name,
        mask: Some(true),
        ..Unit::default()
    });
    files.units.iter().map(unit).chain(masked).collect()
}

fn unit(unit: &NodeUnit) -> Unit<'_> {
    Unit {
        name: &unit.name,
        enabled: unit.enabled.then_some(true),
        mask: None,
        contents: (!unit.content.is_empty()).then_some(&*unit.content),
        dropins: unit
            .dropins
            .iter()
            .map(|(name, contents)| Dropin { name, contents })
            .collect(),
    }
}

/// A document that only refers to another document.
#[derive(Serialize)]
pub(super) struct Wrapper<'a> {
    ignition: WrapperHeader<'a>,
}

#[derive(Serialize)]
struct WrapperHeader<'a> {
    version: &'a str,
    config: Replacement<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<Security>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<Proxy<'a>>,
}

#[derive(Serialize)]
struct Replacement<'a> {
    replace: Other<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Other<'a> {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    http_headers: Vec<HttpHeader<'a>>,
    verification: Verification,
}

#[derive(Serialize)]
struct HttpHeader<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct Verification {
    hash: String,
}

#[derive(Serialize)]
struct Security {
    tls: Tls,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tls {
    certificate_authorities: Vec<Resource>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Proxy<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    http_proxy: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    https_proxy: Option<&'a str>,
    no_proxy: Vec<&'a str>,
}

impl<'a> Wrapper<'a> {
    /// The hash is of the decompressed bytes (spec 3.1, `verification.hash`).
    pub(super) fn new(version: &'a str, config: &str) -> Self {
        let replace = Other {
            source: format!("data:;base64,{}", base64(gzip(config.as_bytes()))),
            compression: Some(GZIP),
            http_headers: Vec::new(),
            verification: Verification {
                hash: format!("sha256-{}", sha256_hex(config.as_bytes())),
            },
        };
        Self::of(version, replace)
    }

    /// Like [`Wrapper::new`], for a document elsewhere. Versions that only support SHA-512 also accept it.
    pub(super) fn remote(version: &'a str, remote: &Remote<'a>) -> Self {
        let headers = remote.headers.iter();
        let replace = Other {
            source: remote.source.to_owned(),
            compression: remote.compressed.then_some(GZIP),
            http_headers: headers
                .map(|(name, value)| HttpHeader {
                    name,
                    value: value.expose(),
                })
                .collect(),
            verification: Verification {
                hash: format!("sha512-{}", sha512_hex(remote.config)),
            },
        };
        let authorities = remote.trusted.iter().map(|pem| Resource { source: data_url(pem) });
        let mut wrapper = Self::of(version, replace);
        wrapper.ignition.security = (!remote.trusted.is_empty()).then(|| Security {
            tls: Tls {
                certificate_authorities: authorities.collect(),
            },
        });
        wrapper.ignition.proxy = remote.proxy.map(|proxy| Proxy {
            http_proxy: proxy.http.as_ref().map(|url| url.expose().as_str()),
            https_proxy: proxy.https.as_ref().map(|url| url.expose().as_str()),
            no_proxy: proxy.no_proxy.split(',').collect(),
        });
        wrapper
    }

    fn of(version: &'a str, replace: Other<'a>) -> Self {
        Self {
            ignition: WrapperHeader {
                version,
                config: Replacement { replace },
                security: None,
                proxy: None,
            },
        }
    }
}
