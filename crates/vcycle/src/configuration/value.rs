//! From text to parameter structs, with errors that name key and place, and back to text.

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use vcycle_methods::counts;

use super::reader::{ParameterError, ParameterReader};

use crate::error::{ConfigError, nearest};

pub(super) type Table = Map<String, Value>;

/// Reads parameters `P` from a table: keys that are absent keep their defaults.
pub(super) fn parameters<P>(place: &str, table: Table) -> Result<P, ConfigError>
where
    P: DeserializeOwned,
{
    let read = |table: Table| P::deserialize(ParameterReader(Value::Object(table)));
    for (key, value) in &table {
        check_counts(place, key, value)?;
        // One key at a time, because an error does not name it.
        let alone = Table::from_iter([(key.clone(), value.clone())]);
        read(alone).map_err(|error| match error {
            ParameterError::UnknownKey(found, known) if found == *key => {
                unknown_key(place, key, known)
            }
            ParameterError::UnknownKey(found, known) => {
                unknown_key(&format!("{place}, {key}"), &found, known)
            }
            ParameterError::BadValue(reason) => bad_value(place, key, value, reason),
        })?;
    }
    read(table).map_err(|error| bad_value(place, "", &Value::Null, error.to_string()))
}

/// Fails for counts that nothing bounds.
fn check_counts(place: &str, key: &str, value: &Value) -> Result<(), ConfigError> {
    let refused = |reason| bad_value(place, key, value, reason);
    let inner = |(key, value): (&String, &Value)| check_counts(place, key, value);
    match value {
        Value::Number(number) => {
            let count = number.as_u64().unwrap_or(0);
            counts::check(key, count).map_err(refused)
        }
        Value::Object(table) => table.iter().try_for_each(inner),
        Value::Array(tables) => {
            let tables = tables.iter().filter_map(Value::as_object);
            tables.flatten().try_for_each(inner)
        }
        _ => Ok(()),
    }
}

/// The keys of a parameter struct, as serde knows them.
pub(super) fn keys<P: Serialize + Default>() -> Vec<String> {
    match serde_json::to_value(P::default()) {
        Ok(Value::Object(table)) => table.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

pub(super) fn unknown_key(place: &str, key: &str, known: Vec<String>) -> ConfigError {
    ConfigError::UnknownKey {
        place: place.to_owned(),
        key: key.to_owned(),
        suggestion: nearest(key, known.iter().map(String::as_str)).map(str::to_owned),
        known,
    }
}

pub(super) fn bad_value(
    place: &str,
    key: &str,
    value: impl ToString,
    reason: impl Into<String>,
) -> ConfigError {
    ConfigError::BadValue {
        place: place.to_owned(),
        key: key.to_owned(),
        value: value.to_string(),
        reason: reason.into(),
    }
}

/// The arguments of `name:0.9,sweeps=2`: values for `positional` keys in order, or `key=value`.
pub(super) fn arguments(
    place: &str,
    text: &str,
    positional: &[&str],
) -> Result<Table, ConfigError> {
    let mut free = positional.iter();
    let mut table = Table::new();
    for part in text.split(',') {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key.trim(), value.trim()),
            None => match free.next() {
                Some(key) => (*key, part.trim()),
                None => return Err(one_too_many(place, part, positional)),
            },
        };
        insert(&mut table, key, literal(value));
    }
    Ok(table)
}

/// `a.b` is the key `b` of the table `a`.
fn insert(table: &mut Table, key: &str, value: Value) {
    let Some((outer, inner)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return;
    };
    let nested = table.entry(outer).or_insert_with(|| Table::new().into());
    if let Value::Object(nested) = nested {
        insert(nested, inner, value);
    }
}

/// What [`arguments`] makes a table of again: `key=value` for everything that is not null.
fn key_values(table: &Table) -> Vec<String> {
    let parts = table.iter().flat_map(|(key, value)| match value {
        Value::Null => Vec::new(),
        Value::Object(nested) => {
            let inner = key_values(nested).into_iter();
            inner.map(|part| format!("{key}.{part}")).collect()
        }
        Value::String(text) => vec![format!("{key}={text}")],
        other => vec![format!("{key}={other}")],
    });
    parts.collect()
}

fn one_too_many(place: &str, part: &str, positional: &[&str]) -> ConfigError {
    let reason = match positional.len() {
        0 => "nothing may follow the colon but key=value".to_owned(),
        n => format!("at most {n} after the colon: {}", positional.join(",")),
    };
    let key = positional.last().unwrap_or(&"argument");
    bad_value(place, key, format!("`{part}`"), reason)
}

/// A number or truth value if the text is one, else the text itself.
pub(super) fn literal(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        // Text, and what is no finite number.
        _ => match text.parse::<f64>().map(Value::from) {
            Ok(number @ Value::Number(_)) => number,
            _ => text.into(),
        },
    }
}

/// What stands in a file: the name, then the parameters.
pub(super) fn named<S: Serializer>(
    name: &str,
    parameters: &Value,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut table = to.serialize_map(None)?;
    table.serialize_entry("name", name)?;
    for (key, value) in parameters.as_object().into_iter().flatten() {
        table.serialize_entry(key, &ParameterValue(value))?;
    }
    table.end()
}

/// A value of a parameter. Parameters are serialised in two steps, to a [`Value`] and from there, so that each struct
/// is compiled for one format only.
struct ParameterValue<'v>(&'v Value);

impl Serialize for ParameterValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            // TOML leaves out what is not given, but knows no null.
            Value::Null => to.serialize_none(),
            Value::Array(values) => to.collect_seq(values.iter().map(ParameterValue)),
            Value::Object(table) => to.collect_map(
                table
                    .iter()
                    .map(|(key, value)| (key, ParameterValue(value))),
            ),
            other => other.serialize(to),
        }
    }
}

pub(super) fn short_form(name: &str, component: &impl Serialize) -> String {
    joined(name, &table(component))
}

pub(super) fn brief_form(
    name: &str,
    component: &impl Serialize,
    default: &impl Serialize,
) -> String {
    let mut own = table(component);
    remove_equal(&mut own, &table(default));
    joined(name, &own)
}

/// The parameters alone.
fn table(component: &impl Serialize) -> Table {
    let Ok(Value::Object(mut table)) = serde_json::to_value(component) else {
        return Table::new();
    };
    table.remove("name");
    table
}

/// Leaves what differs, in tables inside it too.
fn remove_equal(table: &mut Table, default: &Table) {
    table.retain(|key, value| default.get(key) != Some(value));
    for (key, value) in table {
        if let (Value::Object(inner), Some(Value::Object(default))) = (value, default.get(key)) {
            remove_equal(inner, default);
        }
    }
}

fn joined(name: &str, table: &Table) -> String {
    let arguments = key_values(table);
    match arguments.is_empty() {
        true => name.to_owned(),
        false => format!("{name}:{}", arguments.join(",")),
    }
}
