//! The files of a tree on disk, as they are, whatever their manifest says of their bytes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, DirEntry, FileType},
    io,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use super::{
    contents::Contents,
    judge::{Document, MachineFiles},
    known::Catalogue,
    layers::Unread,
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

/// Where the files of nodes lie.
const NODES: &str = "nodes";

/// No document that a platform takes comes near.
const LARGEST: u64 = 16 << 20;

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
        let mut shared = BTreeSet::from([PathBuf::from("manifest.json")]);
        let mut files: BTreeMap<&str, BTreeSet<PathBuf>> = BTreeMap::new();
        for file in &self.manifest.files {
            match &file.node {
                Some(node) => drop(files.entry(node).or_default().insert(file.path.clone().into())),
                None if FOR_PEOPLE.contains(&file.path.as_str()) => {}
                None => drop(shared.insert(file.path.clone().into())),
            }
        }
        for (node, paths) in &mut files {
            paths.extend(self.below(&Path::new(NODES).join(node))?);
        }
        shared.extend(self.strays(&files)?);
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

    fn document(&self, catalogue: &Catalogue, path: &Path) -> Result<Document, Error> {
        let contents = contents(catalogue, &self.root.join(path)).map_err(failed(&self.root.join(path)))?;
        Ok(Document {
            path: path.to_string_lossy().into_owned(),
            contents,
        })
    }

    /// What lies at the top and among the nodes, and is no node's.
    fn strays(&self, files: &BTreeMap<&str, BTreeSet<PathBuf>>) -> Result<BTreeSet<PathBuf>, Error> {
        // An image or a link that somebody laid beside the nodes is nobody's document.
        let is_small = |path: &PathBuf| {
            let file = fs::metadata(self.root.join(path));
            file.is_ok_and(|file| file.is_file() && file.len() <= LARGEST)
        };
        let top = self.entries(Path::new(""))?.into_iter().map(|(path, _)| path);
        let mut found: BTreeSet<_> = top.filter(is_small).collect();
        let of_a_node = |path: &Path| {
            path.file_name()
                .and_then(OsStr::to_str)
                .is_some_and(|name| files.contains_key(name))
        };
        for (path, kind) in self.entries(Path::new(NODES)).unwrap_or_default() {
            match kind.is_dir() {
                true if of_a_node(&path) => {}
                true => found.extend(self.below(&path)?),
                false => drop(found.insert(path)),
            }
        }
        found.retain(|path| !FOR_PEOPLE.iter().any(|own| path == Path::new(own)));
        Ok(found)
    }

    /// Everything below a directory but directories, also what no manifest names. Links are not followed to directories.
    fn below(&self, directory: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut found = Vec::new();
        for (path, kind) in self.entries(directory)? {
            match kind.is_dir() {
                true => found.extend(self.below(&path)?),
                false => found.push(path),
            }
        }
        Ok(found)
    }

    fn entries(&self, directory: &Path) -> Result<Vec<(PathBuf, FileType)>, Error> {
        let whole = self.root.join(directory);
        let entries = fs::read_dir(&whole).and_then(|entries| {
            let kind = |entry: io::Result<DirEntry>| {
                let entry = entry?;
                Ok((directory.join(entry.file_name()), entry.file_type()?))
            };
            entries.map(kind).collect()
        });
        entries.map_err(failed(&whole))
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Read {
        path: path.to_owned(),
        source,
    }
}

/// What is in a file, or a note that nobody looked: a pipe would never end.
fn contents(catalogue: &Catalogue, path: &Path) -> io::Result<Contents> {
    let of = |unread| Contents {
        unread: Some(unread),
        ..Contents::default()
    };
    match fs::metadata(path) {
        Ok(file) if !file.is_file() => Ok(of(Unread::NoFile)),
        Ok(file) if file.len() > LARGEST => Ok(of(Unread::Large)),
        Ok(_) => fs::read(path).map(|bytes| Contents::read(catalogue, &bytes)),
        Err(_) if fs::symlink_metadata(path).is_ok() => Ok(of(Unread::NoFile)),
        Err(error) => Err(error),
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
