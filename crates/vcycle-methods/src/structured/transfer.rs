//! Transfers between a grid and the grid with half the cells along one axis.

use std::any::Any;

use super::matrix::converted;
use super::{Grid, Storage};
use crate::cpu::stencil::Vectors;
use crate::linop::check_size;
use crate::matrix::CellMoves;
use crate::multiversion;
use crate::operations::stencil_setup::stored_weights;
use crate::operations::transfer::TransferWeights;
use crate::prelude::*;
use crate::scalar::convert_slice;

/// Lines that one task converts.
const LINES: usize = 64;

/// Interpolation along one axis: cells with even places are those of the coarse grid; each cell between
/// two of them has a weight for either. Transfers along several axes follow one another.
///
/// ```
/// use vcycle::{executor::Executor, structured::{Grid, Transfer}, vector::Vector};
/// let cpu = Executor::cpu();
/// let linear = Transfer::<f32>::new(&cpu, Grid::new([4, 1, 1])?, 0, vec![0.5; 4])?;
/// let coarse = Vector::<f32>::from_column(&cpu, vec![1.0, 3.0]);
/// let mut fine = Vector::zeros(&cpu, 4, 1)?;
/// linear.prolong(None, &coarse, &mut fine, false)?;
/// assert_eq!(fine.to_vec(), [1.0, 2.0, 3.0, 1.5]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transfer<W> {
    fine: Grid,
    axis: usize,
    unknowns: usize,
    weights: Buffer<W>,
}

impl<W: Storage> Transfer<W> {
    /// Weights line by line of the coarse grid: first those of the cells of the line, for the odd cells
    /// above them, then those of the cells one further on, for the same odd cells.
    ///
    /// # Errors
    /// For an axis that is none or has one cell only, or another number of weights than two a coarse
    /// cell.
    pub fn new(executor: &Executor, fine: Grid, axis: usize, weights: Vec<W>) -> Result<Self> {
        Self::with_unknowns(executor, fine, axis, 1, weights)
    }

    /// Several unknowns, each with weights of its own, unknown by unknown; so are the vectors.
    pub(super) fn with_unknowns(
        executor: &Executor,
        fine: Grid,
        axis: usize,
        unknowns: usize,
        weights: Vec<W>,
    ) -> Result<Self> {
        if axis > 2 || fine.size()[axis] < 2 {
            return Err(Error::BadParameter {
                parameter: "axis",
                reason: format!("a grid of {fine} cells cannot be halved along axis {axis}"),
            });
        }
        let expected = Size::new(2 * unknowns * fine.halved(axis).cells(), 1);
        check_size(
            "weights of a transfer",
            expected,
            Size::new(weights.len(), 1),
        )?;
        let weights = Buffer::from_vec(executor, weights);
        Ok(Self::of_buffer(fine, axis, unknowns, weights))
    }

    /// A transfer with weights that are somewhere already.
    pub(super) fn of_buffer(fine: Grid, axis: usize, unknowns: usize, weights: Buffer<W>) -> Self {
        Self {
            fine,
            axis,
            unknowns,
            weights,
        }
    }

    /// The same transfer with other weights.
    fn with_buffer<S: Storage>(&self, weights: Buffer<S>) -> Transfer<S> {
        Transfer::of_buffer(self.fine, self.axis, self.unknowns, weights)
    }

    /// The grid with more cells.
    pub fn fine(&self) -> Grid {
        self.fine
    }

    /// The grid with fewer cells.
    pub fn coarse(&self) -> Grid {
        self.fine.halved(self.axis)
    }

    /// Numbers of a vector on the grid with fewer cells.
    pub(super) fn coarse_rows(&self) -> usize {
        self.unknowns * self.coarse().cells()
    }

    /// The axis, 0 for x.
    pub fn axis(&self) -> usize {
        self.axis
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.weights.bytes()
    }

    /// The weights, as [`new`](Self::new) takes them; those of a device are copied.
    pub fn weights(&self) -> &[W] {
        self.weights.host().expect("the device still answers")
    }

