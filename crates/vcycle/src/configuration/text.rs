//! Components as text: tables of files, and the short form of options.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::value::{Table, key_values};

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
