//! Stages of the set-up of structured multigrid that have kernels on devices; each says nothing on the host.

use super::on_device;
use super::stencil::StencilEntries;
use crate::arrays::IslandFunctions;
use crate::executor::Element;
use crate::gpu::kernels::stencil_setup as kernels;
use crate::grid::Grid;
use crate::operations::islands::IslandRules;
use crate::operations::stencil::{StencilBox, steps};

pub use crate::operations::stencil::OwnCells;

use crate::launch::prelude::*;

const NOWHERE: u32 = u32::MAX;
/// Numbers that a block counts.
const COUNTS: usize = 4;

/// The bits of the largest absolute value, all bits that some value has, how many values are not zero, and how many of
/// those are not small.
pub type Counts = [u64; COUNTS];

/// What the diagonal of a stencil matrix is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagonalFacts {
    /// Whether an entry is small.
    pub is_small: bool,
    /// The first place, unknown by unknown, of a zero.
    pub zero: Option<usize>,
    /// The first place, unknown by unknown, of an entry without a root: not positive, or infinite.
    pub without_root: Option<usize>,
    /// The first row that has no pivot once the unknowns of its cell before it are eliminated.
    pub lost_pivot: Option<usize>,
}

impl<'a, M: Scalar> StencilEntries<'a, M> {
    fn shape(&self) -> StencilBox<'a> {
        StencilBox {
            grid: self.grid,
            offsets: self.offsets,
            unknowns: self.unknowns,
        }
    }

    /// What the values of own cells are like; those are small that are below `least`.
    pub fn counted(&self, least: f64) -> Result<Option<Counts>> {
        on_device(self.values.executor(), |queue| {
            let of_line = self.values.len() / self.grid.lines();
            let values = self.values.pointer()?;
            let mut all = Counts::default();
            for lines in self.own.lines(self.grid) {
                let (first, count) = (lines.start * of_line, lines.len() * of_line);
                let found = counts_of(queue, values.at(first), count, least)?;
                let [largest, bits, entries, whole] = found;
                all[0] = all[0].max(largest);
                all[1] |= bits;
                all[2] += entries;
                all[3] += whole;
            }
            Ok(all)
        })
    }

    /// What the diagonal is like; entries are small that are below `least`.
    pub fn diagonal_facts(&self, least: f64) -> Result<Option<DiagonalFacts>> {
        on_device(self.values.executor(), |queue| {
            let found = vec![0, NOWHERE, NOWHERE, NOWHERE];
            let mut found = Buffer::from_vec(queue.executor, found);
            queue.gpu.real(M::KIND)?;
            let shape = self.shape().parts();
            kernels::stencil_diagonal(shape, self.base, least, self.values, &mut found)?
                .items(&queue, self.grid.cells())?;
            let found = found.host()?;
            let place = |k: usize| Some(found[k] as usize).filter(|_| found[k] != NOWHERE);
            Ok(DiagonalFacts {
                is_small: found[0] != 0,
                zero: place(1),
                without_root: place(2),
                lost_pivot: place(3),
            })
        })
    }
}

impl StencilEntries<'_, f64> {
    /// Whether all entries are those opposite, to a relative `tolerance`, and the diagonal is positive.
    pub fn is_symmetric_and_positive(&self, tolerance: f64) -> Result<Option<bool>> {
        on_device(self.values.executor(), |queue| {
            let mut found = Buffer::from_vec(queue.executor, vec![0_u32]);
            kernels::stencil_symmetry(self.shape().parts(), tolerance, self.values, &mut found)?
                .items(&queue, self.grid.cells())?;
            Ok(found.host()?[0] == 0)
        })
    }

    /// How many own cells have a diagonal entry `ratio` times as large or as small as that of the next cell along each axis.
    pub fn jumps(&self, ratio: f64) -> Result<Option<[usize; 3]>> {
        on_device(self.values.executor(), |queue| {
            let mut found = Buffer::from_vec(queue.executor, vec![0_u32; 3]);
            let (shape, own) = (self.shape().parts(), self.own.parts());
            kernels::stencil_jumps(shape, own, ratio, self.values, &mut found)?
                .items(&queue, self.grid.cells())?;
            let found = found.host()?;
            Ok([0, 1, 2].map(|axis| found[axis] as usize))
        })
    }

    /// The islands with their functions.
    pub fn island_functions(&self, rules: &IslandRules) -> Result<Option<IslandFunctions>> {
        on_device(self.values.executor(), |queue| {
            queue.island_functions(self.shape(), self.values, rules)
        })
    }

    /// How strongly the cells of some lines are coupled along each axis, relative to the diagonal, in sum.
    pub fn couplings(&self, lines: &[usize]) -> Result<Option<[f64; 3]>> {
        on_device(self.values.executor(), |queue| {
            if lines.is_empty() {
                return Ok([0.0; 3]);
            }
            let blocks = lines.len() * self.unknowns;
            let mut strengths = queue.uninit::<f64>(3 * blocks)?;
            let lines = lines.iter().map(|&line| line as u32).collect();
            let lines = Buffer::from_vec(queue.executor, lines);
            let (shape, counter) = (self.shape().parts(), queue.gpu.counter());
            kernels::stencil_couplings(shape, &lines, self.values, &mut strengths, counter)?
                .run(queue.gpu, blocks)?;
            of_all(&strengths)
        })
    }

    /// The weights of interpolation along an axis, and the values of the product with them, which has the neighbours
    /// `widened`.
    pub fn halved(&self, axis: usize, widened: &[[i8; 3]]) -> Result<Option<[Buffer<f64>; 2]>> {
        on_device(self.values.executor(), |queue| {
            let (shape, values) = (self.shape().parts(), self.values);
            let rows = self.grid.halved(axis).cells() * self.unknowns;
            let mut weights = queue.uninit(2 * rows)?;
            kernels::stencil_weights(shape, axis, values, &mut weights)?.items(&queue, rows)?;
            let mut product = queue.uninit(rows * widened.len() * self.unknowns)?;
            let widened = steps(widened);
            kernels::stencil_galerkin(shape, axis, widened, values, &weights, &mut product)?
                .items(&queue, rows)?;
            Ok([weights, product])
        })
    }

    /// `factor` over the roots of the diagonal, unknown by unknown.
    pub fn roots(&self, factor: f64) -> Result<Option<Buffer<f64>>> {
        on_device(self.values.executor(), |queue| {
            let rows = self.shape().rows();
            let mut roots = queue.uninit(rows)?;
            kernels::stencil_roots(self.shape().parts(), factor, self.values, &mut roots)?
                .items(&queue, rows)?;
            Ok(roots)
        })
    }

    /// `S A S` in a type, its diagonal less `base` and with what rounding takes from the sum of its row, and what those
    /// of own cells are like before they are rounded; small ones are below `least`.
    pub fn scaled<M: Scalar>(
        &self,
        scales: &Buffer<f64>,
        base: f64,
        least: f64,
    ) -> Result<Option<(Buffer<M>, Counts)>> {
        on_device(self.values.executor(), |queue| {
            let rows = self.shape().rows();
            let mut stored = queue.uninit(self.values.len())?;
            let mut partials = partials(queue, rows)?;
            queue.gpu.real(M::KIND)?;
            kernels::stencil_store(
                self.shape().parts(),
                self.own.parts(),
                base,
                least,
                self.values,
                scales,
                &mut stored,
                &mut partials,
                queue.gpu.counter(),
            )?
            .items(&queue, rows)?;
            Ok((stored, of_all(&partials)?))
        })
    }
}

