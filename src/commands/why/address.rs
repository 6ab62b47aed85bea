//! Addresses for `why`: `NODE:/path#/json/pointer`, `NODE:UNIT#Section/Key`, `NODE:/path#LINE`.

use std::fmt;

use firelay_yaml::Pointer;

use crate::UNITS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) node: String,
    pub(super) thing: Thing,
    pub(super) part: Part,
}

/// A file or a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    File(String),
    Unit { unit: String, dropin: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// A line, from 1, of what is neither YAML nor a unit.
    Line(usize),
    /// A value; in a file of several documents the `kind` may precede the pointer.
    Value {
        kind: Option<String>,
        pointer: Pointer,
    },
}

impl Address {
    /// Parses an address; the error describes the syntax.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let form = || format!("{text:?} is not NODE:/path#/json/pointer, NODE:UNIT#Section/Key or NODE:/path#LINE");
        let (node, rest) = text.split_once(':').ok_or_else(form)?;
        let (thing, part) = match rest.split_once('#') {
            Some((thing, part)) => (thing, Some(part)),
            None => (rest, None),
        };
        if node.is_empty() || thing.is_empty() {
            return Err(form());
        }
        let thing = Thing::parse(thing);
        let part = part
            .map_or(Some(Part::Whole), |part| thing.part(part))
            .ok_or_else(form)?;
        Ok(Self {
            node: node.to_owned(),
            thing,
            part,
        })
    }
}

impl Thing {
    fn parse(text: &str) -> Self {
        let (unit, separator) = match text.strip_prefix(UNITS) {
            Some(unit) => (unit, ".d/"),
            None if text.starts_with('/') => return Self::File(text.to_owned()),
            None => (text, "/"),
        };
        let (unit, dropin) = match unit.split_once(separator) {
            Some((unit, dropin)) => (unit, Some(dropin.to_owned())),
            None => (unit, None),
        };
        let unit = unit.to_owned();
        Self::Unit { unit, dropin }
    }

    fn part(&self, text: &str) -> Option<Part> {
        if matches!(self, Self::Unit { .. }) {
            let pointer = Pointer(text.trim_start_matches('/').split('/').map(str::to_owned).collect());
            return (!text.is_empty()).then_some(Part::Value { kind: None, pointer });
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number that overflows is beyond the last line.
            let line = text.parse().unwrap_or(usize::MAX);
            return (line > 0).then_some(Part::Line(line));
        }
        let at = text.find('/').unwrap_or(text.len());
        let kind = (at > 0).then(|| text[..at].to_owned());
        Some(Part::Value {
            kind,
            pointer: Pointer::parse(&text[at..])?,
        })
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Unit { unit, dropin } => {
                let dropin = dropin.as_ref().map(|dropin| format!(".d/{dropin}"));
                write!(f, "{UNITS}{unit}{}", dropin.unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_files_units_lines_and_values() {
        for (text, thing, part) in [
            (
                "cp1:/a/b.yaml#/x/0",
                "/a/b.yaml",
                "Value { kind: None, pointer: Pointer([\"x\", \"0\"]) }",
            ),
            (
                "cp1:/a/b.yaml#Kind/x",
                "/a/b.yaml",
                "Value { kind: Some(\"Kind\"), pointer: Pointer([\"x\"]) }",
            ),
            (
                "cp1:/a/b.yaml#Kind",
                "/a/b.yaml",
                "Value { kind: Some(\"Kind\"), pointer: Pointer([]) }",
            ),
            ("cp1:/a/b#12", "/a/b", "Line(12)"),
            ("cp1:/a/b#99999999999999999999", "/a/b", "Line(18446744073709551615)"),
            ("cp1:/a/b", "/a/b", "Whole"),
            (
                "cp1:x.service#Unit/After",
                "/etc/systemd/system/x.service",
                "Value { kind: None, pointer: Pointer([\"Unit\", \"After\"]) }",
            ),
            (
                "cp1:x.service/y.conf",
                "/etc/systemd/system/x.service.d/y.conf",
                "Whole",
            ),
            (
                "cp1:/etc/systemd/system/x.service.d/y.conf",
                "/etc/systemd/system/x.service.d/y.conf",
                "Whole",
            ),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(
                (
                    address.thing.to_string().as_str(),
                    format!("{:?}", address.part).as_str()
                ),
                (thing, part)
            );
        }
        for text in ["cp1", ":x", "cp1:", "cp1:/a#0", "cp1:/a#k/~2", "cp1:u.service#"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
