//! Names and parameters, in TOML, JSON or options of the command line, that become factories.

mod choices;
#[cfg(test)]
mod component_tests;
mod components;
mod family;
mod line;
mod presets;
mod reader;
mod run;
mod sort;
mod stop;
mod value;

use std::path::Path;
use std::str::FromStr;

pub use crate::error::ConfigError;
pub use choices::{MatrixFormat, Nullspace};
pub use components::{
    InnerSolver, NoParameters, PreconditionerConfig, Schwarz, SolverConfig, SolverParameters,
};
pub use presets::Preset;
pub use run::RunConfig;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
pub(crate) use sort::Sort;
pub use stop::StopConfig;
use value::{Table, bad_value, parameters};
pub use vcycle_methods::precision::{Precision, Unit};

pub use crate::precond::{Equilibration, MatchingKind, Preprocessing, Reorder};

/// Everything that can be chosen about a solve.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Config {
    /// The iteration.
    pub solver: SolverConfig,
    /// The approximate inverse it uses.
    pub preconditioner: PreconditionerConfig,
    /// When to stop.
    pub stop: StopConfig,
    /// In which precision to compute and to store the matrix; without one all is done in double
    /// precision, but the cycles of multigrid in single.
    pub precision: Option<Precision>,
    /// In which format to store the matrix; unless it is given in compressed rows, and a device multiplies in blocks where it finds
    /// them.
    pub format: Option<MatrixFormat>,
    /// What a singular matrix annihilates.
    pub nullspace: Nullspace,
    /// How rows and columns are scaled before the preconditioner is made; chosen with that unless it is given.
    pub equilibrate: Option<Equilibration>,
    /// Which entries are moved to the diagonal before the preconditioner is made; chosen with that unless it is given.
    #[serde(rename = "match")]
    pub matching: Option<MatchingKind>,
    /// In which order unknowns are numbered before the preconditioner is made; chosen with that unless it is given.
    pub reorder: Option<Reorder>,
    /// Where to run.
    pub run: RunConfig,
}

impl Config {
    /// Whether one rank solves for all where they use the same device: unless `gather-rows` of multigrid, or `gather-cells` of
    /// structured multigrid, is 0.
    pub fn gathers_on_one_device(&self) -> bool {
        match self.preconditioner.sort() {
            Sort::Amg(amg) => amg.gather_rows > 0,
            Sort::StructMg(grids) => grids.gather_cells > 0,
            Sort::Auto | Sort::None | Sort::Iterations | Sort::OfEntries => true,
        }
    }

    /// What is done to the matrix before a preconditioner is made: what is given here, else what is `chosen` with the
    /// preconditioner.
    pub fn preprocessing(&self, chosen: Preprocessing) -> Preprocessing {
        let mut asked = chosen;
        asked.equilibrate = self.equilibrate.unwrap_or(chosen.equilibrate);
        asked.matching = self.matching.unwrap_or(chosen.matching);
        asked.reorder = self.reorder.unwrap_or(chosen.reorder);
        asked
    }

