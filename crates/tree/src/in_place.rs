//! Replacing a tree's files one by one, where whole trees cannot be exchanged: on a mount point, in the working
//! directory, or on a file system without the system call.
//!
//! Every file is complete at every moment, old or new, and `manifest.json` is replaced last. Meanwhile the new manifest
//! is in a staging directory within the tree. It shows the next run which files a killed run has replaced, so that it
//! finishes the work.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Error, Report,
    disk::{failed, make_private_directory, sync},
    names::{MANIFEST, parents},
    staging::Staging,
};
use firelay_base::disk::sync_directory;

/// Moves the new files from `staging` and the manifest into place, and removes obsolete files.
pub(crate) fn replace(mut staging: Staging, root: &Path, report: &Report) -> Result<(), Error> {
    if staging.beside {
        staging = moved(&staging, root, report)?;
    }
    let files: Vec<_> = changed(report).map(|path| staging.at(path)).collect();
    sync(staging.path(), &files, staging.directories())?;
    staging.leave(true);
    for path in &report.written {
        place(&staging, root, path)?;
    }
    for path in &report.removed {
        remove(root, path)?;
    }
    sync_parents(root, report)?;
    place(&staging, root, MANIFEST)?;
    sync_directory(root).map_err(failed("sync", root))?;
    staging.leave(false);
    Ok(())
}

/// All new files, the manifest last.
fn changed(report: &Report) -> impl Iterator<Item = &str> {
    report.written.iter().map(String::as_str).chain([MANIFEST])
}

/// Copies the new files into a staging directory within the tree: from there they can be renamed even if the tree is a mount
/// point.
fn moved(staging: &Staging, root: &Path, report: &Report) -> Result<Staging, Error> {
    let inside = Staging::inside(root)?;
    for path in changed(report) {
        let from = staging.at(path);
        let bytes = fs::read(&from).map_err(failed("read", &from))?;
        inside.write(path, &bytes)?;
    }
    Ok(inside)
}

fn place(staging: &Staging, root: &Path, path: &str) -> Result<(), Error> {
    let mut parents: Vec<_> = parents(path).collect();
    parents.reverse();
    for parent in parents {
        make_private_directory(&root.join(parent))?;
    }
    let target = root.join(path);
    fs::rename(staging.at(path), &target).map_err(failed("write", &target))
}

fn remove(root: &Path, path: &str) -> Result<(), Error> {
    let target = root.join(path);
    match fs::remove_file(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("remove", &target)(error)),
        _ => {}
    }
    // Directories that became empty go too; one that did not is not ours.
    for parent in parents(path) {
        if fs::remove_dir(root.join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Syncs the new names to disk before the manifest lists them.
fn sync_parents(root: &Path, report: &Report) -> Result<(), Error> {
    let mut directories: Vec<PathBuf> = report
        .written
        .iter()
        .flat_map(|path| parents(path).map(|parent| root.join(parent)))
        .collect();
    directories.push(root.to_owned());
    directories.sort();
    directories.dedup();
    directories
        .iter()
        .try_for_each(|directory| sync_directory(directory).map_err(failed("sync", directory)))
}
