//! The files of a tree on disk, without comparing their bytes with the manifest.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, DirEntry, FileType},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rayon::prelude::*;
use serde::Deserialize;

use firelay_base::encoding::sha256_hex;

use crate::{
    catalogue::Catalogue,
    contents::Contents,
    machine_files::{Document, MachineFiles, Payload, Role},
    search::SearchedFile,
    secret::Exposure,
    wraps::Unsearched,
};

/// A tree that cannot be audited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory has no manifest.
    #[error("there is no rendered tree at {path}: name the directory that `firelay render --out` writes", path = .0.display())]
    Missing(PathBuf),
    /// The manifest cannot be understood.
    #[error("{path} is not a manifest of firelay ({1}): restore it, or choose another output directory", path = .0.display())]
    Manifest(PathBuf, String),
    /// A file cannot be read.
    #[error("cannot read {path}: {1}", path = .0.display())]
    Read(PathBuf, #[source] io::Error),
}

/// Files with secrets for people or tools, not for machines.
const FOR_PEOPLE: [&str; 2] = ["admin.kubeconfig", "terraform/secrets.auto.tfvars.json"];

/// Directory of the nodes' files.
const NODES: &str = "nodes";

/// Name of the list of files.
const MANIFEST: &str = "manifest.json";

/// Machines that a processor takes at a time: of many, some would be left to one processor at the end.
const SHARE: usize = 16;

/// Far above every platform's limit for documents.
const LARGEST: u64 = 16 << 20;

/// The part of `manifest.json` that an audit reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    api_version: String,
    kind: String,
    cluster: String,
    bundle_fingerprint: String,
    files: Vec<ManifestFile>,
}

/// The part of a file's entry that an audit reads.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestFile {
    path: String,
    node: Option<String>,
    #[serde(default)]
    pool: bool,
    #[serde(default)]
    roles: Vec<Role>,
    platform: Option<String>,
    attribute: Option<String>,
    form: Option<String>,
    sha256: Option<String>,
    max_exposure: Option<Exposure>,
    url: Option<String>,
    sealed: Option<bool>,
}

impl ManifestFile {
    fn digest(&self) -> Option<(String, String)> {
        Some(self.path.clone()).zip(self.sha256.clone())
    }
}

/// A tree before it is searched.
pub struct Files {
    root: PathBuf,
    /// Name of the cluster.
    pub cluster: String,
    /// The bundle with which it was rendered.
    pub bundle_fingerprint: String,
    files: Vec<ManifestFile>,
    /// SHA-256 of each file as it was rendered, by its path.
    digests: BTreeMap<String, String>,
}

