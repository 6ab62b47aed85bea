//! Patches in separate files: `patches/{all,ROLE,NODE}/*.yaml` beside the spec.

use serde::Deserialize;

use super::Patch;
use firelay_yaml::{
    Node, Operation, OwnedNode, Spanned, Tree,
    diagnostic::{Diagnostic, Source, Span},
};

/// The folder whose patches are for every machine.
pub const ALL: &str = "all";

/// A text of a source with patches.
#[derive(Clone, Debug)]
pub(super) struct PatchText {
    /// Its number in the source.
    pub(super) number: usize,
    /// Its folder below `patches/`; empty for a file outside of folders.
    pub(super) folder: String,
}

/// A patch of a rendered file.
#[derive(Clone, Debug)]
pub struct FilePatch {
    /// The folder of its file, with the file's beginning as position.
    pub folder: Spanned<String>,
    /// The patch.
    pub patch: Patch,
}

#[derive(Clone, Debug)]
pub(super) struct SpecPatch {
    /// Like the field of [`FilePatch`].
    pub(super) folder: Spanned<String>,
    /// How it is changed.
    pub(super) change: SpecChange,
}

/// A patch whose target is the spec.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SpecChange {
    pub(super) target: Spanned<String>,
    pub(super) merge: Option<OwnedNode>,
    pub(super) json: Option<Vec<Operation>>,
}

/// The content of all files of patches.
#[derive(Clone, Debug, Default)]
pub(super) struct PatchFiles {
    pub(super) texts: Vec<PatchText>,
    /// Patches of rendered files.
    pub(super) files: Vec<FilePatch>,
    pub(super) spec: Vec<SpecPatch>,
    pub(super) findings: Vec<Diagnostic>,
}

impl PatchFiles {
    /// Reads one more text. Patches are applied in the order of their texts.
    pub(super) fn read(&mut self, source: &Source, number: usize, folder: &str) {
        let text = &source.texts()[number];
        let beginning = Span::new(text.start, text.start);
        self.texts.push(PatchText {
            number,
            folder: folder.to_owned(),
        });
        if folder.is_empty() {
            let finding = Diagnostic::error("FL0702", "patches for nobody in particular").at(beginning);
            let help = "move it to patches/all, patches/control-plane, patches/worker or the folder of a node";
            return self.findings.push(finding.help(help));
        }
        let folder = Spanned::new(folder.to_owned(), beginning);
        let before = self.len();
        for part in firelay_yaml::split(&text.text) {
            self.document(&alone(&text.text, part), text.start, &folder);
        }
        if self.len() == before {
            let finding = Diagnostic::error("FL0701", "a file of patches without a patch").at(beginning);
            self.findings
                .push(finding.help("remove it, or write target: {…} and merge: {…}"));
        }
    }

    fn len(&self) -> usize {
        self.files.len() + self.spec.len() + self.findings.len()
    }

    fn document(&mut self, text: &str, start: usize, folder: &Spanned<String>) {
        if firelay_yaml::documents(text) == Ok(0) {
            return;
        }
        let tree = match Tree::parse_at(text, start) {
            Ok(tree) => tree,
            Err(findings) => return self.findings.extend(findings),
        };
        if is_spec(&tree.root) {
            let change = self.decoded(&tree);
            self.spec.extend(change.map(|change| SpecPatch {
                folder: folder.clone(),
                change,
            }));
        } else {
            let patch = self.decoded(&tree);
            self.files.extend(patch.map(|patch| FilePatch {
                folder: folder.clone(),
                patch,
            }));
        }
    }

    fn decoded<T: serde::de::DeserializeOwned>(&mut self, tree: &Tree<'_>) -> Option<T> {
        let draft = firelay_yaml::decode_partial(tree, &[]);
        let whole = draft.findings.is_empty();
        // A finding about the whole document would be one about the first text.
        let place = tree.root.span;
        let placed = draft.findings.into_iter().map(|finding| match finding.span {
            Some(_) => finding,
            None => finding.at(place),
        });
        self.findings.extend(placed);
        draft.value.filter(|_| whole)
    }
}

/// `target: spec`, or another single word that probably means it.
fn is_spec(root: &Node<'_>) -> bool {
    root.get("target").is_some_and(|target| target.text().is_some())
}

/// One document of a text, with blank lines before it, so that its lines keep their numbers.
fn alone(text: &str, part: std::ops::Range<usize>) -> String {
    let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
    let before = text[..part.start].bytes().map(blank);
    before.chain(text[part].chars()).collect()
}
