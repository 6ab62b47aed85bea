//! What a tree holds for each machine, read from its manifest.

use std::collections::BTreeMap;

use super::{Manifest, ManifestFile};
use crate::{
    document::{CloudInit, Ignition},
    profile::{DocumentFormat, Encoding},
};

/// A machine or pool, and the files of the tree that a datasource of its system asks for.
#[derive(Clone, Debug)]
pub struct Machine<'m> {
    /// Name of the node or pool.
    pub name: &'m str,
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

/// A document that a machine can read as it is: nothing has to decode it before.
#[derive(Clone, Copy, Debug)]
pub struct Document<'m> {
    /// Which system reads it.
    pub format: DocumentFormat,
    /// The file.
    pub file: &'m ManifestFile,
}

/// The machines of a tree by name. One whose document is not there is left out.
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
        mac: handed.and_then(|file| file.mac.as_deref()),
        uuid: handed.and_then(|file| file.uuid.as_deref()),
        document: document(handed, own)?,
        meta_data: own("meta-data"),
        network_config: own("network-config"),
    })
}

/// Name by which a system asks for its document.
pub(crate) fn own_document(format: DocumentFormat) -> &'static str {
    match format {
        DocumentFormat::CloudInit => CloudInit::FILE,
        DocumentFormat::Ignition => Ignition::FILE,
    }
}

/// What is handed over if it is text, else the readable document, which says the same.
fn document<'m>(
    handed: Option<&'m ManifestFile>,
    own: impl Fn(&str) -> Option<&'m ManifestFile>,
) -> Option<Document<'m>> {
    let formats = [DocumentFormat::CloudInit, DocumentFormat::Ignition];
    formats.into_iter().find_map(|format| {
        let text = own(own_document(format))?;
        let file = handed.filter(|file| file.encoding == Some(Encoding::Plain));
        Some(Document {
            format,
            file: file.unwrap_or(text),
        })
    })
}
