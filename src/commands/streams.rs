//! stdout, which is data, and stderr, which is for people.

use std::{
    fmt::Display,
    io::{self, Write},
};

use serde::Serialize;

use super::failure::Failure;

/// Writes data as it is. A reader that had enough (`firelay check | head -1`) is no failure; a full disk is one.
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

/// Writes data as indented JSON.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::io(&error))?;
    data(&format!("{text}\n"))
}

/// Tells people something, in lines. Nobody is told when they cannot be reached.
pub fn tell(text: impl Display) {
    let mut stderr = anstream::stderr().lock();
    // The exit code still says how it went.
    let _ = writeln!(stderr, "{text}").and_then(|()| stderr.flush());
}
