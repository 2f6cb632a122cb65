//! Products of sparse matrices beside cuSPARSE.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::{LinOp, Size};
use vcycle::matrix::{Csr, Mbsr, ProductWay, Tiles, galerkin};
use vcycle::multigrid::Amg;
use vcycle::multigrid::coarsen::pmis;
use vcycle::multigrid::interpolate::{Truncation, extended_i};
use vcycle::multigrid::strength::{Classical, Strength};

use super::bench::{ROUNDS, SetupBench};
use super::counts;
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
/// Several unknowns a node.
const FULL_SYSTEMS: [&str; 2] = ["elasticity:60x20x20", "elasticity:60x60x60"];
const SMALL_SYSTEMS: [&str; 1] = ["elasticity:8x4x4"];
/// Entries that tiles have to have in the mean to be multiplied.
const LEAST_FILLED: f64 = 3.0;
/// Results of more entries than this are compared by their number alone.
const COMPARED: usize = 60_000_000;
/// Results of the same sums are at most so far apart, relative to the largest value: compilers fuse products and sums or do not.
const SAME: f64 = 1e-14;

pub(super) fn run(bench: &SetupBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Products of sparse matrices")?;
    let cusparse = Cusparse::load(&bench.device);
    if let Err(error) = &cusparse {
        report.add(format!("No cuSPARSE: {error}"))?;
    }
    let mut table = table(&[
        "matrix",
        "product",
        "entries",
        "ms",
        "by tables",
        "counted first",
        "by words",
        "in tiles",
        "cuSPARSE",
        "times",
        "apart",
    ]);
    let mut profiles = Vec::new();
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
            let [tables, counted, words, tiles] = by_ways(bench, left, right)?;
            let (own, c) = best(bench, &mut || Ok(left.multiply(right)?))?;
            if bench.counts {
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
            table.add_row([
                problem.to_owned(),
                name.to_owned(),
                c.nonzeros().to_string(),
                format!("{own:.2}"),
                tables,
                counted,
                words,
                tiles,
                cell(time, 2),
                cell(time.map(|time| time / own), 2),
                apart,
            ]);
        }
    }
    report.add(table)?;
    report.add(format!(
        "P: extended+i(4) after PMIS, every unknown by itself. Milliseconds of wall clock, best of \
         3 after one that is not timed, memory of the results included: as the device chooses, with columns in tables \
         (or merged, where rows are short), the same with entries counted first, in words of 32, and in tiles of 4 by 4 with bitmaps, where these have {LEAST_FILLED} entries \
         or more, with the way there and back. Apart: the largest difference of a value from cuSPARSE's, relative to the largest value.",
    ))?;
    for words in profiles.drain(..) {
        report.add(words)?;
    }
    in_blocks(bench, report, &mut profiles)?;
    for words in profiles {
        report.add(words)?;
    }
    Ok(())
}

/// The times of a product by tables, with entries counted first, by words and in tiles; what is wrong in place of the latter three where results are not the same.
fn by_ways(bench: &SetupBench, a: &Csr<f64>, b: &Csr<f64>) -> Result<[String; 4]> {
    let by = |way| best(bench, &mut || Ok(a.multiply_in_way(b, way)?));
    let (tables, expected) = by(ProductWay::Tables)?;
    let time_of = |way| -> Result<String> {
        let (time, found) = by(way)?;
        Ok(match difference(&found, &expected) {
            Ok(apart) if apart <= SAME => format!("{time:.2}"),
            Ok(apart) => format!("{apart:.0e} apart"),
            Err(what) => what,
        })
    };
    let tiles = match entries_a_tile(a)?.min(entries_a_tile(b)?) >= LEAST_FILLED {
        true => time_of(ProductWay::Tiles)?,
        false => String::new(),
    };
    let others = [time_of(ProductWay::Counted)?, time_of(ProductWay::Words)?];
    let [counted, words] = others;
    Ok([format!("{tables:.2}"), counted, words, tiles])
}

