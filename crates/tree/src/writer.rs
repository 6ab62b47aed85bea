//! The output tree, written atomically.
//!
//! The new tree is built next to the old one. [`TreeWriter::finish`] checks that no foreign file is in the way, keeps
//! the user's own files, syncs everything, and exchanges the two trees in one step. If the program is killed, the tree
//! is the old one or the new one. Where trees cannot be exchanged the files are replaced one by one, `manifest.json`
//! last. Dropping the writer before that leaves the tree unchanged.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use firelay_base::{disk::undisturbed, encoding::sha256_hex};
use rayon::prelude::*;

use crate::{
    Error, Manifest, ManifestFile,
    carry::{Ours, carry, resemble},
    disk::{Lock, Root, failed, lock, sync},
    exchange, in_place,
    names::{GITIGNORE, MANIFEST, check_name, is_update, parents},
    reader::{self, UnlockedManifest, last_manifest_or, owned_files},
    staging::{Staging, stale_staging},
};

/// The file that keeps secrets out of version control.
pub fn gitignore() -> (ManifestFile, Vec<u8>) {
    let (path, bytes) = GITIGNORE;
    (ManifestFile::new(path), bytes.to_vec())
}

/// The changes of a render.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that are new or have other bytes.
    pub written: Vec<String>,
    /// Files that already had these bytes and were not written.
    pub unchanged: Vec<String>,
    /// Files of the last render that this one has not.
    pub removed: Vec<String>,
    /// Directories next to the tree that were not removed, because they contain foreign files.
    pub left: Vec<PathBuf>,
}

/// Writes one tree; may be shared by threads.
#[derive(Debug)]
pub struct TreeWriter {
    // Dropped in this order: the staging directory is in the root, and the root is locked.
    staging: Staging,
    root: Root,
    entries: Mutex<BTreeMap<String, Entry>>,
    /// Files that are firelay's to replace or remove.
    owned: BTreeSet<String>,
    /// The manifest of the last render.
    last: Option<Manifest>,
    /// Staging directories of runs that died; they are removed when all is well again.
    stale: Vec<PathBuf>,
    /// Old trees next to this one that could not be removed.
    left: Vec<PathBuf>,
    _lock: Lock,
}

#[derive(Debug)]
struct Entry {
    described: ManifestFile,
    /// The tree in place has another file of this name, or none; the new one is in the staging directory.
    changed: bool,
}

impl Entry {
    /// A file that stays as it is.
    fn kept(described: &ManifestFile) -> Self {
        Self {
            described: described.clone(),
            changed: false,
        }
    }
}

impl TreeWriter {
    /// Creates the directory if it is missing, locks it, removes leftovers of killed runs, and reads the last manifest.
    pub fn begin(out: &Path) -> Result<Self, Error> {
        Self::begin_after(out, None)
    }

    /// The same for a caller that has read the manifest before. It is parsed again only if it has another text now.
    pub fn begin_after(out: &Path, unlocked: Option<UnlockedManifest>) -> Result<Self, Error> {
        let root = Root::open(out)?;
        let lock = lock(&root.path)?;
        let left = exchange::clear(&root.path);
        let stale = stale_staging(&root.path)?;
        let last = last_manifest_or(&root.path.join(MANIFEST), unlocked)?;
        let writer = Self {
            staging: Staging::create(&root.path)?,
            root,
            entries: Mutex::default(),
            owned: owned_files(last.as_ref(), &stale),
            last,
            stale,
            left,
            _lock: lock,
        };
        writer.put(ManifestFile::new(GITIGNORE.0), GITIGNORE.1)?;
        whole(writer.staging.path(), || writer.mark())?;
        Ok(writer)
    }

    /// The first file of the new tree, by which the next run knows what a killed one has left.
    fn mark(&self) -> Result<(), Error> {
        match self.staging.at(GITIGNORE.0).exists() || !self.staging.beside {
            true => Ok(()),
            false => self.staging.take(&self.root.path, GITIGNORE.0),
        }
    }

    /// The manifest of the last render into this directory.
    pub fn last(&self) -> Option<&Manifest> {
        self.last.as_ref()
    }

    /// The file of this name of the last render, if it has one.
    pub fn read_last(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let last = self.last.iter().flat_map(|last| &last.files);
        match { last }.find(|file| file.path == path) {
            Some(described) => reader::read(&self.root.path, described).map(Some),
            None => Ok(None),
        }
    }

