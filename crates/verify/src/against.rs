//! A tree against the one that its spec and bundle make now: every file by its bytes, and of those that differ the first place.
//!
//! Messages have places only: lines, fields and modes, and never a value, which may be secret.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
    sync::Arc,
};

use serde_json::Value;

use super::{
    Entry, Error, Fetch, Finding, MANIFEST, Machine, Manifest, Tree, What,
    manifest::Described,
    tree::{FilesToRead, parsed},
};

/// The default directory of `firelay seed` for volumes.
const VOLUMES: &str = "seed/";

/// Advice for every difference.
const AGAIN: &str = "render the tree again; nothing in it is changed by hand";

/// A tree: its manifest, and the source of its files.
#[derive(Clone, Copy)]
pub struct Other<'a> {
    /// The bytes of `manifest.json`.
    pub manifest: &'a [u8],
    /// The bytes of its files.
    pub fetch: &'a Fetch<'a>,
}

impl Other<'_> {
    fn get(&self, path: &str, out: &Path) -> Result<Option<Vec<u8>>, Error> {
        match (self.fetch)(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(source) => Err(Error::Read {
                path: out.join(path),
                source,
            }),
        }
    }
}

/// Every difference between what was rendered now and a tree; `present` are the files that the tree's directory has.
pub fn compare(
    rendered: Other<'_>,
    tree: Other<'_>,
    present: &BTreeSet<String>,
    out: &Path,
) -> Result<Vec<Finding>, Error> {
    let (wanted, own) = (parsed(rendered.manifest)?, parsed(tree.manifest)?);
    let mut findings = Vec::new();
    if rendered.manifest != tree.manifest {
        findings.push(differs(MANIFEST, rendered.manifest, tree.manifest));
    }
    let mut changed: BTreeMap<Option<&str>, Vec<&Described>> = BTreeMap::new();
    for file in &wanted.files {
        match tree.get(&file.path, out)? {
            None => findings.push(missing(&file.path)),
            Some(bytes) if rendered.get(&file.path, out)?.as_ref() == Some(&bytes) => {}
            Some(_) => changed.entry(file.machine()).or_default().push(file),
        }
    }
    for (machine, files) in changed {
        let within = match machine {
            Some(name) => documents(name, &wanted, rendered, tree, out)?,
            None => Vec::new(),
        };
        for file in files
            .iter()
            .filter(|file| !within.iter().any(|finding| finding.document == file.path))
        {
            let bytes = |of: Other<'_>| of.get(&file.path, out).map(Option::unwrap_or_default);
            findings.push(differs(&file.path, &bytes(rendered)?, &bytes(tree)?));
        }
        findings.extend(within);
    }
    findings.extend(foreign(&wanted, &own, present));
    findings.sort();
    findings.dedup();
    Ok(findings)
}

fn missing(path: &str) -> Finding {
    Finding::error(
        "FL1092",
        path,
        "the spec makes this file, and the tree does not have it",
    )
    .help(AGAIN)
}

fn differs(path: &str, wanted: &[u8], own: &[u8]) -> Finding {
    let message = format!("it is not what the spec makes: {}", first_difference(path, wanted, own));
    Finding::error("FL1091", path, message).help(AGAIN)
}

/// Files that the spec does not render to. Files in manifest.json would be delivered; the others are only present.
fn foreign(wanted: &Manifest, own: &Manifest, present: &BTreeSet<String>) -> Vec<Finding> {
    let made: BTreeSet<_> = wanted.files.iter().map(|file| file.path.as_str()).collect();
    let named: BTreeSet<_> = own.files.iter().map(|file| file.path.as_str()).collect();
    let strange = present.iter().map(String::as_str).chain(named.iter().copied());
    let strange: BTreeSet<_> = strange
        .filter(|path| !made.contains(path) && *path != MANIFEST)
        .collect();
    let told = |path: &str| {
        if named.contains(path) {
            let message = "manifest.json names this file, and the spec does not make it";
            Finding::error("FL1093", path, message).help(AGAIN)
        } else if path.starts_with(VOLUMES) {
            let message = "a volume of firelay seed, which was not compared";
            Finding::note("FL1093", path, message).help("firelay seed makes it anew from the documents")
        } else {
            Finding::warning("FL1093", path, "neither the spec nor manifest.json has this file")
                .help("remove it if it is not yours")
        }
    };
    strange.into_iter().map(told).collect()
}

