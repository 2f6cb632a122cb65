//! `vcycle-bench mechanics`: elasticity and structures, beside the libraries made for them; parts are data.

use std::collections::BTreeMap;

use serde::Deserialize;
use vcycle::config::{Config, Preset};
use vcycle::executor::Executor;

use super::files::Files;
use super::install;
use super::measurement::{Attempt, Measurement, OURS, TOLERANCE};
use super::program::{Library, ProgramPlaces};
use super::race::{self, race};
use crate::asked::Asked;
use crate::common::{Result, short, threads};
use crate::options::{self, Options};
use crate::problem::{self, Ready};
use crate::table::{Cell, row};

/// The parts.
const PARTS: &str = include_str!("../../experiments/mechanics.toml");
/// Ratios are to residuals of up to so many times the tolerance.
const NEARLY: f64 = 2.0;

/// What is solved, with what, and beside whom.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartData {
    problems: Vec<String>,
    #[serde(default)]
    base: Options,
    variants: Vec<Options>,
    #[serde(default)]
    peers: Vec<Library>,
    /// Whose time others are compared with: the best of these.
    unit: Vec<String>,
}

/// Parts by name, in the order they are measured in.
type Parts = BTreeMap<String, Vec<PartData>>;

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let mut parts: Parts = toml::from_str(PARTS)?;
    for name in ["multigrid", "affinity", "fsai"] {
        let is_usual = name == "multigrid";
        if !asked.wants(name, is_usual) {
            continue;
        }
        for part in parts.get_mut(name).into_iter().flatten() {
            if is_usual {
                part.peers = Library::asked(asked);
                part.variants.extend(presets(&asked.list("presets"))?);
            }
            measure(asked, part)?;
        }
    }
    Ok(())
}

/// Variants that are presets.
fn presets(names: &[&str]) -> Result<Vec<Options>> {
    let variant = |name: &&str| {
        let name = Preset::named(name)?.name;
        let both = ["name", "preset"].map(|key| (key.to_owned(), name.into()));
        Ok(both.into_iter().collect())
    };
    names.iter().map(variant).collect()
}

impl PartData {
    /// What vcycle does, by name.
    fn configs(&self) -> Result<Vec<(String, Config)>> {
        let config = |options: &Options| {
            let mut own = options.clone();
            let name = own.remove("name");
            let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or(OURS);
            let mut config = options::config(&[&self.base, &own])?;
            config.stop.rtol = Some(TOLERANCE);
            Ok((name.to_owned(), config))
        };
        self.variants.iter().map(config).collect()
    }
}

fn measure(asked: &Asked, part: &PartData) -> Result<()> {
    let threads = threads(asked.maybe_count("threads"))?;
    let peers = install(&part.peers, &ProgramPlaces::new(asked));
    let mut problems = asked.list("problems");
    if problems.is_empty() {
        problems = part.problems.iter().map(String::as_str).collect();
    }
    let mut table = asked.table("solves");
    for name in problems {
        let system = problem::system(&Executor::cpu(), name)?;
        let ready = Ready::of(&system, &Executor::cpu_with_threads(threads)?)?;
        let (files, configs) = (Files::new(&system)?, part.configs()?);
        let ours = configs.iter();
        let ours = ours.map(|(name, config)| race::within(name, config, &ready));
        let theirs = peers.iter().filter(|peer| peer.uses(threads));
        let theirs = theirs.map(|peer| race::peer(peer, &files, threads));
        let entrants: Vec<_> = ours.chain(theirs).collect();
        let title = format!("{name}, threads {threads}");
        let solves = race(&title, &entrants, asked.count("rounds"));
        let unit = unit(&solves, &part.unit);
        for (who, attempt) in &solves {
            let head = row![short(name), who].into_iter();
            table.row(head.chain(cells(attempt, unit)).collect());
        }
    }
    let further = [
        ("unit", part.unit.join(", ")),
        ("cores", threads.to_string()),
    ];
    say!("{table}\n\n{}", asked.note("end", &further));
    Ok(())
}

/// The best of some solves, where it came near the tolerance: who stops a little too soon is not slower for it, and the ratio is
/// on the safe side.
fn unit<'s>(solves: &'s [(String, Attempt)], names: &[String]) -> Option<&'s Measurement> {
    let of = solves.iter().filter(|(who, _)| names.contains(who));
    let of = of.filter_map(|(_, attempt)| attempt.as_ref().ok());
    let of = of.filter(|m| m.residual <= NEARLY * TOLERANCE);
    of.min_by(|one, other| one.total().total_cmp(&other.total()))
}

fn cells(attempt: &Attempt, unit: Option<&Measurement>) -> Vec<Cell> {
    let m = match attempt {
        Ok(m) => m,
        Err(why) => return row!["", "", "", "", "", "", "", "", why],
    };
    let unit = unit.filter(|_| m.converged());
    let ratio = |part: fn(&Measurement) -> f64| unit.map(|unit| part(m) / part(unit));
    row![
        m.iterations,
        m.complexity,
        m.setup,
        m.solve,
        m.total(),
        m.residual,
        ratio(|m| m.solve),
        ratio(Measurement::total),
        if m.converged() { "" } else { "not converged" },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_the_unit_where_both_converged() {
        let measured = |solve: f64, residual: f64| Measurement {
            setup: 1.0,
            solve,
            iterations: 9,
            residual,
            complexity: Some(1.2),
            ..Measurement::default()
        };
        let base = measured(3.0, 1e-9);
        let table = Asked::plain("mechanics").table("solves").without(2);
        let texts = |attempt: &Attempt| table.texts(cells(attempt, Some(&base))).join(" | ");
        let good = texts(&Ok(measured(1.0, 1e-9)));
        assert_eq!(
            good,
            "9 | 1.20 | 1.000 | 1.000 | 2.000 | 1.0e-9 | 0.33 | 0.50 | "
        );
        let bad = texts(&Ok(measured(1.0, 1e-2)));
        assert!(bad.ends_with("| 1.0e-2 |  |  | not converged"), "{bad}");
        assert_eq!(cells(&Err("why".to_owned()), None).len(), 9);
    }

    #[test]
    fn parts_are_configurations_and_presets_go_by_their_names() {
        let parts: Parts = toml::from_str(PARTS).unwrap();
        for part in parts.values().flatten() {
            part.configs().unwrap();
        }
        assert_eq!(presets(&["mechanics"]).unwrap()[0]["name"], "mechanics");
        assert!(presets(&["mecanics"]).is_err());
    }

    #[test]
    fn both_strengths_are_measured_with_the_same_stages() {
        let parts: Parts = toml::from_str(PARTS).unwrap();
        let part = &parts["affinity"][0];
        let system = problem::system(&Executor::cpu(), "aniso5:40,0.001,34.377").unwrap();
        let ready = Ready::of(&system, &Executor::cpu()).unwrap();
        let configs = part.configs().unwrap();
        let ours = configs
            .iter()
            .map(|(name, config)| race::within(name, config, &ready));
        let solves = race("aniso5", &ours.collect::<Vec<_>>(), 1);
        assert!(
            solves
                .iter()
                .all(|(_, one)| one.as_ref().unwrap().converged())
        );
        let unit = unit(&solves, &part.unit);
        let is_unit = |attempt: &Attempt| {
            let ratio = &cells(attempt, unit)[7];
            matches!(ratio, Cell::Number(ratio) if *ratio == 1.0)
        };
        assert!(solves.iter().any(|(_, one)| is_unit(one)));
    }
}
