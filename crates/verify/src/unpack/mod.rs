//! From the files of a node to the machine that they make.

mod age;
mod building;
mod cloud_config;
mod configs;
mod encoding;
mod ignition;
mod payload;
mod pool;
mod write_file;

use serde_json::Value;

use self::{
    building::{Building, NewEntry},
    ignition::Resource,
    payload::{POINTER, Pointer},
};
use super::{Format, Layer, Machine, TreeFile, What, digest::sha256_hex};

pub(super) use self::{configs::Documents, encoding::base64, pool::Pool};

/// The key of an Ignition config that names its replacement.
const REPLACE: &str = "ignition.config.replace";

/// The maximum depth of embedded documents.
const MOST_LAYERS: usize = 4;

/// The machine that these files of one node make.
pub(super) fn machine(files: Vec<TreeFile>, pool: &Pool) -> Machine {
    let mut building = Building::new(files, pool);
    let handed: Vec<_> = building.handed_over().collect();
    match handed.as_slice() {
        [file] => {
            let (path, encoding) = (file.described.path.clone(), file.described.encoding.clone());
            let bytes = file.bytes.clone();
            building.machine.document.clone_from(&path);
            // Another check reports a missing file by its digest.
            if let Some(bytes) = bytes {
                read(&mut building, &path, encoding.as_deref(), &bytes);
            }
        }
        several => {
            let (count, node) = (several.len(), building.machine.name.clone());
            let message = format!("{count} files of {node} are the one to hand over");
            building.fault("FL1006", super::MANIFEST, "", &message);
        }
    }
    building.finished()
}

/// Whether a file of the tree, used as the whole document, gives the same entries. The script that fetches a payload is
/// ignored: the whole document does not need it.
pub(super) fn lays_the_same(machine: &Machine, file: &TreeFile, pool: &Pool) -> bool {
    let mut building = Building::new(vec![file.clone()], pool);
    if let Some(bytes) = &file.bytes {
        read(&mut building, &file.described.path, None, bytes);
    }
    let copy = building.finished();
    let own: Vec<_> = machine.layers.iter().filter(|layer| layer.title == "payload").collect();
    let same = copy.root.entries.iter().all(|(path, entry)| {
        let other = machine.root.entries.get(path);
        other.is_some_and(|other| other.what == entry.what && other.mode == entry.mode)
    });
    copy.faults.is_empty() && !own.is_empty() && same
}

fn read(building: &mut Building<'_>, path: &str, encoding: Option<&str>, bytes: &[u8]) {
    let decoded = match encoding.unwrap_or("plain") {
        "plain" | "gzip" => Ok(bytes.to_vec()),
        "base64" | "gzip-base64" => encoding::base64(bytes),
        other => Err(format!("encoding {other:?} in manifest.json, which is not known")),
    };
    match decoded {
        Ok(bytes) => unwrap(building, path, "document", &bytes, 0),
        Err(why) => building.fault("FL1003", path, "", &why),
    }
}

/// Removes one encoding after the other.
fn unwrap(building: &mut Building<'_>, path: &str, title: &'static str, bytes: &[u8], depth: usize) {
    let inner = |wrapped: Result<Vec<u8>, String>, building: &mut Building<'_>| match wrapped {
        Ok(bytes) => unwrap(building, path, title, &bytes, depth + 1),
        Err(why) => building.fault("FL1003", path, "", &why),
    };
    if depth > MOST_LAYERS {
        building.fault("FL1003", path, "", "documents within each other without end");
    } else if encoding::is_gzip(bytes) {
        match encoding::gunzip_sharing(bytes, &building.pool.ends) {
            Some(halves) => {
                building.machine.end = Some(halves.end);
                unwrap(building, path, title, &halves.text, depth + 1);
            }
            None => inner(encoding::gunzip(bytes), building),
        }
    } else if bytes.starts_with(b"#cloud-config") {
        cloud_init(building, path, title, bytes);
    } else if bytes.trim_ascii_start().starts_with(b"{") {
        ignition(building, path, title, bytes, depth);
    } else if encoding::is_mime(bytes) {
        inner(encoding::mime(bytes), building);
    } else {
        building.fault("FL1003", path, "", "neither a cloud-config nor an Ignition config");
    }
}

fn cloud_init(building: &mut Building<'_>, path: &str, title: &'static str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned());
    let end = building.machine.end.clone();
    match text.and_then(|text| cloud_config::parse(path, text, end.as_ref(), building.pool)) {
        Ok(config) => {
            building.machine.innermost = Some(building.pool.share(bytes));
            let number = building.machine.layers.len();
            building.begin(path, title, Some(Format::CloudInit), Value::Null);
            cloud_config::unpack(building, path, &config);
            let layer = &mut building.machine.layers[number];
            (layer.config, layer.files) = (config.values, config.files);
            if building.machine.root.has(POINTER) {
                follow(building, path);
            }
        }
        Err(why) => building.fault("FL1003", path, "", &why),
    }
}

