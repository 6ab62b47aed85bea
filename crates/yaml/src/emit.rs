//! Writes YAML that parsers of 1.1 and 1.2 read alike.

use std::sync::{Arc, LazyLock};

use firelay_base::memo::Memo;
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

/// The same for a value that many machines have: it is written once. The values are found by their JSON, which takes a tenth of the time.
///
/// # Errors
///
/// The value cannot be written.
///
/// # Panics
///
/// The value is no JSON: it has a key that is neither a text nor a number.
pub fn emit_shared<T: Serialize>(value: &T) -> Result<Arc<String>, Error> {
    static TEXTS: LazyLock<Memo<String>> = LazyLock::new(Memo::default);
    let json = serde_json::to_vec(value).expect("keys are texts");
    TEXTS.try_of(std::any::type_name::<T>(), &json, || emit(value))
}
