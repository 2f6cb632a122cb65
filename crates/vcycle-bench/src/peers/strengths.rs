//! Affinity beside classical strength, all other stages the same.

use vcycle::config::Config;

use super::measurement::{Measurement, TOLERANCE};
use super::race::Race;
use super::report::PeerGroup;
use crate::common::{Result, table};
use crate::problem;
use vcycle::executor::Executor;

/// Diffusion across a grid: 0.6 radians and 0.6 degrees.
pub(super) const PROBLEMS: [&str; 2] = ["aniso5:1000,0.001,34.377", "aniso5:1000,0.001,0.6"];
/// The stages that are the same.
const STAGES: [&str; 4] = [
    r#"coarsening = "pmis", interpolation = "direct", smoother = "l1-jacobi""#,
    r#"coarsening = "pmis-aggressive", smoother = "l1-jacobi""#,
    r#"coarsening = "pmis", interpolation = "extended+i", smoother = "l1-jacobi""#,
    r#"coarsening = "rs", interpolation = "classical", smoother = "chebyshev:2""#,
];
const CLASSICAL: [&str; 2] = ["classical 0.25", "classical 0.5"];
const AFFINITY: [&str; 2] = ["affinity", "affinity, all levels"];

/// Measures all of it; every table is printed at once.
pub(super) fn run(problems: &[&str], threads: usize, rounds: usize) -> Result<()> {
    for name in problems {
        let system = problem::system(&Executor::cpu(), name)?;
        for stages in STAGES {
            let race = Race {
                name,
                threads,
                rounds,
                configs: configs(stages)?,
                peers: Vec::new(),
            };
            say!("{name}, {stages}\n\n{}\n", text(&race.run(&system)?));
        }
    }
    say!(
        "Conjugate gradients, best of {rounds} rounds, in turns, threads {threads}; true relative \
         residual 1e-8. Angles are degrees: 34.377 are 0.6 radians."
    );
    Ok(())
}

fn configs(stages: &str) -> Result<Vec<(&'static str, Config)>> {
    let strengths = [
        r#"{ kind = "classical", threshold = 0.25 }"#,
        r#"{ kind = "classical", threshold = 0.5 }"#,
        r#"{ kind = "affinity" }"#,
        r#"{ kind = "affinity", levels = 100 }"#,
    ];
    let names = CLASSICAL.into_iter().chain(AFFINITY);
    let config = |(name, strength): (&'static str, &str)| {
        let amg = format!(r#"name = "amg", {stages}, strength = {strength}"#);
        let mut config =
            Config::from_toml(&format!("solver = \"cg\"\npreconditioner = {{ {amg} }}"))?;
        config.stop.rtol = Some(TOLERANCE);
        Ok((name, config))
    };
    names.zip(strengths).map(config).collect()
}

fn text(group: &PeerGroup) -> String {
    let mut table = table(&[
        "strength",
        "iterations",
        "complexity",
        "set-up s",
        "solve s",
        "total s",
        "total / best classical",
    ]);
    let totals = CLASSICAL.iter().filter_map(|name| group.measured(name));
    let base = totals.map(Measurement::total).reduce(f64::min);
    for (name, attempt) in &group.solves {
        let cells = match attempt {
            Ok(m) => cells(m, base),
            Err(why) => std::array::from_fn(|k| if k == 0 { why.clone() } else { String::new() }),
        };
        table.add_row([name.clone()].into_iter().chain(cells));
    }
    table.to_string()
}

fn cells(m: &Measurement, base: Option<f64>) -> [String; 6] {
    let ratio = base.filter(|_| m.converged()).map(|base| m.total() / base);
    [
        m.iterations.to_string(),
        m.complexity.map_or(String::new(), |c| format!("{c:.2}")),
        format!("{:.3}", m.setup),
        format!("{:.3}", m.solve),
        format!("{:.3}", m.total()),
        ratio.map_or("not converged".to_owned(), |ratio| format!("{ratio:.2}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_strengths_are_measured_with_the_same_stages() {
        let system = problem::system(&Executor::cpu(), "aniso5:40,0.001,34.377").unwrap();
        let race = Race {
            name: "aniso5",
            threads: 1,
            rounds: 1,
            configs: configs(STAGES[0]).unwrap(),
            peers: Vec::new(),
        };
        let group = race.run(&system).unwrap();
        assert!(AFFINITY.iter().all(|name| group.measured(name).is_some()));
        let text = text(&group);
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains("1.00"), "{text}");
    }
}