    /// The same transfer on another executor.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        Ok(self.with_buffer(self.weights.copy_to(executor)?))
    }

    /// [`copy_to`](Self::copy_to) that copies nothing where the transfer is there already.
    pub fn into_executor(self, executor: &Executor) -> Result<Self> {
        match self.weights.executor().shares_memory_with(executor) {
            true => Ok(self),
            false => self.copy_to(executor),
        }
    }

    /// The transfer as operations take it, wherever it is.
    pub(super) fn operand(&self) -> TransferWeights<'_, W> {
        TransferWeights {
            fine: self.fine,
            axis: self.axis,
            unknowns: self.unknowns,
            weights: &self.weights,
        }
    }

    /// The same transfer for a part of the cells, whose coarse ones are moved to where they are there.
    pub(super) fn on_some_cells(&self, fine: Grid, moves: &CellMoves) -> Result<Self> {
        let numbers = 2 * self.unknowns * fine.halved(self.axis).cells();
        let mut weights = Buffer::filled(self.weights.executor(), numbers, W::default())?;
        moves.move_values([self.unknowns, 2], &self.weights, &mut weights)?;
        Ok(Self::of_buffer(fine, self.axis, self.unknowns, weights))
    }

    /// The same transfer with weights of another type; in 16 bits both weights of a cell keep their sum.
    pub fn convert<S: Storage>(&self) -> Result<Transfer<S>> {
        let is_short = matches!(S::KIND, Kind::F16 | Kind::Bf16);
        let weights = match is_short.then(|| self.kept_sums()).transpose()? {
            Some(Some(weights)) => weights,
            _ => {
                let mut weights = converted(&self.weights)?;
                if is_short {
                    self.keep_sums(weights.host_mut()?);
                }
                weights
            }
        };
        Ok(self.with_buffer(weights))
    }

    /// Rounded weights that keep their sums, of a device that has kernels for that.
    fn kept_sums<S: Storage>(&self) -> Result<Option<Buffer<S>>> {
        match (&self.weights as &dyn Any).downcast_ref::<Buffer<f64>>() {
            Some(weights) => stored_weights(weights, self.coarse().length()),
            None => Ok(None),
        }
    }

    /// Lets the smaller weight of every cell take what rounding leaves of the larger one: what is constant stays so.
    fn keep_sums<S: Storage>(&self, rounded: &mut [S]) {
        let (executor, length) = (self.weights.executor(), self.coarse().length());
        let lines = self.weights().chunks(2 * length * LINES);
        let tasks = lines.zip(rounded.chunks_mut(2 * length * LINES)).collect();
        executor.run(
            self.bytes(),
            tasks,
            |(weights, rounded): (&[W], &mut [S])| {
                let [mut exact, mut kept] = [(); 2].map(|()| vec![0.0; 2 * length]);
                let lines = weights.chunks(2 * length);
                for (weights, rounded) in lines.zip(rounded.chunks_mut(2 * length)) {
                    convert_slice(weights, &mut exact);
                    convert_slice(&*rounded, &mut kept);
                    let (first, second) = kept.split_at_mut(length);
                    keep_sums(&exact[..length], &exact[length..], first, second);
                    convert_slice(&kept, rounded);
                }
            },
        );
    }

    /// `coarse = P^T (q fine)` with one number `q` a fine cell, or ones.
    pub fn restrict<V: Vectors>(
        &self,
        q: Option<&Vector<V>>,
        fine: &Vector<V>,
        coarse: &mut Vector<V>,
    ) -> Result<()> {
        self.check("restriction", q, coarse, fine)?;
        self.operand().restrict(q, fine, coarse)
    }

    /// `fine = q P coarse`, or added to what `fine` holds.
    pub fn prolong<V: Vectors>(
        &self,
        q: Option<&Vector<V>>,
        coarse: &Vector<V>,
        fine: &mut Vector<V>,
        add: bool,
    ) -> Result<()> {
        self.check("prolongation", q, coarse, fine)?;
        self.operand().prolong(q, coarse, fine, add)
    }

    fn check<V: Vectors>(
        &self,
        operation: &'static str,
        q: Option<&Vector<V>>,
        coarse: &Vector<V>,
        fine: &Vector<V>,
    ) -> Result<()> {
        check_size(
            operation,
            Size::new(self.unknowns * self.coarse().cells(), 1),
            coarse.size(),
        )?;
        for vector in q.into_iter().chain([fine]) {
            let size = Size::new(self.unknowns * self.fine.cells(), 1);
            check_size(operation, size, vector.size())?;
            self.weights
                .executor()
                .check_same(vector.executor(), operation)?;
        }
        self.weights
            .executor()
            .check_same(coarse.executor(), operation)
    }
}

multiversion! {
    fn keep_sums[](first: &[f64], second: &[f64], kept: &mut [f64], kept_too: &mut [f64]) {
        let exact = first.iter().zip(second);
        for ((first, second), (kept, too)) in exact.zip(kept.iter_mut().zip(kept_too)) {
            // Where there is one weight only, there is one cell only.
            let (a, b) = (first + (second - *too), second + (first - *kept));
            let is_larger = first.abs() > second.abs();
            *kept = if is_larger || *first == 0.0 { *kept } else { a };
            *too = if !is_larger || *second == 0.0 { *too } else { b };
        }
    }
}
