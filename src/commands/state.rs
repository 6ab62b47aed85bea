//! The record of a cluster: found, read, compared with the tree in place, and written.

mod base;
mod findings;
mod members;
mod update;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use base::{AHEAD, ORDER, SETTINGS_ALONE, pending, refuse_foreign, same_cluster};
pub use update::{Apply, Applying, Render as Rendering, Update, whole_second};

use super::{bundle::is_missing, failure::Failure, project::refusal};
use crate::{
    cli::Inputs,
    disk::{self, Access, Prepared},
    record::{self, Record, RecordText},
};
use firelay_yaml::diagnostic::{Diagnostic, Source};

/// Ends of the names of bundles, in clear and sealed.
const BUNDLES: [&str; 2] = [".secrets.yaml", ".secrets.yaml.age"];
/// Far more than the record of a hundred thousand machines.
const LARGEST: u64 = 64 << 20;

/// The record's file, and the record if there is one.
#[derive(Debug)]
pub struct State {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub text: Option<RecordText>,
}

impl State {
    /// Reads the record that a flag names, or that of the bundle.
    pub fn open(flag: Option<&Path>, inputs: &Inputs) -> Result<Self, Failure> {
        let path = record_path(flag, inputs);
        let text = read(&path)?.map(|text| RecordText::parse(&path.display().to_string(), &text));
        match text.transpose() {
            Ok(text) => Ok(Self { path, text }),
            Err(refused) => Err(refuse(&refused.source, &refused.findings)),
        }
    }

    /// The record.
    pub fn record(&self) -> Option<&Record> {
        self.text.as_ref().map(|text| &text.record)
    }

    /// Refuses to go on without the bundle of a founded cluster, beside its record: any other bundle makes another cluster.
    pub fn refuse_lost(&self, bundle: &Path, cluster: &str) -> Result<(), Failure> {
        let own = self.record().filter(|record| record.cluster == cluster);
        let Some((record, at)) = own.and_then(|record| Some((record, record.founded_at?))) else {
            return Ok(());
        };
        match bundle == Path::new("-") || !is_missing(bundle) {
            true => Ok(()),
            false => Err(Failure::Secrets(format!(
                "there is no secrets bundle at {}, and {} is of a cluster that was founded on {} with the bundle {} (FL1102)\n  \
                 = help: restore that bundle from a backup, or name its file with --secrets; a new bundle is a new cluster, to which \
                 no machine of this record belongs: for one, give it another record with --state, or move this one away",
                bundle.display(),
                self.path.display(),
                at.date(),
                record.bundle
            ))),
        }
    }

    /// Exit code 3, with findings that point into the record.
    pub fn refuse(&self, findings: &[Diagnostic]) -> Failure {
        match &self.text {
            Some(text) => refuse(&text.source, findings),
            None => Failure::Refused(format!("{} is refused", self.path.display())),
        }
    }

    /// Writes the next record beside its place. `None` if nothing changes.
    pub fn prepare(&self, record: &Record) -> Result<Option<Prepared>, Failure> {
        let text = record.to_yaml()?;
        let last = self.text.as_ref().and_then(|text| text.source.texts().first());
        if last.is_some_and(|last| last.text == text) {
            return Ok(None);
        }
        // Behind a link the file itself is replaced.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let prepared = disk::prepare(&path, text.as_bytes(), Access::Umask);
        prepared.map(Some).map_err(|error| self.unwritten(&error))
    }

    /// Puts a record that was prepared in its place.
    pub fn place(&self, prepared: Option<Prepared>) -> Result<(), Failure> {
        prepared
            .map_or(Ok(()), Prepared::place)
            .map_err(|error| self.unwritten(&error))
    }

    fn unwritten(&self, error: &io::Error) -> Failure {
        Failure::Io(format!(
            "cannot write the record {}: {error}\n  = help: make its directory writable, or name another file with --state",
            self.path.display()
        ))
    }
}

fn refuse(source: &Source, findings: &[Diagnostic]) -> Failure {
    Failure::found(source.clone(), findings.to_vec(), refusal(source.name(), findings))
}

/// The record that a flag names, or that of the bundle.
pub fn record_path(flag: Option<&Path>, inputs: &Inputs) -> PathBuf {
    flag.map_or_else(|| path(inputs), Path::to_owned)
}

/// `NAME.state.yaml` beside `NAME.secrets.yaml`; `firelay.state.yaml` beside the first spec for a bundle of another name.
fn path(inputs: &Inputs) -> PathBuf {
    let name = |bundle: &PathBuf| {
        let file = bundle.file_name()?.to_str()?;
        let name = BUNDLES.iter().find_map(|end| file.strip_suffix(end))?;
        Some(bundle.with_file_name(format!("{name}.state.yaml")))
    };
    let first = inputs.spec.specs.first().and_then(|spec| spec.parent());
    let beside = || first.unwrap_or(Path::new("")).join(record::FILE);
    inputs.secrets.as_ref().and_then(name).unwrap_or_else(beside)
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    let unread = |error: &io::Error| Failure::file("read the record", path, error);
    match fs::metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unread(&error)),
        Ok(found) if !found.is_file() => return Err(unread(&io::Error::other("it is not a regular file"))),
        Ok(found) if found.len() > LARGEST => return Err(unread(&io::Error::other("it is larger than any record"))),
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some).map_err(|error| unread(&error))
}