    /// Refuses what [`TreeWriter::finish`] would refuse, before anything else is done that cannot be undone.
    pub fn check(&self) -> Result<(), Error> {
        self.refuse_foreign(&self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a file; fills in its size and digest. Bytes that the tree already has are not written again.
    pub fn put(&self, mut described: ManifestFile, bytes: &[u8]) -> Result<(), Error> {
        check_name(&described.path)?;
        described.bytes = bytes.len() as u64;
        described.sha256 = sha256_hex(bytes);
        let path = described.path.clone();
        // A foreign file of this name is refused later, whatever it holds.
        let changed = !(self.owned.contains(&path) && self.has(&path, bytes));
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.insert(path.clone(), Entry { described, changed }).is_some() {
            return Err(Error::Duplicate { path });
        }
        drop(entries);
        match changed {
            true => whole(self.staging.path(), || self.staging.write(&path, bytes)),
            false => Ok(()),
        }
    }

    /// Keeps files of the last render, those that `which` selects. A file that differs from the last manifest, or a
    /// node without documents, is refused: the new manifest would confirm them. A missing file of no node, such as a
    /// kubeconfig that was moved away, is omitted.
    pub fn keep(&self, which: impl Fn(&ManifestFile) -> bool) -> Result<(), Error> {
        let last = self.last.iter().flat_map(|last| &last.files);
        let files: Vec<_> = last.filter(|file| which(file)).collect();
        let kept = files.par_iter().map(|file| self.keep_one(file));
        let kept = kept.collect::<Result<Vec<_>, _>>()?;
        let of = |wanted| {
            let found = files.iter().zip(&kept).filter(|(_, kept)| **kept == wanted);
            found.map(|(file, _)| file.path.clone()).collect::<Vec<_>>()
        };
        let (gone, changed) = (of(Kept::Gone), of(Kept::Changed));
        if !gone.is_empty() {
            Err(Error::Gone { paths: gone })
        } else if !changed.is_empty() {
            Err(Error::Changed { paths: changed })
        } else {
            Ok(())
        }
    }

    fn keep_one(&self, described: &ManifestFile) -> Result<Kept, Error> {
        let path = self.root.path.join(&described.path);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && described.node.is_some() => return Ok(Kept::Gone),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::LeftOut),
            read => read.map_err(failed("read", &path))?,
        };
        if sha256_hex(&bytes) != described.sha256 {
            return Ok(Kept::Changed);
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let btree_map::Entry::Vacant(vacant) = entries.entry(described.path.clone()) {
            vacant.insert(Entry::kept(described));
        }
        Ok(Kept::Same)
    }

    /// Whether all files of a machine were put with the bytes and the description that they have in the last manifest.
    pub fn is_unchanged(&self, node: &str) -> bool {
        let last = self.last_files(|file| file.node.as_deref() == Some(node));
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let own = entries
            .values()
            .filter(|entry| entry.described.node.as_deref() == Some(node));
        let (unchanged, changed): (Vec<_>, Vec<_>) = own.partition(|entry| !entry.changed);
        changed.is_empty() && last.into_iter().eq(unchanged.iter().map(|entry| &entry.described))
    }

    /// Keeps the files of each machine that are all as the last manifest describes them, and returns the names of these machines.
    pub fn keep_machines<'n>(&self, nodes: &BTreeSet<&'n str>) -> BTreeSet<&'n str> {
        let mut files: BTreeMap<&str, Vec<&ManifestFile>> = BTreeMap::new();
        for file in self.last_files(|file| file.node.is_some()) {
            files
                .entry(file.node.as_deref().unwrap_or_default())
                .or_default()
                .push(file);
        }
        let is_kept = |node: &&&str| files.get(**node).is_some_and(|files| self.keep_machine(files));
        nodes.par_iter().filter(is_kept).copied().collect()
    }

    fn keep_machine(&self, files: &[&ManifestFile]) -> bool {
        let is_whole = |file: &ManifestFile| {
            let path = self.root.path.join(&file.path);
            is_private(&path, file.bytes) && fs::read(&path).is_ok_and(|bytes| sha256_hex(&bytes) == file.sha256)
        };
        let whole = files.iter().all(|file| is_whole(file));
        if whole {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            entries.extend(files.iter().map(|file| (file.path.clone(), Entry::kept(file))));
        }
        whole
    }

    /// Files of the last render by path, without scripts of an update.
    fn last_files(&self, which: impl Fn(&ManifestFile) -> bool) -> Vec<&ManifestFile> {
        let last = self.last.iter().flat_map(|last| &last.files);
        last.filter(|file| which(file) && !is_update(&file.path)).collect()
    }

    /// The manifest that [`TreeWriter::finish`] writes.
    pub fn complete(&self, mut manifest: Manifest) -> Manifest {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.files = entries.values().map(|entry| entry.described.clone()).collect();
        manifest
    }

    /// The content of a file that was added or kept, before it is in place.
    pub fn content(&self, path: &str) -> io::Result<Vec<u8>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(path).ok_or(io::ErrorKind::NotFound)?;
        let at = match entry.changed {
            true => self.staging.at(path),
            false => self.root.path.join(path),
        };
        drop(entries);
        fs::read(at)
    }

    /// Puts the new tree in place; `manifest` gets the files that were put, by path. On an error nothing has changed, except
    /// where trees cannot be exchanged: there every file is whole, old or new, and the next run finishes the work.
    pub fn finish(self, manifest: Manifest) -> Result<Report, Error> {
        let manifest = self.complete(manifest);
        let (checked, json) = rayon::join(|| self.check(), || manifest.to_json());
        checked?;
        let entries = std::mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner));
        let mut report = self.report(entries);
        if report.written.is_empty() && report.removed.is_empty() && self.has(MANIFEST, json.as_bytes()) {
            self.set_mode()?;
            remove_stale(&self.stale)?;
            return Ok(report);
        }
        self.staging.write(MANIFEST, json.as_bytes())?;
        let path = self.root.path.clone();
        // A signal during this step would leave the work to the next run.
        whole(&path, || self.replace(&mut report))?;
        Ok(report)
    }

    fn report(&self, entries: BTreeMap<String, Entry>) -> Report {
        let is_there = |path: &&String| fs::symlink_metadata(self.root.path.join(path)).is_ok();
        let goes = self.owned.iter().filter(|path| !entries.contains_key(*path));
        let removed = goes.filter(is_there).cloned().collect();
        let (written, unchanged): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(_, entry)| entry.changed);
        let paths = |entries: Vec<(String, Entry)>| entries.into_iter().map(|(path, _)| path).collect();
        Report {
            written: paths(written),
            unchanged: paths(unchanged),
            removed,
            left: self.left.clone(),
        }
    }

    fn replace(mut self, report: &mut Report) -> Result<(), Error> {
        if self.staging.beside
            && self.prepare(report)?
            && let Some(old) = exchange::exchange(&mut self.staging, &self.root.path)?
        {
            report
                .left
                .extend(exchange::discard_owned(&old, &self.root.path, &self.owned));
            return Ok(());
        }
        self.set_mode()?;
        in_place::replace(self.staging, &self.root.path, report)?;
        remove_stale(&self.stale)
    }

    /// Completes the new tree and syncs it. Returns whether it can replace the old one.
    fn prepare(&self, report: &Report) -> Result<bool, Error> {
        let (from, to) = (self.root.path.as_path(), self.staging.path());
        let unchanged = report.unchanged.par_iter().filter(|path| *path != GITIGNORE.0);
        unchanged.try_for_each(|path| self.staging.take(from, path))?;
        let mode = self.root.mode(!self.owned.is_empty())?;
        let files = report.written.iter().chain(&report.unchanged).chain(&self.owned);
        let ours = Ours::new(files.map(String::as_str));
        if carry(from, to, &ours).and_then(|()| resemble(from, to, mode)).is_err() {
            return Ok(false);
        }
        let files = report.written.iter().map(String::as_str).chain([MANIFEST]);
        let files: Vec<_> = files.map(|path| self.staging.at(path)).collect();
        sync(to, &files, self.staging.directories())?;
        Ok(true)
    }

    fn set_mode(&self) -> Result<(), Error> {
        let path = &self.root.path;
        let set =
            |mode| fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed("set the mode of", path));
        self.root.mode(!self.owned.is_empty())?.map_or(Ok(()), set)
    }

    /// The tree has exactly these bytes under this name, with the right mode.
    fn has(&self, path: &str, bytes: &[u8]) -> bool {
        let path = self.root.path.join(path);
        is_private(&path, bytes.len() as u64) && fs::read(&path).is_ok_and(|found| found == bytes)
    }

    /// Reports foreign entries in the way of added or removed files: files, and links on the path.
    fn refuse_foreign(&self, entries: &BTreeMap<String, Entry>) -> Result<(), Error> {
        let files = entries.keys().chain(&self.owned).map(String::as_str).chain([MANIFEST]);
        let files: BTreeSet<_> = files.collect();
        let directories: BTreeSet<_> = files.iter().flat_map(|path| parents(path)).collect();
        let found = |path: &str| fs::symlink_metadata(self.root.path.join(path)).ok();
        let is_directory = |path: &&str| found(path).is_none_or(|it| it.is_dir());
        let is_own = |path: &&str| self.owned.contains(*path) || *path == MANIFEST;
        let is_own_file = |path: &&str| found(path).is_none_or(|it| it.is_file() && is_own(path));
        let directories = directories.into_par_iter().filter(|path| !is_directory(path));
        let files = files.into_par_iter().filter(|path| !is_own_file(path));
        let foreign: BTreeSet<_> = directories.chain(files).map(str::to_owned).collect();
        match foreign.is_empty() {
            true => Ok(()),
            false => Err(Error::Foreign {
                paths: foreign.into_iter().collect(),
            }),
        }
    }
}

/// Whether a path is that of a file of this length that only its owner reads.
fn is_private(path: &Path, bytes: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| {
        metadata.is_file() && metadata.permissions().mode() & 0o7777 == 0o600 && metadata.len() == bytes
    })
}

/// Lets signals wait for the end of some work on a directory.
fn whole(directory: &Path, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    undisturbed(|| Ok(work())).map_err(failed("write", directory))?
}

fn remove_stale(directories: &[PathBuf]) -> Result<(), Error> {
    let remove = |directory: &PathBuf| fs::remove_dir_all(directory).map_err(failed("remove", directory));
    directories.iter().try_for_each(remove)
}

/// The outcome for a file of the last render that is to be kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Same,
    Changed,
    Gone,
    /// A file of no node that somebody moved.
    LeftOut,
}
