//! What the user wrote: optional fields, strict keys, every value with its place.

mod hints;
mod model;

use crate::{
    diagnostic::{Diagnostic, Source},
    yaml::{self, Draft, Tree, Words},
};

pub use model::*;

/// The `apiVersion` that this program reads.
pub const API_VERSION: &str = "firelay.dev/v1alpha1";
/// The `kind` that this program reads.
pub const KIND: &str = "Cluster";

/// Words of other programs for choices of the spec.
const WORDS: Words = &[
    ("aarch64", "arm64"),
    ("agent", "worker"),
    ("master", "control-plane"),
    ("node", "worker"),
    ("server", "control-plane"),
    ("x64", "amd64"),
    ("x86_64", "amd64"),
];

/// Reads a spec. All mistakes of form are returned, in the order of the text; what the values mean is `plan`'s concern.
pub fn parse(source: &Source) -> Result<Spec, Vec<Diagnostic>> {
    let draft = draft(source);
    match draft.value {
        Some(spec) if draft.findings.is_empty() => Ok(spec),
        _ => Err(draft.findings),
    }
}

/// [`parse`], with what could be read in spite of the mistakes.
pub fn draft(source: &Source) -> Draft<Spec> {
    let refused = |findings| Draft {
        value: None,
        findings,
        certain: false,
    };
    let tree = match Tree::parse(source.texts().first().map_or("", |text| &text.text)) {
        Ok(tree) => tree,
        Err(findings) => return refused(findings),
    };
    let strange: Vec<_> = [("apiVersion", API_VERSION), ("kind", KIND)]
        .into_iter()
        .filter_map(|(key, expected)| check_header(&tree, key, expected))
        .collect();
    // Of a document in another shape every key would be wrong; saying so would bury the reason.
    if !strange.is_empty() {
        return refused(strange);
    }
    let mut draft = yaml::draft(&tree, WORDS);
    hints::add(&tree, source, &mut draft.findings);
    draft
}

fn check_header(tree: &Tree<'_>, key: &str, expected: &str) -> Option<Diagnostic> {
    let value = tree.root.get(key)?;
    (value.text()? != expected).then(|| {
        Diagnostic::error("FL0014", format!("`{key}` must be {expected}"))
            .at(value.span)
            .label("this is the spec of another program, or of another version")
            .help(format!("write {key}: {expected}"))
    })
}
