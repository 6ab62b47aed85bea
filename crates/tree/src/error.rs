use std::{io, path::PathBuf};

use thiserror::Error;

/// Why the tree was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `create`, `read`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output path is something else.
    #[error("{path} is not a directory: choose another output directory", path = .0.display())]
    NotADirectory(PathBuf),
    /// Nothing was rendered there.
    #[error("there is no rendered tree at {path}: name the directory that `firelay render --out` writes", path = .0.display())]
    Missing(PathBuf),
    /// Another render has locked the tree.
    #[error("{path} is being written by another firelay: wait for it to end", path = .0.display())]
    Busy(PathBuf),
    /// `manifest.json` is invalid, so it is unknown which files may be replaced.
    #[error("{} is not a manifest of firelay ({reason}): restore it, or choose another output directory", path.display())]
    Manifest {
        /// Path of the manifest.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// Files that the last manifest does not name are where new ones go. Nothing was changed.
    #[error("these stand in the way and are not firelay's; move them, or choose another output directory:\n  {}", paths.join("\n  "))]
    Foreign {
        /// Paths within the tree.
        paths: Vec<String>,
    },
    /// Files to keep differ from the last manifest. Nothing was changed.
    #[error("these are not as the last render left them; render all nodes:\n  {}", paths.join("\n  "))]
    Changed {
        /// Paths within the tree.
        paths: Vec<String>,
    },
    /// Files that the manifest names do not exist any more. Nothing was changed.
    #[error("files of the last render are gone; render their nodes again, or all nodes:\n  {}", paths.join("\n  "))]
    Gone {
        /// Paths within the tree.
        paths: Vec<String>,
    },
    /// A name that does not stay within the tree.
    #[error("{path:?} is not a name for a file of the tree")]
    Name {
        /// The name.
        path: String,
    },
    /// Two files of one name.
    #[error("{path} is written twice")]
    Duplicate {
        /// The name.
        path: String,
    },
}
