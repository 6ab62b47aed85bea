//! Validation of patched documents and units: the kind of a document, its fields, the keys of a unit.

use firelay_yaml::{
    Content, Node,
    diagnostic::{Diagnostic, Span, nearest},
};

use crate::{
    node::kubeadm::PATCHES_DIRECTORY,
    plan::{Accepted, Codes},
};

const CODES: Codes = Codes {
    field: "FL0709",
    value: "FL0710",
};
/// The name of kubeadm's patches of the kubelet's configuration.
const KUBELET_PATCH: &str = "/kubeletconfiguration";

/// The findings about a patched document in the file at `path`. Values that no patch wrote are reported at its target.
pub(super) fn document(
    path: &str,
    before: &Node<'_>,
    after: &Node<'_>,
    target: Span,
    accepted: &Accepted,
) -> Vec<Diagnostic> {
    let changed = identity(before, after, target);
    if !changed.is_empty() {
        return changed;
    }
    let text = |key| after.get(key).and_then(Node::text).unwrap_or_default();
    if accepted.has_document(text("kind"), text("apiVersion")) {
        return accepted.document(text("kind"), after, target, CODES);
    }
    let name = path.strip_prefix(PATCHES_DIRECTORY).unwrap_or_default();
    if name.starts_with(KUBELET_PATCH) && !name.contains("+json") {
        return accepted.patch("KubeletConfiguration", after, target, CODES);
    }
    Vec::new()
}

/// A document must keep its kind and its `spec`.
fn identity(before: &Node<'_>, after: &Node<'_>, target: Span) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let at = |key: &str| {
        after
            .get(key)
            .map(|node| node.span)
            .filter(|span| *span != Span::default())
    };
    for key in ["apiVersion", "kind"] {
        let Some(old) = before.get(key).and_then(Node::text) else {
            continue;
        };
        if after.get(key).and_then(Node::text) != Some(old) {
            let finding = Diagnostic::error("FL0711", format!("a patch that changes the `{key}` of a document"));
            let finding = finding.at(at(key).unwrap_or(target)).label(format!("it was {old}"));
            findings.push(finding.help("who reads the file looks for that; a document of your own is under manifests"));
        }
    }
    let is_mapping = |root: &Node<'_>| {
        let spec = root.get("spec").map(|spec| &spec.content);
        matches!(spec, Some(Content::Mapping(_)))
    };
    if is_mapping(before) && !is_mapping(after) {
        let finding = Diagnostic::error("FL0711", "a patch that leaves no `spec`").at(at("spec").unwrap_or(target));
        findings.push(finding.label("nothing would be left of the object"));
    }
    findings
}

/// Warnings about keys of a patched unit that systemd ignores.
pub(super) fn unit(unit: &Node<'_>, accepted: &Accepted) -> Vec<Diagnostic> {
    let units = accepted.units();
    let mut findings = Vec::new();
    for (section, keys) in entries(unit).iter().filter(|(section, _)| !is_private(section)) {
        let name = section.text().unwrap_or_default();
        match units.keys(name) {
            Some(known) => findings.extend(entries(keys).iter().filter_map(|(key, value)| {
                let known = known.iter().map(String::as_str);
                let message = format!("systemd does not know this key of [{name}]");
                passed_over(key, value, known, message)
            })),
            None => {
                let message = "systemd does not know this section of a service".to_owned();
                findings.extend(passed_over(section, keys, units.names(), message));
            }
        }
    }
    findings
}

fn passed_over<'k>(
    key: &Node<'_>,
    value: &Node<'_>,
    known: impl Iterator<Item = &'k str> + Clone,
    message: String,
) -> Option<Diagnostic> {
    let name = key.text().unwrap_or_default();
    let span = [key.span, value.span]
        .into_iter()
        .find(|span| *span != Span::default())?;
    if is_private(key) || known.clone().any(|other| other == name) {
        return None;
    }
    let finding = Diagnostic::warning("FL0712", message).at(span);
    let finding = finding.help("it would be passed over; what is only for people begins with X-");
    Some(match nearest(name, known) {
        Some(near) => finding.label(format!("did you mean `{near}`?")),
        None => finding,
    })
}

/// systemd leaves what begins with `X-` to others (systemd.unit(5)).
fn is_private(key: &Node<'_>) -> bool {
    key.text().is_some_and(|name| name.starts_with("X-"))
}

fn entries<'n, 's>(node: &'n Node<'s>) -> &'n [(Node<'s>, Node<'s>)] {
    match &node.content {
        Content::Mapping(entries) => entries,
        _ => &[],
    }
}
