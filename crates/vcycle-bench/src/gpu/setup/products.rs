//! Products of sparse matrices beside cuSPARSE.

use std::time::Instant;

use vcycle::matrix::Csr;
use vcycle::multigrid::coarsen::pmis;
use vcycle::multigrid::interpolate::{Truncation, extended_i};
use vcycle::multigrid::strength::{Classical, Strength};

use super::bench::{ROUNDS, SetupBench};
use crate::common::{Result, table};
use crate::gpu::cusparse::Cusparse;
use crate::gpu::report::{MarkdownReport, cell};

const FULL: [&str; 4] = [
    "poisson7:128",
    "poisson27:128",
    "beam:o3,l3",
    "elasticity:60x20x20",
];
const SMALL: [&str; 2] = ["poisson7:20", "elasticity:8x4x4"];
/// Results of more entries than this are compared by their number alone.
const COMPARED: usize = 60_000_000;

pub(super) fn run(bench: &SetupBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Products of sparse matrices")?;
    let cusparse = Cusparse::load(&bench.device);
    if let Err(error) = &cusparse {
        report.add(format!("No cuSPARSE: {error}"))?;
    }
    let mut table = table(&[
        "matrix", "product", "entries", "ms", "cuSPARSE", "times", "apart",
    ]);
    for problem in bench.names(&FULL, &SMALL) {
        eprintln!("{problem}, products");
        let a = bench
            .problems
            .get(problem)?
            .matrix
            .copy_to(&bench.executor)?;
        let strength = Strength::Classical(Classical::default()).graph(&a)?;
        let splitting = pmis(&strength, 1)?;
        let p = extended_i(&a, &strength, &splitting, &Truncation::default())?;
        let (ap, r) = (a.multiply(&p)?, p.transpose()?);
        for (name, left, right) in [("A A", &a, &a), ("A P", &a, &p), ("R (A P)", &r, &ap)] {
            let (own, c) = best(bench, &mut || Ok(left.multiply(right)?))?;
            let other = cusparse.as_ref().ok();
            let other = other.map(|library| other_product(bench, library, left, right, &c));
            let (time, apart) = match other {
                Some(Ok((time, apart))) => (Some(time), apart),
                Some(Err(error)) => (None, error.to_string()),
                None => (None, String::new()),
            };
            table.add_row([
                problem.to_owned(),
                name.to_owned(),
                c.nonzeros().to_string(),
                format!("{own:.2}"),
                cell(time, 2),
                cell(time.map(|time| time / own), 2),
                apart,
            ]);
        }
    }
    report.add(table)?;
    report.add(
        "P: extended+i(4) after PMIS, every unknown by itself. Milliseconds of wall clock, best of \
         3 after one that is not timed, memory of the results included. Apart: the largest \
         difference of a value, relative to the largest value.",
    )
}

fn best(bench: &SetupBench, make: &mut dyn FnMut() -> Result<Csr<f64>>) -> Result<(f64, Csr<f64>)> {
    let mut last = make()?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        bench.device.synchronize()?;
        let begin = Instant::now();
        last = make()?;
        bench.device.synchronize()?;
        best = best.min(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok((best, last))
}

/// The time of cuSPARSE, and how far its result is from ours.
fn other_product(
    bench: &SetupBench,
    cusparse: &Cusparse,
    a: &Csr<f64>,
    b: &Csr<f64>,
    c: &Csr<f64>,
) -> Result<(f64, String)> {
    let factors = [cusparse.matrix(a)?, cusparse.matrix(b)?];
    let mut last = cusparse.product(&factors[0], &factors[1])?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        bench.device.synchronize()?;
        let begin = Instant::now();
        drop(std::mem::replace(
            &mut last,
            cusparse.product(&factors[0], &factors[1])?,
        ));
        bench.device.synchronize()?;
        best = best.min(begin.elapsed().as_secs_f64() * 1e3);
    }
    if last.entries() != c.nonzeros() {
        return Ok((best, format!("{} entries", last.entries())));
    }
    if last.entries() > COMPARED {
        return Ok((best, "same number".to_owned()));
    }
    let other = last.to_csr(&c.executor().on_host())?;
    if other.columns() != c.columns() {
        return Ok((best, "other columns".to_owned()));
    }
    let pairs = other.values().iter().zip(c.values());
    let apart = pairs.fold(0.0, |apart: f64, (a, b)| apart.max((a - b).abs()));
    Ok((best, format!("{:.0e}", apart / c.norm_max())))
}
