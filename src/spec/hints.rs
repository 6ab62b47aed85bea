//! What to write instead of a short form that other programs have.

use crate::{
    diagnostic::{Diagnostic, Source},
    yaml::Tree,
};

/// Keys at the top that take settings, and the one that a lone text is probably meant for.
const LONE: [(&str, &str); 2] = [("endpoint", "host"), ("kubernetes", "version")];

/// Gives help to findings of a wrong type.
pub(super) fn add(tree: &Tree<'_>, source: &Source, findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.code == "FL0010") {
        let help = lone(tree, finding)
            .or_else(|| taint(source, finding))
            .or_else(|| inline_patch(source, finding));
        finding.help = help.or_else(|| finding.help.take());
    }
}

/// `endpoint: api.example.com`.
fn lone(tree: &Tree<'_>, finding: &Diagnostic) -> Option<String> {
    LONE.iter().find_map(|(key, field)| {
        let value = tree.root.get(key).filter(|value| Some(value.span) == finding.span)?;
        let text = value.text().filter(|text| is_plain(text))?;
        Some(match text.rsplit_once(':') {
            Some((text, port)) => format!("write {key}: {{ {field}: {text}, port: {port} }}"),
            None => format!("write {key}: {{ {field}: {text} }}"),
        })
    })
}

/// A host, perhaps with its port, or a version: nothing that could be secret.
fn is_plain(text: &str) -> bool {
    let (name, port) = text.rsplit_once(':').unwrap_or((text, "1"));
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !name.is_empty() && name.len() <= 253 && name.bytes().all(inner) && port.parse::<u16>().is_ok()
}

/// `gpu=true:NoSchedule`, as kubectl has it.
fn taint(source: &Source, finding: &Diagnostic) -> Option<String> {
    let span = finding.span?;
    let text = source.slice(span)?.trim_matches(['"', '\'']);
    let (taint, effect) = text.rsplit_once(':')?;
    if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect) {
        return None;
    }
    Some(match taint.split_once('=') {
        Some((key, value)) => format!("write {{ key: {key}, value: \"{value}\", effect: {effect} }}"),
        None => format!("write {{ key: {taint}, effect: {effect} }}"),
    })
}

/// `target: spec`, which only a file of patches has.
fn inline_patch(source: &Source, finding: &Diagnostic) -> Option<String> {
    (source.slice(finding.span?)? == "spec").then(|| {
        "in the spec itself write the value where it belongs; target: spec is for files in patches/".to_owned()
    })
}
