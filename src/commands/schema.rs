//! `schema`: the JSON Schema of the spec, on stdout.

use super::{failure::Failure, streams};
use crate::{profile::Profiles, schema};

/// Runs the verb.
pub fn run() -> Result<(), Failure> {
    streams::data(&text()?)
}

/// The schema as the text of a file.
pub fn text() -> Result<String, Failure> {
    let profiles = Profiles::embedded()?;
    let text = serde_json::to_string_pretty(&schema::json(&profiles))?;
    Ok(text + "\n")
}
