//! Spectral radii by the power method, which relaxation needs.

use crate::arrays::{Csr, Vector};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::kernels::{radius, scattered};
use crate::launch::Queue;
use crate::launch::lanes::shape;
use crate::operations::on_device;
use crate::scalar::Scalar;

/// So many numbers in -1..1 that look random.
pub fn scattered<T: Scalar>(executor: &Executor, rows: usize) -> Result<Option<Vector<T>>> {
    on_device(executor, |queue| {
        let mut values = queue.room(rows)?;
        scattered::scatter(rows, &mut values)?.rows(&queue, (rows, 1))?;
        Ok(Vector::of_buffer(values))
    })
}

/// What so many steps of the power method find of the spectral radius of `D^-1 A`.
pub(crate) fn power_method(
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
    radius::radius_start(rows, &mut v, &mut partials)?.rows(&queue, (rows, 1))?;
    for step in 0..=steps {
        radius::radius_norm(blocks, &partials, &mut norm)?.rows(&queue, (1, 1))?;
        if step == steps {
            break;
        }
        radius::radius_step(a, diagonal, &norm, &v, &mut next, &mut partials)?
            .rows(&queue, shape)?;
        std::mem::swap(&mut v, &mut next);
    }
    norm.get(0)
}
