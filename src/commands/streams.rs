//! stdout for data, stderr for people.

use std::{
    fmt::Display,
    io::{self, Write},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::failure::Failure;
use crate::cli::OutputFormat;

/// Writes data unchanged. A reader that closes its end (`firelay check | head -1`) is no failure; a full disk is one.
pub fn data(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// [`data`] that need not be text.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Io(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes text for people. A terminal gets its colours, other readers get it without.
pub fn text(text: &str) -> Result<(), Failure> {
    let plain = anstream::AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never;
    match plain {
        true => data(&anstream::adapter::strip_str(text).to_string()),
        false => data(text),
    }
}

/// Whether nobody reads stdout any more: poll(2) reports an error on a pipe without a reader.
pub fn is_closed() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let answer = poll(&mut polled, Some(&Timespec::default()));
    answer.is_ok() && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Writes a report: the value as indented JSON, or the text for people.
pub fn report(output: OutputFormat, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    match output {
        OutputFormat::Json => json(value),
        OutputFormat::Text => self::text(&text()),
    }
}

/// Writes data as indented JSON.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)?;
    data(&format!("{text}\n"))
}

/// `1 error`, `2 errors`.
pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Prints lines for people; an error on stderr itself has no place to go.
pub fn tell(text: impl Display) {
    let mut stderr = anstream::stderr().lock();
    // The exit code still shows the result.
    let _ = writeln!(stderr, "{text}").and_then(|()| stderr.flush());
}

impl Failure {
    /// Prints the message on stderr.
    pub fn print(&self) {
        let (Self::Io(text)
        | Self::Usage(text)
        | Self::Refused(text)
        | Self::Secrets(text)
        | Self::Policy(text)
        | Self::TooLarge(text)) = self
        else {
            return;
        };
        if !text.is_empty() {
            tell(format_args!("error: {text}"));
        }
    }
}