impl Files {
    /// Opens a tree.
    pub fn open(out: &Path) -> Result<Self, Error> {
        let missing = || Error::Missing(out.to_owned());
        let root = out.canonicalize().map_err(|_| missing())?;
        let path = root.join(MANIFEST);
        let text = match fs::read(&path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(missing());
            }
            read => read.map_err(failed(&path))?,
        };
        let manifest = Manifest::parse(&text).map_err(|reason| Error::Manifest(path, reason))?;
        Ok(Self {
            root,
            cluster: manifest.cluster,
            bundle_fingerprint: manifest.bundle_fingerprint,
            digests: manifest.files.iter().filter_map(ManifestFile::digest).collect(),
            files: manifest.files,
        })
    }

    /// Names of its nodes and pools.
    pub fn names(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(|file| file.node.as_deref()).collect()
    }

    /// Whether a machine of it is an external etcd member.
    pub fn external_etcd(&self) -> bool {
        self.files.iter().any(|file| file.roles.contains(&Role::Etcd))
    }

    /// Every machine with the contents of its files, and the files that belong to no machine.
    pub fn read(&self, catalogue: &Catalogue) -> Result<(Vec<MachineFiles>, Vec<Document>), Error> {
        let mut machines = machines(&self.files);
        let mut shared = BTreeSet::from([PathBuf::from(MANIFEST)]);
        let mut files: BTreeMap<&str, BTreeSet<PathBuf>> = BTreeMap::new();
        for file in &self.files {
            match &file.node {
                Some(node) => drop(files.entry(node).or_default().insert(file.path.clone().into())),
                None if FOR_PEOPLE.contains(&file.path.as_str()) => {}
                None => drop(shared.insert(file.path.clone().into())),
            }
        }
        shared.extend(self.strays(&files)?);
        // In large clusters, the record and the manifest take as long as hundreds of documents.
        let (shared, read) = rayon::join(
            || {
                let files = shared.par_iter();
                let files = files.map(|path| self.document(catalogue, path, &mut Vec::new()));
                files.collect::<Vec<_>>()
            },
            || {
                let machines = machines.par_iter_mut().with_max_len(SHARE);
                let read = machines.map(|machine| self.read_machine(catalogue, machine, &files));
                read.collect::<Vec<_>>()
            },
        );
        // The error of the first one, whichever processor is first.
        read.into_iter().collect::<Result<(), _>>()?;
        let shared = shared.into_iter().collect::<Result<_, _>>()?;
        Ok((machines, shared))
    }

    /// Reads the files of a machine: those of the manifest, and others in its directory.
    fn read_machine(
        &self,
        catalogue: &Catalogue,
        machine: &mut MachineFiles,
        files: &BTreeMap<&str, BTreeSet<PathBuf>>,
    ) -> Result<(), Error> {
        let mut paths = files.get(machine.name.as_str()).cloned().unwrap_or_default();
        paths.extend(self.below(&Path::new(NODES).join(&machine.name))?);
        let mut searched = Vec::new();
        let documents = paths.iter().map(|path| self.document(catalogue, path, &mut searched));
        machine.files = documents.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// A file, searched. It may hold one of the earlier files of its machine, and is added to them.
    fn document(&self, catalogue: &Catalogue, path: &Path, earlier: &mut Vec<SearchedFile>) -> Result<Document, Error> {
        let (contents, digest) =
            contents(catalogue, &self.root.join(path), earlier).map_err(failed(&self.root.join(path)))?;
        let path = path.to_string_lossy().into_owned();
        let rendered = self.digests.get(&path);
        Ok(Document {
            changed: rendered
                .zip(digest)
                .is_some_and(|(rendered, digest)| *rendered != digest),
            path,
            contents,
        })
    }

    /// Files at the top and among the nodes that belong to no node.
    fn strays(&self, files: &BTreeMap<&str, BTreeSet<PathBuf>>) -> Result<BTreeSet<PathBuf>, Error> {
        // An image, or a user's link beside the nodes, is no document.
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

    /// All files below a directory, also those that no manifest names. Links to directories are not followed.
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

impl Manifest {
    fn parse(text: &[u8]) -> Result<Self, String> {
        let manifest: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let Self { api_version, kind, .. } = &manifest;
        if (api_version.as_str(), kind.as_str()) != ("firelay.dev/v1alpha1", "Manifest") {
            return Err(format!("it is {api_version} {kind}"));
        }
        match manifest.files.iter().find(|file| !is_plain(&file.path)) {
            Some(file) => Err(format!("it names {:?}", file.path)),
            None => Ok(manifest),
        }
    }
}

/// A relative path that stays within the tree.
fn is_plain(path: &str) -> bool {
    let plain =
        |part: &str| !matches!(part, "" | "." | "..") && !part.contains(|it: char| it.is_control() || it == '\\');
    path.split('/').all(plain)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Read(path.to_owned(), source)
}

/// The contents of a file and its SHA-256, or the reason why it is not searched: a pipe would never end.
fn contents(
    catalogue: &Catalogue,
    path: &Path,
    earlier: &mut Vec<SearchedFile>,
) -> io::Result<(Arc<Contents>, Option<String>)> {
    let unsearched = |reason| {
        let contents = Contents {
            unsearched: Some(reason),
            ..Contents::default()
        };
        (Arc::new(contents), None)
    };
    match fs::metadata(path) {
        Ok(file) if !file.is_file() => Ok(unsearched(Unsearched::NoFile)),
        Ok(file) if file.len() > LARGEST => Ok(unsearched(Unsearched::Large)),
        Ok(_) => {
            let bytes = fs::read(path)?;
            let digest = sha256_hex(&bytes);
            let searched = Contents::read_after(catalogue, earlier, bytes);
            let contents = searched.contents.clone();
            earlier.push(searched);
            Ok((contents, Some(digest)))
        }
        Err(_) if fs::symlink_metadata(path).is_ok() => Ok(unsearched(Unsearched::NoFile)),
        Err(error) => Err(error),
    }
}

/// The machines of a manifest's files, in the order of their names, without contents.
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
            machine.form.clone_from(&file.form);
            machine.max_exposure = file.max_exposure;
        }
        if let Some(url) = &file.url {
            machine.payload = Some(Payload {
                url: url.clone(),
                sealed: file.sealed.unwrap_or_default(),
            });
        }
    }
    machines.into_values().collect()
}
