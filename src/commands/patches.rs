//! The files of `patches/` beside a spec.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::failure::Failure;
use crate::spec::Layers;

/// The folder beside the spec.
const FOLDER: &str = "patches";
/// Folders in folders that are looked into, to tell of files that would be ignored there.
const DEPTH: usize = 3;

/// Puts the texts of all patches beside a spec behind the spec's; none if there is no folder.
pub(super) fn read(spec: &Path, layers: &mut Layers) -> Result<(), Failure> {
    let folder = spec.parent().unwrap_or(Path::new("")).join(FOLDER);
    if spec == Path::new("-") || !folder.is_dir() {
        return Ok(());
    }
    let mut found = Vec::new();
    walk(&folder, DEPTH, &mut found)?;
    for path in found {
        if !is_patch(&path) {
            layers.stray(&path.display().to_string());
            continue;
        }
        let above = path.strip_prefix(&folder).unwrap_or(&path).parent();
        let above = above.map_or_else(String::new, |above| above.display().to_string());
        layers.patch(&above, &path.display().to_string(), text(&path)?);
    }
    Ok(())
}

/// Tells of folders of patches beside specs of which it is not asked for.
pub(super) fn unread(specs: &[PathBuf], layers: &mut Layers) {
    let beside = |spec: &Path| spec.parent().unwrap_or(Path::new("")).join(FOLDER);
    let stdin = Path::new("-");
    let read = specs.first().filter(|spec| *spec != stdin).map(|spec| beside(spec));
    for spec in specs {
        let folder = beside(spec);
        let first = specs.first() == Some(spec);
        if Some(&folder) != read.as_ref() && folder.is_dir() && (spec != stdin || first) {
            layers.unread(spec, &folder);
        }
    }
}

/// The files of a folder that are more than notes, in the order of their names, and of the folders in it.
fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error| Failure::file("read", folder, &error);
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    paths.sort();
    for path in paths {
        if path.is_dir() && depth > 0 {
            walk(&path, depth - 1, found)?;
        } else if !is_note(&path) && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

fn is_patch(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yaml" | "yml" | "json"))
}

/// A README, a hidden file, or what an editor leaves behind.
fn is_note(path: &Path) -> bool {
    let name = path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    name.starts_with(b".") || name.starts_with(b"README") || name.ends_with(b".md") || name.ends_with(b"~")
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|error| Failure::file("read", path, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        Failure::Refused(format!(
            "{} is not UTF-8 (byte {})",
            path.display(),
            error.utf8_error().valid_up_to()
        ))
    })
}
