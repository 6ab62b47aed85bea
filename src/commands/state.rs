//! The record of a cluster: found, read, compared with the tree in place, and written.

mod base;
mod findings;
mod members;
mod update;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use base::{
    AHEAD, MANIFESTS, ORDER, SETTINGS_ALONE, earlier_scripts, earlier_updates, pending, refuse_foreign, same_cluster,
    update_directory,
};
pub use update::{Apply, Applying, Render as Rendering, Update, whole_second};

use super::{bundle::is_missing, failure::Failure, input, project::refusal, streams};
use crate::{
    cli::Inputs,
    disk::{self, Access, Prepared},
    encoding::sha256_hex,
    record::{self, Record, RecordText},
    tree::{Manifest, ManifestFile},
};
use firelay_yaml::diagnostic::{Diagnostic, Source};

/// Ends of the names of bundles, in clear and sealed.
const BUNDLES: [&str; 2] = [".secrets.yaml", ".secrets.yaml.age"];
/// Digits of a digest by which a tree knows earlier records, and the number of records that it knows.
const SHORT: usize = 16;
const MOST_RECORDS: usize = 1000;
/// Far more than the record of a hundred thousand machines.
const LARGEST: u64 = 64 << 20;

/// Whether the record beside the inputs says that this cluster is founded. A record that cannot be read is left to the commands that need it.
pub fn is_founded(inputs: &Inputs, cluster: &str) -> bool {
    let state = State::open(None, inputs).ok();
    let record = state.as_ref().and_then(State::record);
    record.is_some_and(|record| record.cluster == cluster && record.founded_at.is_some())
}

/// The record's file, and the record if there is one.
#[derive(Debug)]
pub struct State {
    /// The file.
    pub path: PathBuf,
    /// The record: of the file, or of a tree that is newer.
    pub text: Option<RecordText>,
    /// The content of the file.
    written: Option<String>,
    /// The copy in the tree, and its content.
    copy: Option<(PathBuf, String)>,
}

impl State {
    /// Reads the record that a flag names, or that of the bundle.
    pub fn open(flag: Option<&Path>, inputs: &Inputs) -> Result<Self, Failure> {
        let path = record_path(flag, inputs);
        let written = read(&path)?;
        let text = written.as_ref().map(|text| parse(&path, text)).transpose()?;
        Ok(Self {
            path,
            text,
            written,
            copy: None,
        })
    }

    /// The same with the record of a tree that was written after this file: a run ended between the two, or somebody put an older record
    /// back. A lost record comes from the tree where `adopts` asks for it. A change that was taken back gives the bytes of an earlier record:
    /// where no machine tells the two apart, the user has to say which record is right.
    pub fn with_tree(self, out: &Path, last: Option<&Manifest>, adopts: bool) -> Result<Self, Failure> {
        let Some((last, copy)) = last.and_then(|last| Some((last, copy(out, last)?))) else {
            return match last.filter(|_| adopts && self.is_new()) {
                Some(_) => Err(self.without_copy(out)),
                None => Ok(self),
            };
        };
        let at = out.join(record::COPY);
        let known = Some((at.clone(), copy.clone()));
        let this = Self { copy: known, ..self };
        this.with_copy((out, &at, &copy), last, adopts)
    }

    fn with_copy(self, (out, at, copy): (&Path, &Path, &str), last: &Manifest, adopts: bool) -> Result<Self, Failure> {
        let (path, tree) = (self.path.display(), out.display());
        match &self.written {
            Some(own) if own != copy && last.records.contains(&short(own)) => {
                let newer = parse(at, copy)?;
                if self.record().is_some_and(|record| record.may_follow(&newer.record)) {
                    return Err(self.ambiguous(out, at, &newer.record));
                }
                streams::tell(format_args!(
                    "{tree} is newer than {path}: a render ended before it wrote the record, or this is an older one; firelay goes on from {} \
                     (if {path} is right, remove {tree})",
                    at.display()
                ));
                Ok(Self {
                    text: Some(newer),
                    ..self
                })
            }
            None if adopts => {
                streams::tell(format_args!("{path} is made of {}", at.display()));
                let text = Some(parse(at, copy)?);
                Ok(Self { text, ..self })
            }
            _ => Ok(self),
        }
    }

    fn ambiguous(&self, out: &Path, copy: &Path, newer: &Record) -> Failure {
        let (path, out, copy) = (self.path.display(), out.display(), copy.display());
        let founded = newer
            .founded_at
            .filter(|_| self.record().is_some_and(|own| own.founded_at.is_none()));
        let (which, other) = match founded {
            Some(at) => (
                format!("only the copy says that the cluster was founded, on {}", at.date()),
                format!("if another clone founds the cluster anew: remove {out}, and call firelay render --refound"),
            ),
            None => (
                "no machine tells which of the two is right".to_owned(),
                format!(
                    "if a change was taken back on purpose, in another clone or directory, {path} is right: remove {out}, and render the spec \
                     of this record"
                ),
            ),
        };
        Failure::Refused(format!(
            "{path} is one of the records before {copy}, and {which} (FL1206)\n  \
             = help: if a run ended before it wrote the record, or somebody put this one back: cp {copy} {path}\n  = help: {other}"
        ))
    }

