//! Ignition, in the part of spec 3.1 to 3.3 that all its readers support.

mod data_url;
mod schema;

use std::collections::BTreeMap;

use semver::Version;
use serde::Serialize;
use serde_json::Value;

use self::schema::{Config, Wrapper};
use super::{Compression, Document, Error, layout};
use crate::{
    node::{NodeFile, NodeFiles, Text},
    plan::ProxyPlan,
    profile::DocumentFormat,
    secret::Secret,
};

/// Permission bits that every specification keeps.
const PERMISSIONS: u32 = 0o777;
/// From this specification on setuid, setgid and sticky bits are kept too (docs/migrating-configs.md).
const SPECIAL_MODES: Version = Version::new(3, 6, 0);

/// Ignition JSON of one specification version.
///
/// There is one way of compressing. [`Compression::None`] leaves every file readable as a `data:` URL;
/// [`Compression::Inner`] wraps that whole document as `ignition.config.replace` with `compression: gzip` (spec 3.1). gzip
/// of each file apart would never be the smallest: the wrapper pays base64 once and finds what files have in common, and
/// it works wherever the plain document works, since Ignition undoes it itself.
#[derive(Clone, Debug)]
pub struct Ignition {
    /// `3.3.0`.
    pub version: String,
}

/// A document elsewhere, and how it is fetched.
#[derive(Clone, Copy, Debug)]
pub struct Remote<'a> {
    /// Its URL, in Ignition's syntax.
    pub source: &'a str,
    /// Its content is gzipped.
    pub compressed: bool,
    /// The document itself.
    pub config: &'a [u8],
    /// Headers of the request.
    pub headers: &'a BTreeMap<String, Secret<String>>,
    /// Trusted certificates in PEM, in addition to the system's.
    pub trusted: &'a [String],
    /// The way out of the machine.
    pub proxy: Option<&'a ProxyPlan>,
}

impl Ignition {
    /// The document as a value, with the text of its files in the order of `storage.files`.
    pub(super) fn said(&self, files: &NodeFiles) -> Result<(Value, Vec<Text>), Error> {
        let implied = self.checked(files)?;
        let config = serde_json::to_value(Config::new(&self.version, files, &implied));
        let contents = implied.iter().chain(&files.files).map(|file| file.content.clone());
        Ok((
            config.expect("structs of texts and numbers are JSON"),
            contents.collect(),
        ))
    }

    /// A stub that names the document which replaces it, with its digest.
    pub fn pointing(&self, remote: &Remote<'_>) -> String {
        json(&Wrapper::remote(&self.version, remote))
    }

    /// The implied files, after checking that this specification can represent all files.
    fn checked(&self, files: &NodeFiles) -> Result<Vec<NodeFile>, Error> {
        let implied = implied_files(files);
        layout::check(files, &implied)?;
        if !Version::parse(&self.version).is_ok_and(|version| version >= SPECIAL_MODES) {
            refuse_special_modes(files)?;
        }
        Ok(implied)
    }
}

impl Document for Ignition {
    fn file_name(&self) -> &'static str {
        DocumentFormat::Ignition.file_name()
    }

    fn render(&self, files: &NodeFiles, compression: Compression) -> Result<String, Error> {
        let implied = self.checked(files)?;
        let config = json(&Config::new(&self.version, files, &implied));
        Ok(match compression {
            Compression::None => config,
            Compression::Inner => json(&Wrapper::new(&self.version, &config)),
        })
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("structs of texts and numbers are JSON")
}

fn refuse_special_modes(files: &NodeFiles) -> Result<(), Error> {
    match layout::modes(files).find(|(_, mode)| mode & !PERMISSIONS != 0) {
        None => Ok(()),
        Some((path, mode)) => Err(Error::SpecialMode(mode, path.to_owned())),
    }
}

/// Files for settings that Ignition lacks: the host name, which systemd reads at the first boot, and passwordless root,
/// with the text that cloud-init would write.
fn implied_files(files: &NodeFiles) -> Vec<NodeFile> {
    let hostname = files
        .hostname
        .iter()
        .map(|name| NodeFile::new("/etc/hostname", 0o644, format!("{name}\n")));
    let rules = files
        .users
        .iter()
        .filter(|user| user.sudo)
        .map(|user| format!("{} ALL=(ALL) NOPASSWD:ALL\n", user.name));
    let rules: String = rules.collect();
    let sudoers = (!rules.is_empty()).then(|| NodeFile::new("/etc/sudoers.d/90-firelay-users", 0o440, rules));
    hostname.chain(sudoers).collect()
}
