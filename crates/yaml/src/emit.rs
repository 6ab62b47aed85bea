//! Writes YAML that parsers of 1.1 and 1.2 read alike.

use serde::Serialize;

/// A mapping that is written on one line.
pub use serde_yaml::FlowMap;

/// A value that could not be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("could not write YAML: {0}")]
pub struct Error(#[from] serde_yaml::ser_error::Error);

/// Writes a value as one YAML document without `---`, ending in a newline.
///
/// Texts come back as the same texts from a reader of YAML 1.1 (PyYAML, which cloud-init uses) and of 1.2; several lines
/// become a literal block.
pub fn emit<T: Serialize>(value: &T) -> Result<String, Error> {
    let options = serde_yaml::ser_options! { folded_wrap_chars: usize::MAX };
    Ok(serde_yaml::to_string_with_options(value, options)?)
}
