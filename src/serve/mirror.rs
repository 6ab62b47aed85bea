//! The mirror directory: files for everybody.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// A directory below which files are handed out.
#[derive(Debug)]
pub struct Mirror {
    root: PathBuf,
}

impl Mirror {
    /// Takes a directory; links to it are followed now.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = path.canonicalize()?;
        if root.is_dir() {
            Ok(Self { root })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// A file by plain names, and its size. One that a link leads out of the mirror to is none.
    pub(super) fn file(&self, names: &[String]) -> Option<(File, u64)> {
        let asked: PathBuf = std::iter::once(self.root.as_path())
            .chain(names.iter().map(Path::new))
            .collect();
        let path = asked.canonicalize().ok()?;
        if names.is_empty() || !path.starts_with(&self.root) || !path.is_file() {
            return None;
        }
        let file = File::open(&path).ok()?;
        let bytes = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        Some((file, bytes))
    }
}
