//! A rendered tree, read.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use firelay_base::encoding::{gunzip, sha256_hex, unbase64};

use crate::{
    Encoding, Error, Manifest, ManifestFile,
    disk::failed,
    names::{MANIFEST, check_name},
};

/// A rendered tree, for verbs that hand its files on.
#[derive(Debug)]
pub struct TreeReader {
    /// Where it is, without links on the way.
    pub root: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

impl TreeReader {
    /// Opens the tree of the last render.
    pub fn open(out: &Path) -> Result<Self, Error> {
        let missing = || Error::Missing(out.to_owned());
        let root = out.canonicalize().map_err(|_| missing())?;
        let manifest = last_manifest(&root.join(MANIFEST))?.ok_or_else(missing)?;
        Ok(Self { root, manifest })
    }

    /// The same; `None` where nothing was rendered yet. A directory with other files is an error, since its name may be mistyped.
    pub fn open_last(out: &Path) -> Result<Option<Self>, Error> {
        let is_free = || fs::read_dir(out).map_or(true, |mut entries| entries.next().is_none());
        match Self::open(out) {
            Err(Error::Missing(_)) if is_free() => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The bytes of a file that the manifest names, if they are still those that were rendered.
    pub fn read(&self, file: &ManifestFile) -> Result<Vec<u8>, Error> {
        read(&self.root, file)
    }

    /// The text of a file, decoded from its platform's encoding.
    pub fn read_text(&self, file: &ManifestFile) -> Result<Vec<u8>, Error> {
        let bytes = self.read(file)?;
        let encoding = file.encoding.unwrap_or(Encoding::Plain);
        decoded(bytes, encoding).map_err(failed("decode", &self.root.join(&file.path)))
    }
}

/// The files of a tree that are firelay's: those of its manifest, and of the manifests in staging directories. Such a directory
/// means that a run died between its renames, and that new files may be in place. An unreadable manifest there means that the
/// run died before its first rename.
pub(crate) fn owned_files(last: Option<&Manifest>, stale: &[PathBuf]) -> BTreeSet<String> {
    let dying = stale
        .iter()
        .filter_map(|directory| last_manifest(&directory.join(MANIFEST)).unwrap_or_default());
    let last = last.iter().flat_map(|last| &last.files);
    let dying = dying.flat_map(|manifest| manifest.files);
    last.map(|file| file.path.clone())
        .chain(dying.map(|file| file.path))
        .collect()
}

/// The manifest of a tree that is not locked: another render may replace it.
#[derive(Debug)]
pub struct UnlockedManifest {
    text: Vec<u8>,
    manifest: Manifest,
}

impl UnlockedManifest {
    /// Reads it; `None` without a valid one.
    pub fn read(out: &Path) -> Option<Self> {
        let path = out.join(MANIFEST);
        let text = manifest_text(&path).ok()??;
        let manifest = parsed(&path, &text).ok()?;
        Some(Self { text, manifest })
    }
}

/// The manifest of the last render, if there was one. A file that is no valid manifest may not be replaced.
pub(crate) fn last_manifest(path: &Path) -> Result<Option<Manifest>, Error> {
    last_manifest_or(path, None)
}

/// The same. If `unlocked` has this text, it is not parsed again.
pub(crate) fn last_manifest_or(path: &Path, unlocked: Option<UnlockedManifest>) -> Result<Option<Manifest>, Error> {
    let Some(text) = manifest_text(path)? else {
        return Ok(None);
    };
    match unlocked.filter(|unlocked| unlocked.text == text) {
        Some(unlocked) => Ok(Some(unlocked.manifest)),
        None => parsed(path, &text).map(Some),
    }
}

fn manifest_text(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

fn parsed(path: &Path, text: &[u8]) -> Result<Manifest, Error> {
    let foreign = |reason: String| Error::Manifest {
        path: path.to_owned(),
        reason,
    };
    let manifest: Manifest = serde_json::from_slice(text).map_err(|error| foreign(error.to_string()))?;
    if (manifest.api_version.as_str(), manifest.kind.as_str()) != (Manifest::API_VERSION, Manifest::KIND) {
        return Err(foreign(format!("it is {} {}", manifest.api_version, manifest.kind)));
    }
    match manifest.files.iter().find(|file| check_name(&file.path).is_err()) {
        Some(file) => Err(foreign(format!("it names {:?}", file.path))),
        None => Ok(manifest),
    }
}

/// The bytes of a file of a tree, which must have the manifest's digest.
pub(crate) fn read(root: &Path, file: &ManifestFile) -> Result<Vec<u8>, Error> {
    let path = root.join(&file.path);
    let paths = || vec![file.path.clone()];
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Gone { paths: paths() }),
        Err(error) => Err(failed("read", &path)(error)),
        Ok(bytes) if sha256_hex(&bytes) == file.sha256 => Ok(bytes),
        Ok(_) => Err(Error::Changed { paths: paths() }),
    }
}

fn decoded(bytes: Vec<u8>, encoding: Encoding) -> io::Result<Vec<u8>> {
    let bytes = if encoding.is_base64() { unbase64(&bytes)? } else { bytes };
    if encoding.is_gzip() { gunzip(&bytes) } else { Ok(bytes) }
}
