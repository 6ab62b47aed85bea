//! The tree as a whole: `manifest.json`, every file that it names, every machine unpacked.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rayon::prelude::*;

use super::{
    Finding, Machine,
    digest::sha256_hex,
    machine::Bytes,
    manifest::{Described, Manifest},
    public_keys,
    unpack::{self, Pool},
};

/// The number of machines that are read together, besides those that every part needs.
pub const PART: usize = 512;

/// Machines that a processor takes at a time: of many, some would be left to one processor at the end.
pub(super) const SHARE: usize = 8;

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// A file that a render of all nodes writes, and a render of some does not.
const OF_ALL: &str = "node-names";

/// `apiVersion` and `kind` of a manifest that can be read.
const READABLE: (&str, &str) = ("firelay.dev/v1alpha1", "Manifest");

/// The bytes of a file of the tree, by its path.
pub type Fetch<'a> = dyn Fn(&str) -> io::Result<Vec<u8>> + Sync + 'a;

/// Why there is nothing to verify.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no manifest.
    #[error("there is no rendered tree at {path}: name the directory that `firelay render --out` writes", path = .path.display())]
    None {
        /// The directory.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The manifest is invalid.
    #[error("manifest.json is not a manifest of firelay: {0}")]
    Manifest(String),
}

/// A file of the tree: its entry in `manifest.json`, and its bytes if it exists.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// Its entry in the manifest.
    pub described: Described,
    /// Its bytes; `None` for a file that is missing.
    pub bytes: Option<Bytes>,
}

impl TreeFile {
    /// Whether its bytes match the manifest.
    pub fn is_whole(&self) -> bool {
        self.bytes
            .as_ref()
            .is_some_and(|bytes| sha256_hex(bytes) == self.described.sha256)
    }
}

/// A tree, unpacked.
#[derive(Debug)]
pub struct Tree {
    /// Its manifest.
    pub manifest: Manifest,
    /// Every node and pool, by name.
    pub machines: Vec<Machine>,
    /// Files that are no node's, and those of nodes that are no document (`pxe/…`), by path.
    pub others: Vec<TreeFile>,
    /// Findings about files that could not be read; those of machines are theirs.
    pub faults: Vec<Finding>,
    pool: Arc<Pool>,
}

impl Tree {
    /// Reads the tree in a directory.
    pub fn open(out: &Path) -> Result<Self, Error> {
        Self::read(&manifest(out)?, &|name| file(&out.join(name)), out)
    }

    /// Reads the tree in a directory in parts, and keeps of each machine only what its boot order needs.
    pub fn open_order(out: &Path) -> Result<Self, Error> {
        let (mut machines, mut faults) = (Vec::new(), Vec::new());
        let tree = Self::open_parts(out, |part| {
            faults.extend(part.faults);
            machines.par_extend(part.machines.into_par_iter().map(Machine::without_documents));
        })?;
        Ok(Self {
            machines,
            faults: [tree.faults, faults].concat(),
            ..tree
        })
    }

    /// Reads the tree in a directory in parts of some machines, one after the other. Returns the tree without machines. Only files that
    /// machines boot from are read; the others have no bytes.
    pub fn open_parts(out: &Path, mut work: impl FnMut(Self)) -> Result<Self, Error> {
        let manifest = parsed(&manifest(out)?)?;
        let (of_machines, others): (Vec<_>, Vec<_>) =
            { manifest.files.iter() }.partition(|file| file.machine().is_some());
        let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for file in of_machines {
            parts.entry(file.machine()).or_default().push(file.clone());
        }
        let parts: Vec<_> = parts.into_values().collect();
        let others = others.into_iter().cloned().collect();
        let pool = Arc::<Pool>::default();
        let read = |files| {
            let manifest = Manifest {
                files,
                ..manifest.without_files()
            };
            let files = FilesToRead::Booted;
            Self::of(manifest, &|name| file(&out.join(name)), out, pool.clone(), files)
        };
        let tree = read(others)?;
        for part in parts.chunks(PART) {
            work(read(part.concat())?);
            pool.forget();
        }
        Ok(Self { manifest, ..tree })
    }

    /// Reads a tree with a function that provides its files; `out` is for messages only.
    pub fn read(manifest: &[u8], fetch: &Fetch<'_>, out: &Path) -> Result<Self, Error> {
        Self::of(parsed(manifest)?, fetch, out, Arc::default(), FilesToRead::All)
    }

