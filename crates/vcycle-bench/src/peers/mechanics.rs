//! `vcycle-bench mechanics`: elasticity and structures, beside the libraries made for them.

use vcycle::config::{Config, Preset};
use vcycle::executor::Executor;

use super::measurement::{Measurement, TOLERANCE};
use super::program::{Library, ProgramPlaces};
use super::race::Race;
use super::report::{OURS, PeerGroup};
use super::{install, strengths};
use crate::common::{Result, table, threads};
use crate::problem;

/// Whom the ratios are to.
const BASE: Library = Library::Gamg;
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

const MULTIGRID: [&str; 8] = [
    "elasticity:60x20x20",
    "elasticity:240x12x12",
    "elasticity:60x20x20,0.3,1e3",
    "elasticity:60x20x20,0.45",
    "../shared/matrices/trilinos_beam.mtx.xz",
    "../shared/matrices/bcsstk15.mtx.xz",
    "../shared/matrices/bcsstk16.mtx.xz",
    "../shared/matrices/bcsstk24.mtx.xz",
];
const FSAI: [&str; 3] = [
    "elasticity:60x20x20",
    "poisson7:100",
    "elasticity:60x20x20,0.3,1e3",
];

pub(crate) fn run(arguments: &MechanicsArgs) -> Result<()> {
    let wanted = |part| match arguments.only.is_empty() {
        true => part == MechanicsPart::Multigrid,
        false => arguments.only.contains(&part),
    };
    if wanted(MechanicsPart::Multigrid) {
        let configs = configs(&arguments.presets)?;
        arguments.race(&MULTIGRID, configs, &arguments.peers)?;
    }
    if wanted(MechanicsPart::Affinity) {
        let problems = arguments.problems(&strengths::PROBLEMS);
        strengths::run(&problems, threads(arguments.threads)?, arguments.rounds)?;
    }
    if wanted(MechanicsPart::Fsai) {
        let mut config = Config::from_toml("solver = \"cg\"\npreconditioner = \"fsai\"")?;
        config.stop.rtol = Some(TOLERANCE);
        arguments.race(&FSAI, vec![(OURS, config)], &[Library::Fsai])?;
    }
    Ok(())
}

impl MechanicsArgs {
    /// The problems that are asked for, or the usual ones.
    fn problems<'a>(&'a self, usual: &[&'a str]) -> Vec<&'a str> {
        match self.problems.is_empty() {
            true => usual.to_vec(),
            false => self.problems.iter().map(String::as_str).collect(),
        }
    }

    fn race(
        &self,
        usual: &[&str],
        configs: Vec<(&'static str, Config)>,
        peers: &[Library],
    ) -> Result<()> {
        let peers = install(peers, &self.places);
        let threads = threads(self.threads)?;
        let mut groups = Vec::new();
        for name in self.problems(usual) {
            let system = problem::system(&Executor::cpu(), name)?;
            let race = Race {
                name,
                threads,
                rounds: self.rounds,
                configs: configs.clone(),
                peers: peers.iter().filter(|peer| peer.uses(threads)).collect(),
            };
            groups.push(race.run(&system)?);
        }
        say!(
            "{}\n\nThe fastest set-up and solve of {} rounds, in turns, threads {threads}; true \
             relative residual 1e-8. \
             Peers have the near-nullspace, where it is known, and their own defaults.",
            text(&groups),
            self.rounds
        );
        Ok(())
    }
}

/// What vcycle chooses, and presets.
fn configs(presets: &[String]) -> Result<Vec<(&'static str, Config)>> {
    let mut all = vec![(OURS, Config::default())];
    for name in presets {
        all.push((Preset::named(name)?.name, Config::preset(name)?));
    }
    for (_, config) in &mut all {
        config.stop.rtol = Some(TOLERANCE);
    }
    Ok(all)
}

fn text(groups: &[PeerGroup]) -> String {
    let mut table = table(&[
        "problem",
        "who",
        "iterations",
        "complexity",
        "set-up s",
        "solve s",
        "total s",
        "residual",
        "solve / GAMG",
        "total / GAMG",
        "note",
    ]);
    for group in groups {
        // Who stops a little too soon is not slower for it: the ratio is on the safe side.
        let base = group.ended(BASE.name());
        let base = base.filter(|m| m.residual <= NEARLY * TOLERANCE);
        for (name, attempt) in &group.solves {
            let whose = [group.problem.clone(), name.to_string()];
            let cells = match attempt {
                Ok(m) => cells(m, base),
                Err(why) => failed(why),
            };
            table.add_row(whose.into_iter().chain(cells));
        }
    }
    table.to_string()
}

fn cells(m: &Measurement, base: Option<&Measurement>) -> [String; 9] {
    let base = base.filter(|_| m.converged());
    let ratio = |part: fn(&Measurement) -> f64| {
        base.map_or(String::new(), |base| format!("{:.2}", part(m) / part(base)))
    };
    [
        m.iterations.to_string(),
        m.complexity.map_or(String::new(), |c| format!("{c:.2}")),
        format!("{:.3}", m.setup),
        format!("{:.3}", m.solve),
        format!("{:.3}", m.total()),
        format!("{:.1e}", m.residual),
        ratio(|m| m.solve),
        ratio(Measurement::total),
        String::from(if m.converged() { "" } else { "not converged" }),
    ]
}

fn failed(why: &str) -> [String; 9] {
    let mut cells = [const { String::new() }; 9];
    cells[8] = why.to_owned();
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_gamg_where_both_converged() {
        let measured = |solve: f64, residual: f64| Measurement {
            read: 0.0,
            setup: 1.0,
            solve,
            iterations: 9,
            residual,
            complexity: Some(1.2),
            messages: 0.0,
        };
        let base = measured(3.0, 1e-9);
        let good = cells(&measured(1.0, 1e-9), Some(&base));
        assert_eq!((&*good[1], &*good[6], &*good[7]), ("1.20", "0.33", "0.50"));
        let bad = cells(&measured(1.0, 1e-2), Some(&base));
        assert_eq!((&*bad[6], &*bad[8]), ("", "not converged"));
        assert_eq!(failed("why")[8], "why");
    }

    #[test]
    fn presets_go_by_their_names() {
        let all = configs(&["mechanics".to_owned()]).unwrap();
        assert_eq!(all[1].0, "mechanics");
        assert!(configs(&["mecanics".to_owned()]).is_err());
    }
}
