//! How alike smooth errors are at both ends of a coupling.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::tiles::{graph, matrix, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::gpu::File;
use crate::launch::rows::power;

pub(super) const FILE: File = tile_file!("affinity.c");
/// As in the kernels.
const CHUNK: usize = 64;

/// One over the distance of the unknowns of each coupling, by so many scattered vectors after sweeps of Gauss-Seidel within
/// small groups of rows.
pub fn closeness(
    queue: Queue<'_>,
    a: &Csr<f64>,
    couplings: &Arc<Pattern>,
    (vectors, sweeps): (usize, usize),
) -> Result<Csr<f64>> {
    let rows = a.size().rows;
    let size = rows * vectors;
    let (mut x, mut next) = (queue.room::<f32>(size)?, queue.room::<f32>(size)?);
    let items = |name, count, arguments: &[Argument]| {
        queue.items(FILE, name, &[("LANES", "1")], count, arguments)
    };
    items("affinity_start", size, &[number(size), write(&mut x)?])?;
    let diagonal = queue.diagonal(a)?;
    // A vector for each thread.
    let lanes = queue.tile(vectors.next_power_of_two().min(8));
    let defines = [("LANES", power(lanes)), ("APART", "1")];
    for sweep in 0..sweeps {
        let [offsets, columns, values] = matrix(a)?;
        let arguments = [
            number(rows),
            offsets,
            columns,
            values,
            read(&diagonal)?,
            word(vectors),
            word(usize::from(sweep % 2 == 0)),
            read(&x)?,
            write(&mut next)?,
        ];
        let threads = rows.div_ceil(CHUNK) * lanes;
        queue.items(FILE, "affinity_sweep", &defines, threads, &arguments)?;
        std::mem::swap(&mut x, &mut next);
    }
    let arguments = [number(rows), word(vectors), write(&mut x)?];
    items("affinity_normalise", rows, &arguments)?;
    let mut values = queue.room::<f64>(couplings.nonzeros())?;
    let [offsets, columns] = graph(couplings)?;
    let arguments = [
        number(rows),
        offsets,
        columns,
        word(vectors),
        read(&x)?,
        write(&mut values)?,
    ];
    let shape = shape(couplings);
    queue.rows(FILE, "affinity_closeness", &[], shape, &arguments)?;
    Ok(Csr::of_buffers(couplings, values))
}
