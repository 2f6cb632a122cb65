//! Products of sparse matrices beside cuSPARSE.

use vcycle::multigrid::coarsen::pmis;
use vcycle::multigrid::interpolate::{Truncation, extended_i};
use vcycle::multigrid::strength::{Classical, Strength};

use super::{counts, names};
use crate::gpu::cusparse::Cusparse;
use crate::gpu::{GpuBench, ROUNDS};
use crate::prelude::*;
use crate::timing::warm;

/// Results of more entries than this are compared by their number alone.
const COMPARED: usize = 60_000_000;
pub(super) fn run(bench: &GpuBench, report: &mut Report) -> Result<()> {
    report.add("## Products of sparse matrices")?;
    let cusparse = Cusparse::load(&bench.device);
    if let Err(error) = &cusparse {
        report.add(format!("No cuSPARSE: {error}"))?;
    }
    let mut table = bench.args.table("products");
    let mut profiles = Vec::new();
    for problem in names(bench, "products") {
        eprintln!("{problem}, products");
        let system = bench.problem(problem)?;
        let a = system.matrix.copy_to(&bench.executor)?;
        let strength = Strength::Classical(Classical::default()).graph(&a)?;
        let splitting = pmis(&strength, 1)?;
        let p = extended_i(&a, &strength, &splitting, &Truncation::default())?;
        let (ap, r) = (a.multiply(&p)?, p.transpose()?);
        for (name, left, right) in [("A A", &a, &a), ("A P", &a, &p), ("R (A P)", &r, &ap)] {
            let (own, c) = warm(&bench.executor, ROUNDS, &mut || Ok(left.multiply(right)?))?;
            if bench.args.has("counts") {
                let counts = counts(bench, &mut || Ok(left.multiply(right)?))?;
                profiles.push(format!("{problem}, {name}: {counts}"));
            }
            let other = cusparse.as_ref().ok();
            let other = other.map(|library| other_product(bench, library, left, right, &c));
            let (time, apart) = match other {
                Some(Ok((time, apart))) => (Some(time), apart),
                Some(Err(error)) => (None, error.to_string()),
                None => (None, String::new()),
            };
            let times = time.map(|time| time / own);
            table.row(row![problem, name, c.nonzeros(), own, time, times, apart]);
        }
    }
    report.add(table)?;
    report.add(bench.args.note("products", &[]))?;
    profiles.iter().try_for_each(|words| report.add(words))
}

/// How far values are from others, relative to the largest; zero where there are too many to compare.
///
/// # Errors
/// What differs where entries do.
fn difference(found: &Csr<f64>, expected: &Csr<f64>) -> std::result::Result<f64, String> {
    if found.nonzeros() != expected.nonzeros() {
        return Err(format!("{} entries", expected.nonzeros()));
    }
    if found.nonzeros() > COMPARED {
        return Ok(0.0);
    }
    if found.columns() != expected.columns() {
        return Err("other columns".to_owned());
    }
    let pairs = found.values().iter().zip(expected.values());
    let apart = pairs.fold(0.0, |apart: f64, (a, b)| apart.max((a - b).abs()));
    Ok(apart / expected.norm_max())
}

/// The time of cuSPARSE, and how far its result is from ours.
fn other_product(
    bench: &GpuBench,
    cusparse: &Cusparse,
    a: &Csr<f64>,
    b: &Csr<f64>,
    c: &Csr<f64>,
) -> Result<(f64, String)> {
    let factors = [cusparse.matrix(a)?, cusparse.matrix(b)?];
    let (best, last) = warm(&bench.executor, ROUNDS, &mut || {
        cusparse.product(&factors[0], &factors[1])
    })?;
    let other = last.to_csr(&c.executor().on_host())?;
    let apart = match difference(c, &other) {
        Ok(_) if c.nonzeros() > COMPARED => "same number".to_owned(),
        Ok(apart) => format!("{apart:.0e}"),
        Err(what) => what,
    };
    Ok((best, apart))
}
