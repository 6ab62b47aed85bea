use serde::Serialize;

pub(crate) fn emit<T: Serialize>(value: &T) -> Result<String, serde_yaml::ser_error::Error> {
    let options = serde_yaml::ser_options! { folded_wrap_chars: usize::MAX };
    serde_yaml::to_string_with_options(value, options)
}
