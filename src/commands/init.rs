//! `init`: a commented starter spec that passes `check`.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::Path,
};

use serde::Serialize;

use super::{
    failure::{Failure, shell_word},
    streams,
};
use crate::{cli::Init, profile::Profiles, template, yaml};

#[derive(Serialize)]
struct Starter<'a> {
    name: &'a str,
    /// The name as YAML has it: `null` and `12` are texts only in quotes.
    scalar: String,
    version: String,
}

/// Runs the verb.
pub fn run(args: &Init) -> Result<(), Failure> {
    if !is_label(&args.name) {
        return Err(Failure::Usage(format!(
            "{:?} cannot be a cluster's name: lower-case letters, digits and '-', at most 63, a letter or digit at both ends",
            args.name
        )));
    }
    let text = starter(&args.name)?;
    match &args.file {
        Some(path) if path != Path::new("-") => {
            create(path, &text)?;
            streams::tell(format_args!(
                "wrote {}; next: firelay check {}",
                path.display(),
                shell_word(path)
            ));
            Ok(())
        }
        _ => streams::data(&text),
    }
}

fn starter(name: &str) -> Result<String, Failure> {
    let profiles = Profiles::embedded().map_err(|error| Failure::io(&error))?;
    let newest = profiles.kubernetes.values().flat_map(|profile| &profile.versions).max();
    let version = newest.map(ToString::to_string).unwrap_or_default();
    let scalar = yaml::emit(&name).map_err(|error| Failure::io(&error))?;
    let starter = Starter {
        name,
        scalar: scalar.trim_end().to_owned(),
        version,
    };
    template::render("starter.yaml.j2", &starter).map_err(|error| Failure::io(&error))
}

fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::Io(format!("{} exists and is not overwritten", path.display())),
            _ => Failure::file("write", path, &error),
        })
}

/// RFC 1123 label.
fn is_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len()) && name.bytes().all(inner) && !name.starts_with('-') && !name.ends_with('-')
}
