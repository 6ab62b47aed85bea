//! Systemd units as trees: a mapping of sections, each a mapping of keys; a key that repeats has a list (systemd.syntax(7)).

use firelay_yaml::{
    Content, Node, Scalar,
    diagnostic::{Diagnostic, Span},
};

type Entries = Vec<(Node<'static>, Node<'static>)>;

/// Parses a unit. Comments are dropped, and lines continued with a backslash are joined. Lines before the first section
/// and lines without `KEY=VALUE` mean nothing to systemd and are dropped, too.
pub fn read(text: &str) -> Node<'static> {
    let joined = text.replace("\\\n", " ");
    let mut sections: Vec<(&str, Entries)> = Vec::new();
    let mut current = None;
    for line in joined.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let at = sections.iter().position(|(name, _)| *name == section);
            current = Some(at.unwrap_or(sections.len()));
            if at.is_none() {
                sections.push((section, Vec::new()));
            }
        } else if let (Some(at), false, Some((key, value))) = (current, is_comment(line), line.split_once('=')) {
            push(&mut sections[at].1, key.trim_end(), value.trim_start());
        }
    }
    let sections = sections.into_iter();
    mapping(sections.map(|(name, keys)| (scalar(name), mapping(keys))).collect())
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', ';'])
}

fn push(keys: &mut Entries, key: &str, value: &str) {
    let Some((_, old)) = keys.iter_mut().find(|(name, _)| name.text() == Some(key)) else {
        keys.push((scalar(key), scalar(value)));
        return;
    };
    if let Content::Sequence(values) = &mut old.content {
        values.push(scalar(value));
    } else {
        old.content = Content::Sequence(vec![old.clone(), scalar(value)]);
    }
}

fn scalar(text: &str) -> Node<'static> {
    node(Content::Scalar(Scalar {
        text: text.to_owned().into(),
        plain: false,
    }))
}

fn mapping(entries: Entries) -> Node<'static> {
    node(Content::Mapping(entries))
}

fn node(content: Content<'static>) -> Node<'static> {
    Node {
        span: Span::default(),
        content,
    }
}

/// Writes a unit. Errors are invalid names, and values that are no text or have a line break.
pub(super) fn write(unit: &Node<'_>) -> Result<String, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let mut text = String::new();
    for (section, keys) in entries(unit, "sections", &mut findings) {
        let name = named(section, "a section of a unit", &mut findings);
        let blank = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{blank}[{name}]\n"));
        for (key, value) in entries(keys, "keys", &mut findings) {
            let name = named(key, "a key of a unit", &mut findings);
            for value in values(value, &mut findings) {
                text.push_str(&format!("{name}={value}\n"));
            }
        }
    }
    if findings.is_empty() { Ok(text) } else { Err(findings) }
}

fn entries<'n, 's>(node: &'n Node<'s>, what: &str, findings: &mut Vec<Diagnostic>) -> &'n [(Node<'s>, Node<'s>)] {
    match &node.content {
        Content::Mapping(entries) => entries,
        _ => {
            findings.push(refuse(
                node,
                "a unit of another shape",
                &format!("expected a mapping of {what}"),
            ));
            &[]
        }
    }
}

fn named<'n>(node: &'n Node<'_>, what: &str, findings: &mut Vec<Diagnostic>) -> &'n str {
    let name = node.text().unwrap_or_default();
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if name.is_empty() || !name.bytes().all(inner) {
        findings.push(refuse(node, &format!("not {what}"), "letters, digits and `-`"));
    }
    name
}

fn values<'n>(node: &'n Node<'_>, findings: &mut Vec<Diagnostic>) -> Vec<&'n str> {
    let texts: Vec<_> = match &node.content {
        Content::Sequence(items) => items.iter().map(|item| (item, item.text())).collect(),
        _ => vec![(node, node.text())],
    };
    let mut lines = Vec::new();
    for (node, text) in texts {
        match text {
            Some(text) if !text.contains(['\n', '\r']) && !text.ends_with('\\') => lines.push(text),
            Some(_) => findings.push(refuse(
                node,
                "a value with a line break",
                "a value of a unit is one line",
            )),
            None => findings.push(refuse(
                node,
                "a unit of another shape",
                "expected text or a list of texts",
            )),
        }
    }
    lines
}

fn refuse(node: &Node<'_>, message: &str, label: &str) -> Diagnostic {
    Diagnostic::error("FL0706", message).at(node.span).label(label)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const UNIT: &str = "\
# comment
[Unit]
Description=x = y
After=a.target b.target
; comment
[Service]
Environment=\"A=1\"
Environment=B=2
ExecStart=/bin/x \\
  --flag
CapabilityBoundingSet=
";

    #[test]
    fn a_unit_is_sections_of_keys() {
        let unit = read(UNIT);
        assert_eq!(
            serde_json::to_value(&unit).unwrap(),
            json!({
                "Unit": {"Description": "x = y", "After": "a.target b.target"},
                "Service": {"Environment": ["\"A=1\"", "B=2"], "ExecStart": "/bin/x    --flag", "CapabilityBoundingSet": ""},
            })
        );
        let written = write(&unit).unwrap();
        assert!(
            written.contains("\n[Service]\nEnvironment=\"A=1\"\nEnvironment=B=2\nExecStart="),
            "{written}"
        );
        assert!(read(&written).same(&unit));
    }

    #[test]
    fn what_systemd_would_misread_is_refused() {
        for wrong in [
            "{S: {a b: c}}",
            "{S: x}",
            "{S: {a: \"b\\nc\"}}",
            "{S: {a: {b: c}}}",
            "{'': {a: b}}",
        ] {
            let tree = firelay_yaml::Tree::parse(wrong).unwrap().root.detached();
            assert!(write(&tree).is_err(), "{wrong}");
        }
    }
}
