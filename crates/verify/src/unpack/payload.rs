//! The payload that a small document fetches on a system with cloud-init, and unpacks by firelay's own script.

use serde::Deserialize;

use super::{Building, NewEntry, age, encoding, not_json};
use crate::What;

/// The file that describes the payload.
pub(super) const POINTER: &str = "/etc/firelay/pointer.json";

/// The content of that file.
#[derive(Debug, Deserialize)]
pub(super) struct Pointer {
    pub(super) url: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    key: Option<String>,
    enable: Vec<String>,
}

/// The payload: the content of the whole document.
#[derive(Debug, Deserialize)]
struct Payload {
    /// Path and mode.
    directories: Vec<(String, u32)>,
    /// Path, mode and content.
    files: Vec<(String, u32, String)>,
    /// Path and target.
    links: Vec<(String, String)>,
}

impl Pointer {
    /// The JSON, decrypted and decompressed.
    pub(super) fn unpacked(&self, fetched: &[u8]) -> Result<Vec<u8>, String> {
        let Some(key) = &self.key else {
            return encoding::gunzip(fetched);
        };
        let identity = identity(key).ok_or("a key that is not 64 hex digits")?;
        encoding::gunzip(&age::open(fetched, &identity)?)
    }
}

fn identity(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Adds the entries of a payload.
pub(super) fn unpack(building: &mut Building<'_>, pointer: &Pointer, json: &[u8]) -> Result<(), String> {
    let payload: Payload = serde_json::from_slice(json).map_err(|error| not_json("a payload", &error))?;
    for (number, (path, mode)) in payload.directories.iter().enumerate() {
        building.directory(path, *mode, "root:root", &format!("directories[{number}]"));
    }
    for (number, (path, mode, content)) in payload.files.iter().enumerate() {
        building.add(NewEntry {
            path,
            what: What::File(building.pool.share(content.as_bytes())),
            mode: *mode,
            owner: "root:root",
            place: &format!("files[{number}]"),
            append: false,
        });
    }
    for (number, (path, target)) in payload.links.iter().enumerate() {
        building.add(NewEntry {
            path,
            what: What::Link(target.clone()),
            mode: 0o777,
            owner: "root:root",
            place: &format!("links[{number}]"),
            append: false,
        });
    }
    let units: Vec<_> = pointer.enable.iter().map(String::as_str).collect();
    building.enable(&units);
    Ok(())
}
