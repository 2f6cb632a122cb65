//! How alike smooth errors are at both ends of a coupling.

use crate::gpu::kernels::affinity as kernels;
use crate::launch::prelude::*;
use crate::launch::queue::shape;

/// As in the kernels.
const CHUNK: usize = 64;

/// One over the distance of the unknowns of each coupling, by so many scattered vectors after sweeps of Gauss-Seidel within
/// small groups of rows: `(vectors, sweeps)`. None on the host.
pub fn closeness(
    a: &Csr<f64>,
    couplings: &Arc<Pattern>,
    (vectors, sweeps): (usize, usize),
) -> Result<Option<Csr<f64>>> {
    let queue = queue_of!(a.executor());
    let rows = a.size().rows;
    let size = rows * vectors;
    let (mut x, mut next) = (queue.uninit::<f32>(size)?, queue.uninit::<f32>(size)?);
    kernels::affinity_start(size, &mut x)?.items(&queue, size)?;
    let diagonal = queue.diagonal(a)?;
    // A vector for each thread.
    let lanes = queue.tile(vectors.next_power_of_two().min(8));
    let defines = [("LANES", literal(lanes)), ("APART", "1")];
    for sweep in 0..sweeps {
        let forwards = sweep % 2 == 0;
        kernels::affinity_sweep(rows, a, &diagonal, vectors, forwards, &x, &mut next)?
            .with(&defines)
            .items(&queue, rows.div_ceil(CHUNK) * lanes)?;
        std::mem::swap(&mut x, &mut next);
    }
    kernels::affinity_normalise(rows, vectors, &mut x)?.items(&queue, rows)?;
    let mut values = queue.uninit::<f64>(couplings.nonzeros())?;
    kernels::affinity_closeness(rows, couplings, vectors, &x, &mut values)?
        .rows(&queue, shape(couplings))?;
    Ok(Some(Csr::of_buffers(couplings, values)))
}
