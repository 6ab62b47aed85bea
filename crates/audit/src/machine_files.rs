//! The files of a machine, and their contents.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{contents::Contents, secret::Exposure, shortened::Keys};

/// A role of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Role {
    ControlPlane,
    Worker,
    Etcd,
}

/// A file of a tree and its contents.
#[derive(Clone, Debug)]
pub struct Document {
    /// Path within the tree.
    pub path: String,
    /// Its contents.
    pub contents: Arc<Contents>,
    /// Whether its bytes are others than those that were rendered.
    pub changed: bool,
}

/// The files of a node or pool, and their delivery.
#[derive(Clone, Debug, Default)]
pub struct MachineFiles {
    /// Its name.
    pub name: String,
    /// It is a pool.
    pub pool: bool,
    /// Its roles.
    pub roles: Vec<Role>,
    /// Name of its platform.
    pub platform: String,
    /// The platform's field for the document.
    pub attribute: String,
    /// Path of the delivered file.
    pub given: String,
    /// In which form that has the document.
    pub form: Option<String>,
    /// The payload, if the document is a pointer.
    pub payload: Option<Payload>,
    /// `security.maxExposure`.
    pub max_exposure: Option<Exposure>,
    /// There are scripts with which it boots from the network.
    pub network_boot: bool,
    /// All of its files.
    pub files: Vec<Document>,
}

impl MachineFiles {
    /// Adds the certificates that its private keys complete.
    pub(crate) fn complete_certificates(&mut self) {
        let contents = || self.files.iter().map(|file| &file.contents);
        let shortened: BTreeSet<_> = contents().flat_map(|own| &own.shortened).collect();
        if shortened.is_empty() {
            return;
        }
        let mut keys = Keys {
            all: contents().flat_map(|own| own.keys.keys()).collect(),
            authorities: BTreeMap::new(),
        };
        for (key, certificates) in contents().flat_map(|own| &own.certificates) {
            for certificate in certificates.iter().filter(|own| own.authority) {
                let own = keys.authorities.entry(certificate.common_name.clone()).or_default();
                own.insert(key);
            }
        }
        let completed = keys.complete(&shortened).into_iter();
        let completed: Vec<_> = completed.map(|(key, certificate)| (key.clone(), certificate)).collect();
        if let Some(file) = self.files.first_mut() {
            let known = &mut Arc::make_mut(&mut file.contents).certificates;
            for (key, certificate) in completed {
                known.entry(key).or_default().insert(certificate);
            }
        }
    }
}

/// A payload at its location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Payload {
    /// Its URL.
    pub url: String,
    /// It is encrypted.
    pub sealed: bool,
}
