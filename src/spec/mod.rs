//! What the user wrote: optional fields, strict keys, every value with its place.

mod model;

use crate::{
    diagnostic::{Diagnostic, Source},
    yaml::{self, Tree},
};

pub use model::*;

/// The `apiVersion` that this program reads.
pub const API_VERSION: &str = "firelay.dev/v1alpha1";
/// The `kind` that this program reads.
pub const KIND: &str = "Cluster";

/// Reads a spec. All mistakes of form are returned, in the order of the text; what the values mean is `plan`'s concern.
pub fn parse(source: &Source) -> Result<Spec, Vec<Diagnostic>> {
    let tree = Tree::parse(&source.text)?;
    let strange: Vec<_> = [("apiVersion", API_VERSION), ("kind", KIND)]
        .into_iter()
        .filter_map(|(key, expected)| check_header(&tree, key, expected))
        .collect();
    // Of a document in another shape every key would be wrong; saying so would bury the reason.
    if strange.is_empty() {
        yaml::decode_tree(tree)
    } else {
        Err(strange)
    }
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
