//! Failures of verbs: the message, and the exit code of the contract.

use std::{error::Error, io, path::Path};

use firelay_yaml::diagnostic::{Diagnostic, Source};

/// A verb's failure. The variants are the exit codes.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// 1: could not run.
    Io(String),
    /// 2: usage.
    Usage(String),
    /// 3: the spec is refused; the findings are printed already.
    Refused(String),
    /// 3: the same, with findings that are not printed yet.
    Found(Box<Found>),
    /// 4: secrets are missing, wrong or sealed.
    Secrets(String),
    /// 5: verification or a policy failed.
    Policy(String),
    /// 5: a document fits in none of its platform's forms.
    TooLarge(String),
    /// 6: a plan has changes, or a credential ends soon, and a flag asks for this.
    Changes,
}

/// Findings about texts, and the verdict. A verb prints them in its own form, or leaves them to [`Failure::print`].
#[derive(Debug)]
pub struct Found {
    /// The texts, with the places of their secrets.
    pub source: Source,
    /// The findings.
    pub findings: Vec<Diagnostic>,
    /// The last line for people.
    pub verdict: String,
}

impl Failure {
    /// 3, for findings.
    pub fn found(source: Source, findings: Vec<Diagnostic>, verdict: String) -> Self {
        Self::Found(Box::new(Found {
            source,
            findings,
            verdict,
        }))
    }

    /// 1, for a file.
    pub fn file(verb: &str, path: &Path, error: &io::Error) -> Self {
        Self::Io(format!("cannot {verb} {}: {error}", path.display()))
    }

    /// The message for people, without findings.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Io(text)
            | Self::Usage(text)
            | Self::Refused(text)
            | Self::Secrets(text)
            | Self::Policy(text)
            | Self::TooLarge(text) => Some(text),
            Self::Found(found) => Some(&found.verdict),
            Self::Changes => None,
        }
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Io(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) | Self::Found(_) => 3,
            Self::Secrets(_) => 4,
            Self::Policy(_) | Self::TooLarge(_) => 5,
            Self::Changes => 6,
        }
    }
}

impl<E: Error + 'static> From<E> for Failure {
    /// 1, with all causes of the error.
    fn from(error: E) -> Self {
        Self::Io(chain(&error))
    }
}

/// An error and its causes, in one line.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

/// A path as it is typed in a shell.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@%+,=-".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