    /// Reads TOML text.
    ///
    /// # Errors
    /// For text that is not TOML, and for unknown names and keys and bad values.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let value = toml::from_str(text).map_err(|error| syntax("TOML", error.to_string()))?;
        Self::from_value(value)
    }

    /// Reads JSON text.
    ///
    /// # Errors
    /// For text that is not JSON, and for unknown names and keys and bad values.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let value =
            serde_json::from_str(text).map_err(|error| syntax("JSON", error.to_string()))?;
        Self::from_value(value)
    }

    /// Reads a file: JSON if its name ends so, TOML otherwise.
    ///
    /// # Errors
    /// When the file cannot be read or holds no configuration.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            path: path.display().to_string(),
            source,
        })?;
        let json = path.extension().is_some_and(|ending| ending == "json");
        let read = if json {
            Self::from_json
        } else {
            Self::from_toml
        };
        read(&text).map_err(|error| match error {
            ConfigError::Syntax { reason, .. } => syntax(&path.display().to_string(), reason),
            other => other,
        })
    }

    /// As TOML text; what [`from_toml`](Config::from_toml) reads.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("configurations have TOML types only")
    }

    pub(crate) fn from_value(value: Value) -> Result<Self, ConfigError> {
        let mut table = section("the configuration", Some(value))?;
        let mut take = |key: &str| table.remove(key);
        let mut config = Config::default();
        if let Some(value) = take("solver") {
            config.solver = SolverConfig::from_value(value)?;
        }
        if let Some(value) = take("preconditioner") {
            config.preconditioner = PreconditionerConfig::from_value(value)?;
        }
        if let Some(value) = take("precision").filter(|value| !value.is_null()) {
            config.precision = Some(Precision::from_value(value)?);
        }
        if let Some(value) = take("format").filter(|value| !value.is_null()) {
            config.format = Some(value.as_str().unwrap_or_default().parse()?);
        }
        if let Some(value) = take("nullspace") {
            config.nullspace = value.as_str().unwrap_or_default().parse()?;
        }
        config.equilibrate = word("equilibrate", take("equilibrate"))?;
        config.matching = word("match", take("match"))?;
        config.reorder = word("reorder", take("reorder"))?;
        config.stop = parameters("stop", section("stop", take("stop"))?)?;
        config.run = parameters("run", section("run", take("run"))?)?;
        match table.keys().next() {
            None => Ok(config),
            Some(key) => Err(value::unknown_key(
                "the configuration",
                key,
                value::keys::<Config>(),
            )),
        }
    }
}

impl<'d> Deserialize<'d> for Config {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// A choice in one word; none where it is open, `auto`.
fn word<V: FromStr<Err = ConfigError>>(
    key: &str,
    value: Option<Value>,
) -> Result<Option<V>, ConfigError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text == "auto" => Ok(None),
        Some(Value::String(text)) => text.parse().map(Some),
        Some(other) => Err(unfit(key, other, "a name is needed")),
    }
}

fn section(key: &str, value: Option<Value>) -> Result<Table, ConfigError> {
    match value {
        None => Ok(Table::new()),
        Some(Value::Object(table)) => Ok(table),
        Some(other) => Err(unfit(key, other, "a table is needed")),
    }
}

fn unfit(key: &str, value: Value, reason: &str) -> ConfigError {
    bad_value("the configuration", key, value, reason)
}

fn syntax(origin: &str, reason: String) -> ConfigError {
    ConfigError::Syntax {
        origin: origin.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_survives_being_written() {
        let config = Config::default();
        assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(Config::from_json(&json).unwrap(), config);
    }

    #[test]
    fn unknown_sections_and_keys_are_named() {
        let error = |text: &str| Config::from_toml(text).unwrap_err().to_string();
        assert_eq!(
            error("solvr = \"cg\""),
            "unknown key `solvr` in the configuration; did you mean `solver`?"
        );
        assert_eq!(
            error("solver = { name = \"cg\", colour = 1 }"),
            "unknown key `colour` in solver cg"
        );
        assert!(error("[stop]\nmax-iterations = -1").contains("`max-iterations` cannot be -1"));
        assert!(error("stop = 3").contains("a table is needed"));
        assert!(error("solver = ").starts_with("TOML: "));
    }

    #[test]
    fn preprocessing_is_given_or_left_open() {
        let config = Config::from_toml("reorder = \"rcm\"\nmatch = \"auto\"").unwrap();
        assert_eq!(
            (config.reorder, config.matching),
            (Some(Reorder::Rcm), None)
        );
        let mut chosen = Preprocessing::default();
        (chosen.matching, chosen.reorder) = (MatchingKind::Mc64, Reorder::Amd);
        assert_eq!(config.preprocessing(chosen).to_string(), "mc64+rcm");
        let error = Config::from_toml("match = \"mc46\"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown match `mc46`; did you mean `mc64`?"
        );
        assert!(Config::from_toml("reorder = 3").is_err());
    }
}
