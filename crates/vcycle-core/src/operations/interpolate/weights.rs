//! Prolongations for a choice of coarse unknowns.

use crate::gpu::kernels::interpolate as kernels;
use crate::launch::prelude::*;
use crate::launch::queue::{number_of, shape};
use crate::operations::binned::{Binned, Maker, Rooms};
use crate::operations::coarsen::aggressive;
use crate::operations::loose::Alone;
use crate::operations::on_device;

/// The mark of strong couplings in the columns of `near`.
const STRONG: usize = 1 << 31;

/// Which points a row interpolates from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightMethod {
    /// Strong coarse neighbours, with weights of the row alone.
    Direct,
    /// Strong coarse neighbours; strong fine ones are distributed among these.
    Classical,
    /// Those and the coarse neighbours of strong fine neighbours.
    Extended,
    /// The same, with what strong fine neighbours give back to the point itself.
    ExtendedI,
}

impl WeightMethod {
    fn defines(self) -> [Define; 3] {
        let [distant, own, direct] = match self {
            Self::Direct => ["0", "0", "1"],
            Self::Classical => ["0", "0", "0"],
            Self::Extended => ["1", "0", "0"],
            Self::ExtendedI => ["1", "1", "0"],
        };
        [("DISTANT", distant), ("OWN", own), ("DIRECT", direct)]
    }
}

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

/// A matrix, its strong couplings and a choice of coarse unknowns.
#[derive(Clone, Copy)]
struct StrongMatrix<'a, V = f64> {
    /// The device.
    pub queue: Queue<'a>,
    /// The matrix of the level.
    pub a: &'a Csr<V>,
    /// For every unknown those it strongly depends on.
    pub strength: &'a Pattern,
    /// For every unknown its number on the next level or `NONE`.
    pub coarse: &'a Buffer<u32>,
    /// Number of coarse unknowns.
    pub coarse_count: usize,
}

impl<V: Scalar> StrongMatrix<'_, V> {
    /// The rows for `points`, or for all unknowns; each keeps the `max_elements` largest entries (0
    /// for all) that are not smaller than `factor` times the largest.
    fn prolongation(
        &self,
        method: WeightMethod,
        points: Option<&Buffer<u32>>,
        (max_elements, factor): (usize, f64),
    ) -> Result<Csr<V>> {
        let queue = self.queue;
        if self.a.size().cols >= STRONG {
            return Err(queue.gpu.lacks("csr", "interpolation for so many unknowns"));
        }
        let defines = method.defines();
        let diagonal = queue.diagonal(self.a)?;
        let (near, degrees) = self.near(&diagonal, &defines)?;
        let rows = points.map_or(self.a.size().rows, Buffer::len);
        let mut binned = Binned::new(queue, Size::new(rows, self.coarse_count))?;
        let mut rooms = Rooms::new(queue, rows, max_elements)?;
        kernels::interpolate_bounds(
            rows,
            points,
            self.strength,
            self.coarse,
            &degrees,
            max_elements,
            rooms.sizes(),
            binned.parts(),
        )?
        .with(&defines)
        .with(number_of::<V>())
        .rows(&queue, (rows, shape(self.strength).1))?;
        let maker = Maker {
            defines: &defines,
            kernel: &|listed, made| {
                kernels::interpolate_rows(
                    listed,
                    points,
                    self.a,
                    self.strength,
                    &near,
                    &diagonal,
                    self.coarse,
                    max_elements,
                    factor,
                    made,
                )
            },
        };
        let alone = Alone {
            points,
            coarse: self.coarse,
            renumbers: false,
        };
        binned.gathered(&rooms, Some(alone), &maker)
    }

    /// The couplings of fine unknowns with coarse ones that are strong, which the columns are marked
    /// with, or have the other sign than the diagonal; how many of every row are strong.
    fn near(&self, diagonal: &Buffer<V>, defines: &[Define]) -> Result<(Csr<V>, Buffer<u32>)> {
        let (queue, shape) = (self.queue, shape(self.a.pattern()));
        let (rows, coarse) = (shape.0, self.coarse);
        let (mut counts, mut degrees) = (queue.uninit(rows)?, queue.uninit(rows)?);
        kernels::near_count(
            rows,
            self.a,
            self.strength,
            diagonal,
            coarse,
            &mut counts,
            &mut degrees,
        )?
        .with(defines)
        .rows(&queue, shape)?;
        let mut near = queue.new_rows(&counts)?;
        kernels::near_fill(rows, self.a, self.strength, diagonal, coarse, &mut near)?
            .with(defines)
            .rows(&queue, shape)?;
        Ok((near.matrix(self.a.size()), degrees))
    }
}

/// The largest entries of every row, by the same limits.
pub fn truncated(p: &Csr<f64>, (max_elements, factor): (usize, f64)) -> Result<Option<Csr<f64>>> {
    on_device(p.executor(), |queue| {
        let rows = p.size().rows;
        let mut binned = Binned::new(queue, p.size())?;
        let mut rooms = Rooms::new(queue, rows, max_elements)?;
        let offsets = p.pattern().buffers().0;
        kernels::truncate_bounds(rows, offsets, max_elements, rooms.sizes(), binned.parts())?
            .rows(&queue, (rows, 1))?;
        let maker = Maker {
            defines: &[],
            kernel: &|listed, made| kernels::truncate_rows(listed, p, max_elements, factor, made),
        };
        binned.gathered(&rooms, None, &maker)
    })
}
