//! Solves for many right-hand sides at once beside one after the other.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use comfy_table::Table;
use vcycle::config::{Config, Prepared, Solution, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::log::{Log, Profile};
use vcycle::vector::Vector;

use super::bench::GpuBench;
use super::measure::iterations;
use super::report::MarkdownReport;
use crate::common::{Result, table};

const FULL: [&str; 2] = ["elasticity:60x60x60", "poisson7:128"];
const SMALL: [&str; 1] = ["elasticity:4x4x4"];
/// Kernels are compiled for some numbers of columns, which takes long: what matters most comes first.
const COLUMNS: [usize; 3] = [32, 16, 8];
const FEW_COLUMNS: [usize; 1] = [8];
/// What levels are stored in unless precisions are asked for: what a solve chooses by itself.
const PRECISIONS: [&str; 1] = ["sp"];
/// Solves of which the best counts, after one that is not timed.
const ROUNDS: usize = 3;
/// Stages that take less than this part of a solve are not shown.
const SHOWN: f64 = 0.01;

/// Measures all problems in all precisions.
pub(super) fn run(bench: &GpuBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Many right-hand sides")?;
    let (names, columns) = match bench.small {
        true => (&SMALL[..], &FEW_COLUMNS[..]),
        false => (&FULL[..], &COLUMNS[..]),
    };
    for &name in names {
        for precision in &bench.precisions_or(&PRECISIONS) {
            eprintln!("many right-hand sides: {name}, levels in {precision}");
            let system = ColumnsProblem::new(bench, name, precision)?;
            system.measure(columns, report)?;
            report.add(system.profiles(columns[0])?)?;
        }
    }
    report.add(
        "Conjugate gradients with algebraic multigrid to a true relative residual of 1e-8 in every column; random right-hand sides. \
         At once: one solve of all columns, best of 3. Apart: the sum of solves for each of them alone, each the best of 3. Iterations \
         apart are the most that one of them took. Milliseconds of stages are of one column and of all at once; the host waits for \
         each, so that short ones are longer than in a solve.",
    )
}

/// A system that is set up on the device.
struct ColumnsProblem<'b> {
    bench: &'b GpuBench,
    name: &'b str,
    precision: &'b str,
    prepared: Prepared<f64>,
    rows: usize,
}

impl<'b> ColumnsProblem<'b> {
    fn new(bench: &'b GpuBench, name: &'b str, precision: &'b str) -> Result<Self> {
        let problem = gallery::build(name, &bench.executor)?;
        let rows = problem.rhs.len();
        let config: Config =
            format!("solver=cg preconditioner=amg:precision={precision}").parse()?;
        let prepared = Prepared::new(config, System::from(problem), &Workspace::new())?;
        Ok(Self {
            bench,
            name,
            precision,
            prepared,
            rows,
        })
    }

    /// Each number of columns at once and apart, in a row as soon as it is known.
    fn measure(&self, counts: &[usize], report: &mut MarkdownReport) -> Result<()> {
        report.begin_table(&[
            "problem",
            "levels in",
            "columns",
            "iterations at once",
            "iterations apart",
            "ms at once",
            "ms apart",
            "apart over at once",
        ])?;
        let mut singles = Vec::new();
        for &count in counts {
            for column in singles.len()..count {
                let (time, solution) = self.best(&self.columns(column..column + 1)?)?;
                singles.push((time, solution.outcome.iterations));
            }
            let apart: f64 = singles[..count].iter().map(|single| single.0).sum();
            let most = singles[..count].iter().map(|single| single.1).max();
            let (at_once, together) = self.best(&self.columns(0..count)?)?;
            report.row(&[
                self.name.to_owned(),
                self.precision.to_owned(),
                count.to_string(),
                iterations(&together.outcome),
                most.unwrap_or(0).to_string(),
                format!("{at_once:.2}"),
                format!("{apart:.2}"),
                format!("{:.2}", apart / at_once),
            ])?;
        }
        report.add("")
    }

    /// Some of the right-hand sides, on the device.
    fn columns(&self, range: Range<usize>) -> Result<Vector<f64>> {
        let (host, cols) = (Executor::cpu(), range.len());
        let values = random(self.rows, range);
        Ok(Vector::from_rows(&host, cols, values)?.copy_to(&self.bench.executor)?)
    }

    /// Milliseconds of the best of some solves, and the last one.
    fn best(&self, b: &Vector<f64>) -> Result<(f64, Solution<f64>)> {
        let ws = Workspace::new();
        let mut solution = self.solve(b, &ws)?;
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            self.bench.device.synchronize()?;
            let begin = Instant::now();
            solution = self.solve(b, &ws)?;
            self.bench.device.synchronize()?;
            best = best.min(begin.elapsed().as_secs_f64() * 1e3);
        }
        Ok((best, solution))
    }

    fn solve(&self, b: &Vector<f64>, ws: &Workspace) -> Result<Solution<f64>> {
        let stop = &self.prepared.config().stop;
        Ok(self.prepared.solve(b, None, stop, ws)?)
    }

    /// Where the time of a solve goes, with one column and with many.
    fn profiles(&self, count: usize) -> Result<Table> {
        let (one, many) = (self.profile(1)?, self.profile(count)?);
        let title = format!("{}, levels in {}", self.name, self.precision);
        let many_head = format!("ms of {count}");
        let mut table = table(&[&title, "calls", "ms of one", &many_head, "grows"]);
        let least = SHOWN
            * many
                .rows()
                .iter()
                .map(|(_, stage)| stage.seconds)
                .fold(0.0, f64::max);
        let alone = one.rows();
        for (place, (depth, stage)) in many.rows().into_iter().enumerate() {
            if stage.seconds < least {
                continue;
            }
            let single = alone
                .get(place)
                .filter(|(_, single)| single.name == stage.name);
            let each = |seconds: f64, calls: usize| seconds * 1e3 / calls.max(1) as f64;
            let long = each(stage.seconds, stage.calls);
            let short = single.map(|(_, single)| each(single.seconds, single.calls));
            table.add_row([
                format!("{}{}", "· ".repeat(depth), stage.name),
                stage.calls.to_string(),
                super::report::cell(short, 3),
                format!("{long:.3}"),
                super::report::cell(short.map(|short| long / short), 1),
            ]);
        }
        Ok(table)
    }

    /// The stages of a solve, after one that is not timed.
    fn profile(&self, count: usize) -> Result<Profile> {
        let b = self.columns(0..count)?;
        self.solve(&b, &Workspace::new())?;
        let profile = Rc::new(RefCell::new(Profile::default()));
        let ws = Workspace::with_log(Log::new().with(Rc::clone(&profile)));
        self.solve(&b, &ws)?;
        let stages = profile.borrow().clone();
        Ok(stages)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_do_not_depend_on_their_neighbours() {
        let (both, second) = (random(5, 0..2), random(5, 1..2));
        assert_eq!(
            both.into_iter().skip(1).step_by(2).collect::<Vec<_>>(),
            second
        );
        assert!(second.iter().all(|value| value.abs() <= 1.0));
    }
}
