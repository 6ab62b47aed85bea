//! The files that may be requested, and the machines that may request them.

use std::collections::BTreeMap;

use firelay_tree::{DocumentFormat, Machine, Manifest, ManifestFile, machines, network_boot};

/// How the server identifies machines.
#[derive(Clone, Debug)]
pub enum KnownBy {
    /// MAC address and UUID, which a machine on the same network can claim.
    Address,
    /// Token by node; no other name is accepted.
    Token(BTreeMap<String, String>),
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A file of the tree.
    File(ManifestFile),
    /// An iPXE script of the tree, for a machine that is identified by a token.
    Script { file: ManifestFile, who: String },
    /// An empty file, for requests on which cloud-init waits.
    Empty,
}

/// A file that a machine may request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The node that it belongs to; `None` if it is public.
    pub(crate) node: Option<String>,
    pub(crate) content: Content,
    /// It contains secrets.
    pub(crate) secret: bool,
}

/// All files that may be requested, except those of the mirror.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: BTreeMap<(String, String), Entry>,
    first: Option<Entry>,
}

impl Catalog {
    /// The files of a tree for machines that are identified in this way.
    pub fn new(manifest: &Manifest, known: &KnownBy) -> Self {
        let mut catalog = Self::default();
        for machine in machines(manifest).values() {
            match known {
                KnownBy::Address => {
                    for who in network_boot::keys(machine.mac, machine.uuid) {
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
        // It redirects by MAC address and UUID.
        if matches!(known, KnownBy::Address) {
            let first = manifest
                .files
                .iter()
                .find(|file| file.path == network_boot::FIRST_SCRIPT);
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
        let mut contents = vec![(machine.document.format.file_name(), file(machine.document.file), true)];
        if machine.document.format == DocumentFormat::CloudInit {
            let beside = [
                ("meta-data", machine.meta_data),
                ("network-config", machine.network_config),
            ];
            contents.extend(beside.map(|(name, found)| (name, found.map_or(Content::Empty, file), false)));
            // Without an answer cloud-init waits and asks again (util.read_seeded).
            contents.push(("vendor-data", Content::Empty, false));
        }
        let mut scripts = network_boot::keys(machine.mac, machine.uuid).into_iter();
        let script = scripts.find_map(|key| {
            let path = network_boot::script(&key);
            manifest.files.iter().find(|file| file.path == path)
        });
        contents.extend(script.map(|found| {
            let (file, who) = (found.clone(), who.to_owned());
            let content = if token {
                Content::Script { file, who }
            } else {
                Content::File(file)
            };
            (network_boot::SCRIPT, content, false)
        }));
        let mut keys = network_boot::keys(machine.mac, machine.uuid).into_iter();
        let installer = keys.find_map(|key| {
            let path = network_boot::installer(&key);
            manifest.files.iter().find(|file| file.path == path)
        });
        contents.extend(installer.map(|found| (network_boot::INSTALLER, file(found), false)));
        for (name, content, secret) in contents {
            let entry = Entry {
                node: Some(machine.name.to_owned()),
                content,
                secret,
            };
            self.entries.insert((who.to_owned(), name.to_owned()), entry);
        }
    }

    /// A file of the machine of this name.
    pub(crate) fn find(&self, who: &str, file: &str) -> Option<&Entry> {
        let who = who.to_ascii_lowercase().replace(':', "-");
        self.entries.get(&(who, file.to_owned()))
    }

    /// The script that all machines begin with.
    pub(crate) fn first(&self) -> Option<&Entry> {
        self.first.as_ref()
    }

    /// The number of nodes that have files.
    pub fn nodes(&self) -> usize {
        let nodes = self.entries.values().map(|entry| entry.node.as_ref());
        nodes.collect::<std::collections::BTreeSet<_>>().len()
    }
}
