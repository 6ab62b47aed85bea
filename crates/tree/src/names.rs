//! Names of files within a tree, and which of them are firelay's.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::Manifest;
use crate::{Error, disk::failed};

/// The manifest's name in the tree.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The folder of scripts that change running machines in place.
pub const UPDATE: &str = "update/";

/// Whether a file is such a script or their order: it belongs to a machine, and not to its document.
pub fn is_update(path: &str) -> bool {
    path.starts_with(UPDATE)
}

/// First part of the names of directories in which a new tree is put together.
pub(crate) const STAGING: &str = ".firelay-staging-";

/// First part of the names of whole trees that are being exchanged: the new one at first, the old one afterwards.
pub(crate) const EXCHANGE: &str = ".firelay-exchange-";

/// Letters and digits that `tempfile` appends to a name.
const DRAWN: usize = 6;

/// The first part of the name of a directory next to a tree. It contains the tree's name, because several trees may be
/// in one folder.
pub(crate) fn beside(kind: &str, root: &Path) -> OsString {
    let mut name = OsString::from(kind);
    name.push(root.file_name().unwrap_or_default());
    name.push("-");
    name
}

/// The random part of the name of a directory next to a tree, if the name has this form.
pub(crate) fn drawn<'a>(name: &'a OsStr, kind: &str, root: &Path) -> Option<&'a OsStr> {
    let prefix = beside(kind, root);
    let drawn = name.as_bytes().strip_prefix(prefix.as_bytes())?;
    let right = drawn.len() == DRAWN && drawn.iter().all(u8::is_ascii_alphanumeric);
    right.then(|| OsStr::from_bytes(drawn))
}

/// Directories above a path of the tree, the nearest first, without the tree itself.
pub(crate) fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(parent, _)| parent.rsplit_once('/')).map(|(parent, _)| parent)
}

/// Staging directories of runs that died, within the tree.
pub(crate) fn stale_staging(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut stale = Vec::new();
    for entry in fs::read_dir(root).map_err(failed("read", root))? {
        let entry = entry.map_err(failed("read", root))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && is_staging(&entry.file_name()) {
            stale.push(entry.path());
        }
    }
    Ok(stale)
}

/// The name of a staging directory within a tree.
pub(crate) fn is_staging(name: &OsStr) -> bool {
    name.as_bytes().starts_with(STAGING.as_bytes())
}

/// The files of a tree that are firelay's: those of the manifest, and of the manifests in staging directories. One there means
/// that the run died between its renames: files of the new names may be in place. Half of one means that it died before
/// the first.
pub(crate) fn owned_files(last: Option<&Manifest>, stale: &[PathBuf]) -> BTreeSet<String> {
    let dying = stale
        .iter()
        .filter_map(|directory| last_manifest(&directory.join(MANIFEST)).unwrap_or_default());
    let manifests = last.cloned().into_iter().chain(dying);
    let files = manifests.flat_map(|manifest| manifest.files);
    files.map(|file| file.path).collect()
}

/// The manifest of the last render, if there was one. A file that is no valid manifest may not be replaced.
pub(crate) fn last_manifest(path: &Path) -> Result<Option<Manifest>, Error> {
    let foreign = |reason: String| Error::Manifest {
        path: path.to_owned(),
        reason,
    };
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
    if (manifest.api_version.as_str(), manifest.kind.as_str()) != (Manifest::API_VERSION, Manifest::KIND) {
        return Err(foreign(format!("it is {} {}", manifest.api_version, manifest.kind)));
    }
    match manifest.files.iter().find(|file| check_name(&file.path).is_err()) {
        Some(file) => Err(foreign(format!("it names {:?}", file.path))),
        None => Ok(Some(manifest)),
    }
}

/// A relative path of plain names, none of them firelay's own.
pub(crate) fn check_name(path: &str) -> Result<(), Error> {
    let plain = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part
                .chars()
                .any(|character| character.is_control() || character == '\\')
    };
    if path.split('/').all(plain) && path != MANIFEST && !path.starts_with(STAGING) {
        Ok(())
    } else {
        Err(Error::Name { path: path.to_owned() })
    }
}
