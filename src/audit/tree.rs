//! The files of a tree on disk, as they are, whatever their manifest says of their bytes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use super::{
    contents::Contents,
    judge::{Document, MachineFiles},
    known::Catalogue,
};
use crate::{
    delivery::{
        Manifest, ManifestFile,
        terraform::SecretVariables,
        tree::{self, TreeReader},
    },
    spec::Role,
};

/// A tree that cannot be audited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is none.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Files that hold secrets for people or tools, not for machines.
const FOR_PEOPLE: [&str; 2] = ["admin.kubeconfig", SecretVariables::PATH];

/// What is in a tree, before it is searched.
pub struct Files {
    root: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

impl Files {
    /// Opens a tree.
    pub fn open(out: &Path) -> Result<Self, Error> {
        let TreeReader { root, manifest } = TreeReader::open(out)?;
        Ok(Self { root, manifest })
    }

    /// Names of its nodes and pools.
    pub fn names(&self) -> BTreeSet<&str> {
        self.manifest
            .files
            .iter()
            .filter_map(|file| file.node.as_deref())
            .collect()
    }

    /// A machine of it is a member of an etcd of its own.
    pub fn external_etcd(&self) -> bool {
        self.manifest.files.iter().any(|file| file.roles.contains(&Role::Etcd))
    }

    /// Every machine with what is in its files, and the files of none.
    pub fn read(&self, catalogue: &Catalogue) -> Result<(Vec<MachineFiles>, Vec<Document>), Error> {
        let mut machines = machines(&self.manifest.files);
        let mut shared = BTreeSet::from(["manifest.json".to_owned()]);
        let mut files: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for file in &self.manifest.files {
            match &file.node {
                Some(node) => drop(files.entry(node).or_default().insert(file.path.clone())),
                None if FOR_PEOPLE.contains(&file.path.as_str()) => {}
                None => drop(shared.insert(file.path.clone())),
            }
        }
        for (node, paths) in &mut files {
            paths.extend(self.below(&format!("nodes/{node}"))?);
        }
        machines.par_iter_mut().try_for_each(|machine| {
            let paths = files.get(machine.name.as_str()).into_iter().flatten();
            machine.files = paths
                .map(|path| self.document(catalogue, path))
                .collect::<Result<_, _>>()?;
            Ok::<_, Error>(())
        })?;
        let shared = shared.iter().map(|path| self.document(catalogue, path));
        Ok((machines, shared.collect::<Result<_, _>>()?))
    }

    fn document(&self, catalogue: &Catalogue, path: &str) -> Result<Document, Error> {
        let whole = self.root.join(path);
        let bytes = fs::read(&whole).map_err(|source| Error::Read { path: whole, source })?;
        Ok(Document {
            path: path.to_owned(),
            contents: Contents::read(catalogue, &bytes),
        })
    }

    /// Files of a directory, also those that no manifest names.
    fn below(&self, directory: &str) -> Result<Vec<String>, Error> {
        let whole = self.root.join(directory);
        let failed = |source| Error::Read {
            path: whole.clone(),
            source,
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(&whole).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
            match entry.file_type().map_err(failed)? {
                kind if kind.is_dir() => found.extend(self.below(&path)?),
                kind if kind.is_file() => found.push(path),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The machines that a manifest's files are for, in the order of their names, without what is in the files.
pub fn machines<'m>(files: impl IntoIterator<Item = &'m ManifestFile>) -> Vec<MachineFiles> {
    let mut machines: BTreeMap<&str, MachineFiles> = BTreeMap::new();
    for file in files {
        let Some(node) = &file.node else { continue };
        let machine = machines.entry(node).or_default();
        machine.name.clone_from(node);
        machine.pool |= file.pool;
        machine.network_boot |= file.path.starts_with("pxe/");
        if machine.roles.is_empty() {
            machine.roles.clone_from(&file.roles);
        }
        if let Some(platform) = &file.platform {
            machine.platform.clone_from(platform);
        }
        if let Some(attribute) = &file.attribute {
            machine.attribute.clone_from(attribute);
            machine.given.clone_from(&file.path);
            machine.rung = file.rung;
            machine.max_exposure = file.max_exposure;
        }
        if let Some(url) = &file.url {
            machine.payload = Some((url.clone(), file.sealed.unwrap_or_default()));
        }
    }
    machines.into_values().collect()
}
