//! stdout for data, stderr for people.

use std::{
    cell::RefCell,
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use firelay_yaml::diagnostic::{self, Diagnostic, Source};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::{command_line, failure::Failure};
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

thread_local! {
    /// Lines for people that are not printed yet.
    static CAPTURED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Works, and returns what this thread would have printed for people.
pub fn captured<T>(work: impl FnOnce() -> T) -> (T, String) {
    CAPTURED.set(Some(String::new()));
    let done = work();
    (done, CAPTURED.take().unwrap_or_default())
}

/// Prints lines for people, whose commands have the files of this call.
pub fn tell(text: impl Display) {
    print(command_line::in_commands(&text.to_string()));
}

/// An error on stderr itself has no place to go.
fn print(text: impl Display) {
    let capture = |lines: &mut Option<String>| lines.as_mut().map(|lines| *lines += &format!("{text}\n"));
    if CAPTURED.with_borrow_mut(capture).is_some() {
        return;
    }
    let mut stderr = anstream::stderr().lock();
    // The exit code still shows the result.
    let _ = writeln!(stderr, "{text}").and_then(|()| stderr.flush());
}

/// Prints findings for people on stderr; the source has the places of its secrets.
pub fn print_findings(source: &Source, findings: &[Diagnostic]) {
    // The excerpts stay as they are in the source.
    let typed = |text: &String| command_line::in_commands(text).into_owned();
    let typed = |finding: &Diagnostic| Diagnostic {
        label: typed(&finding.label),
        help: finding.help.as_ref().map(typed),
        ..finding.clone()
    };
    let findings: Vec<_> = findings.iter().map(typed).collect();
    if !findings.is_empty() {
        let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        print(diagnostic::render(source, &findings, color).trim_end());
    }
}

impl Failure {
    /// Prints the message on stderr.
    pub fn print(&self) {
        if let Self::Found(found) = self {
            print_findings(&found.source, &found.findings);
        }
        if let Some(text) = self.text().filter(|text| !text.is_empty()) {
            tell(format_args!("error: {text}"));
        }
    }
}
