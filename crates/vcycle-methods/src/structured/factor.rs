//! Incomplete factorisations on the stencil, as smoothers.
//!
//! Rows are eliminated in the order of the eight colours, so that triangular solves are sweeps of
//! Gauss-Seidel from zero: what comes later in the order is still zero then. A factorisation is one stencil
//! matrix `F`: with `L`, `D` and `U` its parts below, on and above the diagonal in that order, the
//! preconditioner is `(L + D) D^-1 (D + U)`.

use super::stencil::opposite;
use super::{Direction, Offset, Stencil, StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::operations::Finish;
use crate::reference;
use crate::reference::stencil::Start;
use crate::vector::{Coefficient, Vector};

/// Smallest part of a diagonal entry that its pivot may be.
const PIVOT: f64 = 1e-6;

/// The colour of a cell, from its parities: those of planes count most.
fn colour([x, y, z]: [usize; 3]) -> usize {
    4 * (z % 2) + 2 * (y % 2) + x % 2
}

/// What a step does to colours.
fn turn(offset: Offset) -> usize {
    let [x, y, z] = offset.map(|step| step.unsigned_abs() as usize);
    4 * z + 2 * y + x
}

/// The factorisation of a matrix, in blocks where cells have several unknowns; `full` changes all entries,
/// else those on the diagonal only.
///
/// # Errors
/// For a pivot that is lost, naming its row.
pub(super) fn factorised(a: &StencilMatrix<f64>, full: bool) -> Result<StencilMatrix<f64>> {
    let mut factor = a.clone();
    let cells = (0..8).flat_map(|wanted| {
        let of_colour = move |cell: &usize| colour(a.grid().cell(*cell)) == wanted;
        (0..a.grid().cells()).filter(of_colour)
    });
    for cell in cells {
        eliminate(&mut factor, cell, full);
        if let Some(unknown) = lost_pivot(a, &factor, cell) {
            return Err(Error::BadPivot {
                component: "struct-mg (incomplete factorisation)",
                row: cell * a.unknowns() + unknown,
                problem: "lost",
            });
        }
    }
    Ok(factor)
}

/// The first unknown of a cell whose pivot is no safe part of its diagonal entry, or of the other sign.
fn lost_pivot(a: &StencilMatrix<f64>, factor: &StencilMatrix<f64>, cell: usize) -> Option<usize> {
    let centre = a.stencil().centre();
    let (before, mut block) = (a.block(cell, centre), factor.block(cell, centre));
    reference::stencil::eliminate(&mut block, &mut vec![0.0; a.unknowns()]);
    let safe = |i: usize| block[i][i] * before[i][i].signum() > PIVOT * before[i][i].abs();
    (0..a.unknowns()).find(|&i| !safe(i))
}

/// Takes the rows of neighbours with earlier colours out of those of a cell.
fn eliminate(factor: &mut StencilMatrix<f64>, cell: usize, full: bool) {
    let (grid, stencil) = (factor.grid(), factor.stencil().clone());
    let own = colour(grid.cell(cell));
    let mut earlier: Vec<(usize, usize)> = (0..stencil.points())
        .map(|point| (own ^ turn(stencil.offsets()[point]), point))
        .filter(|&(colour, _)| colour < own)
        .collect();
    earlier.sort_unstable();
    for (of_pivot, point) in earlier {
        let entry = factor.block(cell, point);
        // Entries of neighbours outside are zero.
        if entry.iter().flatten().all(|value| *value == 0.0) {
            continue;
        }
        let offset = stencil.offsets()[point];
        let pivot = cell.wrapping_add_signed(grid.distance(offset));
        let share = divided(&entry, &factor.block(pivot, stencil.centre()));
        for (later, &step) in stencil.offsets().iter().enumerate() {
            let wanted = match full {
                true => of_pivot ^ turn(step) > of_pivot,
                false => step == opposite(offset),
            };
            let sum = [0, 1, 2].map(|axis| offset[axis] + step[axis]);
            let target = stencil.position(sum).filter(|_| wanted);
            if let Some(target) = target {
                let of_pivot = factor.block(pivot, later);
                factor.subtract_product((cell, target), &share, &of_pivot);
            }
        }
    }
}

/// `a b^-1`.
fn divided(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let transposed: Vec<Vec<f64>> = (0..b.len())
        .map(|i| b.iter().map(|row| row[i]).collect())
        .collect();
    let solved = |row: &Vec<f64>| {
        let mut row = row.clone();
        reference::stencil::eliminate(&mut transposed.clone(), &mut row);
        row
    };
    a.iter().map(solved).collect()
}

impl StencilMatrix<f64> {
    /// Where the entry of unknowns `i` and `j` in a cell and its neighbour is.
    fn place(&self, [i, j]: [usize; 2], cell: usize, point: usize) -> usize {
        let (length, points, r) = (
            self.grid().length(),
            self.stencil().points(),
            self.unknowns(),
        );
        let stream = ((cell / length * r + i) * points + point) * r + j;
        stream * length + cell % length
    }

    /// The entries between the unknowns of a cell and those of a neighbour.
    fn block(&self, cell: usize, point: usize) -> Vec<Vec<f64>> {
        let entry = |i, j| self.values()[self.place([i, j], cell, point)];
        let row = |i| (0..self.unknowns()).map(|j| entry(i, j)).collect();
        (0..self.unknowns()).map(row).collect()
    }

    /// Takes `a b` off a block.
    fn subtract_product(&mut self, (cell, point): (usize, usize), a: &[Vec<f64>], b: &[Vec<f64>]) {
        for (i, row) in a.iter().enumerate() {
            for j in 0..row.len() {
                let product: f64 = row.iter().zip(b).map(|(a, b)| a * b[j]).sum();
                let place = self.place([i, j], cell, point);
                self.values_mut()[place] -= product;
            }
        }
    }
}

/// A factorisation as it is stored, and its diagonal: a stencil of one point.
#[derive(Debug)]
pub(super) struct Factor<M> {
    matrix: StencilMatrix<M>,
    diagonal: StencilMatrix<M>,
}

impl<M: Storage> Factor<M> {
    /// On the executor of vectors, from a factorisation on the host.
    ///
    /// # Errors
    /// When a device has no memory for it.
    pub(super) fn new(matrix: StencilMatrix<M>, executor: &Executor) -> Result<Self> {
        Ok(Self {
            diagonal: matrix.block_diagonal()?.into_executor(executor)?,
            matrix: matrix.into_executor(executor)?,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.matrix.bytes() + self.diagonal.bytes()
    }

    /// `x += (D + U)^-1 D (L + D)^-1 r`.
    pub(super) fn correct<V: Vectors>(
        &self,
        r: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut half = ws.vector_like::<V, V>(r)?;
        let mut whole = ws.vector_like::<V, V>(r)?;
        let [forward, backward] =
            [Direction::Forward, Direction::Backward].map(|direction| (direction, Start::Zero));
        self.matrix.sweep(forward, r, &mut half, ws)?;
        self.diagonal.column(&Finish::Apply, &half, &mut whole)?;
        self.matrix.sweep(backward, &whole, &mut half, ws)?;
        x.axpy(Coefficient::one(), &half)
    }
}

impl<M: Storage> StencilMatrix<M> {
    /// The blocks of cells with themselves.
    fn block_diagonal(&self) -> Result<Self> {
        let (r, centre) = (self.unknowns(), self.stencil().centre());
        let pairs = move |line| (0..r * r).map(move |pair| (line, [pair / r, pair % r]));
        let values = (0..self.grid().lines())
            .flat_map(pairs)
            .flat_map(|(line, pair)| self.line_of(pair, line, centre))
            .copied();
        let point = Stencil::of(&|offset| offset == [0; 3]);
        Self::with_unknowns(self.executor(), self.grid(), point, r, values.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;

    /// The product of the factors, in blocks, at a cell and a neighbour.
    fn product(f: &StencilMatrix<f64>, cell: usize, offset: Offset, entry: [usize; 2]) -> f64 {
        let (grid, stencil) = (f.grid(), f.stencil());
        let rank = |cell: usize| colour(grid.cell(cell));
        let beside = |cell: usize, offset| cell.wrapping_add_signed(grid.distance(offset));
        let other = beside(cell, offset);
        let mut sum = 0.0;
        for (point, &step) in stencil.offsets().iter().enumerate() {
            let rest = [0, 1, 2].map(|axis| offset[axis] - step[axis]);
            let block = f.block(cell, point);
            let between = beside(cell, step);
            let Some(to_other) = stencil.position(rest) else {
                continue;
            };
            let inside = block.iter().flatten().any(|value| *value != 0.0);
            let lower = between == cell || inside && rank(between) < rank(cell);
            let upper = between == other || inside && rank(between) < rank(other);
            if lower && upper {
                let share = divided(&block, &f.block(between, stencil.centre()));
                let last = f.block(between, to_other);
                let row = share[entry[0]].iter().zip(&last);
                sum += row.map(|(a, b)| a * b[entry[1]]).sum::<f64>();
            }
        }
        sum
    }

    /// Fails where the product of the factors is not the matrix.
    fn check(spec: &str, a: &StencilMatrix<f64>, f: &StencilMatrix<f64>, points: &[usize]) {
        for cell in 0..a.grid().cells() {
            for &point in points {
                let (offset, block) = (a.stencil().offsets()[point], a.block(cell, point));
                for i in 0..a.unknowns() {
                    for j in (0..a.unknowns()).filter(|&j| block[i][j] != 0.0) {
                        let found = product(f, cell, offset, [i, j]);
                        let error = (found - block[i][j]).abs();
                        assert!(
                            error < 1e-10 * a.largest(),
                            "{spec}: {cell} {offset:?} {i} {j}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_factors_multiply_to_the_matrix_on_its_pattern() {
        for spec in [
            "jump7:4x3x3,10",
            "laplace27:3x4x3",
            "convdiff7:3x3x4,5",
            "oil-4C:3x4x3",
            "elasticity:3x3x3",
        ] {
            let csr = gallery::build(spec, &Executor::reference()).unwrap().matrix;
            let a = StencilMatrix::from_csr(&csr).unwrap();
            let all: Vec<usize> = (0..a.stencil().points()).collect();
            check(spec, &a, &factorised(&a, true).unwrap(), &all);
            let centre = [a.stencil().centre()];
            check(spec, &a, &factorised(&a, false).unwrap(), &centre);
        }
    }

    #[test]
    fn lost_pivots_are_named() {
        let host = Executor::reference();
        let mut a = gallery::build_stencil("poisson5:2x1", &host).unwrap();
        a.values_mut()
            .iter_mut()
            .for_each(|value| *value = value.clamp(-1.0, 1.0));
        let refused = factorised(&a, true);
        assert!(
            matches!(refused, Err(Error::BadPivot { row: 1, .. })),
            "{refused:?}"
        );
    }
}
