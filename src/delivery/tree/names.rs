//! Names of files within a tree, and which of them are firelay's.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{Error, disk::failed};
use crate::delivery::Manifest;

/// The manifest's name in the tree.
pub(super) const MANIFEST: &str = "manifest.json";

/// First part of the names of staging directories.
pub(super) const STAGING: &str = ".firelay-staging-";

/// Directories above a path of the tree, the nearest first, without the tree itself.
pub(super) fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(parent, _)| parent.rsplit_once('/')).map(|(parent, _)| parent)
}

/// Staging directories of runs that died.
pub(super) fn stale_staging(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut stale = Vec::new();
    for entry in fs::read_dir(root).map_err(failed("read", root))? {
        let entry = entry.map_err(failed("read", root))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && entry.file_name().to_string_lossy().starts_with(STAGING) {
            stale.push(entry.path());
        }
    }
    Ok(stale)
}

/// Names in a manifest; none if there is no manifest.
pub(super) fn owned_files(path: &Path) -> Result<BTreeSet<String>, Error> {
    let foreign = |reason: String| Error::Manifest {
        path: path.to_owned(),
        reason,
    };
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(failed("read", path)(error)),
    };
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
    if (manifest.api_version.as_str(), manifest.kind.as_str()) != (Manifest::API_VERSION, Manifest::KIND) {
        return Err(foreign(format!("it is {} {}", manifest.api_version, manifest.kind)));
    }
    let names: BTreeSet<_> = manifest.files.into_iter().map(|file| file.path).collect();
    match names.iter().find(|name| check_name(name).is_err()) {
        Some(name) => Err(foreign(format!("it names {name:?}"))),
        None => Ok(names),
    }
}

/// A relative path of plain names, none of them firelay's own.
pub(super) fn check_name(path: &str) -> Result<(), Error> {
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
