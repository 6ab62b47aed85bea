//! Names of files within a tree, and which of them are firelay's.

use std::{
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

/// The manifest of the last render, if there was one. What does not read as one is not firelay's to replace.
pub(super) fn last_manifest(path: &Path) -> Result<Option<Manifest>, Error> {
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

/// The files that a manifest names.
pub(super) fn owned_files(manifest: Option<&Manifest>) -> impl Iterator<Item = String> {
    let files = manifest.into_iter().flat_map(|manifest| &manifest.files);
    files.map(|file| file.path.clone())
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
