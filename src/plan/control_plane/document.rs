//! Documents of the user's fields, with the apiVersion and kind that the version of Kubernetes reads.

use std::collections::BTreeMap;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};
use serde_json::{Map, Value};

use crate::{
    plan::report::Report,
    profile::{ConfigurationFile, KubernetesProfile},
};

/// A document: apiVersion and kind first, then the fields in the order of their names.
pub(super) type Document = Map<String, Value>;

/// The document for a purpose (`audit`), or `None` when no field is given. `key` is the user's.
pub(super) fn read(
    purpose: &str,
    key: &str,
    fields: &BTreeMap<Spanned<String>, Value>,
    profile: &KubernetesProfile,
    report: &mut Report,
) -> Option<Document> {
    if fields.is_empty() {
        return None;
    }
    let plain = fields.iter().map(|(name, value)| (name.value.clone(), value.clone()));
    let file = profile.configuration_files.get(purpose);
    let headers = fields
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "apiVersion" | "kind"));
    for (name, value) in headers {
        let finding = file.and_then(|file| header(file, key, name, value, profile));
        report.extend(finding.map(|finding| finding.at(name.span)));
    }
    Some(headed(purpose, plain.collect(), profile))
}

/// The document of an admission plugin's configuration. Its mistakes are reported at `name`.
pub(super) fn nested(
    name: &Spanned<String>,
    key: &str,
    fields: &Document,
    profile: &KubernetesProfile,
    report: &mut Report,
) -> Document {
    if let Some(file) = profile.configuration_files.get(name.as_str()) {
        for field in ["apiVersion", "kind"] {
            let finding = fields
                .get(field)
                .and_then(|value| header(file, key, field, value, profile));
            report.extend(finding.map(|finding| finding.at(name.span)));
        }
    }
    headed(name, fields.clone(), profile)
}

/// Fields after the apiVersion and kind of their purpose, unless they contain their own; only the fields if the purpose
/// has none.
pub(super) fn headed(purpose: &str, fields: Document, profile: &KubernetesProfile) -> Document {
    let Some(file) = profile.configuration_files.get(purpose) else {
        return fields;
    };
    let version = file.api_versions.first().cloned().unwrap_or_default();
    let mut document = Document::from_iter([
        ("apiVersion".to_owned(), version.into()),
        ("kind".to_owned(), file.kind.clone().into()),
    ]);
    document.extend(fields);
    document
}

/// Checks an apiVersion or kind of the user.
fn header(
    file: &ConfigurationFile,
    key: &str,
    field: &str,
    value: &Value,
    profile: &KubernetesProfile,
) -> Option<Diagnostic> {
    let known = match field {
        "kind" => std::slice::from_ref(&file.kind),
        _ => file.api_versions.as_slice(),
    };
    let fits = value
        .as_str()
        .is_some_and(|value| known.iter().any(|known| known == value));
    let message = format!("Kubernetes {} does not read this `{field}` for `{key}`", profile.minor);
    let help = format!("write {}, or leave it out", known.join(" or "));
    (!fits).then(|| Diagnostic::error("FL0520", message).help(help))
}
