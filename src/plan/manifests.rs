//! Texts of the user that go through firelay as they are: manifests and kubeadm patches.

use std::collections::BTreeSet;

use super::{ManifestPlan, ManifestSource, artifacts, names, report::Report};
use crate::{
    declaration::PhaseName,
    diagnostic::Diagnostic,
    spec::{Manifest, PatchType, Spec},
    yaml::{self, Content, Spanned, Tree},
};

/// Those of the spec, and those that the network plugin's parameters name. Names are file names, each once; contents are
/// YAML.
pub(super) fn resolve(spec: &Spec, report: &mut Report) -> Vec<ManifestPlan> {
    let (choices, _) = spec.choices();
    let brought = choices.iter().flat_map(|choice| {
        let node = choice
            .declaration
            .manifests
            .as_deref()
            .and_then(|path| choice.written(path));
        let tree = node.map(|node| Tree {
            root: node.clone(),
            findings: Vec::new(),
        });
        // Their form is checked by the declaration.
        let listed = tree.and_then(|tree| yaml::draft::<Vec<Manifest>>(&tree, &[]).value);
        listed.unwrap_or_default()
    });
    let brought: Vec<_> = brought.collect();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (manifests, default) in [(&brought, PhaseName::Cni), (&spec.manifests, PhaseName::Manifests)] {
        for manifest in manifests {
            check_name(&manifest.name, &mut seen, report);
            all.extend(manifest_plan(manifest, default, report));
        }
    }
    all
}

fn check_name<'s>(name: &'s Spanned<String>, seen: &mut BTreeSet<String>, report: &mut Report) {
    if !names::is_subdomain(name) {
        let finding = Diagnostic::error("FL0503", "not the name of a manifest").at(name.span);
        report.push(finding.label("lower case letters, digits and inner - . only: it becomes a file's name"));
    }
    if !seen.insert(name.value.clone()) {
        let message = format!("the manifest {name} is given twice", name = name.value);
        report.push(Diagnostic::error("FL0503", message).at(name.span));
    }
}

fn manifest_plan(manifest: &Manifest, default: PhaseName, report: &mut Report) -> Option<ManifestPlan> {
    let source = match (&manifest.content, &manifest.url, &manifest.sha256) {
        (Some(content), None, None) => {
            check_content(content, report);
            ManifestSource::Content(content.value.clone())
        }
        (None, Some(url), Some(sha256)) => {
            artifacts::check_url(url, report);
            artifacts::check_sha256(sha256, report);
            ManifestSource::Url {
                url: url.value.clone(),
                sha256: sha256.to_lowercase(),
            }
        }
        _ => {
            let finding =
                Diagnostic::error("FL0805", "a manifest from nowhere, or from two places").at(manifest.name.span);
            report.push(finding.help("write `content`, or `url` with its `sha256`"));
            return None;
        }
    };
    Some(ManifestPlan {
        name: manifest.name.value.clone(),
        phase: manifest.phase.as_ref().map_or(default, |phase| phase.value),
        source,
    })
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
