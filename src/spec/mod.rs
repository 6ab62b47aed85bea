//! What the user wrote: optional fields, strict keys, every value with its place.

mod amend;
mod hints;
mod model;
mod patches;

use crate::{
    diagnostic::{Diagnostic, Source},
    yaml::{self, Draft, Node as Branch, Tree, Words},
};

pub use model::*;
use patches::PatchFiles;
pub use patches::{ALL, FilePatch, PatchText};

/// The `apiVersion` that this program reads.
pub const API_VERSION: &str = "firelay.dev/v1alpha1";
/// The `kind` that this program reads.
pub const KIND: &str = "Cluster";

/// TEMP
const RULES: yaml::Rules = yaml::Rules {
    lists: &[("nodes", "name"), ("pools", "name")],
    choices: &[],
};

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
    let draft = draft(source, &[]);
    match draft.value {
        Some(spec) if draft.findings.is_empty() => Ok(spec),
        _ => Err(draft.findings),
    }
}

/// [`parse`], with what could be read in spite of the mistakes, and with the patches in texts of their own.
pub fn draft(source: &Source, patches: &[PatchText]) -> Draft<Spec> {
    let laid = match lay(source, patches) {
        Ok(laid) => laid,
        Err(findings) => {
            return Draft {
                value: None,
                findings,
                certain: false,
            };
        }
    };
    let mut draft = laid.draft();
    hints::add(&laid.tree, source, &mut draft.findings);
    draft.findings.extend(laid.findings);
    draft
}

/// A spec as a tree on which everything is laid that has the spec as its target.
#[derive(Debug)]
pub struct Laid {
    /// The tree.
    pub tree: Tree<'static>,
    /// What is laid later, on rendered files.
    pub patches: Vec<FilePatch>,
    findings: Vec<Diagnostic>,
}

impl Laid {
    /// Reads the spec.
    pub fn draft(&self) -> Draft<Spec> {
        let mut draft: Draft<Spec> = yaml::draft(&self.tree, WORDS);
        if let Some(spec) = &mut draft.value {
            spec.patch_files.clone_from(&self.patches);
        }
        draft
    }

    /// The same with another tree.
    #[must_use]
    pub fn with(&self, root: Branch<'static>) -> Self {
        Self {
            tree: Tree {
                root,
                findings: Vec::new(),
            },
            patches: self.patches.clone(),
            findings: Vec::new(),
        }
    }
}

/// Parses a spec and lays its patches. Fails on what leaves nothing to look into.
pub fn lay(source: &Source, patches: &[PatchText]) -> Result<Laid, Vec<Diagnostic>> {
    let tree = Tree::parse(source.texts().first().map_or("", |text| &text.text))?;
    let strange: Vec<_> = [("apiVersion", API_VERSION), ("kind", KIND)]
        .into_iter()
        .filter_map(|(key, expected)| check_header(&tree, key, expected))
        .collect();
    // Of a document in another shape every key would be wrong; saying so would bury the reason.
    if !strange.is_empty() {
        return Err(strange);
    }
    let files = PatchFiles::read(source, patches);
    let (root, amiss) = amend::amended(tree.root.detached(), &files.spec);
    Ok(Laid {
        tree: Tree {
            root,
            findings: tree.findings,
        },
        patches: files.objects,
        findings: files.findings.into_iter().chain(amiss).collect(),
    })
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