fn ignition(building: &mut Building<'_>, path: &str, title: &'static str, bytes: &[u8], depth: usize) {
    let config: Value = match serde_json::from_slice(bytes) {
        Ok(config) => config,
        Err(error) => return building.fault("FL1003", path, "", &not_json("JSON", &error)),
    };
    building.begin(path, title, Some(Format::Ignition), config.clone());
    match ignition::replacement(&config) {
        Some(inside) if inside.is_inside() => replace(building, path, &inside, depth),
        Some(elsewhere) => fetch(building, path, &elsewhere, depth),
        None => {
            building.machine.innermost = Some(building.pool.share(bytes));
            ignition::unpack(building, path, &config);
        }
    }
}

fn replace(building: &mut Building<'_>, path: &str, inside: &Resource, depth: usize) {
    let bytes = encoding::data_url(inside.source.as_deref().unwrap_or_default());
    match bytes.and_then(|bytes| inside.unpacked(bytes)) {
        Ok(bytes) => unwrap(building, path, "inner document", &bytes, depth + 1),
        Err(why) => building.fault("FL1004", path, REPLACE, &why),
    }
}

/// The payload of an Ignition document is another one.
fn fetch(building: &mut Building<'_>, path: &str, elsewhere: &Resource, depth: usize) {
    let Some((payload, bytes)) = payload(building, path) else {
        return;
    };
    let mut fault = |message: &str| building.fault("FL1004", path, REPLACE, message);
    if !elsewhere.has_digest() {
        fault("it names no digest, so whatever lies there becomes the machine");
    }
    match elsewhere.unpacked(bytes) {
        Ok(bytes) => {
            lies_there(building, path, REPLACE, elsewhere.source.as_deref());
            unwrap(building, &payload, "payload", &bytes, depth + 1);
        }
        Err(why) => fault(&format!("{payload}: {why}")),
    }
}

/// Reports a stub's URL that differs from the payload's URL in the manifest.
fn lies_there(building: &mut Building<'_>, path: &str, place: &str, url: Option<&str>) {
    let payload = building.machine.files.iter().find(|file| file.described.url.is_some());
    let Some(described) = payload.map(|file| &file.described) else {
        return;
    };
    // A query may be a signature: only the document may contain it, never a message.
    let url = url.unwrap_or_default().split('?').next().unwrap_or_default();
    let lies = described.url.as_deref().unwrap_or_default();
    if !is_same_place(url, lies) {
        let message = format!("it points at {url}; manifest.json has {} lie at {lies}", described.path);
        building.fault("FL1004", path, place, &message);
    }
}

/// Whether two URLs are equal; `azure://account/box/name` equals its server's form
/// `https://account.blob.core.windows.net/box/name`.
fn is_same_place(url: &str, lies: &str) -> bool {
    let served = url.starts_with("https://") && !lies.starts_with("http");
    let ((host, path), (store, name)) = (place(url), place(lies));
    let within = host.strip_prefix(store).is_some_and(|rest| rest.starts_with('.'));
    url == lies || (served && within && path == name)
}

/// Host and path of a URL.
fn place(url: &str) -> (&str, &str) {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    place.split_once('/').unwrap_or((place, ""))
}

/// The only payload of the node; reports a missing one.
fn payload(building: &mut Building<'_>, path: &str) -> Option<(String, Vec<u8>)> {
    let mut payloads = building
        .machine
        .files
        .iter()
        .filter(|file| file.described.url.is_some());
    let found = payloads
        .next()
        .map(|file| (file.described.path.clone(), file.bytes.clone()));
    match found {
        None => building.fault("FL1004", path, "", "it fetches a payload that the tree does not have"),
        Some((_, None)) => {}
        Some((name, Some(bytes))) => return Some((name, bytes.to_vec())),
    }
    None
}

/// The effect of a small document's script with [`POINTER`].
fn follow(building: &mut Building<'_>, path: &str) {
    let json = building.machine.text(POINTER).unwrap_or_default();
    let pointer: Pointer = match serde_json::from_str(json) {
        Ok(pointer) => pointer,
        Err(error) => return building.fault("FL1004", path, POINTER, &not_json("a pointer", &error)),
    };
    let Some((payload, bytes)) = payload(building, path) else {
        return;
    };
    let digest = sha256_hex(&bytes);
    if (digest.as_str(), bytes.len() as u64) != (&pointer.sha256, pointer.bytes) {
        let message = format!(
            "it points at {} bytes with sha256 {}; {payload} has {} with {digest}",
            pointer.bytes,
            pointer.sha256,
            bytes.len()
        );
        return building.fault("FL1004", path, POINTER, &message);
    }
    lies_there(building, path, POINTER, Some(&pointer.url));
    match pointer.unpacked(&bytes) {
        Ok(json) => {
            building.begin(&payload, "payload", None, Value::Null);
            if let Err(why) = payload::unpack(building, &pointer, &json) {
                building.fault("FL1004", &payload, "", &why);
            }
        }
        Err(why) => building.fault("FL1004", &payload, "", &why),
    }
}

/// The position of a JSON error; serde's own messages repeat values, which may be secret.
fn not_json(what: &str, error: &serde_json::Error) -> String {
    format!("not {what}: line {} column {}", error.line(), error.column())
}