/// Differences within a machine's documents: files on the machine, and settings of the document itself.
fn documents(
    name: &str,
    wanted: &Manifest,
    rendered: Other<'_>,
    tree: Other<'_>,
    out: &Path,
) -> Result<Vec<Finding>, Error> {
    let files = wanted.files.iter().filter(|file| file.machine() == Some(name));
    let files: Vec<_> = files.cloned().collect();
    let read = |of: Other<'_>| {
        let manifest = Manifest {
            files: files.clone(),
            ..wanted.without_files()
        };
        Ok(Tree::of(manifest, of.fetch, out, Arc::default(), FilesToRead::All)?
            .machines
            .pop())
    };
    let (Some(wanted), Some(own)) = (read(rendered)?, read(tree)?) else {
        return Ok(Vec::new());
    };
    let mut findings = entries(&wanted, &own);
    findings.extend(settings(&wanted, &own));
    Ok(findings)
}

/// Differences at each path of the machine.
fn entries(wanted: &Machine, own: &Machine) -> Vec<Finding> {
    let paths: BTreeSet<_> = wanted.root.entries.keys().chain(own.root.entries.keys()).collect();
    let mut findings = Vec::new();
    for path in paths {
        let document = match own.root.entries.contains_key(path) {
            true => own.document_of(path),
            false => wanted.document_of(path),
        };
        let message = match (wanted.root.entries.get(path), own.root.entries.get(path)) {
            (Some(wanted), Some(own)) => entry(path, wanted, own),
            (Some(_), None) => Some("the spec lays it, and the document does not".to_owned()),
            (None, _) => Some("the document lays it, and the spec does not".to_owned()),
        };
        findings.extend(message.map(|message| Finding::error("FL1091", document, message).at(path).help(AGAIN)));
    }
    findings
}

fn entry(path: &str, wanted: &Entry, own: &Entry) -> Option<String> {
    let what = match (&wanted.what, &own.what) {
        (What::File(wanted), What::File(own)) if wanted != own => Some(first_difference(path, wanted, own)),
        (wanted, own) if wanted != own => Some("it is a link to elsewhere, or of another kind".to_owned()),
        _ => None,
    };
    let mode =
        (wanted.mode != own.mode).then(|| format!("its mode is {:04o} in place of {:04o}", own.mode, wanted.mode));
    let owner = (wanted.owner != own.owner).then(|| "it has another owner".to_owned());
    let parts: Vec<_> = what.into_iter().chain(mode).chain(owner).collect();
    (!parts.is_empty()).then(|| format!("it is not what the spec makes: {}", parts.join("; ")))
}

/// Keys of a document whose contents are files.
const LAID: [&str; 2] = ["write_files", "storage"];

/// Settings of each document, except its files.
fn settings(wanted: &Machine, own: &Machine) -> Vec<Finding> {
    let layers = wanted.layers.iter().zip(&own.layers);
    layers
        .filter_map(|(wanted, own)| {
            let (one, other) = (without_files(&wanted.config), without_files(&own.config));
            let place = field(&one, &other, "")?;
            let message = format!("it is not what the spec makes: the first difference is in {place}");
            Some(Finding::error("FL1091", &own.document, message).help(AGAIN))
        })
        .collect()
}

fn without_files(config: &Value) -> Value {
    let mut config = config.clone();
    if let Some(entries) = config.as_object_mut() {
        entries.retain(|key, _| !LAID.contains(&key.as_str()));
    }
    let units = config.pointer_mut("/systemd/units").and_then(Value::as_array_mut);
    for unit in units.into_iter().flatten().filter_map(Value::as_object_mut) {
        unit.remove("contents");
        unit.remove("dropins");
    }
    // An embedded document is parsed separately.
    config
        .pointer_mut("/ignition/config/replace")
        .into_iter()
        .for_each(|inner| *inner = Value::Null);
    config
}

