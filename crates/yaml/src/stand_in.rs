//! A deserializer that has a value of every type: what decoding goes on with after a mistake.

use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, VariantAccess, Visitor, value::StrDeserializer},
};

use super::{log::Fault, spanned};

/// Structs within each other before a recursive type is given up.
const MAX_DEPTH: u8 = 32;

/// Zero, false, the empty text and list, the first choice, and structs with all their fields so.
#[derive(Clone, Copy, Default)]
pub(super) struct StandIn {
    depth: u8,
}

impl StandIn {
    fn inner(self) -> Result<Self, Fault> {
        if self.depth < MAX_DEPTH {
            Ok(Self { depth: self.depth + 1 })
        } else {
            Err(Fault::Recorded)
        }
    }
}

macro_rules! values {
    ($($method:ident $visit:ident($($value:expr)?))*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.$visit($($value)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for StandIn {
    type Error = Fault;

    values! {
        deserialize_any visit_unit()
        deserialize_unit visit_unit()
        deserialize_ignored_any visit_unit()
        deserialize_option visit_none()
        deserialize_bool visit_bool(false)
        deserialize_i8 visit_i8(0)
        deserialize_i16 visit_i16(0)
        deserialize_i32 visit_i32(0)
        deserialize_i64 visit_i64(0)
        deserialize_u8 visit_u8(0)
        deserialize_u16 visit_u16(0)
        deserialize_u32 visit_u32(0)
        deserialize_u64 visit_u64(0)
        deserialize_f32 visit_f32(0.0)
        deserialize_f64 visit_f64(0.0)
        deserialize_char visit_char(' ')
        deserialize_str visit_str("")
        deserialize_string visit_str("")
        deserialize_identifier visit_str("")
        deserialize_bytes visit_bytes(&[])
        deserialize_byte_buf visit_bytes(&[])
        deserialize_seq visit_seq(Nothing)
        deserialize_map visit_map(Nothing)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self.inner()?)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(Nothing)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_seq(Nothing)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        // A `Spanned` reads start, end and value without asking for keys.
        let fields: &[&str] = if name == spanned::NAME { &[] } else { fields };
        visitor.visit_map(Fields {
            of: self.inner()?,
            names: fields.iter(),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let variant = variants.first().ok_or(Fault::Recorded)?;
        visitor.visit_enum(First {
            of: self.inner()?,
            variant,
        })
    }
}

struct Nothing;

impl<'de> serde::de::SeqAccess<'de> for Nothing {
    type Error = Fault;
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, _: S) -> Result<Option<S::Value>, Fault> {
        Ok(None)
    }
}

impl<'de> MapAccess<'de> for Nothing {
    type Error = Fault;
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, _: S) -> Result<Option<S::Value>, Fault> {
        Ok(None)
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, _: S) -> Result<S::Value, Fault> {
        Err(Fault::Recorded)
    }
}

struct Fields {
    of: StandIn,
    names: std::slice::Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Fault;
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.names
            .next()
            .map(|name| seed.deserialize((*name).into_deserializer()))
            .transpose()
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self.of)
    }
}

struct First {
    of: StandIn,
    variant: &'static str,
}

impl<'de> EnumAccess<'de> for First {
    type Error = Fault;
    type Variant = StandIn;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, StandIn), Fault> {
        let variant: StrDeserializer<'_, Fault> = self.variant.into_deserializer();
        Ok((seed.deserialize(variant)?, self.of))
    }
}

impl<'de> VariantAccess<'de> for StandIn {
    type Error = Fault;
    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(Nothing)
    }
    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_struct("", fields, visitor)
    }
}
