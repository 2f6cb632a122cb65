//! `vcycle-bench precision`: mixed-precision multigrid beside the papers.

use vcycle::config::Config;
use vcycle::executor::Executor;

use crate::common::{Result, Table, cell, executor};
use crate::options::{self, Options};
use crate::published::mixed_precision;
use crate::ready::Ready;

/// Options of `precision`.
#[derive(Clone, Debug, clap::Args)]
pub struct PrecisionArgs {
    /// Problems of the gallery; the papers have iterations for the first two
    #[arg(default_values_t = ["beam:o3,l3".to_owned(), "lshape:o3,l7".to_owned()])]
    problems: Vec<String>,
    /// Where it runs: cpu, or a device such as cuda:0
    #[arg(long, default_value = "cpu")]
    device: String,
}

/// As the tables have it, without remedies.
const PLAIN: [&str; 12] = [
    "dp",
    "dp-sp",
    "dp-sp-hp",
    "dp-hp",
    "dp-sp-bf",
    "dp-bf",
    "dp/sp",
    "dp/hp",
    "dp/dp-sp-hp",
    "dp-sp/sp",
    "dp-sp/hp",
    "dp-sp/dp-sp-hp",
];
/// With the remedies this library applies by itself.
const CURED: [&str; 5] = ["dp-sp-hp", "dp-hp", "dp/hp", "dp-sp/hp", "dp-sp/dp-sp-hp"];

/// Options of a row, as the command line has them, and its precision where the papers have it.
fn rows() -> Vec<(String, Option<&'static str>)> {
    let plain = PLAIN.map(|name| (format!("--precision {name} --scaling none"), Some(name)));
    let halved = "--precision dp-sp-hp --scaling none --restriction-scaling 0.5".to_owned();
    let cured = CURED.map(|name| (format!("--precision {name}"), None));
    let rows = plain.into_iter().chain([(halved, None)]);
    rows.chain(cured).collect()
}

/// The method of the papers with options of a row.
fn config(row: &str) -> Result<Config> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let mut amg = Options::new();
    for pair in words.chunks(2) {
        let key = pair[0].trim_start_matches('-').to_owned();
        let value = match pair[1].parse::<f64>() {
            Ok(number) => number.into(),
            Err(_) => pair[1].into(),
        };
        amg.insert(key, value);
    }
    let preset = [("preset".to_owned(), "paper-pgm".into())];
    let amg = [("preconditioner".to_owned(), amg.into())];
    options::config(&[&preset.into_iter().collect(), &amg.into_iter().collect()])
}

pub(crate) fn run(arguments: &PrecisionArgs) -> Result<()> {
    let executor = executor(&arguments.device)?;
    for problem in &arguments.problems {
        say!("{}\n", report(problem, &executor)?);
    }
    Ok(())
}

/// A table of every precision on one problem.
pub(crate) fn report(problem: &str, executor: &Executor) -> Result<String> {
    let mut table = Table::new(
        "options | paper | iterations | status | recurrence | true residual | ms | x dp | paper ms | of paper",
    );
    let (ready, mut double) = (Ready::new(problem, executor)?, None);
    for (row, precision) in rows() {
        eprintln!("{problem} {row}");
        let tried = ready.race(&[config(&row)?], 3).remove(0);
        let published = precision.and_then(|precision| mixed_precision(problem, precision));
        let paper = published.as_ref().map_or("", |(_, iterations)| iterations);
        let Ok(solution) = tried.inspect_err(|why| table.row(format!("{row} | {paper} | | {why}")))
        else {
            continue;
        };
        let (outcome, time) = (&solution.outcome, solution.solving.as_secs_f64() * 1e3);
        let theirs = published.as_ref().map(|(time, _)| *time);
        table.row(format!(
            "{row} | {paper} | {} | {} | {:.1e} | {:.1e} | {time:.2} | {:.2} | {} | {}",
            outcome.iterations,
            outcome.status,
            outcome.recurrence_residual,
            outcome.relative_residual,
            *double.get_or_insert(time) / time,
            cell(theirs, 2),
            cell(theirs.map(|theirs| time / theirs), 2),
        ));
    }
    Ok(format!(
        "{problem}, --preset paper-pgm\n\n{table}\n\nTimes of the solve, the best of 3. The residual is relative to the right-hand side. Paper: \
         tables 6.2 and 6.4 of Tsai's dissertation (2024), measured on an H100. The recurrence decides when to stop, as there."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_options_of_the_method() {
        let all: Vec<String> = rows().into_iter().map(|(row, _)| row).collect();
        assert_eq!(all.len(), 18);
        assert!(all.iter().all(|row| config(row).is_ok()), "{all:?}");
        let amg = options::multigrid(config(&all[12]).unwrap()).unwrap();
        assert_eq!(amg.restriction_scaling, 0.5);
    }

    #[test]
    fn the_papers_have_iterations_for_their_own_problems_alone() {
        let problems = ["beam:o3,l3", "lshape:o3,l7", "beam:o3,l1", "poisson5:8"];
        let told = problems.map(|name| mixed_precision(name, "dp").map(|(_, count)| count));
        assert_eq!(
            told,
            [Some("44".to_owned()), Some("160".to_owned()), None, None]
        );
    }
}
