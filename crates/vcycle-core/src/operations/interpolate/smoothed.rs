//! Prolongations of groups, and the spectral radii that their relaxation needs.

use std::ops::Range;

use crate::gpu::kernels::{radius, scattered};
use crate::gpu::{flag, kernels::smoothed as kernels};
use crate::launch::layout::Purpose;
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::binned::{Binned, Maker};
use crate::operations::on_device;

/// Ones from each of the `block` components of a group to that of its nodes.
pub fn constants(
    queue: Queue<'_>,
    groups: &Buffer<u32>,
    (count, block): (usize, usize),
    is_complete: bool,
) -> Result<Csr<f64>> {
    if is_complete && block == 1 {
        return ones(queue, groups, count);
    }
    let rows = groups.len() * block;
    let mut flags = queue.uninit(rows)?;
    kernels::tentative_flags(rows, block, groups, &mut flags)?.rows(&queue, (rows, 1))?;
    let mut t = queue.new_rows(&flags)?;
    kernels::tentative_entries(rows, block, groups, &mut t)?.rows(&queue, (rows, 1))?;
    Ok(t.matrix(Size::new(rows, count * block)))
}

/// A one for every row, in the column of its group.
fn ones(queue: Queue<'_>, groups: &Buffer<u32>, count: usize) -> Result<Csr<f64>> {
    let rows = groups.len();
    let (mut offsets, mut values) = (queue.uninit(rows + 1)?, queue.uninit(rows)?);
    kernels::tentative_ones(rows, &mut offsets, &mut values)?.rows(&queue, (rows + 1, 1))?;
    let pattern = Pattern::of_buffers(Size::new(rows, count), offsets, groups.clone());
    pattern.note_single_entries();
    Ok(Csr::of_buffers(&Arc::new(pattern), values).of_ones())
}

/// A matrix without its weak entries, which are added to the diagonal.
pub struct Filtered<'a, V = f64> {
    queue: Queue<'a>,
    a: &'a Csr<V>,
    filter: Option<&'a Pattern>,
    diagonal: Buffer<V>,
    bound: f64,
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
    on_device(a.executor(), |queue| {
        let shape = shape(a.pattern());
        let mut diagonal = queue.uninit(shape.0)?;
        let mut bounds = queue.uninit::<f64>(queue.most_blocks())?;
        kernels::smoothed_diagonal(
            shape.0,
            a,
            filter,
            rows.start,
            rows.end,
            &mut diagonal,
            &mut bounds,
            queue.gpu.counter(),
        )?
        .with(&is_filtered(filter))
        .rows(&queue, shape)?;
        // Of no rows there are no blocks.
        let bound = if shape.0 == 0 { 0.0 } else { bounds.get(0)? };
        Ok(Filtered {
            queue,
            a,
            filter,
            diagonal,
            bound,
        })
    })
}

impl<V: Scalar> Filtered<'_, V> {
    /// The largest absolute row sum over the diagonal.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// `(I - factor D^-1 A) T`.
    pub fn smoothed(&self, t: &Csr<V>, factor: f64) -> Result<Csr<V>> {
        let (queue, shape) = (self.queue, shape(self.a.pattern()));
        let (a, filter) = (self.a, self.filter);
        let mut binned = Binned::new(queue, Size::new(shape.0, t.size().cols))?;
        let filtered = is_filtered(filter);
        kernels::smoothed_bounds(shape.0, a, filter, t, binned.parts())?
            .with(&filtered)
            .rows(&queue, shape)?;
        let maker = Maker {
            defines: &filtered,
            kernel: &|listed, made| {
                kernels::smoothed_rows(listed, a, filter, t, &self.diagonal, factor, made)
            },
        };
        binned.counted(&maker)
    }
}

impl Filtered<'_> {
    /// What so many steps of the power method find of the spectral radius of `D^-1 A`.
    pub fn power_method(&self, steps: usize) -> Result<f64> {
        power_method(self.queue, self.a, &self.diagonal, steps)
    }

    /// `(I - factor D^-1 A) T`; `T` is made of blocks.
    pub fn smoothed_in(&self, t: &Csr<f64>, factor: f64, block: Size) -> Result<Csr<f64>> {
        let queue = self.queue;
        if block != Size::square(1) && self.filter.is_none() {
            // Cycles will ask for the blocks of the matrix, too.
            self.a
                .pattern()
                .layout(Purpose::of_bytes(size_of::<f64>()))?;
            if let Some(product) = queue.multiply_by_blocks(self.a, t, block)? {
                return self.step(t, factor, &product);
            }
        }
        self.smoothed(t, factor)
    }

    /// `T - factor D^-1 C` for the product `C` of the matrix and `T`.
    fn step(&self, t: &Csr<f64>, factor: f64, product: &Csr<f64>) -> Result<Csr<f64>> {
        let rows = product.size().rows;
        let mut values = self.queue.uninit(product.nonzeros())?;
        kernels::smoothed_step(rows, factor, &self.diagonal, product, t, &mut values)?
            .rows(&self.queue, (rows, 1))?;
        Ok(Csr::of_buffers(product.pattern(), values))
    }
}

/// The definition of kernels that look at the matrix.
fn is_filtered(filter: Option<&Pattern>) -> [Define; 1] {
    [("FILTERED", flag(filter.is_some()))]
}

/// So many numbers in -1..1 that look random.
pub fn scattered<T: Scalar>(executor: &Executor, rows: usize) -> Result<Option<Vector<T>>> {
    on_device(executor, |queue| {
        let mut values = queue.uninit(rows)?;
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
    let (mut v, mut next) = (queue.uninit::<f64>(rows)?, queue.uninit::<f64>(rows)?);
    // No more blocks than this are queued; those that are not add nothing.
    let blocks = queue.most_blocks();
    let mut partials = queue.zeros::<f64>(blocks)?;
    let mut norm = queue.uninit::<f64>(1)?;
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
