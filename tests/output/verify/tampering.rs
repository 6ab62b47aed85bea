//! A tree in memory, and changes that keep everything else consistent: documents are packed again, and `manifest.json`
//! gets their new sizes and digests.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::Path,
    sync::{LazyLock, Mutex, PoisonError},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay_verify::{Finding, Other, Tree};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::{OffsetDateTime, macros::datetime};

use super::support;

/// A day on which the certificates of the fixed bundles are valid; the same as `support::NOW`.
pub const NOW: OffsetDateTime = datetime!(2026-12-01 0:00 UTC);

static RENDERED: LazyLock<Mutex<BTreeMap<String, Tampered>>> = LazyLock::new(Mutex::default);

#[derive(Clone)]
pub struct Tampered {
    pub manifest: Value,
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Tampered {
    /// The tree of an example, rendered once.
    pub fn of(name: &str) -> Self {
        let mut rendered = RENDERED.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = rendered.entry(name.to_owned()).or_insert_with(|| Self::render(name));
        tree.clone()
    }

    fn render(name: &str) -> Self {
        Self::read(support::rendered(name))
    }

    /// The tree in a directory.
    pub fn read(out: &Path) -> Self {
        let mut files: BTreeMap<_, _> = support::tree(out)
            .into_iter()
            .filter_map(|(path, entry)| Some((path, entry.content?)))
            .collect();
        let manifest = serde_json::from_slice(&files.remove("manifest.json").unwrap()).unwrap();
        Self { manifest, files }
    }

    /// The findings of verify.
    pub fn findings(&self, now: OffsetDateTime) -> Vec<Finding> {
        let fetch = |path: &str| {
            self.files
                .get(path)
                .cloned()
                .ok_or_else(|| io::ErrorKind::NotFound.into())
        };
        let tree = Tree::read(self.manifest.to_string().as_bytes(), &fetch, Path::new("out")).unwrap();
        firelay_verify::check(&tree, now)
    }

    /// Differences from the tree that its spec renders to.
    pub fn against(&self, original: &Self) -> Vec<Finding> {
        let bytes = |of: &Self, path: &str| {
            of.files
                .get(path)
                .cloned()
                .ok_or_else(|| io::ErrorKind::NotFound.into())
        };
        let (rendered, own) = (|path: &str| bytes(original, path), |path: &str| bytes(self, path));
        let (one, other) = (original.manifest.to_string(), self.manifest.to_string());
        let compared = firelay_verify::compare(
            Other {
                manifest: one.as_bytes(),
                fetch: &rendered,
            },
            Other {
                manifest: other.as_bytes(),
                fetch: &own,
            },
            &self.files.keys().cloned().collect(),
            Path::new("out"),
        );
        compared.unwrap()
    }

    /// Writes the tree to a directory.
    pub fn write(&self, out: &Path) {
        for (path, bytes) in &self.files {
            let path = out.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        std::fs::write(out.join("manifest.json"), self.manifest.to_string()).unwrap();
    }

    /// The manifest's entry for a file.
    pub fn described(&mut self, path: &str) -> &mut Value {
        let mut files = self.manifest["files"].as_array_mut().unwrap().iter_mut();
        files
            .find(|file| file["path"] == path)
            .unwrap_or_else(|| panic!("no {path}"))
    }

    /// Replaces a file's bytes and updates the manifest.
    pub fn put(&mut self, path: &str, bytes: Vec<u8>) {
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let described = self.described(path);
        described["bytes"] = bytes.len().into();
        described["sha256"] = digest.into();
        if described.get("counted").is_some() {
            described["counted"] = bytes.len().into();
            described["limit"] = Value::Null;
        }
        self.files.insert(path.to_owned(), bytes);
    }

    /// The delivered file of a node, its form and its encoding.
    fn handed_over(&self, node: &str) -> (String, String, String) {
        let mut files = self.manifest["files"].as_array().unwrap().iter();
        let file = files
            .find(|file| file["node"] == node && file.get("attribute").is_some())
            .unwrap();
        let text = |key: &str| file[key].as_str().unwrap().to_owned();
        (text("path"), text("form"), text("encoding"))
    }

    /// The readable document of a node.
    fn readable(&self, node: &str) -> String {
        let names = ["user-data", "config.ign"].map(|name| format!("nodes/{node}/{name}"));
        names.into_iter().find(|path| self.files.contains_key(path)).unwrap()
    }

    /// Changes a node's document, in all of its forms.
    pub fn edit(&mut self, node: &str, change: impl FnOnce(&mut Value)) {
        let path = self.readable(node);
        let text = String::from_utf8(self.files[&path].clone()).unwrap();
        let is_cloud_init = path.ends_with("user-data");
        let mut config = if is_cloud_init {
            support::pyyaml(&text).remove(0)
        } else {
            serde_json::from_str(&text).unwrap()
        };
        change(&mut config);
        // JSON is valid YAML.
        let text = if is_cloud_init {
            format!("#cloud-config\n{config}\n")
        } else {
            config.to_string()
        };
        self.pack(node, text);
    }

    /// Changes the text of a node's document, in all of its forms.
    pub fn edit_text(&mut self, node: &str, change: impl FnOnce(&str) -> String) {
        let text = change(std::str::from_utf8(&self.files[&self.readable(node)]).unwrap());
        self.pack(node, text);
    }

    fn pack(&mut self, node: &str, text: String) {
        let path = self.readable(node);
        let (handed, form, encoding) = self.handed_over(node);
        let body = match form.as_str() {
            "inner" => format!(
                "Content-Type: application/gzip\nMIME-Version: 1.0\nContent-Transfer-Encoding: base64\n\n{}\n",
                STANDARD.encode(gzip(text.as_bytes()))
            ),
            "plain" | "compressed" => text.clone(),
            form => panic!("{form} cannot be packed again"),
        };
        let bytes = if encoding.starts_with("gzip") {
            gzip(body.as_bytes())
        } else {
            body.into_bytes()
        };
        let bytes = if encoding.ends_with("base64") {
            STANDARD.encode(bytes).into_bytes()
        } else {
            bytes
        };
        self.put(&path, text.into_bytes());
        self.put(&handed, bytes);
    }

    /// Changes the text of a file on a node.
    pub fn edit_file(&mut self, node: &str, path: &str, change: impl FnOnce(&str) -> String) {
        self.edit(node, |config| {
            if let Some(unit) = unit(config, path) {
                let text = change(unit["contents"].as_str().unwrap());
                unit["contents"] = text.into();
                return;
            }
            let file = list(config)
                .iter_mut()
                .find(|file| file["path"] == path)
                .unwrap_or_else(|| panic!("no {path}"));
            match file.get("content").cloned() {
                Some(content) => {
                    assert!(file.get("encoding").is_none(), "{path}");
                    file["content"] = change(content.as_str().unwrap()).into();
                }
                None => {
                    let source = file["contents"]["source"].as_str().unwrap();
                    let text = String::from_utf8(support::data_url(source, None)).unwrap();
                    file["contents"]["source"] = format!("data:;base64,{}", STANDARD.encode(change(&text))).into();
                }
            }
        });
    }

    /// Replaces one text by another in a file on a node.
    pub fn replace(&mut self, node: &str, path: &str, from: &str, to: &str) {
        self.edit_file(node, path, |text| {
            assert!(text.contains(from), "{path} has no {from}");
            text.replace(from, to)
        });
    }

    /// The text of a file on a node.
    pub fn text(&mut self, node: &str, path: &str) -> String {
        let mut found = String::new();
        let mut copy = self.clone();
        copy.edit_file(node, path, |text| {
            text.clone_into(&mut found);
            found.clone()
        });
        found
    }

    /// Removes a file from a node.
    pub fn remove(&mut self, node: &str, path: &str) {
        self.edit(node, |config| {
            let files = list(config);
            let before = files.len();
            files.retain(|file| file["path"] != path);
            assert_eq!(files.len() + 1, before, "{path}");
        });
    }

    /// Adds a file to a node.
    pub fn add(&mut self, node: &str, path: &str, content: &str) {
        self.edit(node, |config| {
            let is_ignition = config.get("ignition").is_some();
            let source = format!("data:;base64,{}", STANDARD.encode(content));
            list(config).push(match is_ignition {
                true => json!({"path": path, "mode": 420, "contents": {"source": source}}),
                false => json!({"path": path, "permissions": "0644", "content": content}),
            });
        });
    }

    /// Sets the permissions of a file on a node with cloud-init.
    pub fn permit(&mut self, node: &str, path: &str, permissions: &str) {
        self.edit(node, |config| {
            let file = list(config).iter_mut().find(|file| file["path"] == path);
            file.unwrap_or_else(|| panic!("no {path}"))["permissions"] = permissions.into();
        });
    }
}

fn list(config: &mut Value) -> &mut Vec<Value> {
    let files = match config.get("write_files").is_some() {
        true => &mut config["write_files"],
        false => &mut config["storage"]["files"],
    };
    files.as_array_mut().unwrap()
}

fn unit<'a>(config: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let name = path.strip_prefix("/etc/systemd/system/")?;
    let units = config.get_mut("systemd")?["units"].as_array_mut()?;
    units.iter_mut().find(|unit| unit["name"] == name)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
