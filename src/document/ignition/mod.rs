//! Ignition, in the part of spec 3.1 to 3.3 that all its readers know.

mod data_url;
mod schema;

use serde::Serialize;

use self::schema::{Config, Wrapper};
use super::{Compression, Document, Error, layout};
use crate::node::{NodeFile, NodeFiles};

/// Permission bits that Ignition below spec 3.6 keeps.
const PERMISSIONS: u32 = 0o777;

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

impl Ignition {
    /// Name of the file that holds such a document.
    pub const FILE: &str = "config.ign";
}

impl Document for Ignition {
    fn file_name(&self) -> &'static str {
        Self::FILE
    }

    fn render(&self, files: &NodeFiles, compression: Compression) -> Result<String, Error> {
        let implied = implied_files(files);
        layout::check(files, &implied)?;
        refuse_special_modes(files)?;
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
    let regular = files.files.iter().map(|file| (&file.path, file.mode));
    let directories = files
        .directories
        .iter()
        .map(|directory| (&directory.path, directory.mode));
    match regular.chain(directories).find(|(_, mode)| mode & !PERMISSIONS != 0) {
        None => Ok(()),
        Some((path, mode)) => Err(Error::Unsupported {
            format: "ignition",
            field: "mode",
            value: format!("{mode:04o} of {path}"),
            help: "setuid, setgid and sticky bits are lost before spec 3.6: set them from a step",
        }),
    }
}

/// What Ignition has no word for: the host name, which systemd reads at the first boot already, and passwordless root, in
/// the words that cloud-init would write.
fn implied_files(files: &NodeFiles) -> Vec<NodeFile> {
    let file = |path: &str, mode, content: String| NodeFile {
        path: path.to_owned(),
        mode,
        content: content.into(),
    };
    let hostname = files
        .hostname
        .iter()
        .map(|name| file("/etc/hostname", 0o644, format!("{name}\n")));
    let rules = files
        .users
        .iter()
        .filter(|user| user.sudo)
        .map(|user| format!("{} ALL=(ALL) NOPASSWD:ALL\n", user.name));
    let rules: String = rules.collect();
    let sudoers = (!rules.is_empty()).then(|| file("/etc/sudoers.d/90-firelay-users", 0o440, rules));
    hostname.chain(sudoers).collect()
}
