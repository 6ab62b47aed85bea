//! Help for short forms that other programs accept.

use firelay_yaml::{
    Content, Node, Tree,
    diagnostic::{Diagnostic, Source, nearest},
};

use super::input::NODES_FROM;

/// Keys at the top with settings, and the setting that a single text probably means.
const LONE: [(&str, &str); 2] = [("endpoint", "host"), ("kubernetes", "version")];

/// Gives help to findings of a wrong type, and to those of a machine that was meant to be another.
pub(super) fn add(tree: &Tree<'_>, source: &Source, findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.code == "FL0009") {
        let help = one_of_row(tree, finding).or_else(|| near_row(tree, source, finding));
        finding.help = help.or_else(|| finding.help.take());
    }
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

/// A machine by its own name, merged over the entry that it belongs to.
fn one_of_row(tree: &Tree<'_>, finding: &Diagnostic) -> Option<String> {
    let Content::Sequence(nodes) = &tree.root.get("nodes")?.content else {
        return None;
    };
    let node = nodes.iter().find(|node| Some(node.span) == finding.span)?;
    let name = node.get("name")?.text()?;
    let rows = nodes.iter().filter_map(|node| node.get("name").and_then(Node::text));
    let row = rows.clone().find(|row| is_one_of(name, row))?;
    Some(format!(
        "{name} is one of {row}, which is one entry: change all of them under that name, or list them one by one"
    ))
}

/// An entry beside an inventory, for a machine that is written there with other letters.
fn near_row(tree: &Tree<'_>, source: &Source, finding: &Diagnostic) -> Option<String> {
    let Content::Sequence(nodes) = &tree.root.get("nodes")?.content else {
        return None;
    };
    tree.root.get(NODES_FROM)?;
    let node = nodes.iter().find(|node| Some(node.span) == finding.span)?;
    if node.get("roles").or_else(|| node.get("addresses")).is_some() {
        // A machine of its own.
        return None;
    }
    let name = node.get("name")?.text()?;
    let own = source.number(node.span.start);
    let others = nodes.iter().filter(|other| source.number(other.span.start) != own);
    let rows: Vec<_> = others
        .filter_map(|other| Some((other.get("name")?.text()?, other)))
        .collect();
    let near = nearest(name, rows.iter().map(|(row, _)| *row))?;
    let (_, row) = rows.iter().find(|(row, _)| *row == near)?;
    let file = &source.texts()[source.number(row.span.start)].name;
    Some(format!("there is no {name} in {file}: did you mean {near}?"))
}

/// `w2` and `w{1..3}`.
fn is_one_of(name: &str, row: &str) -> bool {
    let parts = || {
        let (before, rest) = row.split_once('{')?;
        let (range, after) = rest.split_once('}')?;
        let (first, last) = range.split_once("..")?;
        let number: u64 = name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
        Some(first.parse().ok()?..=last.parse().ok()?).filter(|range| range.contains(&number))
    };
    parts().is_some()
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
