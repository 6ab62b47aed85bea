//! Minors of Kubernetes as numbers, so that they compare.

use std::{fmt, str::FromStr};

use semver::Version;
use serde::{Deserialize, Deserializer, de};

/// `1.36`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor {
    major: u64,
    minor: u64,
}

impl FromStr for Minor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok();
        let parts = text.split_once('.');
        let read = parts.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        match read {
            Some((major, minor)) => Ok(Self { major, minor }),
            None => Err(format!("`{text}` is no minor: write it as 1.36")),
        }
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl<'de> Deserialize<'de> for Minor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Minor {
    /// `1.36` of 1 and 36.
    pub const fn new(major: u64, minor: u64) -> Self {
        Self { major, minor }
    }

    /// The minor of a version.
    pub fn of(version: &Version) -> Self {
        Self::new(version.major, version.minor)
    }

    /// The one before, as `1.35` of `1.36`.
    #[must_use]
    pub fn before(self) -> Self {
        Self {
            minor: self.minor.saturating_sub(1),
            ..self
        }
    }
}
