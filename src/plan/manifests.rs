//! Texts of the user that go through firelay as they are: manifests and kubeadm patches.

use std::collections::BTreeSet;

use super::{names, report::Report};
use crate::{
    diagnostic::Diagnostic,
    spec::{Manifest, PatchType},
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
        check_content(&manifest.content, report);
    }
}

fn check_content(content: &Spanned<String>, report: &mut Report) {
    match yaml::documents(content) {
        Ok(0) => report.push(Diagnostic::error("FL0503", "a manifest without a document").at(content.span)),
        Ok(_) => {}
        Err(why) => report.push(
            Diagnostic::error("FL0503", "the manifest is not valid YAML")
                .at(content.span)
                .label(why),
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
