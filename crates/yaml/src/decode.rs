//! serde over a [`Tree`](super::Tree) that collects all findings.
//!
//! Decoding does not stop at a mistake: it is recorded with its position, and a placeholder of the right type (zero,
//! false, the empty text or list, the first choice, a struct of placeholders) replaces the value, so that the rest is
//! checked in the same run. Where the meaning is clear (a mistyped key or choice) the value itself is decoded. The
//! result is then partial, and only useful for further findings.

mod access;

use std::borrow::Cow;

use serde::{
    Deserializer,
    de::{DeserializeOwned, Expected, Visitor},
    forward_to_deserialize_any,
};

use self::access::{Choice, Entries, Items, Key, Place};
use super::{
    decode_context::{Aliases, DecodeContext, Fault, Partial},
    owned_node, raw_value,
    scalar::{Resolved, kind, quotable, resolve},
    spanned,
    tree::{Content, Node, Scalar},
    unknown::{PRESENT, unknown_choice, unknown_key},
};
use crate::diagnostic::{Diagnostic, Span, nearest};

/// The maximum number of decoding runs to find further missing keys. A `Spanned` repeats its own value.
const MAX_RUNS: usize = 32;

/// Placeholders within each other before a recursive type is given up.
const MAX_PLACEHOLDERS: u8 = 32;

/// The node of a placeholder. Every type reads its zero value from it.
static PLACEHOLDER: Node<'static> = Node {
    span: Span { start: 0, end: 0 },
    content: Content::Scalar(Scalar {
        text: Cow::Borrowed(""),
        plain: true,
    }),
};

/// Decodes, and returns the findings. A missing value always has a finding. `words` are names in other programs, and
/// the choice that each means.
pub(super) fn run<T: DeserializeOwned>(root: &Node<'_>, words: Aliases) -> Partial<T> {
    let context = DecodeContext::new(root, words);
    for _ in 0..MAX_RUNS {
        let known = context.missing();
        match T::deserialize(Decoder::new(root, &context)) {
            Ok(value) => return context.partial(Some(value)),
            Err(fault) => context.report_fault(fault, root),
        };
        if context.missing() == known {
            break;
        }
    }
    context.partial(None)
}

#[derive(Clone, Copy)]
pub(super) struct Decoder<'t> {
    pub(super) node: &'t Node<'t>,
    pub(super) log: &'t DecodeContext,
    /// Placeholders that this one is within, itself counted; 0 for a node of the text.
    placeholders: u8,
}

impl<'t> Decoder<'t> {
    pub(super) fn new(node: &'t Node<'t>, log: &'t DecodeContext) -> Self {
        Decoder {
            node,
            log,
            placeholders: 0,
        }
    }

    pub(super) fn to(self, node: &'t Node<'t>) -> Self {
        Decoder { node, ..self }
    }

    /// The placeholder of a value that is missing or wrong.
    pub(super) fn placeholder(self) -> Result<Self, Fault> {
        let placeholders = self.placeholders + 1;
        let decoder = Decoder {
            node: &PLACEHOLDER,
            placeholders,
            ..self
        };
        (placeholders <= MAX_PLACEHOLDERS)
            .then_some(decoder)
            .ok_or(Fault::Recorded)
    }

    /// Records a finding. Placeholders are wrong by design.
    pub(super) fn record(self, finding: Diagnostic) {
        if self.placeholders == 0 {
            self.log.record(finding);
        }
    }

    pub(super) fn wrong_type(self, expected: &str, help: &str) {
        let finding = Diagnostic::error("FL0010", format!("expected {expected}, found {}", kind(self.node)))
            .at(self.node.span)
            .label(format!("should be {expected}"));
        self.record(if help.is_empty() { finding } else { finding.help(help) });
    }

