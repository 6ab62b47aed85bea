use thiserror::Error;

/// A document that cannot express the files of a node.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Ignition loses permission bits of a file (mode and path).
    #[error(
        "ignition has no mode ({0:04o} of {1}): setuid, setgid and sticky bits are lost before spec 3.6: set them from a step"
    )]
    SpecialMode(u32, String),
    /// A path is not absolute, or not in its shortest form.
    #[error(
        "{0:?} is not a plain absolute path: write it from `/`, without `.`, `..`, empty parts or control characters"
    )]
    Path(String),
    /// A path on a file system that is empty after every boot.
    #[error("{0} lies under {1}, which is empty after every boot: choose a path on disk")]
    Volatile(String, &'static str),
    /// Two files, directories, links or units claim one path.
    #[error("{0} is written twice: keep one of the two")]
    Duplicate(String),
    /// The parent of a path is written as something that is no directory.
    #[error("{0} lies beneath {1}, which is not a directory")]
    Beneath(String, String),
    /// Permission bits outside of the valid twelve.
    #[error("mode {1:o} of {0} has bits beyond 7777")]
    Mode(String, u32),
    /// systemd can enable a unit only if its `[Install]` section names a target.
    #[error("unit {0} is enabled but has no [Install] section: add one, or do not enable it")]
    NoInstall(String),
    /// An OS profile for Ignition lacks the version.
    #[error("os profile {0} reads ignition but has no ignitionVersion")]
    NoIgnitionVersion(String),
    /// An OS profile for Ignition lacks Butane's variant.
    #[error("os profile {0} has no butane: write its variant and version, or ask for no Butane")]
    NoButane(String),
    /// A character outside ASCII in a line of a document that is compressed inside. File contents are never in that line.
    #[error("cloud-init garbles what is not ASCII in a document that is compressed inside: rewrite {0:?}")]
    NotAscii(String),
    /// The YAML could not be emitted.
    #[error(transparent)]
    Yaml(#[from] firelay_yaml::Error),
}
