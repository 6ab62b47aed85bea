//! serde over a [`Tree`](super::Tree), collecting.
//!
//! Decoding does not stop at a mistake: it is recorded with its place, and a [stand-in](super::stand_in) of the wanted
//! type takes the value's place, so that the rest is looked at in the same run. The result is thrown away then.

use std::{cell::RefCell, collections::BTreeSet, fmt};

use serde::{
    Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
        Visitor,
    },
    forward_to_deserialize_any,
};

use super::{
    scalar::{Resolved, kind, quotable, resolve},
    spanned,
    stand_in::StandIn,
    tree::{Content, Node, Scalar},
};
use crate::diagnostic::{Diagnostic, nearest};

/// Times that the whole document is decoded again to find further missing keys. A `Spanned` is tried again by itself.
const MAX_RUNS: usize = 32;

/// Decodes, and returns what was found on the way. No value without a finding.
pub(super) fn run<T: DeserializeOwned>(root: &Node<'_>) -> (Option<T>, Vec<Diagnostic>) {
    let log = Log::default();
    for _ in 0..MAX_RUNS {
        let known = log.missing();
        match T::deserialize(Decoder { node: root, log: &log }) {
            Ok(value) => return (Some(value), log.findings.into_inner()),
            Err(fault) => log.settle(fault, root),
        };
        if log.missing() == known {
            break;
        }
    }
    (None, log.findings.into_inner())
}

/// What went wrong inside serde.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is in the log.
    Recorded,
    /// A struct lacks a field.
    Missing(&'static str),
    /// A type refused a value.
    Refused(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Recorded => f.write_str("recorded"),
            Fault::Missing(field) => write!(f, "missing key `{field}`"),
            Fault::Refused(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault::Refused(message.to_string())
    }
    fn missing_field(field: &'static str) -> Self {
        Fault::Missing(field)
    }
    // serde's own words for these repeat the value, which may be secret.
    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Fault::Refused(format!("expected {expected}"))
    }
    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Fault::Refused(format!("expected {expected}"))
    }
}

/// The findings of a run.
#[derive(Default)]
struct Log {
    findings: RefCell<Vec<Diagnostic>>,
    /// Mappings (by address) and the keys that they lack; a stand-in is supplied for each in the next try.
    supplied: RefCell<BTreeSet<(usize, &'static str)>>,
}

impl Log {
    fn record(&self, finding: Diagnostic) {
        self.findings.borrow_mut().push(finding);
    }

    fn missing(&self) -> usize {
        self.supplied.borrow().len()
    }

    fn settle(&self, fault: Fault, node: &Node<'_>) -> Fault {
        match fault {
            Fault::Recorded => {}
            Fault::Missing(field) => self.lacks(node, field),
            Fault::Refused(message) => self.record(Diagnostic::error("FL0010", message).at(node.span)),
        }
        Fault::Recorded
    }

    fn lacks(&self, node: &Node<'_>, field: &'static str) {
        if self.supplied.borrow_mut().insert((address(node), field)) {
            self.record(
                Diagnostic::error("FL0009", format!("missing key `{field}`"))
                    .at(node.span)
                    .label(format!("needs `{field}`")),
            );
        }
    }
}

/// Identifies a node of a tree that stays where it is.
fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}

#[derive(Clone, Copy)]
struct Decoder<'t> {
    node: &'t Node<'t>,
    log: &'t Log,
}

impl<'t> Decoder<'t> {
    fn to(self, node: &'t Node<'t>) -> Self {
        Decoder { node, log: self.log }
    }

    fn wrong_type(self, expected: &str, help: &str) {
        let finding = Diagnostic::error("FL0010", format!("expected {expected}, found {}", kind(self.node)))
            .at(self.node.span)
            .label(format!("should be {expected}"));
        self.log
            .record(if help.is_empty() { finding } else { finding.help(help) });
    }

