//! Products of sparse matrices beside cuSPARSE.

use vcycle::matrix::{Csr, Mbsr};
use vcycle::multigrid::coarsen::pmis;
use vcycle::multigrid::interpolate::{Truncation, extended_i};
use vcycle::multigrid::strength::{Classical, Strength};

use super::{counts, names};
use crate::common::Result;
use crate::gpu::bench::{GpuBench, ROUNDS};
use crate::gpu::cusparse::Cusparse;
use crate::table::{Report, row};
use crate::timing::warm;

const FULL: [&str; 4] = [
    "poisson7:128",
    "poisson27:128",
    "beam:o3,l3",
    "elasticity:60x20x20",
];
const SMALL: [&str; 2] = ["poisson7:20", "elasticity:8x4x4"];
/// Entries that tiles have to have in the mean to be multiplied.
const LEAST_FILLED: f64 = 3.0;
/// Results of more entries than this are compared by their number alone.
const COMPARED: usize = 60_000_000;
/// Results of the same sums are at most so far apart, relative to the largest value: compilers fuse products and sums or do not.
const SAME: f64 = 1e-14;

pub(super) fn run(bench: &GpuBench, report: &mut Report) -> Result<()> {
    report.add("## Products of sparse matrices")?;
    let cusparse = Cusparse::load(&bench.device);
    if let Err(error) = &cusparse {
        report.add(format!("No cuSPARSE: {error}"))?;
    }
    let mut table = bench.asked.table("products");
    let mut profiles = Vec::new();
    for problem in names(bench, &FULL, &SMALL) {
        eprintln!("{problem}, products");
        let system = bench.problem(problem)?;
        let a = system.matrix.copy_to(&bench.executor)?;
        let strength = Strength::Classical(Classical::default()).graph(&a)?;
        let splitting = pmis(&strength, 1)?;
        let p = extended_i(&a, &strength, &splitting, &Truncation::default())?;
        let (ap, r) = (a.multiply(&p)?, p.transpose()?);
        for (name, left, right) in [("A A", &a, &a), ("A P", &a, &p), ("R (A P)", &r, &ap)] {
            let (own, c) = warm(&bench.executor, ROUNDS, &mut || Ok(left.multiply(right)?))?;
            let tiles = in_tiles(bench, left, right, &c)?;
            if bench.asked.has("counts") {
                let words = counts::whole(&bench.device, &mut |_| Ok(left.multiply(right)?))?;
                profiles.push(format!("{problem}, {name}: {words}"));
            }
            let other = cusparse.as_ref().ok();
            let other = other.map(|library| other_product(bench, library, left, right, &c));
            let (time, apart) = match other {
                Some(Ok((time, apart))) => (Some(time), apart),
                Some(Err(error)) => (None, error.to_string()),
                None => (None, String::new()),
            };
            let times = time.map(|time| time / own);
            table.row(row![
                problem,
                name,
                c.nonzeros(),
                own,
                tiles,
                time,
                times,
                apart
            ]);
        }
    }
    report.add(table)?;
    report.add(bench.asked.note("products", &[]))?;
    profiles.iter().try_for_each(|words| report.add(words))
}

/// The time of a product in tiles; what is wrong in its place where the result is not `expected`, and nothing where tiles would be
/// nearly empty.
fn in_tiles(bench: &GpuBench, a: &Csr<f64>, b: &Csr<f64>, expected: &Csr<f64>) -> Result<String> {
    if entries_a_tile(a).min(entries_a_tile(b)) < LEAST_FILLED {
        return Ok(String::new());
    }
    let (time, found) = warm(&bench.executor, ROUNDS, &mut || Ok(a.multiply_in_tiles(b)?))?;
    Ok(match difference(&found, expected) {
        Ok(apart) if apart <= SAME => format!("{time:.2}"),
        Ok(apart) => format!("{apart:.0e} apart"),
        Err(what) => what,
    })
}

/// Entries of a tile of 4 by 4, in the mean; none where tiles would be nearly empty.
fn entries_a_tile(a: &Csr<f64>) -> f64 {
    match Mbsr::from_csr(a) {
        Ok(tiles) => a.nonzeros() as f64 / tiles.blc_idx().len().max(1) as f64,
        Err(_) => 0.0,
    }
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
