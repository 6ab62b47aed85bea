//! Plain scalars: their types in YAML 1.2's core schema (section 10.3.2), and in YAML 1.1.

use super::tree::{Content, Node};

/// A plain scalar, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    /// A boolean of YAML 1.1 (`yes`, `off`), which readers disagree about.
    Ambiguous,
    Text,
}

/// Resolves a plain scalar.
pub(super) fn resolve(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "true" | "True" | "TRUE" => return Resolved::Bool(true),
        "false" | "False" | "FALSE" => return Resolved::Bool(false),
        _ => {}
    }
    if ["yes", "no", "on", "off"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(text))
    {
        return Resolved::Ambiguous;
    }
    number(text).unwrap_or(Resolved::Text)
}

fn number(text: &str) -> Option<Resolved> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let plain = digits.chars().all(|digit| digit.is_digit(radix));
            return u64::from_str_radix(digits, radix)
                .ok()
                .filter(|_| plain)
                .map(Resolved::Unsigned);
        }
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        let small = unsigned
            .parse()
            .map(Resolved::Unsigned)
            .or_else(|_| unsigned.parse().map(Resolved::Signed));
        if let Ok(integer) = small {
            return Some(integer);
        }
    }
    let spelt = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    text.parse()
        .ok()
        .filter(|value: &f64| spelt && value.is_finite())
        .map(Resolved::Float)
}

/// The type of a node, for an error text. Never its content.
pub(super) fn kind(node: &Node<'_>) -> &'static str {
    match &node.content {
        Content::Sequence(_) => "a list",
        Content::Mapping(_) => "a mapping",
        Content::Scalar(scalar) if !scalar.plain => "text",
        Content::Scalar(scalar) => match resolve(&scalar.text) {
            Resolved::Null => "nothing",
            Resolved::Bool(_) => "a boolean",
            Resolved::Unsigned(_) | Resolved::Signed(_) | Resolved::Float(_) => "a number",
            Resolved::Ambiguous | Resolved::Text => "text",
        },
    }
}

/// A value as a text has it: a text itself, anything else as JSON.
pub fn plain_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A scalar that may be repeated in an error text: short, and made like a name or a number.
pub fn quotable(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 32
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_the_core_schema() {
        for (text, expected) in [
            ("~", Resolved::Null),
            ("true", Resolved::Bool(true)),
            ("12", Resolved::Unsigned(12)),
            ("-3", Resolved::Signed(-3)),
            ("0o17", Resolved::Unsigned(15)),
            ("0x1F", Resolved::Unsigned(31)),
            ("1.5", Resolved::Float(1.5)),
            ("1e3", Resolved::Float(1000.0)),
            ("No", Resolved::Ambiguous),
            ("1_000", Resolved::Text),
            ("1:30", Resolved::Text),
            ("1.36.4", Resolved::Text),
            ("10.0.0.1", Resolved::Text),
            ("inf", Resolved::Text),
            ("-", Resolved::Text),
            ("0x+1", Resolved::Text),
        ] {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }
}
