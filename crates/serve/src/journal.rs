//! The state file: a line of JSON for each event, on the disk before the event happens.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use firelay_base::{Random, encoding::hex};
use thiserror::Error as ThisError;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::deliveries::{Deliveries, Event};

/// Bytes of a token before it is written in hex.
const TOKEN_BYTES: usize = 16;

/// Why there is no state.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `open`, `write`, …
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is in use by another firelay serve: end that, or name another file with --state", path.display())]
    Busy { path: PathBuf },
    #[error("{}, line {line}, is no state of firelay serve ({reason}): restore it, or name another file with --state", path.display())]
    Foreign {
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        reason: String,
    },
    #[error("cannot make a token: {0}")]
    Random(getrandom::Error),
}

/// The state and its file, which is locked as long as this lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of its whole lines.
    whole: u64,
    deliveries: Deliveries,
}

impl Drop for Journal {
    /// Closing alone would not do: a process that was just forked elsewhere in the program has the file open, too.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Journal {
    /// Opens the file, or creates one that only its owner can read. An incomplete last line describes an event that did
    /// not take effect, and is removed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let mut file = options.open(path).map_err(failed("open", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(failed("lock", path)(error)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed("read", path))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let length = whole as u64;
        let mut deliveries = Deliveries::default();
        for (index, line) in text[..whole].lines().enumerate() {
            let event = serde_json::from_str(line).map_err(|error| Error::Foreign {
                path: path.to_owned(),
                line: index + 1,
                reason: error.to_string(),
            })?;
            deliveries.note(event);
        }
        if whole < text.len() {
            let cut = file.set_len(length);
            cut.and_then(|()| file.seek(SeekFrom::End(0)))
                .map_err(failed("shorten", path))?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            whole: length,
            deliveries,
        })
    }

    /// Whether a document may be sent to an address now. A granted claim is on disk before this returns, so it is
    /// granted only once.
    pub(crate) fn claim(&mut self, node: &str, sha256: &str, to: String) -> Result<bool, Error> {
        if !self.may_claim(node, sha256, &to) {
            return Ok(false);
        }
        let event = Event::Given {
            node: node.to_owned(),
            sha256: sha256.to_owned(),
            to,
            at: OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default(),
        };
        self.append(event)?;
        Ok(true)
    }

    /// Releases a claim of which nothing was sent.
    pub(crate) fn give_back(&mut self, node: &str, sha256: &str) -> Result<(), Error> {
        self.append(Event::Returned {
            node: node.to_owned(),
            sha256: sha256.to_owned(),
        })
    }

    /// Records that the client did not get everything: within a grace period it may ask again.
    pub(crate) fn interrupt(&mut self, node: &str, sha256: &str) -> Result<(), Error> {
        self.append(Event::Interrupted {
            node: node.to_owned(),
            sha256: sha256.to_owned(),
        })
    }

    /// Whether [`Journal::claim`] would succeed.
    pub(crate) fn may_claim(&self, node: &str, sha256: &str, to: &str) -> bool {
        self.deliveries.allows(node, sha256, to, OffsetDateTime::now_utc())
    }

    /// Lets a machine have its document once more.
    pub fn forget(&mut self, node: &str) -> Result<(), Error> {
        self.append(Event::Forgotten { node: node.to_owned() })
    }

    /// The tokens of these nodes; those that have none get one.
    pub fn tokens<'n>(
        &mut self,
        nodes: impl Iterator<Item = &'n str>,
        random: &mut Random<'_>,
    ) -> Result<BTreeMap<String, String>, Error> {
        let mut tokens = BTreeMap::new();
        for node in nodes {
            let token = match self.deliveries.tokens.get(node) {
                Some(token) => token.clone(),
                None => {
                    let token = token(random)?;
                    self.append(Event::Token {
                        node: node.to_owned(),
                        token: token.clone(),
                    })?;
                    token
                }
            };
            tokens.insert(node.to_owned(), token);
        }
        Ok(tokens)
    }

    fn append(&mut self, event: Event) -> Result<(), Error> {
        let mut line = serde_json::to_string(&event).expect("texts are JSON");
        line.push('\n');
        self.write(line.as_bytes()).map_err(failed("write", &self.path))?;
        self.whole += line.len() as u64;
        self.deliveries.note(event);
        Ok(())
    }

    /// Puts a line on the disk, or nothing: what a full disk took of one would be the beginning of the next. A rest that could
    /// not be cut off is cut off before anything else is written.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.set_len(self.whole)?;
        let written = self.file.write_all(line).and_then(|()| self.file.sync_data());
        written.inspect_err(|_| drop(self.file.set_len(self.whole)))
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

fn token(random: &mut Random<'_>) -> Result<String, Error> {
    let mut bytes = [0; TOKEN_BYTES];
    random(&mut bytes).map_err(Error::Random)?;
    Ok(hex(&bytes))
}
