//! Texts of the user that go through firelay as they are: manifests and kubeadm patches.

use std::collections::BTreeSet;

use super::{ManifestPlan, names, report::Report, sources::Given};
use crate::{
    diagnostic::{Diagnostic, Span},
    spec::{Loaded, Manifest, PatchType},
    yaml::{self, Content, Spanned, Tree},
};

/// Names are file names, each once; contents are YAML.
pub(super) fn check(manifests: &[Manifest], report: &mut Report) {
    let mut seen = BTreeSet::new();
    for manifest in manifests {
        let name = &manifest.name;
        if !names::is_subdomain(name) {
            let finding = Diagnostic::error("FL0503", "not the name of a manifest").at(name.span);
            report.push(finding.label("lower case letters, digits and inner - . only: it becomes a file's name"));
        }
        if !seen.insert(name.as_str()) {
            report.push(
                Diagnostic::error(
                    "FL0503",
                    format!("the manifest {name} is given twice", name = name.value),
                )
                .at(name.span),
            );
        }
        let given = Given {
            what: "manifest",
            name: name.span,
            content: manifest.content.as_ref(),
            source: manifest.source.as_ref(),
            loaded: manifest.loaded.as_ref(),
        };
        given.check(report);
        match (&manifest.content, &manifest.source, &manifest.loaded) {
            (Some(content), ..) => check_content(content, report),
            (None, Some(source), Some(loaded)) => check_loaded(source, loaded, report),
            _ => {}
        }
    }
}

/// The manifests that could be read, with their content.
pub(super) fn plan(manifests: &[Manifest]) -> Vec<ManifestPlan> {
    let content = |manifest: &Manifest| match (&manifest.content, &manifest.loaded) {
        (Some(content), _) => Some(content.value.clone()),
        (None, loaded) => loaded.as_ref()?.text().map(str::to_owned),
    };
    let plans = manifests.iter().filter_map(|manifest| {
        Some(ManifestPlan {
            name: manifest.name.value.clone(),
            content: content(manifest)?,
        })
    });
    plans.collect()
}

const NO_DOCUMENT: &str = "a manifest without a document";
const NOT_YAML: &str = "the manifest is not valid YAML";

fn check_content(content: &Spanned<String>, report: &mut Report) {
    match yaml::documents(content) {
        Ok(0) => report.push(Diagnostic::error("FL0503", NO_DOCUMENT).at(content.span)),
        Ok(_) => {}
        Err(fault) => report.push(
            Diagnostic::error("FL0503", NOT_YAML)
                .at(content.span)
                .label(fault.to_string()),
        ),
    }
}

/// Points into the file itself. Its lines are not shown: there may be a Secret in it.
fn check_loaded(source: &Spanned<String>, loaded: &Loaded, report: &mut Report) {
    let Ok(bytes) = &loaded.bytes else { return };
    let (Some(text), Some(start)) = (loaded.text(), loaded.start) else {
        let finding = Diagnostic::error("FL0503", NOT_YAML).at(source.span);
        return report.push(finding.label(match std::str::from_utf8(bytes) {
            Err(error) => format!("{} is not UTF-8 (byte {})", loaded.path.display(), error.valid_up_to()),
            Ok(_) => format!("{} has a byte of zero", loaded.path.display()),
        }));
    };
    let place = |line: usize| {
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let before: usize = lines.iter().take(line.saturating_sub(1)).map(|line| line.len()).sum();
        let length = lines
            .get(line.saturating_sub(1))
            .map_or(0, |line| line.trim_end().len());
        Span {
            start: start + before,
            end: start + before + length,
        }
    };
    match yaml::documents(text) {
        Ok(0) => report.push(Diagnostic::error("FL0503", NO_DOCUMENT).at(Span { start, end: start })),
        Ok(_) => {}
        Err(fault) => report.push(
            Diagnostic::error("FL0503", NOT_YAML)
                .at_hidden(place(fault.line))
                .label(format!("line {}: {}", fault.line, fault.why)),
        ),
    }
}

/// A patch is one document: a list of operations for JSON patches, else a mapping.
pub(super) fn check_patch(content: &Spanned<String>, kind: PatchType, report: &mut Report) {
    let finding = |message| Diagnostic::error("FL0504", message).at(content.span);
    let tree = match Tree::parse(content) {
        Ok(tree) if tree.findings.is_empty() => tree,
        Ok(Tree { findings, .. }) | Err(findings) => {
            let why = |first: &Diagnostic| {
                if first.label.is_empty() {
                    first.message.clone()
                } else {
                    first.label.clone()
                }
            };
            return report
                .push(finding("the patch is not valid YAML").label(findings.first().map_or_else(String::new, why)));
        }
    };
    match (&tree.root.content, kind) {
        (Content::Sequence(_), PatchType::Json) | (Content::Mapping(_), PatchType::Strategic | PatchType::Merge) => {}
        (_, PatchType::Json) => report.push(finding("a JSON patch is a list of operations")),
        _ => report.push(
            finding("a strategic or merge patch is a mapping").help("for a list of operations, set `type: json`"),
        ),
    }
}
