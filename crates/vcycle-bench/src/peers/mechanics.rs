//! `vcycle-bench mechanics`: elasticity and structures, beside the libraries made for them; parts are data.

use serde::Deserialize;
use vcycle::config::{Config, Preset};
use vcycle::executor::Executor;

use super::files::Files;
use super::measurement::{Attempt, Measurement, TOLERANCE};
use super::program::{Library, Peer, ProgramPlaces};
use super::race::{self, race};
use super::{OURS, install};
use crate::common::{Result, Table, cell, threads};
use crate::options::{self, Options};
use crate::problem;
use crate::ready::Ready;

/// The parts.
const PARTS: &str = include_str!("../../experiments/mechanics.toml");
/// Ratios are to residuals of up to so many times the tolerance.
const NEARLY: f64 = 2.0;

/// Options of `mechanics`.
#[derive(Clone, Debug, clap::Args)]
pub struct MechanicsArgs {
    /// The parts to measure; `multigrid` unless given
    #[arg(long, value_delimiter = ',', value_name = "PART,...")]
    only: Vec<MechanicsPart>,
    /// Problems of the gallery, or files; those of the part unless given
    #[arg(long, num_args = 1..)]
    problems: Vec<String>,
    /// Presets beside the choice that vcycle makes by itself
    #[arg(long, num_args = 0.., default_values = ["mechanics", "bamg-fsai"])]
    presets: Vec<String>,
    /// Whom to compare with
    #[arg(long, num_args = 0.., default_values = ["gamg", "hypre", "pyamg"])]
    peers: Vec<Library>,
    /// Threads, or processes of a peer; all cores unless given
    #[arg(long)]
    threads: Option<usize>,
    /// Turns each solver takes
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    #[command(flatten)]
    places: ProgramPlaces,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum MechanicsPart {
    /// Multigrid, beside that of the peers
    Multigrid,
    /// Affinity beside classical strength
    Affinity,
    /// FSAI as the preconditioner, beside that of hypre
    Fsai,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    multigrid: Vec<PartData>,
    affinity: Vec<PartData>,
    fsai: Vec<PartData>,
}

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

pub(crate) fn run(arguments: &MechanicsArgs) -> Result<()> {
    let mut parts: Parts = toml::from_str(PARTS)?;
    let wanted = |part| match arguments.only.is_empty() {
        true => part == MechanicsPart::Multigrid,
        false => arguments.only.contains(&part),
    };
    if wanted(MechanicsPart::Multigrid) {
        for part in &mut parts.multigrid {
            part.peers.clone_from(&arguments.peers);
            part.variants.extend(presets(&arguments.presets)?);
        }
        arguments.measure(&parts.multigrid)?;
    }
    if wanted(MechanicsPart::Affinity) {
        arguments.measure(&parts.affinity)?;
    }
    if wanted(MechanicsPart::Fsai) {
        arguments.measure(&parts.fsai)?;
    }
    Ok(())
}

/// Variants that are presets.
fn presets(names: &[String]) -> Result<Vec<Options>> {
    let variant = |name: &String| {
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

impl MechanicsArgs {
    fn measure(&self, parts: &[PartData]) -> Result<()> {
        let (threads, rounds) = (threads(self.threads)?, self.rounds);
        for part in parts {
            let peers = install(&part.peers, &self.places);
            let problems = match self.problems.is_empty() {
                true => &part.problems,
                false => &self.problems,
            };
            let mut table = Table::new(
                "problem | who | iterations | complexity | set-up s | solve s | total s | residual | solve of unit | total of unit | note",
            );
            for name in problems {
                let solves = self.solved(part, name, &peers, threads)?;
                let short = name.rsplit('/').next().unwrap_or(name);
                let unit = unit(&solves, &part.unit);
                for (who, attempt) in &solves {
                    table.row(format!("{short} | {who} | {}", cells(attempt, unit)));
                }
            }
            say!(
                "{table}\n\nUnit: the best of {}. In turns, of {rounds} rounds the one with the smallest total, threads {threads}; true \
                 relative residual 1e-8. Peers have the near-nullspace, where it is known, and their own defaults.",
                part.unit.join(", ")
            );
        }
        Ok(())
    }

    fn solved(
        &self,
        part: &PartData,
        name: &str,
        peers: &[Peer],
        threads: usize,
    ) -> Result<Vec<(String, Attempt)>> {
        let system = problem::system(&Executor::cpu(), name)?;
        let ready = Ready::of(&system, &Executor::cpu_with_threads(threads)?)?;
        let (files, configs) = (Files::new(&system)?, part.configs()?);
        let ours = configs
            .iter()
            .map(|(name, config)| race::within(name, config, &ready));
        let theirs = peers.iter().filter(|peer| peer.uses(threads));
        let theirs = theirs.map(|peer| race::peer(peer, &files, threads));
        let entrants: Vec<_> = ours.chain(theirs).collect();
        let title = format!("{name}, threads {threads}");
        Ok(race(&title, &entrants, self.rounds))
    }
}

/// The best of some solves, where it came near the tolerance: who stops a little too soon is not slower for it, and the ratio is
/// on the safe side.
fn unit<'s>(solves: &'s [(String, Attempt)], names: &[String]) -> Option<&'s Measurement> {
    let of = solves.iter().filter(|(who, _)| names.contains(who));
    let of = of.filter_map(|(_, attempt)| attempt.as_ref().ok());
    let of = of.filter(|m| m.residual <= NEARLY * TOLERANCE);
    of.min_by(|one, other| one.total().total_cmp(&other.total()))
}

fn cells(attempt: &Attempt, unit: Option<&Measurement>) -> String {
    let m = match attempt {
        Ok(m) => m,
        Err(why) => return format!("{}{why}", " | ".repeat(8)),
    };
    let unit = unit.filter(|_| m.converged());
    let ratio = |part: fn(&Measurement) -> f64| cell(unit.map(|unit| part(m) / part(unit)), 2);
    format!(
        "{} | {} | {:.3} | {:.3} | {:.3} | {:.1e} | {} | {} | {}",
        m.iterations,
        cell(m.complexity, 2),
        m.setup,
        m.solve,
        m.total(),
        m.residual,
        ratio(|m| m.solve),
        ratio(Measurement::total),
        if m.converged() { "" } else { "not converged" }
    )
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
        let good = cells(&Ok(measured(1.0, 1e-9)), Some(&base));
        assert_eq!(
            good,
            "9 | 1.20 | 1.000 | 1.000 | 2.000 | 1.0e-9 | 0.33 | 0.50 | "
        );
        let bad = cells(&Ok(measured(1.0, 1e-2)), Some(&base));
        assert!(bad.ends_with("| 1.0e-2 |  |  | not converged"), "{bad}");
        assert_eq!(cells(&Err("why".to_owned()), None).split('|').count(), 9);
    }

    #[test]
    fn parts_are_configurations_and_presets_go_by_their_names() {
        let parts: Parts = toml::from_str(PARTS).unwrap();
        let all = [parts.multigrid, parts.affinity, parts.fsai].into_iter();
        for part in all.flatten() {
            part.configs().unwrap();
        }
        assert_eq!(
            presets(&["mechanics".to_owned()]).unwrap()[0]["name"],
            "mechanics"
        );
        assert!(presets(&["mecanics".to_owned()]).is_err());
    }

    #[test]
    fn both_strengths_are_measured_with_the_same_stages() {
        let parts: Parts = toml::from_str(PARTS).unwrap();
        let part = &parts.affinity[0];
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
        assert!(
            solves
                .iter()
                .any(|(_, one)| cells(one, unit).contains("| 1.00 |"))
        );
    }
}