    /// The scalar here, or a finding.
    fn scalar(self, expected: &str) -> Option<&'t Scalar<'t>> {
        match &self.node.content {
            Content::Scalar(scalar) => Some(scalar),
            _ => {
                self.wrong_type(expected, "");
                None
            }
        }
    }

    /// The text here. Numbers are taken as they are written; words that are no text in every YAML are refused.
    fn words(self) -> &'t str {
        let Some(scalar) = self.scalar("text") else { return "" };
        match resolve(&scalar.text) {
            _ if !scalar.plain => &scalar.text,
            Resolved::Null if scalar.text.is_empty() => {
                self.wrong_type("text", "write \"\" for an empty text, or remove the key");
                ""
            }
            Resolved::Null | Resolved::Bool(_) | Resolved::Ambiguous => {
                self.unquoted(&scalar.text);
                ""
            }
            _ => &scalar.text,
        }
    }

    fn unquoted(self, word: &str) {
        self.log.record(
            Diagnostic::error("FL0011", format!("`{word}` without quotes is not text"))
                .at(self.node.span)
                .label("readers of YAML disagree about this word")
                .help(format!("quote it: \"{word}\"")),
        );
    }

    fn boolean(self) -> bool {
        let Some(scalar) = self.scalar("true or false") else {
            return false;
        };
        match (scalar.plain, &*scalar.text) {
            (true, "true") => return true,
            (true, "false") => return false,
            (false, "true" | "false") => self.wrong_type("true or false", "remove the quotes"),
            _ => self.wrong_type("true or false", ""),
        }
        false
    }

    fn integer<N: std::str::FromStr + Default + fmt::Display>(self, least: N, most: N) -> N {
        let expected = format!("a whole number from {least} to {most}");
        let Some(scalar) = self.scalar(&expected) else {
            return N::default();
        };
        let digits = scalar.text.strip_prefix('-').unwrap_or(&scalar.text);
        if digits.is_empty()
            || !digits.bytes().all(|byte| byte.is_ascii_digit())
            || (digits.len() > 1 && digits.starts_with('0'))
        {
            self.wrong_type(&expected, "");
        } else if !scalar.plain {
            self.wrong_type(&expected, "remove the quotes");
        } else if let Ok(number) = scalar.text.parse() {
            return number;
        } else {
            self.log.record(
                Diagnostic::error("FL0013", "number out of range")
                    .at(self.node.span)
                    .label(format!("should be {expected}")),
            );
        }
        N::default()
    }

    fn float(self) -> f64 {
        let Some(scalar) = self.scalar("a number").filter(|scalar| scalar.plain) else {
            return 0.0;
        };
        match resolve(&scalar.text) {
            Resolved::Float(number) => number,
            Resolved::Unsigned(_) | Resolved::Signed(_) => scalar.text.parse().unwrap_or_default(),
            _ => {
                self.wrong_type("a number", "");
                0.0
            }
        }
    }

    /// The entries here; nothing but a finding if this is no mapping.
    fn entries(self) -> Option<&'t [(Node<'t>, Node<'t>)]> {
        match &self.node.content {
            Content::Mapping(entries) => Some(entries),
            Content::Scalar(scalar) if scalar.plain && scalar.text.is_empty() => {
                self.wrong_type("a mapping", "remove the key, or write {}");
                None
            }
            _ => {
                self.wrong_type("a mapping", "");
                None
            }
        }
    }

    fn unknown_key(self, fields: &'static [&'static str]) {
        let name = self.node.text().unwrap_or_default();
        let what = if quotable(name) {
            format!("unknown key `{name}`")
        } else {
            "unknown key".to_owned()
        };
        let finding = Diagnostic::error("FL0008", what).at(self.node.span);
        self.log.record(match nearest(name, fields.iter().copied()) {
            Some(field) => finding
                .label(format!("did you mean `{field}`?"))
                .help(known("keys", fields)),
            None => finding.label("no such key here").help(known("keys", fields)),
        });
    }

    fn unknown_choice(self, name: &str, variants: &'static [&'static str]) {
        let what = if quotable(name) {
            format!("unknown choice `{name}`")
        } else {
            "unknown choice".to_owned()
        };
        let finding = Diagnostic::error("FL0012", what).at(self.node.span);
        self.log.record(match nearest(name, variants.iter().copied()) {
            Some(variant) => finding
                .label(format!("did you mean `{variant}`?"))
                .help(known("choices", variants)),
            None => finding.label("no such choice").help(known("choices", variants)),
        });
    }

    fn settled<T>(self, result: Result<T, Fault>) -> Result<T, Fault> {
        result.map_err(|fault| self.log.settle(fault, self.node))
    }
}

