//! Collections and choices as serde reads them.

use serde::{
    Deserializer,
    de::{self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor},
};

use super::Decoder;
use crate::{
    decode_context::Fault,
    scalar::{Resolved, resolve},
    tree::{Content, Node},
};

/// The elements of a list.
pub(super) struct Items<'t> {
    of: Decoder<'t>,
    items: std::slice::Iter<'t, Node<'t>>,
}

impl<'t> Items<'t> {
    pub(super) fn new(of: Decoder<'t>, items: &'t [Node<'t>]) -> Self {
        Items {
            of,
            items: items.iter(),
        }
    }
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

/// A key of a mapping: as written, or the field that it was mistyped for.
#[derive(Clone, Copy)]
pub(super) enum Key<'t> {
    Written(&'t Node<'t>),
    Field(&'static str),
}

/// The entries of a mapping; one without a value gets a placeholder.
pub(super) struct Entries<'t> {
    of: Decoder<'t>,
    entries: std::vec::IntoIter<(Key<'t>, Option<&'t Node<'t>>)>,
    value: Option<&'t Node<'t>>,
}

impl<'t> Entries<'t> {
    pub(super) fn new(of: Decoder<'t>, entries: Vec<(Key<'t>, Option<&'t Node<'t>>)>) -> Self {
        Entries {
            of,
            entries: entries.into_iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = value;
        match key {
            Key::Written(key) => seed.deserialize(self.of.to(key)),
            Key::Field(field) => seed.deserialize(field.into_deserializer()),
        }
        .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.value {
            Some(value) => seed.deserialize(self.of.to(value)),
            None => seed.deserialize(self.of.placeholder()?),
        }
    }
}

/// The parts of a `Spanned`: start, end, then its value, again as long as another try finds more.
pub(super) struct Place<'t> {
    of: Decoder<'t>,
    step: u8,
    known: usize,
}

impl<'t> Place<'t> {
    pub(super) fn new(of: Decoder<'t>) -> Self {
        Place { of, step: 0, known: 0 }
    }
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
pub(super) struct Choice<'t> {
    of: Decoder<'t>,
    variant: &'static str,
    content: Option<&'t Node<'t>>,
}

impl<'t> Choice<'t> {
    pub(super) fn new(of: Decoder<'t>, variant: &'static str, content: Option<&'t Node<'t>>) -> Self {
        Choice { of, variant, content }
    }
}

impl<'de> EnumAccess<'de> for Choice<'_> {
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
                seed.deserialize(Decoder::new(&empty, self.of.log))
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
