//! Values with their positions in the text.

use std::{
    borrow::{Borrow, Cow},
    fmt,
    marker::PhantomData,
    ops::Deref,
};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use crate::diagnostic::Span;

/// A value with the place where it was written. Compares and orders by the value alone.
#[derive(Clone, Debug, Default)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub const fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

/// The value and the place of a key that may be absent.
pub trait OptionalKey<T> {
    /// The value, copied.
    fn value(&self) -> Option<T>
    where
        T: Clone;

    fn span(&self) -> Option<Span>;
}

impl<T> OptionalKey<T> for Option<Spanned<T>> {
    fn value(&self) -> Option<T>
    where
        T: Clone,
    {
        self.as_ref().map(|key| key.value.clone())
    }

    fn span(&self) -> Option<Span> {
        self.as_ref().map(|key| key.span)
    }
}

impl<T> OptionalKey<T> for Option<&Spanned<T>> {
    fn value(&self) -> Option<T>
    where
        T: Clone,
    {
        self.map(|key| key.value.clone())
    }

    fn span(&self) -> Option<Span> {
        self.map(|key| key.span)
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl Borrow<str> for Spanned<String> {
    fn borrow(&self) -> &str {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
impl<T: Eq> Eq for Spanned<T> {}
impl<T: PartialOrd> PartialOrd for Spanned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}
impl<T: Ord> Ord for Spanned<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.value.cmp(&other.value)
    }
}

/// The schema of the value: that it has a place is no concern of who writes it.
impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The struct name by which this module's decoder recognizes a [`Spanned`].
pub(super) const NAME: &str = "$firelay_yaml::Spanned";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    /// Works with this module's decoder alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(NAME, &[], SpannedVisitor(PhantomData))
    }
}

struct SpannedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
    type Value = Spanned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its place")
    }

    /// The decoder passes start, end and then the value. It repeats this while another attempt finds more.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let span = Span::new(map.next_value()?, map.next_value()?);
        loop {
            match map.next_value() {
                Ok(value) => return Ok(Spanned { value, span }),
                Err(error) if map.next_key::<bool>()?.is_none() => return Err(error),
                Err(_) => {}
            }
        }
    }
}
