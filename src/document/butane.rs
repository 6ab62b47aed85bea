//! Butane: the Ignition document as the YAML that people merge with their own and translate themselves.

use serde_json::{Map, Value, json};

use super::{Error, Ignition};
use crate::{node::NodeFiles, profile::OsProfile};

/// The document as Butane, of the variant and version that compile to this system's Ignition. Keys are Ignition's in
/// snake case, and text is `inline` (Butane docs, "Configuration specifications"; 2026-11-20). Modes are decimal, as in
/// Ignition: Butane accepts every YAML notation of a number.
pub fn butane(os: &OsProfile, files: &NodeFiles) -> Result<String, Error> {
    let Some(version) = &os.ignition_version else {
        return Err(Error::NoIgnitionVersion(os.name.clone()));
    };
    let Some(butane) = &os.butane else {
        return Err(Error::NoButane(os.name.clone()));
    };
    let ignition = Ignition {
        version: version.clone(),
    };
    let (mut config, contents) = ignition.said(files)?;
    let texts = contents.iter().map(|text| json!({ "inline": &**text }));
    for (file, text) in elements(&mut config, "/storage/files").zip(texts) {
        file["contents"] = text;
    }
    let header = [("variant", &butane.variant), ("version", &butane.version)];
    let header = header.map(|(key, value)| (key.to_owned(), Value::from(value.as_str())));
    let mut document: Map<String, Value> = header.into_iter().collect();
    if let Value::Object(config) = snake_case(config) {
        document.extend(config.into_iter().filter(|(key, _)| key != "ignition"));
    }
    Ok(firelay_yaml::emit(&document)?)
}

fn elements<'a>(config: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = config.pointer_mut(pointer).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// Every key is defined by the specification: no mapping has keys of the user.
fn snake_case(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(fields.map(|(key, value)| (snake(&key), snake_case(value))).collect())
        }
        Value::Array(elements) => elements.into_iter().map(snake_case).collect(),
        scalar => scalar,
    }
}

fn snake(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
