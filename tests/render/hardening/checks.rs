//! A check of one value in a rendered document.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex},
};

use serde::Deserialize;
use serde_json::Value;

use super::{audit::Request, support::Files};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    node: String,
    file: String,
    kind: Option<String>,
    at: Option<String>,
    is: Option<String>,
    one_of: Option<Vec<String>>,
    equals: Option<Vec<String>>,
    has: Option<Vec<String>>,
    lacks: Option<Vec<String>>,
    at_least: Option<u64>,
    there: Option<bool>,
    mode: Option<String>,
    line: Option<String>,
    lacks_line: Option<String>,
    audits: Option<Request>,
}

impl Check {
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The checked place, in readable form.
    pub fn place(&self) -> String {
        let kind = self.kind.iter().map(|kind| format!(" {kind}"));
        format!("{} `{}`{}", self.node, self.file, kind.collect::<String>())
    }

    /// The error; `None` when the control is present.
    pub fn fault(&self, machines: &BTreeMap<&'static str, Files>) -> Option<String> {
        let files = &machines[self.node.as_str()];
        let ending = format!("/{}", self.file);
        let found = files
            .iter()
            .find(|(path, _)| **path == self.file || path.ends_with(&ending));
        let Some((_, (mode, text))) = found else {
            let wanted = self.at.is_none() && self.there == Some(false);
            return (!wanted).then(|| format!("{} is not there", self.place()));
        };
        let fault = self.of_file(*mode, text).or_else(|| self.of_value(text));
        fault.map(|fault| format!("{}: {fault}", self.place()))
    }

    fn of_file(&self, mode: u32, text: &str) -> Option<String> {
        if let Some(wanted) = &self.mode {
            let given = format!("{mode:o}");
            return (given != *wanted).then(|| format!("mode {given}"));
        }
        if let Some(line) = &self.line {
            return (!text.contains(line.as_str())).then(|| format!("no line has {line}\n{text}"));
        }
        if let Some(line) = &self.lacks_line {
            return text.contains(line.as_str()).then(|| format!("a line has {line}"));
        }
        None
    }

    fn of_value(&self, text: &str) -> Option<String> {
        if self.mode.is_some() || self.line.is_some() || self.lacks_line.is_some() {
            return None;
        }
        let Some(at) = &self.at else {
            return match (&self.audits, self.there) {
                (Some(request), None) => request.fault(&self.document(text)),
                (None, Some(there)) => (!there).then(|| "it is there".to_owned()),
                _ => Some("nothing is asked".to_owned()),
            };
        };
        let keys: Vec<_> = at.split('.').collect();
        let value = look(&self.document(text), &keys);
        let fault = self.judge(value.as_ref());
        fault.map(|fault| format!("{at} is {}, {fault}", value.unwrap_or_default()))
    }

    fn document(&self, text: &str) -> Value {
        let documents = read(text);
        let wanted = |document: &&Value| self.kind.as_ref().is_none_or(|kind| document["kind"] == kind.as_str());
        documents.iter().find(wanted).cloned().unwrap_or_default()
    }

    fn judge(&self, value: Option<&Value>) -> Option<String> {
        let words = value.map(words).unwrap_or_default();
        let text = words.join(",");
        let given = |word: &String| words.contains(word);
        let (holds, wanted) = match self {
            Self { is: Some(is), .. } => (text == *is, is.clone()),
            Self { one_of: Some(all), .. } => (all.contains(&text), format!("not one of {all:?}")),
            Self { equals: Some(all), .. } => (words == *all, format!("not {all:?}")),
            Self { has: Some(all), .. } => (all.iter().all(given), format!("without one of {all:?}")),
            Self { lacks: Some(all), .. } => (
                value.is_some() && !all.iter().any(given),
                format!("with one of {all:?}"),
            ),
            Self {
                at_least: Some(least), ..
            } => {
                let number: Option<u64> = text.parse().ok();
                (
                    number.is_some_and(|number| number >= *least),
                    format!("less than {least}"),
                )
            }
            Self { there: Some(there), .. } => (value.is_some() == *there, format!("there: {there}")),
            _ => (false, "nothing is asked".to_owned()),
        };
        (!holds).then_some(wanted)
    }
}

/// A cache of parsed files: many checks read the same file.
static READ: LazyLock<Mutex<BTreeMap<String, Vec<Value>>>> = LazyLock::new(Mutex::default);

fn read(text: &str) -> Vec<Value> {
    let mut read = READ.lock().unwrap();
    let documents = read
        .entry(text.to_owned())
        .or_insert_with(|| super::support::pyyaml(text));
    documents.clone()
}

/// The value at a path. List elements are selected by number or name; otherwise the key is searched in each.
fn look(value: &Value, keys: &[&str]) -> Option<Value> {
    let Some((key, rest)) = keys.split_first() else {
        return Some(value.clone());
    };
    match value {
        Value::Object(fields) => look(fields.get(*key)?, rest),
        Value::Array(items) => {
            let named = items.iter().find(|item| item["name"] == **key);
            let numbered = || items.get(key.parse::<usize>().ok()?);
            if let Some(item) = named.or_else(numbered) {
                return look(item, rest);
            }
            let all: Vec<_> = items.iter().filter_map(|item| look(item, keys)).collect();
            (!all.is_empty()).then_some(Value::Array(all))
        }
        _ => None,
    }
}

/// The elements of a list, or of a comma-separated text.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(words).collect(),
        Value::String(text) => text.split(',').map(str::to_owned).collect(),
        other => vec![other.to_string()],
    }
}
