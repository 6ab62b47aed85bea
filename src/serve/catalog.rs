//! What may be asked for, and by whom.

use std::collections::BTreeMap;

use crate::{
    delivery::{Machine, Manifest, ManifestFile, machines, own_document, pxe},
    profile::DocumentFormat,
};

/// By what machines are known.
#[derive(Clone, Debug)]
pub enum KnownBy {
    /// MAC address and UUID, which a machine on the same network can claim.
    Address,
    /// Token by node; nothing else is taken.
    Token(BTreeMap<String, String>),
}

/// What is in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A file of the tree.
    File(ManifestFile),
    /// An iPXE script of the tree, for a machine that goes by another name.
    Script { file: ManifestFile, who: String },
    /// Nothing: what cloud-init asks for and waits for, and nobody has.
    Empty,
}

/// Something that a machine may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Whose it is; `None` for what is everybody's.
    pub(super) node: Option<String>,
    pub(super) content: Content,
    /// It holds secrets.
    pub(super) secret: bool,
}

/// Everything that may be asked for, but for the mirror.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: BTreeMap<(String, String), Entry>,
    first: Option<Entry>,
}

impl Catalog {
    /// What a tree has for machines that are known in this way.
    pub fn new(manifest: &Manifest, known: &KnownBy) -> Self {
        let mut catalog = Self::default();
        for machine in machines(manifest).values() {
            match known {
                KnownBy::Address => {
                    for who in pxe::keys(machine.mac, machine.uuid) {
                        catalog.add(manifest, machine, &who, false);
                    }
                }
                KnownBy::Token(tokens) => {
                    if let Some(token) = tokens.get(machine.name) {
                        catalog.add(manifest, machine, token, true);
                    }
                }
            }
        }
        // It leads on by MAC address and UUID.
        if matches!(known, KnownBy::Address) {
            let first = manifest.files.iter().find(|file| file.path == pxe::FIRST);
            catalog.first = first.map(|file| Entry {
                node: None,
                content: Content::File(file.clone()),
                secret: false,
            });
        }
        catalog
    }

    fn add(&mut self, manifest: &Manifest, machine: &Machine<'_>, who: &str, token: bool) {
        let file = |file: &ManifestFile| Content::File(file.clone());
        let mut contents = vec![(own_document(machine.document.format), file(machine.document.file), true)];
        if machine.document.format == DocumentFormat::CloudInit {
            let beside = [
                ("meta-data", machine.meta_data),
                ("network-config", machine.network_config),
            ];
            contents.extend(beside.map(|(name, found)| (name, found.map_or(Content::Empty, file), false)));
            // Without an answer cloud-init waits and asks again (util.read_seeded).
            contents.push(("vendor-data", Content::Empty, false));
        }
        let mut scripts = pxe::keys(machine.mac, machine.uuid).into_iter();
        let script = scripts.find_map(|key| {
            let path = pxe::script(&key);
            manifest.files.iter().find(|file| file.path == path)
        });
        contents.extend(script.map(|found| {
            let (file, who) = (found.clone(), who.to_owned());
            let content = if token {
                Content::Script { file, who }
            } else {
                Content::File(file)
            };
            (pxe::SCRIPT, content, false)
        }));
        for (name, content, secret) in contents {
            let entry = Entry {
                node: Some(machine.name.to_owned()),
                content,
                secret,
            };
            self.entries.insert((who.to_owned(), name.to_owned()), entry);
        }
    }

    /// What someone who goes by that name may have.
    pub(super) fn find(&self, who: &str, file: &str) -> Option<&Entry> {
        let who = who.to_ascii_lowercase().replace(':', "-");
        self.entries.get(&(who, file.to_owned()))
    }

    /// The script that all machines begin with.
    pub(super) fn first(&self) -> Option<&Entry> {
        self.first.as_ref()
    }

    /// How many nodes there is something for.
    pub fn nodes(&self) -> usize {
        let nodes = self.entries.values().map(|entry| entry.node.as_ref());
        nodes.collect::<std::collections::BTreeSet<_>>().len()
    }
}
