//! Stages of the set-up of structured multigrid that have kernels on devices; each says nothing on the host.

use super::stencil::StencilEntries;
use crate::arrays::{Csr, IslandFunctions};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::grid::Grid;
use crate::launch::setup::Queue;
use crate::launch::setup::islands::IslandRules;
use crate::launch::setup::stencil::StencilBox;
use crate::scalar::Scalar;

pub use crate::launch::setup::stencil::{Counts, DiagonalFacts, OwnCells};

/// Whether the stages of this module have kernels there: on devices that compute in double precision.
pub fn has_kernels(executor: &Executor) -> bool {
    match executor {
        Executor::Gpu(gpu) => gpu.device().properties().fp64,
        _ => false,
    }
}

/// What the kernels make; nothing where there are none.
fn with_kernels<'e, R>(
    executor: &'e Executor,
    work: impl FnOnce(Queue<'e>) -> Result<R>,
) -> Result<Option<R>> {
    let queue = Queue::of(executor).filter(|_| has_kernels(executor));
    queue.map(work).transpose()
}

impl<'a, M: Scalar> StencilEntries<'a, M> {
    fn shape(&self) -> StencilBox<'a> {
        StencilBox {
            grid: self.grid,
            offsets: self.offsets,
            unknowns: self.unknowns,
            own: self.own,
        }
    }

    /// What the values of own cells are like; those are small that are below `least`.
    pub fn counted(&self, least: f64) -> Result<Option<Counts>> {
        with_kernels(self.values.executor(), |queue| {
            queue.stencil_counts(self.shape(), self.values, least)
        })
    }

    /// What the diagonal is like; entries are small that are below `least`.
    pub fn diagonal_facts(&self, least: f64) -> Result<Option<DiagonalFacts>> {
        with_kernels(self.values.executor(), |queue| {
            queue.stencil_diagonal(self.shape(), self.values, [self.base, least])
        })
    }
}

impl StencilEntries<'_, f64> {
    /// Whether all entries are those opposite, to a relative `tolerance`, and the diagonal is positive.
    pub fn is_symmetric_and_positive(&self, tolerance: f64) -> Result<Option<bool>> {
        with_kernels(self.values.executor(), |queue| {
            queue.stencil_symmetry(self.shape(), self.values, tolerance)
        })
    }

    /// How many own cells have a diagonal entry `ratio` times as large or as small as that of the next cell along each axis.
    pub fn jumps(&self, ratio: f64) -> Result<Option<[usize; 3]>> {
        with_kernels(self.values.executor(), |queue| {
            queue.stencil_jumps(self.shape(), self.values, ratio)
        })
    }

    /// The islands with their functions.
    pub fn island_functions(&self, rules: &IslandRules) -> Result<Option<IslandFunctions>> {
        with_kernels(self.values.executor(), |queue| {
            queue.island_functions(self.shape(), self.values, rules)
        })
    }

    /// How strongly the cells of some lines are coupled along each axis, relative to the diagonal, in sum.
    pub fn couplings(&self, lines: &[usize]) -> Result<Option<[f64; 3]>> {
        with_kernels(self.values.executor(), |queue| {
            let lines = lines.iter().map(|&line| line as u32).collect();
            queue.stencil_couplings(self.shape(), self.values, lines)
        })
    }

    /// The weights of interpolation along an axis, and the values of the product with them, which has the neighbours
    /// `widened`.
    pub fn halved(&self, axis: usize, widened: &[[i8; 3]]) -> Result<Option<[Buffer<f64>; 2]>> {
        with_kernels(self.values.executor(), |queue| {
            queue.stencil_halved(self.shape(), self.values, axis, widened)
        })
    }

    /// `factor` over the roots of the diagonal, unknown by unknown.
    pub fn roots(&self, factor: f64) -> Result<Option<Buffer<f64>>> {
        with_kernels(self.values.executor(), |queue| {
            queue.stencil_roots(self.shape(), self.values, factor)
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
        with_kernels(self.values.executor(), |queue| {
            queue.stencil_stored(self.shape(), self.values, scales, [base, least])
        })
    }
}

/// Values in another type, rounded to nearest.
pub fn converted<T: Scalar, S: Scalar>(values: &Buffer<T>) -> Result<Option<Buffer<S>>> {
    with_kernels(values.executor(), |queue| queue.convert(values))
}

/// One over every number.
pub fn inverses(numbers: &Buffer<f64>) -> Result<Option<Buffer<f64>>> {
    with_kernels(numbers.executor(), |queue| queue.stencil_inverses(numbers))
}

/// Weights of transfers, on lines of so many cells, in 16 bits: both weights of a cell keep their sum.
pub fn stored_weights<M: Scalar>(
    weights: &Buffer<f64>,
    length: usize,
) -> Result<Option<Buffer<M>>> {
    with_kernels(weights.executor(), |queue| {
        queue.stencil_weights(weights, length)
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
        own: OwnCells::all(grid),
    };
    with_kernels(a.executor(), |queue| queue.stencil_of_rows(shape, a))
}
