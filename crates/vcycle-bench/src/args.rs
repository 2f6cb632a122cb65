//! The command line: options, tables and notes of the benchmarks are data (`experiments/benchmarks.toml`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde::Deserialize;
use toml::Value;
use vcycle::executor::Executor;

use crate::common::{Result, cores};
use crate::table::Table;

static BENCHMARKS: LazyLock<BTreeMap<String, Benchmark>> = LazyLock::new(|| {
    let text = include_str!("../experiments/benchmarks.toml");
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Benchmark {
    about: String,
    /// Name and values, the default, the help. Names: `PROBLEM...`, `--rounds N`, `-o/--output FILE`, `--peers NAME...`, `--only PART,...`, `--json`.
    /// A value `N` is a whole number, `X` any number, `a|b` one of these; more than one without dots: given several times.
    options: Vec<(String, Value, String)>,
    /// Pairs of options that exclude each other.
    #[serde(default)]
    conflicts: Vec<[String; 2]>,
    /// Columns by table, with their formats.
    #[serde(default)]
    tables: BTreeMap<String, String>,
    /// Problems or methods by name, separated by ` | `; with `--small` those of `small-NAME`.
    #[serde(default)]
    lists: BTreeMap<String, String>,
    /// Texts by name; `{rounds}` is the value of an option.
    #[serde(default)]
    notes: BTreeMap<String, String>,
}

/// The command line of all benchmarks.
pub(crate) fn command() -> Command {
    let all = BENCHMARKS.iter().map(|(name, one)| {
        let made = Command::new(name.as_str()).about(one.about.as_str());
        let made = made.args(one.options.iter().map(argument));
        one.conflicts.iter().fold(made, |made, [first, second]| {
            made.mut_arg(first, |argument| argument.conflicts_with(second.as_str()))
        })
    });
    Command::new("vcycle-bench")
        .about("Measures vcycle beside the machine and its peers")
        .subcommand_required(true)
        .subcommands(all)
}

/// The name of an option: letters alone.
fn name(words: &str) -> &str {
    let first = words.split(' ').next().unwrap_or_default();
    let long = first.rsplit('/').next().unwrap_or_default();
    long.trim_start_matches('-').trim_end_matches("...")
}

fn argument((words, default, help): &'static (String, Value, String)) -> Arg {
    let values = words.split_once(' ').map_or("", |(_, values)| values);
    let mut made = Arg::new(name(words)).help(help.as_str());
    if words.starts_with('-') {
        let short = words.split_once('/').and_then(|(s, _)| s.chars().nth(1));
        made = made.long(name(words)).short(short);
        if values.is_empty() {
            return made.action(ArgAction::SetTrue);
        }
    }
    let single = values.trim_end_matches(",...").trim_end_matches("...");
    made = match single {
        "N" => made.value_parser(value_parser!(usize)),
        "X" => made.value_parser(value_parser!(f64)),
        "OPTIONS" => made.allow_hyphen_values(true),
        several if several.contains('|') => {
            made.value_parser(PossibleValuesParser::new(several.split('|')))
        }
        _ => made,
    };
    if !single.is_empty() && !single.contains('|') {
        made = made.value_name(single);
    }
    // Lives as long as the program, as the texts of the file do.
    let text = |value: &'static Value| -> &'static str {
        value.as_str().unwrap_or_else(|| value.to_string().leak())
    };
    match default {
        Value::Array(defaults) => {
            made = made.action(ArgAction::Append);
            if values.ends_with(",...") {
                made = made.value_delimiter(',');
            } else if words.ends_with("...") {
                made = made.num_args(0..);
            }
            match defaults.is_empty() {
                true => made,
                false => made.default_values(defaults.iter().map(text)),
            }
        }
        Value::String(none) if none.is_empty() => made,
        Value::String(required) if required == "required" => made.required(true),
        value => made.default_value(text(value)),
    }
}

/// The arguments of a benchmark.
#[derive(Clone)]
pub(crate) struct Args {
    of: &'static Benchmark,
    given: ArgMatches,
}

impl Args {
    /// The benchmark of a command line, and its arguments.
    pub(crate) fn read(line: &ArgMatches) -> (&'static str, Self) {
        let (name, given) = line.subcommand().expect("a benchmark is required");
        let (name, of) = BENCHMARKS.get_key_value(name).expect("it was found");
        let given = given.clone();
        (name, Self { of, given })
    }

    /// Those of a line such as `struct --rounds 3`.
    pub(crate) fn parse(line: &str) -> Self {
        let words = ["vcycle-bench"].into_iter().chain(line.split(' '));
        Self::read(&command().get_matches_from(words)).1
    }

    pub(crate) fn maybe(&self, name: &str) -> Option<&str> {
        self.given.get_one::<String>(name).map(String::as_str)
    }

    /// An option with a default.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.maybe(name).expect("the option has a default")
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.maybe(name).map(PathBuf::from)
    }

    pub(crate) fn maybe_count(&self, name: &str) -> Option<usize> {
        self.given.get_one(name).copied()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.maybe_count(name).expect("the option has a default")
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        let found = self.given.get_one(name).copied();
        found.expect("the option has a default")
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.get_flag(name)
    }

    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let all = self.given.get_many::<String>(name).into_iter().flatten();
        all.map(String::as_str)
            .filter(|one| !one.is_empty() || name == "ours")
            .collect()
    }

    pub(crate) fn counts(&self, name: &str) -> Vec<usize> {
        let all = self.given.get_many(name).into_iter().flatten();
        all.copied().collect()
    }

    /// Whether `--only` names a part, or the part is measured by default.
    pub(crate) fn wants(&self, part: &str, is_default: bool) -> bool {
        let only = self.list("only");
        only.contains(&part) || only.is_empty() && is_default
    }

    /// Rounds, and the seconds of each.
    pub(crate) fn measuring(&self) -> (usize, f64) {
        (self.count("rounds"), self.number("seconds"))
    }

    /// The number of `--threads`, or all cores.
    pub(crate) fn threads(&self) -> Result<usize> {
        self.maybe_count("threads").map_or_else(cores, Ok)
    }

    /// The executor of `--device`: `cpu`, or a device such as `cuda:0`.
    pub(crate) fn executor(&self) -> Result<Executor> {
        Ok(match self.maybe("device") {
            None | Some("cpu") => Executor::cpu(),
            Some(device) => Executor::gpu(device)?,
        })
    }

    /// A table without rows yet.
    pub(crate) fn table(&self, name: &str) -> Table {
        Table::new(&self.of.tables[name])
    }

    /// The problems or methods of a list.
    pub(crate) fn listed(&self, name: &str) -> Vec<&'static str> {
        let small = self.given.try_get_one("small").ok().flatten() == Some(&true);
        let small = small.then(|| self.of.lists.get(&format!("small-{name}")));
        let list = small.flatten().unwrap_or_else(|| &self.of.lists[name]);
        list.split(" | ").collect()
    }

    /// A text with the values of options, and of further names.
    pub(crate) fn note(&self, name: &str, further: &[(&str, String)]) -> String {
        let mut text = self.of.notes[name].replace('\n', " ");
        for (words, ..) in &self.of.options {
            let key = self::name(words);
            if let Some(mut values) = self.given.get_raw(key).filter(|_| text.contains('{')) {
                let value = values.next().unwrap_or_default().to_string_lossy();
                text = text.replace(&format!("{{{key}}}"), &value);
            }
        }
        for (key, value) in further {
            text = text.replace(&format!("{{{key}}}"), value);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_has_options_that_can_be_read() {
        command().debug_assert();
        let args = Args::parse("basis poisson5:4 --rtol 1e-3 --restart 7");
        assert_eq!(args.list("PROBLEM"), ["poisson5:4"]);
        assert_eq!((args.number("rtol"), args.count("rounds")), (1e-3, 3));
        assert!(args.note("end", &[]).contains("gmres:restart=7"));
        let plain = Args::parse("gpu");
        assert_eq!(plain.listed("solve").len(), 8);
        assert_eq!(Args::parse("gpu --small").listed("solve").len(), 6);
        assert!(plain.wants("spmv", true) && !plain.has("small"));
        let line = ["vcycle-bench", "gpu", "--only", "everything"];
        let refused = command().try_get_matches_from(line).unwrap_err();
        assert!(refused.to_string().contains("spmv"));
    }
}
