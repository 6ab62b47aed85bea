//! A machine while its documents are read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::{Format, Layer, Machine, Pool, TreeFile, What, configs};
use crate::{Entry, Finding, Mount, Root};

/// The chain's lists of mounts, and the field of a line with the directory.
const MOUNT_LISTS: [(&str, usize); 2] = [("/etc/firelay/disks", 3), ("/etc/firelay/mounts", 1)];

/// A machine, and what is needed to read its documents.
pub(super) struct Building<'a> {
    pub(super) machine: Machine,
    pub(super) pool: &'a Pool,
}

/// One entry of a document.
pub(super) struct NewEntry<'a> {
    pub(super) path: &'a str,
    pub(super) what: What,
    pub(super) mode: u32,
    pub(super) owner: &'a str,
    pub(super) place: &'a str,
    /// It is appended to the file.
    pub(super) append: bool,
}

impl<'a> Building<'a> {
    /// Starts with the files of one node.
    pub(super) fn new(files: Vec<TreeFile>, pool: &'a Pool) -> Self {
        let first = files.first().map(|file| file.described.clone()).unwrap_or_default();
        let platform = files.iter().find_map(|file| file.described.platform.clone());
        let machine = Machine {
            name: first.node.unwrap_or_default(),
            pool: first.pool,
            roles: first.roles,
            platform: platform.unwrap_or_default(),
            format: Format::CloudInit,
            document: String::new(),
            files,
            layers: Vec::new(),
            root: Root {
                entries: BTreeMap::new(),
            },
            commands: Vec::new(),
            enabled: BTreeSet::new(),
            masked: BTreeSet::new(),
            mounts: Vec::new(),
            users: BTreeSet::new(),
            configs: Vec::new(),
            innermost: None,
            end: None,
            faults: Vec::new(),
        };
        Self { machine, pool }
    }

    /// Files that the manifest marks for delivery.
    pub(super) fn handed_over(&self) -> impl Iterator<Item = &TreeFile> {
        self.machine
            .files
            .iter()
            .filter(|file| file.described.attribute.is_some())
    }

    /// Begins with another document.
    pub(super) fn begin(&mut self, document: &str, title: &'static str, format: Option<Format>, config: Value) {
        if self.machine.layers.is_empty() {
            self.machine.format = format.unwrap_or(Format::CloudInit);
        }
        self.machine.layers.push(Layer {
            document: document.to_owned(),
            title,
            format,
            config,
            files: Vec::new(),
            paths: Vec::new(),
        });
    }

    /// Adds an entry; it replaces an earlier document's entry at the same path, as on a machine.
    pub(super) fn add(&mut self, new: NewEntry<'_>) {
        let number = self.machine.layers.len().saturating_sub(1);
        if let Some(layer) = self.machine.layers.last_mut().filter(|_| !new.append) {
            layer.paths.push((new.path.to_owned(), new.place.to_owned()));
        }
        let mut what = new.what;
        if let (true, What::File(more), Some(before)) = (new.append, &what, self.machine.root.bytes(new.path)) {
            what = What::File(Arc::from([before.as_ref(), more.as_ref()].concat()));
        }
        let entry = Entry {
            what,
            mode: new.mode,
            owner: new.owner.to_owned(),
            layer: number,
            place: new.place.to_owned(),
        };
        self.machine.root.entries.insert(new.path.to_owned(), entry);
    }

    /// Makes a directory.
    pub(super) fn directory(&mut self, path: &str, mode: u32, owner: &str, place: &str) {
        self.add(NewEntry {
            path,
            what: What::Directory,
            mode,
            owner,
            place,
            append: false,
        });
    }

    /// Enables units.
    pub(super) fn enable(&mut self, units: &[&str]) {
        let units = units.iter().filter(|unit| !unit.starts_with('-'));
        self.machine.enabled.extend(units.map(|unit| (*unit).to_owned()));
    }

    /// Masks units.
    pub(super) fn mask(&mut self, units: &[&str]) {
        self.machine.masked.extend(units.iter().map(|unit| (*unit).to_owned()));
    }

    /// Something is mounted.
    pub(super) fn mount(&mut self, source: &str, path: &str, said_in: &str) {
        self.machine.mounts.push(Mount {
            source: source.to_owned(),
            path: path.to_owned(),
            said_in: said_in.to_owned(),
        });
    }

    /// Something cannot be read.
    pub(super) fn fault(&mut self, code: &'static str, document: &str, place: &str, message: &str) {
        let finding = Finding::error(code, document, message);
        let finding = if place.is_empty() { finding } else { finding.at(place) };
        self.machine.faults.push(finding);
    }

    /// The machine, with what the chain mounts.
    pub(super) fn finished(mut self) -> Machine {
        for (list, column) in MOUNT_LISTS {
            let lines: Vec<_> = self
                .machine
                .text(list)
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect();
            for line in lines {
                let words: Vec<_> = line.split_whitespace().collect();
                if let (Some(source), Some(path)) = (words.first(), words.get(column)) {
                    self.mount(source, path, list);
                }
            }
        }
        let (configs, faults) = configs::read(&self.machine, self.pool);
        self.machine.configs = configs;
        self.machine.faults.extend(faults);
        self.machine
    }
}
