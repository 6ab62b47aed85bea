//! Texts of the user that go through firelay as they are: manifests and kubeadm patches.

use std::collections::BTreeSet;

use firelay_yaml::{
    Content, Node, OptionalKey, Spanned, Tree,
    diagnostic::{Diagnostic, Span},
};

use super::{Accepted, Codes, ManifestPlan, ManifestSource, artifacts, names, report::Report, sources::Given};
use crate::{
    declaration::PhaseName,
    spec::{KubeadmPatch, Loaded, Manifest, PatchTarget, PatchType, Spec},
};

/// The manifests in the network plugin's parameters.
pub(super) fn of_choices(spec: &Spec) -> Vec<Manifest> {
    let (choices, _) = spec.choices();
    let brought = choices.iter().flat_map(|choice| {
        let node = choice
            .declaration
            .manifests
            .as_deref()
            .and_then(|path| choice.written(path));
        let tree = node.map(|node| Tree::from(node.clone()));
        // Their form is checked by the declaration.
        let listed = tree.and_then(|tree| firelay_yaml::decode_partial::<Vec<Manifest>>(&tree, &[]).value);
        listed.unwrap_or_default()
    });
    brought.collect()
}

/// The manifests of the spec, and those in the network plugin's parameters. Names are unique file names; contents are
/// YAML.
pub(super) fn resolve(spec: &Spec, report: &mut Report) -> Vec<ManifestPlan> {
    let brought = of_choices(spec);
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

fn check_name(name: &Spanned<String>, seen: &mut BTreeSet<String>, report: &mut Report) {
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
    let source = match (&manifest.url, &manifest.sha256) {
        (None, None) => ManifestSource::Content(own(manifest, report)?),
        (Some(url), Some(sha256)) if manifest.content.is_none() && manifest.source.is_none() => {
            artifacts::check_url(url, report);
            artifacts::check_sha256(sha256, report);
            ManifestSource::Url {
                url: url.value.clone(),
                upstream: None,
                sha256: sha256.to_lowercase(),
            }
        }
        _ => {
            let finding =
                Diagnostic::error("FL0805", "a manifest from nowhere, or from two places").at(manifest.name.span);
            report.push(finding.help("write `content`, or `source`, or `url` with its `sha256`"));
            return None;
        }
    };
    Some(ManifestPlan {
        name: manifest.name.value.clone(),
        phase: manifest.phase.value().unwrap_or(default),
        source,
    })
}

/// The inline content, or that of a file, as far as it can be read.
fn own(manifest: &Manifest, report: &mut Report) -> Option<String> {
    let given = Given {
        what: "manifest",
        name: manifest.name.span,
        content: manifest.content.as_ref(),
        source: manifest.source.as_ref(),
        loaded: manifest.loaded.as_ref(),
    };
    given.check(report);
    match (&manifest.content, &manifest.source, &manifest.loaded) {
        (Some(content), ..) => {
            check_content(content, report);
            Some(content.value.clone())
        }
        (None, Some(source), Some(loaded)) => {
            check_loaded(source, loaded, report);
            loaded.text().map(str::to_owned)
        }
        _ => None,
    }
}

const NO_DOCUMENT: &str = "a manifest without a document";
const NOT_YAML: &str = "the manifest is not valid YAML";

fn check_content(content: &Spanned<String>, report: &mut Report) {
    match firelay_yaml::documents(content) {
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
        Span::new(start + before, start + before + length)
    };
    match firelay_yaml::documents(text) {
        Ok(0) => report.push(Diagnostic::error("FL0503", NO_DOCUMENT).at(Span { start, end: start })),
        Ok(_) => {}
        Err(fault) => report.push(
            Diagnostic::error("FL0503", NOT_YAML)
                .at(place(fault.line))
                .label(format!("line {}: {}", fault.line, fault.why)),
        ),
    }
}

/// A patch is one document: a list of operations for JSON patches, else a mapping; of the object that it is for.
pub(super) fn check_patch(patch: &KubeadmPatch, kind: PatchType, accepted: &Accepted, report: &mut Report) {
    let content = &patch.content;
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
        (Content::Sequence(_), PatchType::Json) | (Content::Mapping(_), PatchType::Strategic | PatchType::Merge) => {
            check_object(patch, &tree.root, kind, accepted, report);
        }
        (_, PatchType::Json) => report.push(finding("a JSON patch is a list of operations")),
        _ => report.push(
            finding("a strategic or merge patch is a mapping").help("for a list of operations, set `type: json`"),
        ),
    }
}

const CODES: Codes = Codes {
    field: "FL0713",
    value: "FL0713",
};

/// The object that kubeadm patches: its kind and version.
fn object(target: PatchTarget) -> (&'static str, &'static str) {
    match target {
        PatchTarget::KubeletConfiguration => ("KubeletConfiguration", "kubelet.config.k8s.io/v1beta1"),
        PatchTarget::CorednsDeployment => ("Deployment", "apps/v1"),
        PatchTarget::KubeProxyDaemonset => ("DaemonSet", "apps/v1"),
        _ => ("Pod", "v1"),
    }
}

/// Checks a patch against its object. Places within the text of the patch are reported by line.
fn check_object(patch: &KubeadmPatch, root: &Node<'_>, kind: PatchType, accepted: &Accepted, report: &mut Report) {
    let (object, version) = object(patch.target.value);
    let mut findings = match (accepted.has_document(object, version), kind) {
        (true, PatchType::Json) => accepted.operations(object, root, CODES),
        (true, _) => accepted.patch(object, root, root.span, CODES),
        (false, _) => Vec::new(),
    };
    if kind != PatchType::Json {
        findings.extend(identity(root, object, version));
    }
    report.extend(findings.into_iter().map(|finding| within(&patch.content, finding)));
}

/// A patch that changes the kind or version, or removes the `spec`, leaves no working object.
fn identity(root: &Node<'_>, kind: &str, version: &str) -> Vec<Diagnostic> {
    let other = |key: &str, right: &str| {
        let node = root.get(key).filter(|node| node.text() != Some(right))?;
        let finding = Diagnostic::error("FL0713", format!("a patch that changes the `{key}`")).at(node.span);
        Some(finding.help(format!("write {right}, or leave it out")))
    };
    let spec = root
        .get("spec")
        .filter(|spec| !matches!(spec.content, Content::Mapping(_)));
    let without = spec.map(|spec| Diagnostic::error("FL0713", "a patch that leaves no `spec`").at(spec.span));
    [other("kind", kind), other("apiVersion", version), without]
        .into_iter()
        .flatten()
        .collect()
}

/// A finding about the text of a patch, at the place of that text in the spec.
fn within(content: &Spanned<String>, finding: Diagnostic) -> Diagnostic {
    let span = finding.span.unwrap_or_default();
    let before = content.get(..span.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let words = content.get(span.start..span.end).unwrap_or_default();
    let label = match finding.label.as_str() {
        "" => format!("line {line}: {words}"),
        label => format!("line {line}: {words}, {label}"),
    };
    finding.at(content.span).label(label)
}
