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

/// [`emit`] for a value that many machines share. Equal values are written once; they are compared by type and JSON, which takes a tenth of
/// the time. Values of one type with equal JSON must have equal YAML. Texts stay in memory until the program ends: [`emit`] is for secrets.
pub fn emit_shared<T: Serialize>(value: &T) -> Result<Arc<String>, Error> {
    static TEXTS: LazyLock<Memo<String>> = LazyLock::new(Memo::default);
    let Ok(json) = serde_json::to_vec(value) else {
        return emit(value).map(Arc::new);
    };
    TEXTS.try_of(std::any::type_name::<T>(), &json, || emit(value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_shared_text_is_that_of_its_type() {
        let map = BTreeMap::from([("a", 1), ("b", 2)]);
        let text = emit(&map).map_err(|error| error.to_string());
        let flow = emit(&FlowMap(map.clone())).map_err(|error| error.to_string());
        assert_ne!(text, flow);
        for _ in 0..3 {
            let shared = |shared: Result<Arc<String>, Error>| {
                shared.map(|text| text.to_string()).map_err(|error| error.to_string())
            };
            assert_eq!(shared(emit_shared(&map)), text);
            assert_eq!(shared(emit_shared(&FlowMap(map.clone()))), flow);
        }
    }
}
