//! The texts that a spec is made of, from files, stdin, the command line and the environment.

use std::{
    io::{self, Read},
    path::Path,
};

use super::failure::{Failure, shell_word};
use crate::{cli::SpecArgs, spec::Layers};

/// Reads everything that the arguments name. A file that cannot be included is a finding, one that was asked for a failure.
pub fn layers(args: &SpecArgs) -> Result<Layers, Failure> {
    let stdin = Path::new("-");
    if args.specs.iter().filter(|path| *path == stdin).count() > 1 {
        return Err(Failure::Usage(
            "stdin can be one spec, and `-` is given twice".to_owned(),
        ));
    }
    let mut layers = Layers::default();
    for path in &args.specs {
        let (name, bytes) = if path == stdin {
            ("<stdin>".to_owned(), from_stdin()?)
        } else {
            let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
            (path.display().to_string(), bytes)
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            Failure::Refused(format!("{name} is not UTF-8 (byte {byte})"))
        })?;
        layers.add(&name, path, text, &mut included);
    }
    layers.set(&args.set);
    if args.env {
        // A variable that is not text cannot be meant.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        layers.substitute(std::env::vars_os().filter_map(text).collect());
    }
    Ok(layers)
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::file("read", Path::new("<stdin>"), &error))?;
    Ok(bytes)
}

fn included(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8 (byte {})", error.utf8_error().valid_up_to()))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => Failure::Io(format!(
            "there is no spec at {}\n  = help: write a starter with: firelay init {}",
            path.display(),
            shell_word(path)
        )),
        _ => Failure::file("read", path, error),
    }
}
