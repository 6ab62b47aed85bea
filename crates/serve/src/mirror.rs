//! The mirror directory, whose files are public.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use firelay_tree::Manifest;
use thiserror::Error as ThisError;

use crate::request::segments;

/// The maximum size of a file that is searched for a bundle: no bundle is larger.
const LARGEST: u64 = 1 << 20;
/// Name of a rendered tree's list of files.
const MANIFEST: &str = "manifest.json";
/// Usual name of a bundle, which may be sealed.
const BUNDLE: &str = "firelay.secrets.yaml";

/// Why a directory is no mirror.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum MirrorError {
    #[error("cannot open the mirror {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "the mirror {} would hand {} to everybody\n  = help: name a directory of its own, with kernels and RAM disks alone",
        mirror.display(), secret.display()
    )]
    Secret {
        mirror: PathBuf,
        /// The secret file that it contains, or the directory that contains it.
        secret: PathBuf,
    },
}

/// A directory whose files are public.
#[derive(Debug)]
pub struct Mirror {
    root: PathBuf,
}

impl Mirror {
    /// Opens a directory; symlinks to it are resolved now. It must not contain or be inside one of the `closed` paths,
    /// and must contain no bundle and no rendered tree. `is_bundle` tests the text of a YAML file.
    pub fn open<'p>(
        path: &Path,
        closed: impl IntoIterator<Item = &'p Path>,
        is_bundle: fn(&str) -> bool,
    ) -> Result<Self, MirrorError> {
        let failed = |source| MirrorError::Io {
            path: path.to_owned(),
            source,
        };
        let root = path.canonicalize().map_err(failed)?;
        if !root.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        let closed = closed
            .into_iter()
            .find(|closed| overlaps(&root, closed))
            .map(Path::to_owned);
        let secret = match closed {
            Some(closed) => Some(closed),
            None => secret_below(&root, is_bundle),
        };
        match secret {
            Some(secret) => Err(MirrorError::Secret {
                mirror: path.to_owned(),
                secret,
            }),
            None => Ok(Self { root }),
        }
    }

    /// Whether it has a file, by the path of a URL.
    pub fn has(&self, path: &str) -> bool {
        segments(&format!("/{path}")).is_some_and(|names| self.file(&names).is_some())
    }

    /// A file by its path segments, and its size. A symlink that points outside the mirror counts as missing.
    pub(crate) fn file(&self, names: &[String]) -> Option<(File, u64)> {
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

/// Whether one contains the other, with symlinks resolved. A missing path is located by its folder.
fn overlaps(root: &Path, closed: &Path) -> bool {
    let folder = || {
        let folder = closed.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).canonicalize()
    };
    let place = closed.canonicalize().or_else(|_| folder());
    place.is_ok_and(|place| place.starts_with(root) || (closed.is_dir() && root.starts_with(&place)))
}

/// A bundle or the manifest of a rendered tree in a directory. Symlinks are not followed: they are not served.
/// Unreadable files are not served either.
fn secret_below(directory: &Path, is_bundle: fn(&str) -> bool) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    entries.flatten().find_map(|entry| match entry.file_type().ok()? {
        kind if kind.is_dir() => secret_below(&entry.path(), is_bundle),
        kind if kind.is_file() => Some(entry.path()).filter(|path| is_secret(path, is_bundle)),
        _ => None,
    })
}

fn is_secret(path: &Path, is_bundle: fn(&str) -> bool) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let small = || path.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST);
    let text = |is: fn(&str) -> bool| {
        let bytes = small().then(|| std::fs::read(path).ok()).flatten();
        bytes.is_some_and(|bytes| is(&String::from_utf8_lossy(&bytes)))
    };
    match Path::new(name).extension().and_then(|ending| ending.to_str()) {
        _ if name == BUNDLE => true,
        _ if name == MANIFEST => text(is_manifest),
        Some("yaml" | "yml") => text(is_bundle),
        _ => false,
    }
}

fn is_manifest(text: &str) -> bool {
    serde_json::from_str::<Manifest>(text).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Whether a mirror is refused because of its content.
    fn refused(mirror: &Path, closed: &[&Path]) -> bool {
        matches!(
            Mirror::open(mirror, closed.iter().copied(), |text| text.contains("kind: Secrets\n")),
            Err(MirrorError::Secret { .. })
        )
    }

    #[test]
    fn no_mirror_holds_the_tree_or_lies_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("out/mirror")).unwrap();
        fs::create_dir_all(at("mirror")).unwrap();
        symlink(at("out"), at("link-to-tree")).unwrap();
        symlink(folder.path(), at("link-above")).unwrap();
        symlink(at("mirror"), at("link-to-mirror")).unwrap();
        for mirror in [
            "",
            "out",
            "out/mirror",
            "link-to-tree",
            "link-above",
            "link-to-tree/mirror",
        ] {
            assert!(refused(&at(mirror), &[&at("out")]), "{mirror}");
        }
        for mirror in ["mirror", "link-to-mirror"] {
            assert!(!refused(&at(mirror), &[&at("out")]), "{mirror}");
        }
        // A tree that is named by a link.
        assert!(refused(folder.path(), &[&at("link-to-tree")]));
        // The state and the audit, which may not exist yet.
        assert!(refused(&at("mirror"), &[&at("mirror/audit.jsonl")]));
        assert!(!refused(&at("mirror"), &[&at("audit.jsonl")]));
    }

    #[test]
    fn no_mirror_holds_a_bundle_or_another_tree() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let bundle = "apiVersion: firelay.dev/v1alpha1\nkind: Secrets\ncluster: lab\n";
        let manifest = Manifest::new("lab", "1.36.4", "x").to_json();
        for (name, text) in [
            ("firelay.secrets.yaml", "age-encryption.org/v1\n"),
            ("other.yaml", bundle),
            ("manifest.json", manifest.as_str()),
        ] {
            fs::write(inner.join(name), text).unwrap();
            assert!(refused(folder.path(), &[]), "{name}");
            fs::remove_file(inner.join(name)).unwrap();
        }
        fs::write(inner.join("manifest.json"), "{}").unwrap();
        fs::write(inner.join("notes.yaml"), "kind: Secret\n").unwrap();
        assert!(!refused(folder.path(), &[]));
    }
}
