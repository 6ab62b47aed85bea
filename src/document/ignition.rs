//! Ignition, in the part of spec 3.1 to 3.3 that all its readers know.

use std::fmt::Write;

use serde::Serialize;

use super::{Compression, Document, Error, base64, base64_len, gzip, layout, sha256_hex};
use crate::node::{NodeFile, NodeFiles, NodeUnit, NodeUser};

/// A user whom every Ignition image of the CoreOS family has.
const DEFAULT_USER: &str = "core";

/// Permission bits that Ignition below spec 3.6 keeps.
const PERMISSIONS: u32 = 0o777;

/// Ignition JSON of one specification version.
///
/// There is one way of compressing. [`Compression::None`] leaves every file readable as a `data:` URL;
/// [`Compression::Inner`] wraps that whole document as `ignition.config.replace` with `compression: gzip` (spec 3.1). gzip
/// of each file apart would never be the smallest: the wrapper pays base64 once and finds what files have in common, and
/// it works wherever the plain document works, since Ignition undoes it itself.
#[derive(Clone, Debug)]
pub struct Ignition {
    /// `3.3.0`.
    pub version: String,
}

impl Document for Ignition {
    fn file_name(&self) -> &'static str {
        "config.ign"
    }

    fn render(&self, files: &NodeFiles, compression: Compression) -> Result<String, Error> {
        let implied = implied_files(files);
        layout::check(files, &implied)?;
        refuse_packages(files)?;
        refuse_special_modes(files)?;
        let config = json(&Config::new(&self.version, files, &implied));
        Ok(match compression {
            Compression::None => config,
            Compression::Inner => json(&Wrapper::new(&self.version, &config)),
        })
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("structs of texts and numbers are JSON")
}

fn refuse_packages(files: &NodeFiles) -> Result<(), Error> {
    if files.packages.is_empty() {
        return Ok(());
    }
    Err(Error::Unsupported {
        format: "ignition",
        field: "packages",
        value: files.packages.join(", "),
        help: "use an image that has them, or fetch static binaries as artifacts",
    })
}

fn refuse_special_modes(files: &NodeFiles) -> Result<(), Error> {
    let regular = files.files.iter().map(|file| (&file.path, file.mode));
    let directories = files
        .directories
        .iter()
        .map(|directory| (&directory.path, directory.mode));
    match regular.chain(directories).find(|(_, mode)| mode & !PERMISSIONS != 0) {
        None => Ok(()),
        Some((path, mode)) => Err(Error::Unsupported {
            format: "ignition",
            field: "mode",
            value: format!("{mode:04o} of {path}"),
            help: "setuid, setgid and sticky bits are lost before spec 3.6: set them from a step",
        }),
    }
}

#[derive(Serialize)]
struct Config<'a> {
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
    fn new(version: &'a str, files: &'a NodeFiles, implied: &[NodeFile]) -> Self {
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct User<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    shell: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ssh_authorized_keys: Vec<&'a str>,
}

impl<'a> User<'a> {
    fn new(user: &'a NodeUser) -> Self {
        Self {
            name: &user.name,
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
                groups: &[],
                shell: None,
                ssh_authorized_keys: keys.collect(),
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

/// Not `overwrite`: that would empty a directory that the image has, and the mode is set either way.
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

/// What Ignition has no word for: the host name, which systemd reads at the first boot already, and passwordless root, in
/// the words that cloud-init would write.
fn implied_files(files: &NodeFiles) -> Vec<NodeFile> {
    let file = |path: &str, mode, content: String| NodeFile {
        path: path.to_owned(),
        mode,
        content: content.into(),
    };
    let hostname = files
        .hostname
        .iter()
        .map(|name| file("/etc/hostname", 0o644, format!("{name}\n")));
    let rules = files
        .users
        .iter()
        .filter(|user| user.sudo)
        .map(|user| format!("{} ALL=(ALL) NOPASSWD:ALL\n", user.name));
    let rules: String = rules.collect();
    let sudoers = (!rules.is_empty()).then(|| file("/etc/sudoers.d/90-firelay-users", 0o440, rules));
    hostname.chain(sudoers).collect()
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

/// A document whose only word is another document.
#[derive(Serialize)]
struct Wrapper<'a> {
    ignition: WrapperHeader<'a>,
}

#[derive(Serialize)]
struct WrapperHeader<'a> {
    version: &'a str,
    config: Replacement,
}

#[derive(Serialize)]
struct Replacement {
    replace: Packed,
}

#[derive(Serialize)]
struct Packed {
    source: String,
    compression: &'static str,
    verification: Verification,
}

#[derive(Serialize)]
struct Verification {
    hash: String,
}

impl<'a> Wrapper<'a> {
    /// The hash is of the decompressed bytes (spec 3.1, `verification.hash`).
    fn new(version: &'a str, config: &str) -> Self {
        let replace = Packed {
            source: format!("data:;base64,{}", base64(&gzip(config.as_bytes()))),
            compression: "gzip",
            verification: Verification {
                hash: format!("sha256-{}", sha256_hex(config.as_bytes())),
            },
        };
        Self {
            ignition: WrapperHeader {
                version,
                config: Replacement { replace },
            },
        }
    }
}

/// A `data:` URL (RFC 2397), percent-encoded or base64, whichever is shorter.
fn data_url(content: &str) -> String {
    let escapes = content.bytes().filter(|byte| !is_url_data(*byte)).count();
    if content.len() + 2 * escapes <= ";base64".len() + base64_len(content.len()) {
        percent_encoded(content)
    } else {
        format!("data:;base64,{}", base64(content.as_bytes()))
    }
}

fn percent_encoded(content: &str) -> String {
    let mut url = String::from("data:,");
    for byte in content.bytes() {
        if is_url_data(byte) {
            url.push(byte.into());
        } else {
            write!(url, "%{byte:02X}").expect("writing to memory does not fail");
        }
    }
    url
}

/// Bytes that stand for themselves: RFC 3986's `pchar` and `/`, less the percent sign and the apostrophe. Ignition's reader
/// refuses all others of ASCII but `?`, which would start a query.
fn is_url_data(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&()*+,/:;=@".contains(&byte)
}
