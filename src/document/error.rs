use thiserror::Error;

/// Why a document cannot say what a node needs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The format has no word for a field of [`crate::node::NodeFiles`].
    #[error("{format} has no {field} ({value}): {help}")]
    Unsupported {
        /// Name of the format.
        format: &'static str,
        /// Field of the node.
        field: &'static str,
        /// What it says.
        value: String,
        /// What to do instead.
        help: &'static str,
    },
    /// A path is not absolute, or not in its shortest form.
    #[error(
        "{path:?} is not a plain absolute path: write it from `/`, without `.`, `..`, empty parts or control characters"
    )]
    Path {
        /// As given.
        path: String,
    },
    /// A path where nothing survives until the node needs it.
    #[error("{path} lies under {mount}, which is empty after every boot: choose a path on disk")]
    Volatile {
        /// As given.
        path: String,
        /// The file system.
        mount: &'static str,
    },
    /// Two files, directories, links or units claim one path.
    #[error("{path} is written twice: keep one of the two")]
    Duplicate {
        /// The path.
        path: String,
    },
    /// A path whose parent is written as something that is no directory.
    #[error("{path} lies beneath {parent}, which is not a directory")]
    Beneath {
        /// The path.
        path: String,
        /// The file, link or unit above it.
        parent: String,
    },
    /// Permission bits beyond the twelve that exist.
    #[error("mode {mode:o} of {path} has bits beyond 7777")]
    Mode {
        /// The path.
        path: String,
        /// The mode.
        mode: u32,
    },
    /// systemd cannot enable a unit that does not say what wants it.
    #[error("unit {unit} is enabled but has no [Install] section: add one, or do not enable it")]
    NoInstall {
        /// Name of the unit.
        unit: String,
    },
    /// An OS profile that reads Ignition does not say which version.
    #[error("os profile {os} reads ignition but has no ignitionVersion")]
    NoIgnitionVersion {
        /// Name of the profile.
        os: String,
    },
    /// An OS profile that reads Ignition does not say what Butane calls it.
    #[error("os profile {os} has no butane: write its variant and version, or ask for no Butane")]
    NoButane {
        /// Name of the profile.
        os: String,
    },
    /// A character outside ASCII, in a document for which cloud-init has no way to keep it.
    #[error("cloud-init garbles what is not ASCII in a document that is compressed inside: rewrite {line:?}")]
    NotAscii {
        /// The line of the document; contents of files are never in it.
        line: String,
    },
    /// The YAML could not be emitted.
    #[error(transparent)]
    Yaml(#[from] firelay_yaml::Error),
}
