//! The files of a tree by machine, read from its manifest.

use std::collections::BTreeMap;

use crate::{DeliveryForm, DocumentFormat, Encoding, Manifest, ManifestFile};

/// A machine or pool, and the files of the tree that its system's datasource requests.
#[derive(Clone, Debug)]
pub struct Machine<'m> {
    /// Name of the node or pool.
    pub name: &'m str,
    /// It is a pool: its machines have names of their own.
    pub pool: bool,
    /// Runs from memory, so that it requests its document at each boot.
    pub memory: bool,
    /// MAC address of its boot interface, lower case with colons.
    pub mac: Option<&'m str>,
    /// SMBIOS UUID, lower case.
    pub uuid: Option<&'m str>,
    /// The document; secret.
    pub document: Document<'m>,
    /// `meta-data` of cloud-init, where the platform reads one.
    pub meta_data: Option<&'m ManifestFile>,
    /// `network-config` of cloud-init, likewise.
    pub network_config: Option<&'m ManifestFile>,
}

/// The document that a machine reads.
#[derive(Clone, Copy, Debug)]
pub struct Document<'m> {
    /// Which system reads it.
    pub format: DocumentFormat,
    /// The file. Only a pointer's stub may be encoded in it; of any other form there is the readable document.
    pub file: &'m ManifestFile,
}

impl Document<'_> {
    /// Whether a machine can read the file as it is.
    pub fn is_plain(&self) -> bool {
        self.file.encoding.is_none_or(|encoding| encoding == Encoding::Plain)
    }
}

/// The machines of a tree by name, without those whose document is missing.
pub fn machines(manifest: &Manifest) -> BTreeMap<&str, Machine<'_>> {
    let mut files: BTreeMap<&str, Vec<&ManifestFile>> = BTreeMap::new();
    for file in &manifest.files {
        if let Some(node) = &file.node {
            files.entry(node).or_default().push(file);
        }
    }
    let machines = files.into_iter();
    machines
        .filter_map(|(name, files)| Some((name, machine(name, &files)?)))
        .collect()
}

fn machine<'m>(name: &'m str, files: &[&'m ManifestFile]) -> Option<Machine<'m>> {
    let own = |wanted: &str| {
        let path = format!("nodes/{name}/{wanted}");
        files.iter().copied().find(|file| file.path == path)
    };
    let handed = files.iter().copied().find(|file| file.attribute.is_some());
    Some(Machine {
        name,
        pool: handed.is_some_and(|file| file.pool),
        memory: handed.is_some_and(|file| file.memory),
        mac: handed.and_then(|file| file.mac.as_deref()),
        uuid: handed.and_then(|file| file.uuid.as_deref()),
        document: document(handed, own)?,
        meta_data: own("meta-data"),
        network_config: own("network-config"),
    })
}

/// The delivered file, if it is plain text or a pointer; else the readable document with the same content.
fn document<'m>(
    handed: Option<&'m ManifestFile>,
    own: impl Fn(&str) -> Option<&'m ManifestFile>,
) -> Option<Document<'m>> {
    DocumentFormat::ALL.into_iter().find_map(|format| {
        let text = own(format.file_name())?;
        let file =
            handed.filter(|file| file.encoding == Some(Encoding::Plain) || file.form == Some(DeliveryForm::Pointer));
        Some(Document {
            format,
            file: file.unwrap_or(text),
        })
    })
}