/// Values in another type, rounded to nearest.
pub fn converted<T: Scalar, S: Scalar>(values: &Buffer<T>) -> Result<Option<Buffer<S>>> {
    on_device(values.executor(), |queue| queue.convert(values))
}

/// One over every number.
pub fn inverses(numbers: &Buffer<f64>) -> Result<Option<Buffer<f64>>> {
    on_device(numbers.executor(), |queue| {
        let mut inverses = queue.uninit(numbers.len())?;
        kernels::stencil_inverses(numbers.len(), numbers, &mut inverses)?
            .items(&queue, numbers.len())?;
        Ok(inverses)
    })
}

/// Weights of transfers, on lines of so many cells, in 16 bits: both weights of a cell keep their sum.
pub fn stored_weights<M: Scalar>(
    weights: &Buffer<f64>,
    length: usize,
) -> Result<Option<Buffer<M>>> {
    on_device(weights.executor(), |queue| {
        let (cells, mut out) = (weights.len() / 2, queue.uninit(weights.len())?);
        queue.gpu.real(M::KIND)?;
        kernels::stencil_store_weights(cells, length, weights, &mut out)?.items(&queue, cells)?;
        Ok(out)
    })
}

/// The values of a CSR matrix as those of a stencil matrix, none if some of them are elsewhere.
pub fn of_rows(
    a: &Csr<f64>,
    grid: Grid,
    offsets: &[[i8; 3]],
    unknowns: usize,
) -> Result<Option<Option<Buffer<f64>>>> {
    let shape = StencilBox {
        grid,
        offsets,
        unknowns,
    };
    on_device(a.executor(), |queue| {
        let entries = shape.rows() * offsets.len() * unknowns;
        let (mut values, mut found) = (queue.uninit(entries)?, queue.zeros::<u32>(1)?);
        kernels::stencil_of_rows(shape.parts(), a, &mut values, &mut found)?
            .items(&queue, shape.rows())?;
        Ok((found.get(0)? == 0).then_some(values))
    })
}

/// What so many values are like; those are small that are below `least`.
fn counts_of<M: Scalar>(
    queue: Queue<'_>,
    values: Read<M>,
    count: usize,
    least: f64,
) -> Result<Counts> {
    let mut partials = partials(queue, count)?;
    queue.gpu.real(M::KIND)?;
    kernels::stencil_survey(count, least, values, &mut partials, queue.gpu.counter())?
        .items(&queue, count)?;
    of_all(&partials)
}

/// Room for what each block counts, of so many items.
fn partials(queue: Queue<'_>, items: usize) -> Result<Buffer<u64>> {
    let blocks = items.div_ceil(kernels::FILE.block as usize);
    queue.uninit(COUNTS * blocks.min(queue.most_blocks()))
}

/// What the last block made of what all blocks found, which is in the place of the first; zeros of no blocks.
fn of_all<T: Element, const N: usize>(partials: &Buffer<T>) -> Result<[T; N]> {
    let mut all = [T::default(); N];
    if !partials.is_empty() {
        all.copy_from_slice(&partials.first(N)?);
    }
    Ok(all)
}
