//! Settings that only the founder applies, as each tree keeps them: after the founding no document has them, and a plan names the
//! fields that differ.

use std::collections::{BTreeMap, BTreeSet};

use firelay_yaml::split;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    FieldChange, FileChange, Handler, configuration,
    files::{self, FIELDS},
};
use crate::{
    node::{ARTIFACTS, MANIFESTS, NodeFile, fetched_manifests, kubeadm::INIT},
    record::{Differing, Founding, ValueDigests},
};

/// Its name in a tree.
pub const FOUNDING: &str = "founding.json";
/// Bytes of a value that is searched for secrets.
const LONGEST_SEARCHED: usize = 4096;
/// Keys of a Secret whose values are secrets.
const SECRET: [&str; 2] = ["data", "stringData"];

/// What a founder applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The keyed digest of each part, as in the record.
    digests: BTreeMap<String, String>,
    /// The files by their path on the founder. Values of Secrets are keyed digests.
    files: BTreeMap<String, String>,
    /// Secrets of the spec and values from the environment, which documents may have: a later plan shows none of them.
    #[serde(default, skip_serializing_if = "SecretValues::is_empty")]
    secrets: SecretValues,
}

/// Values that are known by their lengths and keyed digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretValues(BTreeMap<usize, BTreeSet<String>>);

impl SecretValues {
    /// Those of texts.
    pub fn of(texts: &[String], digests: &ValueDigests) -> Self {
        let mut values: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for text in texts {
            values.entry(text.len()).or_default().insert(digests.digest(text));
        }
        Self(values)
    }

    /// The same without texts that are known otherwise.
    #[must_use]
    pub fn without(mut self, texts: &[String], digests: &ValueDigests) -> Self {
        for text in texts {
            if let Some(known) = self.0.get_mut(&text.len()) {
                known.remove(&digests.digest(text));
            }
        }
        self.0.retain(|_, known| !known.is_empty());
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is in a text. A long text is not searched, and counts as one that has it.
    pub fn are_in(&self, text: &str, digests: &ValueDigests) -> bool {
        let has = |(length, known): (&usize, &BTreeSet<String>)| {
            let starts = 0..(text.len() + 1).saturating_sub(*length);
            let mut parts = starts.filter_map(|start| text.get(start..start + length));
            parts.any(|part| known.contains(&digests.digest(part)))
        };
        !self.is_empty() && (text.len() > LONGEST_SEARCHED || self.0.iter().any(has))
    }
}

/// The changes of settings that only the founder applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Fields of each part of kubeadm's configuration.
    pub fields: BTreeMap<Founding, Vec<FieldChange>>,
    /// Files of manifests.
    pub manifests: Vec<FileChange>,
}

impl Applied {
    /// Of the founder's files. `digest` hides a value of a Secret.
    pub fn new(digests: BTreeMap<String, String>, founder: &[NodeFile], digest: &impl Fn(&str) -> String) -> Self {
        let is_manifest = |file: &&NodeFile| file.path.starts_with(MANIFESTS);
        let manifests = founder.iter().filter(is_manifest);
        let manifests = manifests.map(|file| (file.path.clone(), without_secrets(&file.content, digest)));
        let init = founder.iter().find(|file| file.path == INIT);
        let init = init.map(|file| (INIT.to_owned(), configuration::shared(&file.content)));
        let fetched: String = fetched_manifests(founder).map(|line| format!("{line}\n")).collect();
        let fetched = (!fetched.is_empty()).then(|| (ARTIFACTS.to_owned(), fetched));
        Self {
            digests,
            files: manifests.chain(init).chain(fetched).collect(),
            secrets: SecretValues::default(),
        }
    }

    /// The same with the values that a later plan does not show.
    #[must_use]
    pub fn beside(self, secrets: SecretValues) -> Self {
        Self { secrets, ..self }
    }

    /// The values that a plan does not show.
    pub fn secrets(self) -> SecretValues {
        self.secrets
    }

    /// Whether it is known what was applied of a part.
    pub fn has(&self, part: Founding) -> bool {
        self.digests.contains_key(part.name())
    }

    /// Without the parts that are not those of the record.
    #[must_use]
    pub fn recorded_in(mut self, recorded: &BTreeMap<String, String>) -> Self {
        self.digests.retain(|name, digest| recorded.get(name) == Some(digest));
        self
    }

    /// What differs in a newer one. `is_secret` tells of the values of a field in the file at a path.
    pub fn changes(&self, new: &Self, is_secret: &impl Fn(&str, &FieldChange) -> bool) -> Changes {
        let mut fields = self.fields(new, is_secret);
        fields.retain(|part, _| self.has(*part));
        let manifests = match self.has(Founding::Manifests) {
            true => self.manifests(new, is_secret),
            false => Vec::new(),
        };
        Changes { fields, manifests }
    }

    fn fields(
        &self,
        new: &Self,
        is_secret: &impl Fn(&str, &FieldChange) -> bool,
    ) -> BTreeMap<Founding, Vec<FieldChange>> {
        let text = |own: &Self| own.files.get(INIT).cloned().unwrap_or_default();
        let mut parts: BTreeMap<_, Vec<FieldChange>> = BTreeMap::new();
        for (place, change) in files::differing_fields(INIT, &text(self), &text(new)).unwrap_or_default() {
            let Some(part) = Founding::with_field(&place) else {
                continue;
            };
            let own = parts.entry(part).or_default();
            if own.len() < FIELDS {
                own.push(change.unless(|change| is_secret(INIT, change), &place));
            }
        }
        parts
    }

