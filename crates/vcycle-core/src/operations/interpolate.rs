//! Stages that make prolongations, and numbers to start the power method from.

use std::ops::Range;
use std::sync::Arc;

use super::on_device;
use crate::arrays::{Csr, Pattern, Vector};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::launch::setup::bamg::FittedLevel;
use crate::launch::setup::interpolate::StrongMatrix;
use crate::launch::setup::{
    aggressive, chained, interpolate, near_kernel, radius, smoothed, tentative as device,
};
use crate::scalar::Scalar;

pub use crate::launch::setup::bamg::{FitLimits, Fitted};
pub use crate::launch::setup::interpolate::WeightMethod;
pub use crate::launch::setup::near_kernel::EnergySpace;
pub use crate::launch::setup::smoothed::Filtered;
pub use crate::launch::setup::tentative::Grouping;

/// The numbers of coarse unknowns, and how many there are.
pub type Coarse<'a> = (&'a Buffer<u32>, usize);

/// The prolongation from the coarse unknowns, to all or to the `points` of another choice alone. A row keeps the
/// largest entries (0 for all) that are not smaller than a share of the largest: `limits`.
pub fn prolongation<V: Scalar>(
    method: WeightMethod,
    (a, strength): (&Csr<V>, &Pattern),
    (numbers, coarse_count): Coarse<'_>,
    points: Option<Coarse<'_>>,
    limits: (usize, f64),
) -> Result<Option<Csr<V>>> {
    on_device(a.executor(), |queue| {
        let level = StrongMatrix {
            queue,
            a,
            strength,
            coarse: &numbers.brought(a.executor())?,
            coarse_count,
        };
        let points = points.map(|(numbers, count)| {
            aggressive::points(queue, &numbers.brought(a.executor())?, count)
        });
        level.prolongation(method, points.transpose()?.as_ref(), limits)
    })
}

/// The largest entries of every row, by the same limits.
pub fn truncated(p: &Csr<f64>, limits: (usize, f64)) -> Result<Option<Csr<f64>>> {
    on_device(p.executor(), |queue| {
        interpolate::truncated(queue, p, limits)
    })
}

/// The product of two prolongations whose rows were cut by these limits, cut by the same. None, too, where rows are long.
pub fn chained(near: &Csr<f64>, far: &Csr<f64>, limits: (usize, f64)) -> Result<Option<Csr<f64>>> {
    let made = on_device(near.executor(), |queue| {
        chained::product(queue, near, far, limits)
    })?;
    Ok(made.flatten())
}

/// A prolongation, and the vectors of the next level.
pub type Prolonged = (Csr<f64>, Vec<Vec<f64>>);

/// The tentative prolongation of groups, and the vectors of the next level: those of which less than the share
/// `dependent` is left behind those before depend on them. Without vectors its entries are ones.
pub fn tentative(
    executor: &Executor,
    nodes: Grouping<'_>,
    vectors: &[Vec<f64>],
    dependent: f64,
) -> Result<Option<Prolonged>> {
    on_device(executor, |queue| {
        let groups = &nodes.groups.brought(executor)?;
        if vectors.is_empty() {
            let shape = (nodes.count, nodes.block);
            let t = smoothed::constants(queue, groups, shape, nodes.is_complete)?;
            return Ok((t, Vec::new()));
        }
        device::tentative(queue, Grouping { groups, ..nodes }, vectors, dependent)
    })
}

/// The prolongation that reproduces test vectors, by strong couplings and the numbers of coarse unknowns. None, too, where a
/// device has no room for its neighbourhoods.
pub fn fitted(
    strength: &Pattern,
    numbers: &Buffer<u32>,
    vectors: &[Vec<f64>],
    limits: FitLimits,
) -> Result<Option<Fitted>> {
    let found = on_device(strength.executor(), |queue| {
        let level = FittedLevel {
            queue,
            strength,
            coarse: &numbers.brought(strength.executor())?,
            vectors,
            limits,
        };
        level.prolongation()
    })?;
    Ok(found.flatten())
}

/// A matrix without its smallest entries, of which every row keeps the share `kept` of its absolute sum, and which maps
/// vectors as before. None, too, where a device has no room for so many of them.
pub fn shortened(a: &Csr<f64>, vectors: &[Vec<f64>], kept: f64) -> Result<Option<Csr<f64>>> {
    let found = on_device(a.executor(), |queue| {
        near_kernel::shortened(queue, a, vectors, kept)
    })?;
    Ok(found.flatten())
}

/// Changes of the prolongations of a pattern that map vectors as before. None, too, where a device has no room for so
/// many of them.
pub fn energy_space<'a>(
    a: &'a Csr<f64>,
    pattern: &'a Arc<Pattern>,
    vectors: &[Vec<f64>],
    fixed: impl FnOnce() -> Vec<u32>,
) -> Result<Option<EnergySpace<'a>>> {
    let found = on_device(a.executor(), |queue| {
        EnergySpace::new(queue, a, pattern, vectors, fixed())
    })?;
    Ok(found.flatten())
}

/// A matrix without the entries that a `filter` does not have, which are added to its diagonal.
pub fn filtered<'a, V: Scalar>(
    a: &'a Csr<V>,
    filter: Option<&'a Pattern>,
) -> Result<Option<Filtered<'a, V>>> {
    filtered_near(a, filter, 0..a.size().rows)
}

/// The same with a bound of some rows, where others may be those of other ranks.
pub fn filtered_near<'a, V: Scalar>(
    a: &'a Csr<V>,
    filter: Option<&'a Pattern>,
    rows: Range<usize>,
) -> Result<Option<Filtered<'a, V>>> {
    on_device(a.executor(), |queue| Filtered::new(queue, a, filter, rows))
}

/// So many numbers in -1..1 that look random.
pub fn scattered<T: Scalar>(executor: &Executor, rows: usize) -> Result<Option<Vector<T>>> {
    on_device(executor, |queue| {
        Ok(Vector::of_buffer(radius::scattered(queue, rows)?))
    })
}