fn known(what: &str, names: &[&str]) -> String {
    format!("{what}: {}", names.join(", "))
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.settled(visitor.$visit(self.integer(<$type>::MIN, <$type>::MAX)))
        }
    )*};
}

impl<'de> Deserializer<'de> for Decoder<'_> {
    type Error = Fault;

    integers! {
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.content {
            Content::Sequence(_) => self.deserialize_seq(visitor),
            Content::Mapping(_) => self.deserialize_map(visitor),
            Content::Scalar(scalar) if !scalar.plain => self.settled(visitor.visit_str(&scalar.text)),
            Content::Scalar(scalar) => self.settled(match resolve(&scalar.text) {
                Resolved::Null => visitor.visit_unit(),
                Resolved::Bool(value) => visitor.visit_bool(value),
                Resolved::Unsigned(value) => visitor.visit_u64(value),
                Resolved::Signed(value) => visitor.visit_i64(value),
                Resolved::Float(value) => visitor.visit_f64(value),
                Resolved::Text => visitor.visit_str(&scalar.text),
                Resolved::Ambiguous => {
                    self.unquoted(&scalar.text);
                    visitor.visit_unit()
                }
            }),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.settled(visitor.visit_bool(self.boolean()))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.settled(visitor.visit_f64(self.float()))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.settled(visitor.visit_str(self.words()))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.settled(visitor.visit_str(self.node.text().unwrap_or_default()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.content {
            Content::Scalar(scalar) if scalar.plain && resolve(&scalar.text) == Resolved::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let items: &[Node<'_>] = match &self.node.content {
            Content::Sequence(items) => items,
            Content::Scalar(scalar) if scalar.plain && scalar.text.is_empty() => {
                self.wrong_type("a list", "remove the key, or write []");
                &[]
            }
            _ => {
                self.wrong_type("a list", "write one element as [ELEMENT]");
                &[]
            }
        };
        self.settled(visitor.visit_seq(Items {
            of: self,
            items: items.iter(),
        }))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let entries = self.entries().unwrap_or_default().iter().collect();
        self.settled(visitor.visit_map(Entries::new(self, entries, Vec::new())))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == spanned::NAME {
            return visitor.visit_map(Place {
                of: self,
                step: 0,
                known: 0,
            });
        }
        let Some(entries) = self.entries() else {
            return StandIn::default().deserialize_struct(name, fields, visitor);
        };
        let is_known = |key: &Node<'_>| key.text().is_some_and(|name| fields.contains(&name));
        entries
            .iter()
            .filter(|(key, _)| !is_known(key))
            .for_each(|(key, _)| self.to(key).unknown_key(fields));
        let supplied = self.log.supplied.borrow();
        let lacking = fields
            .iter()
            .copied()
            .filter(|field| supplied.contains(&(address(self.node), *field)))
            .collect();
        drop(supplied);
        let entries = entries.iter().filter(|(key, _)| is_known(key)).collect();
        self.settled(visitor.visit_map(Entries::new(self, entries, lacking)))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let (at, content) = match &self.node.content {
            Content::Scalar(_) => (self.node, None),
            Content::Mapping(entries) if entries.len() == 1 => (&entries[0].0, Some(&entries[0].1)),
            _ => {
                self.wrong_type("one choice", &known("choices", variants));
                return StandIn::default().deserialize_enum(name, variants, visitor);
            }
        };
        let chosen = at.text().unwrap_or_default();
        match variants.iter().find(|variant| **variant == chosen) {
            Some(variant) => self.settled(visitor.visit_enum(Choice {
                of: self,
                variant,
                content,
            })),
            None => {
                self.to(at).unknown_choice(chosen, variants);
                StandIn::default().deserialize_enum(name, variants, visitor)
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf unit unit_struct }
}

struct Items<'t> {
    of: Decoder<'t>,
    items: std::slice::Iter<'t, Node<'t>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.items
            .next()
            .map(|item| seed.deserialize(self.of.to(item)))
            .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The entries of a mapping, then stand-ins for the keys that it was found to lack.
struct Entries<'t> {
    of: Decoder<'t>,
    entries: std::vec::IntoIter<&'t (Node<'t>, Node<'t>)>,
    lacking: Vec<&'static str>,
    value: Option<&'t Node<'t>>,
}

impl<'t> Entries<'t> {
    fn new(of: Decoder<'t>, entries: Vec<&'t (Node<'t>, Node<'t>)>, lacking: Vec<&'static str>) -> Self {
        Entries {
            of,
            entries: entries.into_iter(),
            lacking,
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        if let Some((key, value)) = self.entries.next() {
            self.value = Some(value);
            return seed.deserialize(self.of.to(key)).map(Some);
        }
        self.value = None;
        self.lacking
            .pop()
            .map(|field| seed.deserialize(field.into_deserializer()))
            .transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.value {
            Some(value) => seed.deserialize(self.of.to(value)),
            None => seed.deserialize(StandIn::default()),
        }
    }
}

/// What a `Spanned` asks for: start, end, then its value, again as long as another try finds more.
struct Place<'t> {
    of: Decoder<'t>,
    step: u8,
    known: usize,
}

impl<'de> MapAccess<'de> for Place<'_> {
    type Error = Fault;

    /// Answers, after a try failed, whether another is worth while.
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let again = self.of.log.missing() > self.known;
        again.then(|| seed.deserialize(true.into_deserializer())).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        self.step = self.step.saturating_add(1);
        match self.step {
            1 => seed.deserialize(self.of.node.span.start.into_deserializer()),
            2 => seed.deserialize(self.of.node.span.end.into_deserializer()),
            _ => {
                self.known = self.of.log.missing();
                seed.deserialize(self.of)
            }
        }
    }
}

/// A variant: a word, or a mapping of one word to its content.
struct Choice<'t> {
    of: Decoder<'t>,
    variant: &'static str,
    content: Option<&'t Node<'t>>,
}

impl<'de, 't> EnumAccess<'de> for Choice<'t> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let variant: de::value::StrDeserializer<'_, Fault> = self.variant.into_deserializer();
        Ok((seed.deserialize(variant)?, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        let Some(content) = self.content else { return Ok(()) };
        let empty = match &content.content {
            Content::Scalar(scalar) => scalar.plain && resolve(&scalar.text) == Resolved::Null,
            Content::Sequence(_) => false,
            Content::Mapping(entries) => entries.is_empty(),
        };
        if !empty {
            self.of
                .to(content)
                .wrong_type("nothing", &format!("`{}` takes no settings", self.variant));
        }
        Ok(())
    }

    /// `cni: flannel` is short for `cni: { flannel: {} }`.
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        match self.content {
            Some(content) => seed.deserialize(self.of.to(content)),
            None => {
                let empty = Node {
                    span: self.of.node.span,
                    content: Content::Mapping(Vec::new()),
                };
                let empty = Decoder {
                    node: &empty,
                    log: self.of.log,
                };
                seed.deserialize(empty)
            }
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.of
            .to(self.content.unwrap_or(self.of.node))
            .deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.of
            .to(self.content.unwrap_or(self.of.node))
            .deserialize_struct(self.variant, fields, visitor)
    }
}
