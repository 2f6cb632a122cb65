//! The steps between the two stages of aggressive coarsening and of its interpolation.

use crate::gpu::kernels::aggressive as kernels;
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::binned::{Binned, Maker};
use crate::operations::coarsen::pmis::{Numbered, composed, pmis};

/// The `count` unknowns that have a number, by their numbers.
pub fn points(queue: Queue<'_>, coarse: &Buffer<u32>, count: usize) -> Result<Buffer<u32>> {
    let (rows, mut points) = (coarse.len(), queue.uninit(count)?);
    kernels::aggressive_points(rows, coarse, &mut points)?.rows(&queue, (rows, 1))?;
    Ok(points)
}

/// A second independent set among the coarse unknowns of the `first`, coupled where a path of two strong couplings
/// leads from one to the other. None on the host.
pub fn aggressive(
    strength: &Pattern,
    seed: u64,
    (first, count): (&Buffer<u32>, usize),
) -> Result<Option<Numbered>> {
    let queue = queue_of!(strength.executor());
    let first = first.brought(strength.executor())?;
    let graph = distance_two(queue, strength, (&first, count))?;
    let (among, count) = pmis(&graph, seed, true)?.expect("on the device of the graph");
    Ok(Some((composed(queue, &first, &among)?, count)))
}

/// The coarse unknowns that are reached over one or two strong couplings.
fn distance_two(
    queue: Queue<'_>,
    strength: &Pattern,
    (coarse, count): (&Buffer<u32>, usize),
) -> Result<Arc<Pattern>> {
    let points = points(queue, coarse, count)?;
    let shape = shape(strength);
    let mut degrees = queue.uninit::<u32>(shape.0)?;
    kernels::aggressive_degrees(shape.0, strength, coarse, &mut degrees)?.rows(&queue, shape)?;
    let rows = points.len();
    let mut binned = Binned::new(queue, Size::square(rows))?;
    kernels::aggressive_bounds(rows, &points, strength, &degrees, binned.parts())?
        .rows(&queue, (rows, shape.1))?;
    let made: Csr<f64> = binned.counted(&Maker {
        defines: &[],
        kernel: &|listed, made| kernels::aggressive_rows(listed, &points, strength, coarse, made),
    })?;
    Ok(Arc::clone(made.pattern()))
}
