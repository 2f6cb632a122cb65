//! Spectral radii by the power method, which relaxation needs.

use super::tiles::{matrix, shape, tile_file};
use super::{Queue, number, read, write};
use crate::arrays::Csr;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::File;
use crate::scalar::Scalar;

pub(super) const FILE: File = tile_file!("radius.c");
pub(super) const SCATTERED: File = tile_file!("scattered.c");

/// Numbers in -1..1 that look random.
pub fn scattered<T: Scalar>(queue: Queue<'_>, rows: usize) -> Result<Buffer<T>> {
    let mut values = queue.room(rows)?;
    let arguments = [number(rows), write(&mut values)?];
    let types = [("T", T::KIND.name())];
    queue.rows(SCATTERED, "scatter", &types, (rows, 1), &arguments)?;
    Ok(values)
}

/// What so many steps of the power method find of the spectral radius of `D^-1 A`.
pub(super) fn power_method(
    queue: Queue<'_>,
    a: &Csr<f64>,
    diagonal: &Buffer<f64>,
    steps: usize,
) -> Result<f64> {
    let shape = shape(a.pattern());
    let rows = shape.0;
    let (mut v, mut next) = (queue.room::<f64>(rows)?, queue.room::<f64>(rows)?);
    // No more blocks than this are queued; those that are not add nothing.
    let blocks = queue.most_blocks();
    let mut partials = queue.zeros::<f64>(blocks)?;
    let mut norm = queue.room::<f64>(1)?;
    let arguments = [number(rows), write(&mut v)?, write(&mut partials)?];
    queue.rows(FILE, "radius_start", &[], (rows, 1), &arguments)?;
    for step in 0..=steps {
        let arguments = [number(blocks), read(&partials)?, write(&mut norm)?];
        queue.rows(FILE, "radius_norm", &[], (1, 1), &arguments)?;
        if step == steps {
            break;
        }
        let operands = [read(diagonal)?, read(&norm)?, read(&v)?];
        let results = [write(&mut next)?, write(&mut partials)?];
        let arguments = [&[number(rows)], &matrix(a)?[..], &operands, &results].concat();
        queue.rows(FILE, "radius_step", &[], shape, &arguments)?;
        std::mem::swap(&mut v, &mut next);
    }
    norm.get(0)
}
