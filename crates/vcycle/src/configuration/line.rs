//! Configurations in one string, as other programs hand them on.

use std::str::FromStr;

use serde_json::Value;

use super::value::{Table, keys, literal, unknown_key};
use super::{Config, ConfigError, Preset, RunConfig, StopConfig, syntax};

/// JSON, TOML, or one line of pairs.
///
/// Text that begins with a brace is JSON. Lines with quotes, brackets or braces in them, and several lines, are TOML. Else
/// there are pairs `key=value` with white space between them. Their keys are those of configuration files, without
/// sections; what is no key of a configuration is a parameter of the preconditioner, or of `amg` where none is named.
/// `preset=NAME` comes first where it is given.
///
/// ```
/// use vcycle::config::Config;
/// let config: Config = "solver=cg preconditioner=amg:pmis smoother=gs rtol=1e-10 threads=2".parse()?;
/// assert_eq!((config.solver.name(), config.stop.rtol), ("cg", Some(1e-10)));
/// let same = r#"solver = "cg"
///     preconditioner = "amg:pmis,smoother=gs"
///     [stop]
///     rtol = 1e-10
///     [run]
///     threads = 2"#;
/// assert_eq!(config, same.parse()?);
/// let error = "solvr=cg".parse::<Config>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown key `solvr`"));
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
impl FromStr for Config {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let text = text.trim();
        if text.starts_with('{') {
            return Self::from_json(text);
        }
        if text.contains(['\n', '"', '\'', '[', '{']) {
            return Self::from_toml(text);
        }
        Self::from_value(Value::Object(table(text)?))
    }
}

/// The table that pairs stand for.
fn table(text: &str) -> Result<Table, ConfigError> {
    let mut table = Table::new();
    let (mut stop, mut run) = (Table::new(), Table::new());
    let mut rest = Vec::new();
    for pair in text.split_whitespace() {
        let Some((key, value)) = pair.split_once('=') else {
            let reason = format!("`{pair}` is no pair: key=value is needed");
            return Err(syntax("options", reason));
        };
        match key {
            "preset" => table = preset(value)?,
            key if is_single(key) => drop(table.insert(key.to_owned(), value.into())),
            key if keys::<StopConfig>().iter().any(|known| known == key) => {
                stop.insert(key.to_owned(), literal(value));
            }
            key if keys::<RunConfig>().iter().any(|known| known == key) => {
                run.insert(key.to_owned(), literal(value));
            }
            _ => rest.push(pair),
        }
    }
    merge(&mut table, "stop", stop);
    merge(&mut table, "run", run);
    if !rest.is_empty() {
        let asked = with_parameters(table.get("preconditioner"), &rest)?;
        table.insert("preconditioner".to_owned(), asked);
    }
    Ok(table)
}

/// Whether it is a key of configurations that is no section.
fn is_single(key: &str) -> bool {
    !matches!(key, "stop" | "run") && keys::<Config>().iter().any(|known| known == key)
}

fn preset(name: &str) -> Result<Table, ConfigError> {
    let text = Preset::named(name)?.text;
    toml::from_str(text).map_err(|error| syntax(name, error.to_string()))
}

fn merge(table: &mut Table, section: &str, keys: Table) {
    match table.get_mut(section) {
        Some(Value::Object(known)) => known.extend(keys),
        _ if keys.is_empty() => {}
        _ => drop(table.insert(section.to_owned(), keys.into())),
    }
}

/// A preconditioner, `amg` unless given, with more parameters.
fn with_parameters(given: Option<&Value>, pairs: &[&str]) -> Result<Value, ConfigError> {
    let more = pairs.join(",");
    Ok(match given {
        None => {
            check_keys(pairs)?;
            format!("amg:{more}").into()
        }
        Some(Value::String(text)) if text == "auto" => format!("amg:{more}").into(),
        Some(Value::String(text)) if text.contains(':') => format!("{text},{more}").into(),
        Some(Value::String(text)) => format!("{text}:{more}").into(),
        Some(other) => {
            let mut other = other.clone();
            for (key, value) in pairs.iter().filter_map(|pair| pair.split_once('=')) {
                other[key] = literal(value);
            }
            other
        }
    })
}

/// Where no preconditioner is named, a key that `amg` does not have is unknown.
fn check_keys(pairs: &[&str]) -> Result<(), ConfigError> {
    let mut known = keys::<crate::multigrid::Amg>();
    known.push("levels".to_owned());
    for (key, _) in pairs.iter().filter_map(|pair| pair.split_once('=')) {
        let first = key.split('.').next().unwrap_or(key);
        if !known.iter().any(|known| known == first) {
            let sections = [keys::<Config>(), keys::<StopConfig>(), keys::<RunConfig>()];
            let all = [sections.concat(), known].concat();
            return Err(unknown_key("the options", key, all));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        text.parse().unwrap()
    }

    #[test]
    fn all_forms_say_the_same() {
        let pairs = read("solver=gmres:30 preconditioner=ilu0 rtol=1e-6 max-iterations=9");
        let toml = "solver = \"gmres:30\"\npreconditioner = \"ilu0\"\nstop = { rtol = 1e-6, max-iterations = 9 }";
        assert_eq!(pairs, read(toml));
        let json = r#"{"solver": "gmres:30", "preconditioner": "ilu0", "stop": {"rtol": 1e-6, "max-iterations": 9}}"#;
        assert_eq!(pairs, read(json));
        assert_eq!(read("  "), Config::default());
        assert_eq!(read("reorder=rcm"), read("reorder = \"rcm\""));
        assert_eq!(read("solver = \"cg\"").solver.name(), "cg");
    }

    #[test]
    fn parameters_of_multigrid_need_no_name() {
        let asked = read("coarsening=pmis cycle=w");
        assert_eq!(asked, read("preconditioner=amg:coarsening=pmis,cycle=w"));
        assert_eq!(asked, read("preconditioner=amg:pmis cycle=w"));
        assert_eq!(
            read("preset=paper-pgm cycle=w rtol=1e-3").stop.rtol,
            Some(1e-3)
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| text.parse::<Config>().unwrap_err().to_string();
        assert!(error("cg").contains("`cg` is no pair"));
        assert!(error("rtoll=1e-8").contains("did you mean `rtol`?"));
        assert!(error("preconditioner=ilu0 cycle=w").contains("`cycle` in preconditioner ilu0"));
        assert!(error("preset=nothing").contains("preset"));
        assert!(error("rtol=small").contains("rtol"));
    }
}
