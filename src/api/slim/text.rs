//! Small pieces that all slim types are made of.

use prost::Message;
use serde::de::{Deserialize, Deserializer, IgnoredAny, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Reads `null` as the default.
pub(crate) fn nullable<'de, D, T>(decoder: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(decoder)?.unwrap_or_default())
}

/// Quantities by resource name, not yet parsed: what is wrong with one is said by `requests`.
pub type Texts = BTreeMap<String, Text>;

/// A text that may be written as a number, as quantities may.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Text(#[prost(string, tag = "1")] pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        decoder.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity: text or a number")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text("0".to_owned()))
    }
}

/// That something is there, whatever it is.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Present {}

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(decoder).map(|_| Self {})
    }
}
