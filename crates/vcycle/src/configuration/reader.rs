//! Parameter structs read from values, with errors that say which key is unknown.

use std::fmt::{self, Display, Formatter};

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// Why parameters cannot be read.
#[derive(Debug)]
pub(super) enum ParameterError {
    /// A key that the struct does not have, and those it has.
    UnknownKey(String, Vec<String>),
    /// A value that does not fit, in serde's words.
    BadValue(String),
}

impl Display for ParameterError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey(key, known) => {
                write!(f, "unknown key `{key}`, known are {}", known.join(", "))
            }
            Self::BadValue(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for ParameterError {}

impl de::Error for ParameterError {
    fn custom<T: Display>(reason: T) -> Self {
        Self::BadValue(reason.to_string())
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let mut known: Vec<String> = known.iter().map(|&key| key.to_owned()).collect();
        known.sort_unstable();
        Self::UnknownKey(key.to_owned(), known)
    }
}

/// A value of a file or an option, to be read.
pub(super) struct ParameterReader(pub Value);

type Entries = std::vec::IntoIter<(String, ParameterReader)>;

fn entries<'de>(table: Map<String, Value>) -> MapDeserializer<'de, Entries, ParameterError> {
    let readers = table.into_iter();
    let readers = readers.map(|(key, value)| (key, ParameterReader(value)));
    MapDeserializer::new(readers.collect::<Vec<_>>().into_iter())
}

impl<'de> IntoDeserializer<'de, ParameterError> for ParameterReader {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for ParameterReader {
    type Error = ParameterError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (_, Some(value)) => visitor.visit_i64(value),
                _ => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(values) => SeqDeserializer::new(values.into_iter().map(ParameterReader))
                .deserialize_any(visitor),
            Value::Object(table) => entries(table).deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParameterError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParameterError> {
        match self.0 {
            Value::String(text) => visitor.visit_enum(text.into_deserializer()),
            Value::Object(table) => visitor.visit_enum(MapAccessDeserializer::new(entries(table))),
            other => ParameterReader(other).deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
