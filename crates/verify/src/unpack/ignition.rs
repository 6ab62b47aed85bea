//! The effect of an Ignition config, specification 3.x, on a machine.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha512};

use super::{Building, NewEntry, encoding};
use crate::{What, digest::sha256_hex};

/// Ignition's directory for units.
const UNITS: &str = "/etc/systemd/system";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    ignition: Header,
    passwd: Passwd,
    storage: Storage,
    systemd: Systemd,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Header {
    config: References,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct References {
    replace: Resource,
    merge: Vec<Resource>,
}

/// Something that is inside the document or elsewhere.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Resource {
    pub(super) source: Option<String>,
    compression: Option<String>,
    verification: Verification,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Verification {
    hash: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Passwd {
    users: Vec<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    id: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Storage {
    directories: Vec<Node>,
    files: Vec<Node>,
    links: Vec<Node>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Node {
    path: String,
    mode: Option<u32>,
    user: Named,
    group: Named,
    contents: Resource,
    append: Vec<Resource>,
    target: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Systemd {
    units: Vec<Unit>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Unit {
    name: String,
    enabled: Option<bool>,
    mask: Option<bool>,
    contents: Option<String>,
    dropins: Vec<Dropin>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Dropin {
    name: String,
    contents: Option<String>,
}

/// The document that replaces this one, if any.
pub(super) fn replacement(config: &Value) -> Option<Resource> {
    let header = config.get("ignition")?.get("config")?.get("replace")?;
    let replace: Resource = serde_json::from_value(header.clone()).ok()?;
    replace.source.is_some().then_some(replace)
}

impl Resource {
    /// It is inside the document.
    pub(super) fn is_inside(&self) -> bool {
        self.source.as_deref().is_none_or(|source| source.starts_with("data:"))
    }

    /// Whether it has a digest.
    pub(super) fn has_digest(&self) -> bool {
        self.verification.hash.is_some()
    }

    /// The content for the fetched bytes, decompressed and compared with the digest.
    pub(super) fn unpacked(&self, fetched: Vec<u8>) -> Result<Vec<u8>, String> {
        let bytes = match self.compression.as_deref() {
            None | Some("") => fetched,
            Some("gzip") => encoding::gunzip(&fetched)?,
            Some(other) => return Err(format!("compression {other:?}, which Ignition does not know")),
        };
        let Some(hash) = &self.verification.hash else {
            return Ok(bytes);
        };
        let found = match hash.split_once('-') {
            Some(("sha256", _)) => format!("sha256-{}", sha256_hex(&bytes)),
            Some(("sha512", _)) => {
                let digest = Sha512::digest(&bytes);
                format!(
                    "sha512-{}",
                    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
                )
            }
            _ => return Err("a digest that is neither sha256 nor sha512".to_owned()),
        };
        if found.eq_ignore_ascii_case(hash) {
            Ok(bytes)
        } else {
            Err(format!("it says {hash}, the bytes are {found}"))
        }
    }

    fn inside(&self) -> Result<Vec<u8>, String> {
        let source = self.source.as_deref().unwrap_or("data:,");
        self.unpacked(encoding::data_url(source)?)
    }
}

/// Adds the entries of a document.
pub(super) fn unpack(building: &mut Building<'_>, document: &str, config: &Value) {
    let read: Config = match serde_json::from_value(config.clone()) {
        Ok(read) => read,
        // serde's message repeats the value, which may be secret.
        Err(_) => return building.fault("FL1003", document, "", "a value of another kind than Ignition takes"),
    };
    if !read.ignition.config.merge.is_empty() {
        building.fault(
            "FL1003",
            document,
            "ignition.config.merge",
            "a config that is merged, which firelay does not write",
        );
    }
    building
        .machine
        .users
        .extend(read.passwd.users.into_iter().map(|user| user.name));
    storage(building, document, &read.storage);
    for (number, unit) in read.systemd.units.iter().enumerate() {
        self::unit(building, &format!("systemd.units[{number}]"), unit);
    }
    filesystems(building, config);
}

fn storage(building: &mut Building<'_>, document: &str, storage: &Storage) {
    for (number, node) in storage.directories.iter().enumerate() {
        let place = format!("storage.directories[{number}]");
        building.directory(&node.path, node.mode.unwrap_or(0o755), &node.owner(), &place);
    }
    for (number, node) in storage.files.iter().enumerate() {
        let place = format!("storage.files[{number}]");
        match node.bytes() {
            Ok(bytes) => building.add(NewEntry {
                path: &node.path,
                what: What::File(building.pool.share(&bytes)),
                mode: node.mode.unwrap_or(0o644),
                owner: &node.owner(),
                place: &place,
                append: false,
            }),
            Err(why) => building.fault("FL1003", document, &place, &why),
        }
    }
    for (number, node) in storage.links.iter().enumerate() {
        building.add(NewEntry {
            path: &node.path,
            what: What::Link(node.target.clone().unwrap_or_default()),
            mode: 0o777,
            owner: &node.owner(),
            place: &format!("storage.links[{number}]"),
            append: false,
        });
    }
}

impl Node {
    /// User and group by name or number.
    fn owner(&self) -> String {
        let one = |named: &Named| match (&named.name, named.id) {
            (_, Some(id)) if id != 0 => id.to_string(),
            (name, _) if !name.is_empty() => name.clone(),
            _ => "root".to_owned(),
        };
        format!("{}:{}", one(&self.user), one(&self.group))
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut bytes = self.contents.inside()?;
        for more in &self.append {
            bytes.extend(more.inside()?);
        }
        Ok(bytes)
    }
}

fn unit(building: &mut Building<'_>, place: &str, unit: &Unit) {
    let mut add = |path: String, text: &str, place: &str| {
        let what = What::File(building.pool.share(text.as_bytes()));
        building.add(NewEntry {
            path: &path,
            what,
            mode: 0o644,
            owner: "root:root",
            place,
            append: false,
        });
    };
    if let Some(contents) = &unit.contents {
        add(format!("{UNITS}/{}", unit.name), contents, place);
    }
    for (number, dropin) in unit.dropins.iter().enumerate() {
        let path = format!("{UNITS}/{}.d/{}", unit.name, dropin.name);
        add(
            path,
            dropin.contents.as_deref().unwrap_or_default(),
            &format!("{place}.dropins[{number}]"),
        );
    }
    if unit.enabled == Some(true) {
        building.enable(&[&unit.name]);
    }
    if unit.mask == Some(true) {
        building.mask(&[&unit.name]);
    }
}

/// File systems are mounted before files are written, and stay mounted only if a unit mounts them again.
fn filesystems(building: &mut Building<'_>, config: &Value) {
    let list = config.pointer("/storage/filesystems").and_then(Value::as_array);
    for entry in list.into_iter().flatten() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        if let (Some(device), Some(path)) = (text("device"), text("path")) {
            building.mount(device, path, "storage.filesystems");
        }
    }
}