/// Where two files begin to differ.
fn first_difference(path: &str, wanted: &[u8], own: &[u8]) -> String {
    let same = wanted.iter().zip(own).take_while(|(wanted, own)| wanted == own).count();
    let (Ok(one), Ok(other)) = (std::str::from_utf8(wanted), std::str::from_utf8(own)) else {
        return format!("the first difference is in byte {}", same + 1);
    };
    let before = String::from_utf8_lossy(wanted.get(..same).unwrap_or_default());
    let line = before.matches('\n').count() + 1;
    let place = structured(path, one).zip(structured(path, other));
    match place.and_then(|(one, other)| document(&one, &other)) {
        Some(place) => format!("the first difference is in line {line}, the first field that differs is {place}"),
        None => format!("the first difference is in line {line}"),
    }
}

/// The documents of a file whose name shows that it is structured.
fn structured(path: &str, text: &str) -> Option<Vec<Value>> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".json", ".ign", ".pointer"]) {
        return Some(vec![serde_json::from_str(text).ok()?]);
    }
    let is_yaml =
        ends(&[".yaml", ".yml", ".kubeconfig"]) || ["user-data", "meta-data", "network-config"].contains(&name);
    let parts = firelay_yaml::split(text).into_iter().map(|range| &text[range]);
    let values = parts.map(|part| firelay_yaml::parse::<Value>(path, part).ok());
    is_yaml.then(|| values.collect())?
}

fn document(wanted: &[Value], own: &[Value]) -> Option<String> {
    let number = (0..wanted.len().max(own.len())).find(|number| wanted.get(*number) != own.get(*number))?;
    let place = match (wanted.get(number), own.get(number)) {
        (Some(wanted), Some(own)) => field(wanted, own, "")?,
        _ => "the whole of it".to_owned(),
    };
    Some(match wanted.len().max(own.len()) {
        1 => place,
        _ => format!("{place} of document {}", number + 1),
    })
}

/// The first field in which two values differ, such as `spec.containers[0].image`.
fn field(wanted: &Value, own: &Value, place: &str) -> Option<String> {
    match (wanted, own) {
        (Value::Object(wanted), Value::Object(own)) => {
            let keys: BTreeSet<_> = wanted.keys().chain(own.keys()).collect();
            keys.into_iter().find_map(|key| {
                let at = if place.is_empty() {
                    key.clone()
                } else {
                    format!("{place}.{key}")
                };
                field(
                    wanted.get(key).unwrap_or(&Value::Null),
                    own.get(key).unwrap_or(&Value::Null),
                    &at,
                )
            })
        }
        (Value::Array(wanted), Value::Array(own)) => (0..wanted.len().max(own.len())).find_map(|number| {
            let item = |list: &[Value]| list.get(number).cloned().unwrap_or_default();
            field(&item(wanted), &item(own), &format!("{place}[{number}]"))
        }),
        _ => (wanted != own).then(|| match place {
            "" => "the whole of it".to_owned(),
            place => place.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_has_names_and_numbers_and_no_values() {
        let wanted = json!({"a": [1, {"b": "secret"}], "c": 1});
        assert_eq!(
            field(&wanted, &json!({"a": [1, {"b": "other"}], "c": 2}), ""),
            Some("a[1].b".to_owned())
        );
        assert_eq!(field(&wanted, &json!({"a": [1], "c": 1}), ""), Some("a[1]".to_owned()));
        assert_eq!(field(&wanted, &wanted, ""), None);
        let said = first_difference("x.yaml", b"a: 1\nb: secret\n", b"a: 1\nb: other\n");
        assert_eq!(
            said,
            "the first difference is in line 2, the first field that differs is b"
        );
        assert_eq!(
            first_difference("x", b"\xff\x00", b"\xff\x01"),
            "the first difference is in byte 2"
        );
    }
}
