//! Solves for many right-hand sides at once beside one after the other, and solves in the formats that the device chooses beside
//! solves row by row.

use std::ops::Range;

use vcycle::config::{Config, Prepared, Solution, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::vector::Vector;

use super::bench::GpuBench;
use crate::asked::Asked;
use crate::common::{Result, iterations};
use crate::table::{Report, row};
use crate::timing::shortest;

const FULL: [&str; 2] = ["elasticity:60x60x60", "poisson7:128"];
const SMALL: [&str; 1] = ["elasticity:4x4x4"];
/// Kernels are compiled for some numbers of columns, which takes long: what matters most comes first.
const COLUMNS: [usize; 3] = [32, 16, 8];
const FEW_COLUMNS: [usize; 1] = [8];
/// Solves of which the best counts, after one that is not timed.
const ROUNDS: usize = 3;

/// Measures all problems in all precisions.
pub(super) fn run(bench: &GpuBench, precisions: &[String], report: &mut Report) -> Result<()> {
    report.add("## Many right-hand sides")?;
    let columns = bench.of_size(&COLUMNS, &FEW_COLUMNS);
    for &name in bench.of_size(&FULL, &SMALL) {
        for precision in precisions {
            eprintln!("many right-hand sides: {name}, levels in {precision}");
            let config = format!("solver=cg preconditioner=amg:precision={precision}");
            let (_, system) = ReadySystem::new(bench, name, &config)?;
            system.measure(&bench.asked, precision, columns, report)?;
        }
    }
    report.add(bench.asked.note("columns", &[]))
}

/// A system that is set up on the device.
struct ReadySystem<'b> {
    executor: &'b Executor,
    name: &'b str,
    prepared: Prepared<f64>,
    rows: usize,
}

impl<'b> ReadySystem<'b> {
    /// Seconds of the set-up, and the system.
    fn new(bench: &'b GpuBench, name: &'b str, config: &str) -> Result<(f64, Self)> {
        let (executor, config) = (&bench.executor, config.parse::<Config>()?);
        let problem = gallery::build(name, executor)?;
        let rows = problem.rhs.len();
        let system = System::from(problem);
        let (seconds, prepared) = shortest(executor, 1, &mut || {
            Ok(Prepared::new(
                config.clone(),
                system.clone(),
                &Workspace::new(),
            )?)
        })?;
        let ready = Self {
            executor,
            name,
            prepared,
            rows,
        };
        Ok((seconds, ready))
    }

    /// Each number of columns at once and apart, in a row as soon as it is known.
    fn measure(
        &self,
        asked: &Asked,
        precision: &str,
        counts: &[usize],
        report: &mut Report,
    ) -> Result<()> {
        let table = report.begin(asked.table("columns"))?;
        let mut singles = Vec::new();
        for &count in counts {
            for column in singles.len()..count {
                let (time, solution) = self.best(&self.columns(column..column + 1)?)?;
                singles.push((time, solution.outcome.iterations));
            }
            let apart: f64 = singles[..count].iter().map(|single| single.0).sum();
            let most = singles[..count].iter().map(|single| single.1).max();
            let (at_once, together) = self.best(&self.columns(0..count)?)?;
            let cells = row![
                self.name,
                precision,
                count,
                iterations(&together.outcome),
                most.unwrap_or(0),
                at_once,
                apart,
                apart / at_once,
            ];
            report.row(&table, cells)?;
        }
        report.add("")
    }

    /// Some of the right-hand sides, on the device.
    fn columns(&self, range: Range<usize>) -> Result<Vector<f64>> {
        let (host, cols) = (Executor::cpu(), range.len());
        let values = random(self.rows, range);
        Ok(Vector::from_rows(&host, cols, values)?.copy_to(self.executor)?)
    }

    /// Milliseconds of the best of some solves, and the last one.
    fn best(&self, b: &Vector<f64>) -> Result<(f64, Solution<f64>)> {
        let ws = Workspace::new();
        self.solve(b, &ws)?;
        let (seconds, solution) = shortest(self.executor, ROUNDS, &mut || self.solve(b, &ws))?;
        Ok((seconds * 1e3, solution))
    }

    fn solve(&self, b: &Vector<f64>, ws: &Workspace) -> Result<Solution<f64>> {
        let stop = &self.prepared.config().stop;
        Ok(self.prepared.solve(b, None, stop, ws)?)
    }
}

/// Columns of numbers between -1 and 1 (SplitMix64, Steele et al. 2014); a column is the same among any others.
fn random(rows: usize, columns: Range<usize>) -> Vec<f64> {
    let number = |row: usize, column: usize| {
        let place = (column as u64) << 40 | row as u64;
        let mut z = (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    };
    let row = |row| columns.clone().map(move |column| number(row, column));
    (0..rows).flat_map(row).collect()
}

const FORMAT_PROBLEMS: [&str; 9] = [
    "elasticity:60x60x60",
    "elasticity:120x40x40",
    "poisson7:128",
    "poisson27:128",
    "jump7:128,1e6",
    "aniso7:128,0.01",
    "rhd-3T:64",
    "oil-4C:48",
    "tet:50",
];
/// Solves that take turns, after one that is not timed; the best counts.
const FORMAT_ROUNDS: usize = 7;

/// Measures all problems row by row and in the formats that are chosen.
pub(super) fn formats(bench: &GpuBench, report: &mut Report) -> Result<()> {
    report.add("## Formats that are chosen, beside rows")?;
    let table = report.begin(bench.asked.table("formats"))?;
    for &name in bench.of_size(&FORMAT_PROBLEMS, &["elasticity:4x4x4", "poisson7:10"]) {
        eprintln!("formats of {name}");
        let (mut both, mut setups) = (Vec::new(), Vec::new());
        for format in ["csr", "auto"] {
            let config = format!("preconditioner=amg format={format}");
            let (mut least, mut made) = (f64::INFINITY, None);
            for _ in 0..2 {
                let (seconds, system) = ReadySystem::new(bench, name, &config)?;
                least = least.min(seconds * 1e3);
                made = Some(system);
            }
            setups.push(least);
            both.extend(made);
        }
        let ones = Vector::filled(&bench.executor, both[0].rows, 1, 1.0)?;
        let (ws, mut best) = (Workspace::new(), [f64::INFINITY; 2]);
        let mut outcomes: Vec<String> = Vec::new();
        for one in &both {
            outcomes.push(iterations(&one.solve(&ones, &ws)?.outcome));
        }
        for _ in 0..FORMAT_ROUNDS {
            for (one, best) in both.iter().zip(&mut best) {
                let mut solve = || one.solve(&ones, &ws);
                *best = best.min(1e3 * shortest(&bench.executor, 1, &mut solve)?.0);
            }
        }
        let levels = both[1].prepared.report().into_iter();
        let levels = levels.flat_map(|report| &report.levels);
        let formats: Vec<&str> = levels.map(|level| level.format.as_str()).collect();
        let [in_rows, chosen] = outcomes.try_into().expect("two of them");
        let cells = row![
            name,
            formats.join(", "),
            setups[0],
            setups[1],
            in_rows,
            chosen,
            best[0],
            best[1],
            best[1] / best[0],
        ];
        report.row(&table, cells)?;
    }
    report.add(format!("\n{}", bench.asked.note("formats", &[])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_do_not_depend_on_their_neighbours() {
        let (both, second) = (random(5, 0..2), random(5, 1..2));
        let others: Vec<f64> = both.into_iter().skip(1).step_by(2).collect();
        assert_eq!(others, second);
        assert!(second.iter().all(|value| value.abs() <= 1.0));
    }
}
