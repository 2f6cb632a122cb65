//! Configurations put together from the tables of data files.

use serde_json::{Map, Value};
use vcycle::config::{PreconditionerConfig, Preset};
use vcycle::multigrid::Amg;

use crate::prelude::*;

/// Options in the words of configurations; `preset` names one to begin with, and `"unset"` takes an option back.
pub(crate) type Options = Map<String, Value>;

/// The configuration of some tables, of which later ones count.
pub(crate) fn config(tables: &[&Options]) -> Result<Config> {
    let mut merged = Options::new();
    tables.iter().for_each(|table| merge(&mut merged, table));
    let mut all = match merged.remove("preset") {
        Some(Value::String(name)) => toml::from_str(Preset::named(&name)?.text)?,
        _ => Options::new(),
    };
    merge(&mut all, &merged);
    Ok(Config::from_json(&Value::Object(all).to_string())?)
}

fn merge(into: &mut Options, from: &Options) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (_, Value::String(text)) if text == "unset" => drop(into.remove(key)),
            (Some(Value::Object(known)), Value::Object(value)) => merge(known, value),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

/// The multigrid of a configuration.
pub(crate) fn multigrid(config: Config) -> Result<Amg> {
    match config.preconditioner {
        PreconditionerConfig::Amg(amg) => Ok(amg),
        other => Err(format!("{} is not algebraic multigrid", other.name()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_tables_count_and_options_are_taken_back() {
        let table = |text: &str| toml::from_str::<Options>(text).unwrap();
        let preset = table("preset = \"paper-pgm\"\npreconditioner.scaling = \"none\"");
        let alone = table("preconditioner.precision = \"dp-sp\"\nstop.reduction = \"unset\"");
        let config = config(&[&preset, &alone]).unwrap();
        assert_eq!(config.stop.reduction, None);
        assert_eq!(config.stop.max_iterations, 800);
        let amg = multigrid(config).unwrap();
        assert_eq!(
            (amg.precision.to_string().as_str(), amg.max_levels),
            ("dp-sp", 11)
        );
        assert!(multigrid(Config::default()).is_err());
    }
}