    fn without_copy(&self, out: &Path) -> Failure {
        let (path, out) = (self.path.display(), out.display());
        Failure::Refused(format!(
            "{out} has no record of its own, or it was edited: --adopt-tree cannot make {path} of it (FL1204)\n  \
             = help: bring {path} back from version control\n  \
             = help: if it is lost for good, remove {out}, and call firelay render --founded: machines that run keep their documents, and get \
             new ones with the next change"
        ))
    }

    /// The copy of the record in the tree.
    fn copy(&self) -> Option<RecordText> {
        let (at, copy) = self.copy.as_ref()?;
        parse(at, copy).ok()
    }

    /// Whether the record is that of a tree, and not that of the file.
    pub fn is_of_tree(&self) -> bool {
        let own = self.text.as_ref().and_then(|text| text.source.texts().first());
        own.map(|own| own.text.as_ref()) != self.written.as_deref()
    }

    /// Whether the record is neither that of the tree nor one before it.
    pub fn is_of_other_clone(&self) -> bool {
        let copy = self.copy.as_ref().map(|(_, copy)| copy);
        !self.is_of_tree() && copy.is_some_and(|copy| self.written.as_ref() != Some(copy))
    }

    /// Whether there is no file yet.
    pub fn is_new(&self) -> bool {
        self.written.is_none()
    }

    /// The records before the next one, for the manifest of a tree.
    pub fn records_before(&self, last: Option<&Manifest>, next: &str) -> Vec<String> {
        let copy = last.and_then(of_copy).and_then(|file| file.sha256.get(..SHORT));
        let mut records = last.map(|last| last.records.clone()).unwrap_or_default();
        let later = [copy.map(str::to_owned), self.written.as_deref().map(short)]
            .into_iter()
            .flatten();
        let later: Vec<_> = later.collect();
        records.retain(|own| !later.contains(own));
        records.extend(later);
        records.dedup();
        records.retain(|own| *own != short(next));
        records.split_off(records.len().saturating_sub(MOST_RECORDS))
    }

    /// Refuses to replace a record that somebody else has written since this run has read it.
    pub fn refuse_changed(&self) -> Result<(), Failure> {
        match read(&self.path)? == self.written {
            true => Ok(()),
            false => Err(Failure::Refused(format!(
                "{} has changed while this run worked: another one wrote it\n  = help: run it again; nothing was written",
                self.path.display()
            ))),
        }
    }

    /// A tree that has no record.
    pub(super) fn missing(&self, out: &Path) -> Failure {
        let (path, out) = (self.path.display(), out.display());
        Failure::Refused(format!(
            "{out} was rendered before, and its record {path} is missing (FL1204)\n  \
             = help: bring {path} back from version control, or name it with --state\n  \
             = help: if it is lost, --adopt-tree takes the one of the last render into {out}"
        ))
    }

    /// The record.
    pub fn record(&self) -> Option<&Record> {
        self.text.as_ref().map(|text| &text.record)
    }

    /// Refuses the record of another cluster than that of the specs, for verbs that read no more of them than the name.
    pub fn refuse_other_spec(&self, specs: &[PathBuf]) -> Result<(), Failure> {
        let named = specs
            .iter()
            .rev()
            .find_map(|path| Some((path, input::cluster_name(path)?)));
        match (self.record(), named) {
            (Some(record), Some((spec, name))) if record.cluster != name => Err(Failure::Refused(format!(
                "{} is of the cluster {}, and {} of {name} (FL1202); nothing was written\n  \
                 = help: name the record with --state, or the bundle that it lies beside with --secrets",
                self.path.display(),
                record.cluster,
                spec.display()
            ))),
            _ => Ok(()),
        }
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
                 no machine of this record belongs: for one, give it another record with --state, or move this one away; if the bundle is lost: \
                 firelay explain FL1102",
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
    pub fn prepare(&self, text: &str) -> Result<Option<Prepared>, Failure> {
        if self.written.as_deref() == Some(text) {
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

fn parse(path: &Path, text: &str) -> Result<RecordText, Failure> {
    RecordText::parse(&path.display().to_string(), text).map_err(|refused| refuse(&refused.source, &refused.findings))
}

/// The record in a tree, as the render left it.
pub fn copied(out: &Path, last: &Manifest) -> Result<Option<RecordText>, Failure> {
    let text = copy(out, last).map(|text| parse(&out.join(record::COPY), &text));
    text.transpose()
}

fn copy(out: &Path, last: &Manifest) -> Option<String> {
    let text = fs::read_to_string(out.join(&of_copy(last)?.path)).ok()?;
    (sha256_hex(text.as_bytes()) == of_copy(last)?.sha256).then_some(text)
}

fn of_copy(last: &Manifest) -> Option<&ManifestFile> {
    last.files.iter().find(|file| file.path == record::COPY)
}

fn short(text: &str) -> String {
    sha256_hex(text.as_bytes())[..SHORT].to_owned()
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