    fn manifests(&self, new: &Self, is_secret: &impl Fn(&str, &FieldChange) -> bool) -> Vec<FileChange> {
        let (had, has) = (self.by_place(), new.by_place());
        let places: BTreeSet<_> = had.keys().chain(has.keys()).collect();
        let files = places.into_iter().map(|place| (had.get(place), has.get(place)));
        let differ = files.filter(|(old, new)| old.map(|own| own.1) != new.map(|own| own.1));
        let changes = differ.filter_map(|(old, new)| {
            let (path, _) = new.or(old)?;
            Some(manifest(path, [old, new].map(|own| own.map(|own| own.1)), is_secret))
        });
        changes.collect()
    }

    /// Paths and texts of manifests by their paths without numbers, which count the ones before: another one in front is no change.
    fn by_place(&self) -> BTreeMap<String, (&str, &str)> {
        let files = self.files.iter().filter(|(path, _)| *path != INIT);
        files
            .map(|(path, text)| (without_number(path), (path.as_str(), text.as_str())))
            .collect()
    }
}

/// The change of a manifest, or of the list of those that are fetched.
fn manifest(path: &str, [old, new]: [Option<&str>; 2], is_secret: &impl Fn(&str, &FieldChange) -> bool) -> FileChange {
    let kind = match (old, new) {
        // The list has artifacts of the machine beside those of manifests.
        _ if path == ARTIFACTS => "changed",
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let [old, new] = [old, new].map(Option::unwrap_or_default);
    let found = match kind {
        "changed" => files::content(path, old, new),
        _ => Vec::new(),
    };
    let fields = found.into_iter();
    let fields = fields.map(|(place, own)| own.unless(|change| is_secret(path, change), &place));
    FileChange {
        fields: fields.collect(),
        ..FileChange::applied(path, kind)
    }
}

/// The path of a file without its number: `60-manifests/#-own.yaml`.
fn without_number(path: &str) -> String {
    let (directory, file) = path.rsplit_once('/').unwrap_or_default();
    match file.split_once('-') {
        Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("{directory}/#-{name}"),
        _ => path.to_owned(),
    }
}

impl Changes {
    /// The names of fields and files.
    pub fn names(&self) -> Differing {
        let fields = self.fields.values().flatten();
        Differing {
            configuration: fields.map(|own| own.field.clone()).collect(),
            manifests: self.manifests.iter().map(|own| own.path.clone()).collect(),
        }
    }
}

impl FileChange {
    /// A file of manifests.
    pub fn applied(path: &str, kind: &'static str) -> Self {
        Self {
            path: path.to_owned(),
            kind,
            handlers: BTreeSet::from([Handler::Apply]),
            fields: Vec::new(),
            line: None,
            spec: Vec::new(),
        }
    }
}

/// The same documents, with digests in place of the values of Secrets.
fn without_secrets(text: &str, digest: &impl Fn(&str) -> String) -> String {
    let document = |text: &str| {
        let Ok(mut value) = firelay_yaml::parse::<Value>(MANIFESTS, text) else {
            return format!("# {}\n", digest(text));
        };
        match hide(&mut value, digest) {
            true => firelay_yaml::emit(&value).unwrap_or_default(),
            false => text.to_owned(),
        }
    };
    let documents = split(text).into_iter().map(|range| &text[range]);
    documents.map(document).collect::<Vec<_>>().join("---\n")
}

/// Whether an object holds a Secret, or is one.
fn hide(object: &mut Value, digest: &impl Fn(&str) -> String) -> bool {
    if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
        let hidden: Vec<_> = items.iter_mut().map(|item| hide(item, digest)).collect();
        return hidden.contains(&true);
    }
    if object.get("kind").and_then(Value::as_str) != Some("Secret") {
        return false;
    }
    for key in SECRET {
        let values = object.get_mut(key).and_then(Value::as_object_mut);
        for value in values.into_iter().flat_map(|values| values.values_mut()) {
            *value = digest(&value.to_string()).into();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_manifest_is_no_change() {
        let applied = |files: &[(&str, &str)]| Applied {
            digests: BTreeMap::from([(Founding::Manifests.name().to_owned(), String::new())]),
            files: { files.iter() }
                .map(|(file, text)| (format!("{MANIFESTS}60-manifests/{file}.yaml"), (*text).to_owned()))
                .collect(),
            secrets: SecretValues::default(),
        };
        let old = applied(&[("00-own", "a: 1\n"), ("01-other", "b: 1\n"), ("own", "c: 1\n")]);
        let new = applied(&[("06-own", "a: 1\n"), ("07-other", "b: 2\n"), ("own", "c: 1\n")]);
        let changes = old.changes(&new, &|_, _| false).manifests;
        let paths: Vec<_> = changes.iter().map(|own| (own.path.as_str(), own.kind)).collect();
        let other = format!("{MANIFESTS}60-manifests/07-other.yaml");
        assert_eq!(paths, [(other.as_str(), "changed")]);
    }
}
