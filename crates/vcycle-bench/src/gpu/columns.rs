//! Many right-hand sides at once beside one after the other, and the formats that the device chooses beside rows.

use std::ops::Range;

use vcycle::config::{Prepared, System};
use vcycle::gallery;

use super::{GpuBench, ROUNDS};
use crate::common::iterations;
use crate::prelude::*;
use crate::problem::Ready;
use crate::products::random;
use crate::timing::warm;

/// Kernels are compiled for some numbers of columns, which takes long: what matters most comes first.
const COLUMNS: [usize; 3] = [32, 16, 8];

/// All problems in all precisions.
pub(super) fn run(bench: &GpuBench, precisions: &[String], report: &mut Report) -> Result<()> {
    report.add("## Many right-hand sides")?;
    let mut table = bench.args.table("columns");
    let columns = if bench.args.has("small") {
        &COLUMNS[2..]
    } else {
        &COLUMNS
    };
    for name in bench.args.listed("columns") {
        for precision in precisions {
            let config = format!("solver=cg preconditioner=amg:precision={precision}");
            let config: Config = config.parse()?;
            let problem = gallery::build(name, &bench.executor)?;
            let rows = problem.rhs.len();
            let prepared = Prepared::new(config, System::from(problem), &Workspace::new())?;
            let best = |range: Range<usize>| {
                let (host, ws) = (Executor::cpu(), Workspace::new());
                let b = Vector::from_rows(&host, range.len(), random(rows, range))?;
                let (b, stop) = (b.copy_to(&bench.executor)?, &prepared.config().stop);
                warm(&bench.executor, ROUNDS, &mut || {
                    Ok(prepared.solve(&b, None, stop, &ws)?)
                })
            };
            let mut singles = Vec::new();
            for &count in columns {
                for column in singles.len()..count {
                    let (time, solution) = best(column..column + 1)?;
                    singles.push((time, solution.outcome.iterations));
                }
                let apart: f64 = singles[..count].iter().map(|single| single.0).sum();
                let most = singles[..count].iter().map(|single| single.1).max();
                let (at_once, together) = best(0..count)?;
                let (counted, ratio) = (iterations(&together.outcome), apart / at_once);
                let most = most.unwrap_or(0);
                table.show_row(row![
                    name, precision, count, counted, most, at_once, apart, ratio
                ]);
            }
        }
    }
    report.add(table)?;
    report.add(bench.args.note("columns", &[]))
}

/// Solves that take turns, one of which compiles kernels; the best counts.
const FORMAT_ROUNDS: usize = 8;

/// All problems row by row and in the formats that are chosen.
pub(super) fn formats(bench: &GpuBench, report: &mut Report) -> Result<()> {
    report.add("## Formats that are chosen, beside rows")?;
    let mut table = bench.args.table("formats");
    let configs =
        ["csr", "auto"].map(|format| format!("preconditioner=amg format={format}").parse());
    let configs = configs
        .into_iter()
        .collect::<std::result::Result<Vec<Config>, _>>()?;
    for name in bench.args.listed("formats") {
        let mut problem = crate::problem::system(&bench.executor, name)?;
        problem.rhs.fill(1.0);
        let solved = Ready::of(&problem, &bench.executor)?.race(&configs, FORMAT_ROUNDS);
        let solved = solved
            .into_iter()
            .collect::<std::result::Result<Vec<_>, _>>()?;
        let levels = solved[1].multigrid.iter().flat_map(|report| &report.levels);
        let formats: Vec<&str> = levels.map(|level| level.format.as_str()).collect();
        let times = |place: usize| {
            let both = [solved[place].setup, solved[place].solving];
            both.map(|time| 1e3 * time.as_secs_f64())
        };
        let ([setup, solve], [chosen_setup, chosen]) = (times(0), times(1));
        table.show_row(row![
            name,
            formats.join(", "),
            setup,
            chosen_setup,
            iterations(&solved[0].outcome),
            iterations(&solved[1].outcome),
            solve,
            chosen,
            chosen / solve,
        ]);
    }
    report.add(format!("{table}\n\n{}", bench.args.note("formats", &[])))
}
