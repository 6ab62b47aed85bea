//! Names of files within a tree, and which of them are firelay's.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use crate::Error;

/// The manifest's name in the tree.
pub const MANIFEST: &str = "manifest.json";

/// The file that keeps a tree out of version control, and its text.
pub(crate) const GITIGNORE: (&str, &[u8]) = (".gitignore", b"*\n");

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

/// The name of a staging directory within a tree.
pub(crate) fn is_staging(name: &OsStr) -> bool {
    name.as_bytes().starts_with(STAGING.as_bytes())
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
