//! Trees back to text.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

use serde_json::Value;

use super::{
    scalar::{Resolved, resolve},
    tree::{Content, Node, Scalar},
};
use crate::diagnostic::Span;

/// The scalar as Kubernetes reads it (sigs.k8s.io/yaml, a YAML 1.1): `0644` is octal and `yes` is true.
fn value(scalar: &Scalar<'_>) -> Resolved {
    if !scalar.plain {
        return Resolved::Text;
    }
    let octal = scalar.text.strip_prefix('0').filter(|digits| !digits.is_empty());
    let octal = octal.filter(|digits| digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit)));
    if let Some(number) = octal.and_then(|digits| u64::from_str_radix(digits, 8).ok()) {
        return Resolved::Unsigned(number);
    }
    match resolve(&scalar.text) {
        Resolved::Ambiguous => Resolved::Bool(["yes", "on"].iter().any(|word| word.eq_ignore_ascii_case(&scalar.text))),
        other => other,
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Scalar(scalar) => match value(scalar) {
                Resolved::Null => serializer.serialize_unit(),
                Resolved::Bool(value) => serializer.serialize_bool(value),
                Resolved::Unsigned(value) => serializer.serialize_u64(value),
                Resolved::Signed(value) => serializer.serialize_i64(value),
                Resolved::Float(value) => serializer.serialize_f64(value),
                Resolved::Ambiguous | Resolved::Text => serializer.serialize_str(&scalar.text),
            },
            Content::Sequence(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Content::Mapping(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key.text().unwrap_or_default(), value)?;
                }
                map.end()
            }
        }
    }
}

/// The tree of a value, which has no places.
impl From<&Value> for Node<'static> {
    fn from(value: &Value) -> Self {
        let span = Span::default();
        let content = match value {
            Value::Array(items) => Content::Sequence(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let key = |name: &String| Self::scalar(name.clone(), false, span);
                Content::Mapping(fields.iter().map(|(name, value)| (key(name), value.into())).collect())
            }
            Value::String(text) => return Self::scalar(text.clone(), false, span),
            other => return Self::scalar(other.to_string(), true, span),
        };
        Self { span, content }
    }
}

impl Node<'_> {
    /// Whether both mean the same: scalars by value, mappings in any order.
    pub fn same(&self, other: &Node<'_>) -> bool {
        match (&self.content, &other.content) {
            (Content::Scalar(one), Content::Scalar(other)) => match (value(one), value(other)) {
                (Resolved::Text, Resolved::Text) => one.text == other.text,
                (one, other) => one == other,
            },
            (Content::Sequence(one), Content::Sequence(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.same(other))
            }
            (Content::Mapping(one), Content::Mapping(others)) => {
                let there = |(key, value): &(Node<'_>, Node<'_>)| {
                    let mine = key.text().and_then(|key| other.get(key));
                    mine.is_some_and(|mine| value.same(mine))
                };
                one.len() == others.len() && one.iter().all(there)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Tree, emit};

    #[test]
    fn a_tree_is_written_as_kubernetes_read_it() {
        let text = "a: 0644\nb: \"0644\"\nc: yes\nd: [1, -2, 1.5, ~, true]\ne: {f: 1.36.4}\ng: 0o17\n";
        let written = emit(&Tree::parse(text).unwrap().root).unwrap();
        let read: serde_json::Value =
            serde_json::from_str(r#"{"a":420,"b":"0644","c":true,"d":[1,-2,1.5,null,true],"e":{"f":"1.36.4"},"g":15}"#)
                .unwrap();
        assert_eq!(
            serde_json::to_value(&Tree::parse(&written).unwrap().root).unwrap(),
            read
        );
    }

    #[test]
    fn equality_is_of_values() {
        let same = |one: &str, other: &str| {
            let parse = |text: &str| Tree::parse(text).unwrap().root.detached();
            parse(one).same(&parse(other))
        };
        assert!(same("{a: 0x10, b: [x]}", "b: ['x']\na: 16\n"));
        assert!(!same("a: 16", "a: '16'"));
        assert!(!same("a: 16", "{a: 16, b: 1}"));
    }
}