/// Entries of a tile of 4 by 4, in the mean.
fn entries_a_tile(a: &Csr<f64>) -> Result<f64> {
    let tiles = Mbsr::in_tiles(a, Tiles::Packed)?;
    Ok(a.nonzeros() as f64 / tiles.blc_idx().len().max(1) as f64)
}

/// Products of systems by entries and in blocks.
fn in_blocks(
    bench: &SetupBench,
    report: &mut MarkdownReport,
    profiles: &mut Vec<String>,
) -> Result<()> {
    let mut table = table(&[
        "matrix",
        "product",
        "entries",
        "by entries",
        "in blocks",
        "times",
        "apart",
    ]);
    for problem in bench.names(&FULL_SYSTEMS, &SMALL_SYSTEMS) {
        let Some([rows, blocks]) = System::new(bench, problem)? else {
            continue;
        };
        eprintln!("{problem}, products in blocks");
        for (name, product) in PRODUCTS {
            let (by_entries, expected) = best(bench, &mut || product(&rows))?;
            let (time, found) = best(bench, &mut || product(&blocks))?;
            if bench.counts {
                let words = counts::whole(&bench.device, &mut |_| product(&blocks))?;
                profiles.push(format!("{problem} in blocks, {name}: {words}"));
            }
            table.add_row([
                problem.to_owned(),
                name.to_owned(),
                found.nonzeros().to_string(),
                format!("{by_entries:.2}"),
                format!("{time:.2}"),
                format!("{:.2}", by_entries / time),
                apart(&found, &expected),
            ]);
        }
    }
    report.add(table)?;
    report.add(
        "P: smoothed aggregation with the six rigid-body modes. Blocks of 3 by 3 in A, 3 by 6 in P and 6 by 3 in R, known before.",
    )
}

/// A matrix and the ways to the next level and back.
struct System {
    r: Csr<f64>,
    a: Csr<f64>,
    p: Csr<f64>,
}

/// Products of a system, by name.
type Named = (&'static str, fn(&System) -> Result<Csr<f64>>);
const PRODUCTS: [Named; 3] = [
    ("A A", |of| Ok(of.a.multiply(&of.a)?)),
    ("A P", |of| Ok(of.a.multiply(&of.p)?)),
    ("R A P", |of| Ok(galerkin(&of.r, &of.a, &of.p)?)),
];

impl System {
    /// With which the device multiplies in rows, and in blocks; none where nodes have one unknown.
    fn new(bench: &SetupBench, problem: &str) -> Result<Option<[Self; 2]>> {
        let system = bench.problems.get(problem)?;
        let Some(near) = &system.near_nullspace else {
            return Ok(None);
        };
        let ways = Size::new(near.block_size(), near.vectors().len());
        let there: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(&bench.executor)?);
        let mut amg = Amg::default();
        amg.coarsening = "sa".parse()?;
        let ws = Workspace::new();
        let (setup, _) = amg.setup_with(&there, near, &ws)?;
        let mut levels = setup.matrices(&there, &ws)?;
        let finest = levels.swap_remove(0);
        let (Some(r), Some(p)) = (finest.restriction, finest.prolongation) else {
            return Err("there is no second level".into());
        };
        let stored = |block: fn(Size) -> Option<Size>| -> Result<Self> {
            let of = |matrix: &Csr<f64>, size: Size| {
                matrix.copy_to(&bench.executor)?.on_device_in(block(size))
            };
            Ok(Self {
                r: of(&r, ways.transposed())?,
                a: of(&finest.a, Size::square(ways.rows))?,
                p: of(&p, ways)?,
            })
        };
        Ok(Some([stored(|_| None)?, stored(Some)?]))
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

/// The same for a table.
fn apart(found: &Csr<f64>, expected: &Csr<f64>) -> String {
    match difference(found, expected) {
        Ok(_) if found.nonzeros() > COMPARED => "same number".to_owned(),
        Ok(apart) => format!("{apart:.0e}"),
        Err(what) => what,
    }
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
    Ok((best, apart(c, &other)))
}