    /// The entries here; nothing but a finding if this is no mapping.
    fn entries(self) -> Option<&'t [(Node<'t>, Node<'t>)]> {
        match &self.node.content {
            Content::Mapping(entries) => Some(entries),
            Content::Scalar(scalar) if scalar.plain && scalar.text.is_empty() => {
                self.wrong_type("a mapping", "indent the keys that belong to it, remove it, or write {}");
                None
            }
            _ => {
                self.wrong_type("a mapping", "");
                None
            }
        }
    }

    /// The entries of a struct. A mistyped key becomes the field that was probably meant, and a missing field gets a
    /// placeholder, so that the rest is checked.
    fn fields(
        self,
        entries: &'t [(Node<'t>, Node<'t>)],
        fields: &'static [&'static str],
    ) -> Vec<(Key<'t>, Option<&'t Node<'t>>)> {
        let is_known = |key: &Node<'_>| key.text().is_some_and(|name| fields.contains(&name));
        let mut free: Vec<_> = fields
            .iter()
            .copied()
            .filter(|field| self.node.get(field).is_none())
            .collect();
        let mut given = Vec::new();
        for (key, value) in entries {
            if is_known(key) {
                given.push((Key::Written(key), Some(value)));
            } else if let Some(field) = self.unknown_key(key, fields, &free) {
                free.retain(|other| *other != field);
                given.push((Key::Field(field), Some(value)));
            }
        }
        let lacking = self.log.supplied(self.node, &free);
        given.extend(lacking.into_iter().map(|field| (Key::Field(field), None)));
        given
    }

    /// The finding for an unknown key, and the field that was probably meant, unless that is present as well.
    fn unknown_key(
        self,
        key: &Node<'_>,
        fields: &'static [&'static str],
        free: &[&'static str],
    ) -> Option<&'static str> {
        let near = nearest(key.text().unwrap_or_default(), fields.iter().copied());
        let meant = near.filter(|field| free.contains(field));
        let finding = unknown_key(key, meant, fields);
        let finding = match (near, meant) {
            (Some(present), None) if self.node.get(present).is_some() => {
                finding.label(format!("did you mean `{present}`{PRESENT}"))
            }
            _ => finding,
        };
        self.log.record_guess(finding, meant.is_some());
        meant
    }

    /// The finding for an invalid choice, and the choice that was probably meant.
    fn unknown_choice(self, name: &str, offered: &[&'static str]) -> Option<&'static str> {
        let elsewhere = self.log.meant(name).filter(|choice| offered.contains(choice));
        let near = elsewhere.or_else(|| nearest(name, offered.iter().copied()));
        let finding = unknown_choice(name, self.node.span, near, offered);
        self.log.record_guess(finding, near.is_some());
        near
    }

    /// The first choice, with a placeholder for its content.
    fn first_choice<'de, V: Visitor<'de>>(
        self,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let variant = variants.first().ok_or(Fault::Recorded)?;
        let placeholder = self.placeholder()?;
        visitor.visit_enum(Choice::new(placeholder, variant, Some(placeholder.node)))
    }

    /// Reports a fault at this node; faults of nested placeholders are reported at the first of them.
    fn reported<T>(self, result: Result<T, Fault>) -> Result<T, Fault> {
        match self.placeholders {
            0 => result.map_err(|fault| self.log.report_fault(fault, self.node)),
            _ => result,
        }
    }
}

/// The choices to name: all, or those that the type lists with `#[serde(expecting = "one, other")]`.
fn offered(visitor: &dyn Expected, variants: &'static [&'static str]) -> Vec<&'static str> {
    let listed = visitor.to_string();
    let is_listed = |variant: &&str| listed.split(", ").any(|name| name == *variant);
    let offered: Vec<_> = variants.iter().copied().filter(is_listed).collect();
    if offered.is_empty() { variants.to_vec() } else { offered }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.reported(visitor.$visit(self.integer(<$type>::MIN, <$type>::MAX)))
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
            Content::Scalar(scalar) if !scalar.plain => self.reported(visitor.visit_str(&scalar.text)),
            Content::Scalar(scalar) => self.reported(match resolve(&scalar.text) {
                Resolved::Null => visitor.visit_unit(),
                Resolved::Bool(value) => visitor.visit_bool(value),
                Resolved::Unsigned(value) => visitor.visit_u64(value),
                Resolved::Signed(value) => visitor.visit_i64(value),
                Resolved::Float(value) => visitor.visit_f64(value),
                Resolved::Text => visitor.visit_str(&scalar.text),
                Resolved::Ambiguous => {
                    self.ambiguous(&scalar.text);
                    visitor.visit_unit()
                }
            }),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.reported(visitor.visit_bool(self.boolean()))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.reported(visitor.visit_f64(self.float()))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.reported(visitor.visit_str(self.words()))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.reported(visitor.visit_str(self.node.text().unwrap_or_default()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.content {
            Content::Scalar(scalar) if scalar.plain && resolve(&scalar.text) == Resolved::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        if [owned_node::NAME, raw_value::NAME].contains(&name) {
            owned_node::hand_over(self.node);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let items: &[Node<'_>] = match &self.node.content {
            Content::Sequence(items) => items,
            Content::Scalar(scalar) if scalar.plain && scalar.text.is_empty() => {
                self.wrong_type("a list", "remove the key, or write []");
                &[]
            }
            Content::Scalar(scalar) if quotable(&scalar.text) => {
                self.wrong_type("a list", &format!("write [{}]", scalar.text));
                &[]
            }
            Content::Scalar(_) => {
                self.wrong_type("a list", "write [ before it and ] after it");
                &[]
            }
            Content::Mapping(_) => {
                self.wrong_type("a list", "write `- ` before each element");
                &[]
            }
        };
        self.reported(visitor.visit_seq(Items::new(self, items)))
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
        let entries = self.entries().unwrap_or_default().iter();
        let entries = entries.map(|(key, value)| (Key::Written(key), Some(value))).collect();
        self.reported(visitor.visit_map(Entries::new(self, entries)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == spanned::NAME {
            return visitor.visit_map(Place::new(self));
        }
        let fields = match self.entries() {
            Some(entries) => self.fields(entries, fields),
            None => fields.iter().map(|field| (Key::Field(field), None)).collect(),
        };
        self.reported(visitor.visit_map(Entries::new(self, fields)))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if self.placeholders > 0 {
            return self.first_choice(variants, visitor);
        }
        let offered = offered(&visitor, variants);
        let (at, content) = match &self.node.content {
            Content::Scalar(_) => (self.node, None),
            Content::Mapping(entries) if entries.len() == 1 => (&entries[0].0, Some(&entries[0].1)),
            _ => {
                self.wrong_type("one choice", &format!("choices: {}", offered.join(", ")));
                return self.first_choice(variants, visitor);
            }
        };
        let chosen = at.text().unwrap_or_default();
        let known = variants.iter().copied().find(|variant| *variant == chosen);
        match known.or_else(|| self.to(at).unknown_choice(chosen, &offered)) {
            Some(variant) => self.reported(visitor.visit_enum(Choice::new(self, variant, content))),
            None => self.first_choice(variants, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf unit unit_struct }
}
