//! What the user wrote: optional fields, strict keys, every value with its place.

mod amend;
mod hints;
mod layers;
mod model;
mod patches;
mod sources;
mod under;

use firelay_yaml::{
    Content, Draft, Inserted, Node as Branch, Tree, Words,
    diagnostic::{self, Diagnostic, Source, Span},
};

pub use layers::{Layers, Part, RULES, Read};
pub use model::*;
pub use patches::{ALL, FilePatch, PatchText};
pub use sources::{Load, Loaded, MOST_BYTES, Unread};
pub use under::{Case, Guard, Need, Under, Yield};

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
    ("versiontls12", "TLS1.2"),
    ("versiontls13", "TLS1.3"),
    ("x64", "amd64"),
    ("x86_64", "amd64"),
];

/// Reads a spec. All mistakes of form are returned, in the order of the text; what the values mean is `plan`'s concern.
pub fn parse(source: &Source) -> Result<Spec, Vec<Diagnostic>> {
    let (draft, _) = draft(&Layers::from(source.clone()));
    match draft.value {
        Some(spec) if !diagnostic::refuse(&draft.findings) => Ok(spec),
        _ => Err(draft.findings),
    }
}

/// [`parse`] for a spec of several texts, with what could be read in spite of the mistakes and warnings, and with
/// what came into it from the environment, which findings must not tell.
pub fn draft(layers: &Layers) -> (Draft<Spec>, Vec<Inserted>) {
    let composed = match layers.compose() {
        Ok(composed) => composed,
        Err(mut findings) => {
            diagnostic::sort(&mut findings);
            let draft = Draft {
                value: None,
                findings,
                certain: false,
            };
            return (draft, Vec::new());
        }
    };
    let mut draft = decoded(&composed.tree);
    // What is wrong with a value that is not known is of no interest.
    let unset: Vec<_> = draft
        .findings
        .iter()
        .filter(|f| f.code == "FL0020")
        .map(|f| f.span)
        .collect();
    draft
        .findings
        .retain(|finding| finding.code == "FL0020" || !unset.contains(&finding.span));
    hints::add(&composed.tree, &layers.source, &mut draft.findings);
    if let Some(spec) = &mut draft.value {
        spec.patch_files = composed.patches;
        spec.laid_over = layers.laid_over().map(str::to_owned);
        sources::fill(spec, &layers.loaded);
    }
    (draft, composed.inserted)
}

/// Where the mappings stand whose place is the given one, as keys with dots between; a place may be that of several.
pub fn paths_at(layers: &Layers, span: Span) -> Vec<String> {
    let is_mapping = |node: &Branch<'_>| matches!(node.content, Content::Mapping(_));
    paths(layers, |_, value| is_mapping(value) && value.span == span)
}

/// The same for values of any kind; elements of a list have the list's path.
pub fn value_paths_at(layers: &Layers, span: Span) -> Vec<String> {
    paths(layers, |_, value| value.span == span)
}

/// The same for the entries whose key stands there.
pub fn key_paths_at(layers: &Layers, span: Span) -> Vec<String> {
    paths(layers, |key, _| key.is_some_and(|key| key.span == span))
}

/// Paths of the values that are wanted, by their key and themselves, parents first.
fn paths(layers: &Layers, wanted: impl Fn(Option<&Branch<'_>>, &Branch<'_>) -> bool) -> Vec<String> {
    let mut paths = Vec::new();
    if let Ok(composed) = layers.compose() {
        collect_paths(None, &composed.tree.root, "", &wanted, &mut paths);
    }
    paths
}

fn collect_paths(
    key: Option<&Branch<'_>>,
    node: &Branch<'_>,
    path: &str,
    wanted: &impl Fn(Option<&Branch<'_>>, &Branch<'_>) -> bool,
    paths: &mut Vec<String>,
) {
    if wanted(key, node) {
        paths.push(path.to_owned());
    }
    match &node.content {
        Content::Scalar(_) => {}
        Content::Sequence(items) => {
            for item in items {
                collect_paths(None, item, path, wanted, paths);
            }
        }
        Content::Mapping(entries) => {
            for (key, value) in entries {
                let name = key.text().unwrap_or_default();
                let below = match path.is_empty() {
                    true => name.to_owned(),
                    false => format!("{path}.{name}"),
                };
                collect_paths(Some(key), value, &below, wanted, paths);
            }
        }
    }
}

/// A tree as a spec, with the mistakes of its form; those of parameters among them.
fn decoded(tree: &Tree<'_>) -> Draft<Spec> {
    let mut draft: Draft<Spec> = firelay_yaml::draft(tree, WORDS);
    let (_, wrong) = draft.value.as_ref().map(Spec::choices).unwrap_or_default();
    draft.certain &= !diagnostic::refuse(&wrong);
    draft.findings.extend(wrong);
    diagnostic::sort(&mut draft.findings);
    draft
}

/// A spec as one tree, to vary it.
#[derive(Clone, Debug)]
pub struct Laid {
    /// The tree of all texts.
    pub root: Branch<'static>,
    /// Values of the environment in it, which nobody is told.
    pub inserted: Vec<Inserted>,
    patches: Vec<FilePatch>,
    laid_over: Option<String>,
    loaded: sources::Files,
}

impl Laid {
    /// Lays the texts of a spec over each other; `None` for what leaves nothing to look into.
    pub fn new(layers: &Layers) -> Option<Self> {
        let composed = layers.compose().ok()?;
        Some(Self {
            root: composed.tree.root.detached(),
            inserted: composed.inserted,
            patches: composed.patches,
            laid_over: layers.laid_over().map(str::to_owned),
            loaded: layers.loaded.clone(),
        })
    }

    /// The spec with another tree, or what is wrong with it.
    pub fn read(&self, root: Branch<'static>) -> Result<Spec, Vec<Diagnostic>> {
        let tree = Tree {
            root,
            findings: Vec::new(),
        };
        let mut draft = decoded(&tree);
        match draft.value.take() {
            Some(mut spec) if draft.findings.is_empty() => {
                spec.patch_files.clone_from(&self.patches);
                spec.laid_over.clone_from(&self.laid_over);
                sources::fill(&mut spec, &self.loaded);
                Ok(spec)
            }
            _ => Err(draft.findings),
        }
    }
}

/// What says that a text is no part of a spec.
fn check_header(tree: &Tree<'_>) -> Vec<Diagnostic> {
    [("apiVersion", API_VERSION), ("kind", KIND)]
        .into_iter()
        .filter_map(|(key, expected)| check_header_key(tree, key, expected))
        .collect()
}

fn check_header_key(tree: &Tree<'_>, key: &str, expected: &str) -> Option<Diagnostic> {
    let value = tree.root.get(key)?;
    (value.text()? != expected).then(|| {
        Diagnostic::error("FL0014", format!("`{key}` must be {expected}"))
            .at(value.span)
            .label("this is the spec of another program, or of another version")
            .help(format!("write {key}: {expected}"))
    })
}