    /// Reads what a manifest names.
    pub(super) fn of(
        manifest: Manifest,
        fetch: &Fetch<'_>,
        out: &Path,
        pool: Arc<Pool>,
        read: FilesToRead,
    ) -> Result<Self, Error> {
        let (plain, odd): (Vec<_>, Vec<_>) = manifest.files.iter().partition(|file| is_plain(&file.path));
        let files = plain.par_iter().with_max_len(SHARE);
        let files = files.map(|described| match read.has(described) {
            true => load(described, fetch, &pool, out),
            false => Ok(without_bytes(described)),
        });
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let (nodes, others) = by_node(files);
        let machines: Vec<_> = nodes
            .into_par_iter()
            .with_max_len(SHARE)
            .map(|files| {
                let mut machine = unpack::machine(files, &pool);
                public_keys::complete(&mut machine.root);
                machine
            })
            .collect();
        let faults = odd.into_iter().map(|file| {
            Finding::error("FL1001", MANIFEST, "the manifest names a file outside of the tree")
                .at(&file.path)
                .help("render the tree again")
        });
        Ok(Self {
            faults: faults.collect(),
            manifest,
            machines,
            others,
            pool,
        })
    }

    /// Where equal bytes are kept once.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Every file of the tree.
    pub fn files(&self) -> impl Iterator<Item = &TreeFile> {
        self.others
            .iter()
            .chain(self.machines.iter().flat_map(|machine| &machine.files))
    }
}

/// The files whose bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilesToRead {
    All,
    /// Documents that are handed over, and their payloads.
    Booted,
}

impl FilesToRead {
    fn has(self, file: &Described) -> bool {
        self == Self::All || file.attribute.is_some() || file.url.is_some()
    }
}

/// The maximum size of a file of a tree: larger than the manifest of a hundred thousand machines, smaller than a
/// machine's memory.
const MOST: u64 = 256 << 20;

/// The bytes of a file. Reading a pipe would block, and an endless file would fill the memory.
pub(super) fn file(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if found.len() > MOST {
        let message = format!("{} bytes, more than any file of a tree has", found.len());
        return Err(io::Error::other(message));
    }
    fs::read(path)
}

/// The bytes of the manifest in a directory.
pub(super) fn manifest(out: &Path) -> Result<Vec<u8>, Error> {
    let path = out.join(MANIFEST);
    file(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::None { path: out.to_owned() },
        _ => Error::Read { path, source },
    })
}

/// The manifest, if it is one that can be read.
pub(super) fn parsed(manifest: &[u8]) -> Result<Manifest, Error> {
    let mut manifest: Manifest =
        serde_json::from_slice(manifest).map_err(|error| Error::Manifest(error.to_string()))?;
    let machines = manifest.files.iter().filter_map(Described::machine);
    manifest.machines = machines.map(str::to_owned).collect();
    manifest.whole = manifest.files.iter().any(|file| file.path == OF_ALL);
    if (manifest.api_version.as_str(), manifest.kind.as_str()) == READABLE {
        return Ok(manifest);
    }
    Err(Error::Manifest(format!(
        "it is {} {}",
        manifest.api_version, manifest.kind
    )))
}

/// Stays within the tree.
fn is_plain(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains('\0')
}

fn without_bytes(described: &Described) -> TreeFile {
    TreeFile {
        described: described.clone(),
        bytes: None,
    }
}

fn load(described: &Described, fetch: &Fetch<'_>, pool: &Pool, out: &Path) -> Result<TreeFile, Error> {
    let bytes = match fetch(&described.path) {
        Ok(bytes) => Some(pool.share(&bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
        Err(source) => {
            let path = out.join(&described.path);
            return Err(Error::Read { path, source });
        }
    };
    Ok(TreeFile {
        described: described.clone(),
        bytes,
    })
}

/// Files below `nodes/NAME/`, by node, and all others.
fn by_node(files: Vec<TreeFile>) -> (Vec<Vec<TreeFile>>, Vec<TreeFile>) {
    let mut nodes: BTreeMap<String, Vec<TreeFile>> = BTreeMap::new();
    let mut others = Vec::new();
    for file in files {
        match file.described.machine().map(str::to_owned) {
            Some(node) => nodes.entry(node).or_default().push(file),
            None => others.push(file),
        }
    }
    (nodes.into_values().collect(), others)
}
