//! Stencil matrices: products, Gauss-Seidel in colours, transfers between grids.

use std::ops::Range;

use crate::grid::Grid;
use crate::scalar::{Real, Scalar, convert};

/// A stencil matrix: `values[(((line * r + i) * points + point) * r + j) * nx + x]` for the rows of
/// unknown `i` and the columns of unknown `j` of `r`, zero for neighbours outside. Vectors are unknown by
/// unknown: the number of unknown `i` in a cell is at `i * cells + cell`.
#[derive(Clone, Copy)]
pub struct StencilArrays<'a, M> {
    /// The grid of cells.
    pub grid: Grid,
    /// The neighbours of a cell, as steps along x, y and z.
    pub offsets: &'a [[i8; 3]],
    /// Unknowns of a cell.
    pub unknowns: usize,
    /// What diagonal entries are beside what is stored of them.
    pub base: f64,
    /// The entries, in the order given above.
    pub values: &'a [M],
}

/// What a product is made into.
#[derive(Clone, Copy)]
pub enum Form<'a, V> {
    /// `y = A x`.
    Product,
    /// `y = alpha A x + beta y`; with `beta` zero the old contents are not read.
    Advanced {
        /// The factor of the product.
        alpha: V,
        /// The factor of the old `y`.
        beta: V,
    },
    /// `y = b - A x`.
    Residual {
        /// The right-hand side, one number a row.
        b: &'a [V],
    },
    /// `y = alpha d (b - A x) + beta x + gamma y`; with `gamma` zero `y` is not read.
    Relaxed {
        /// The right-hand side, one number a row.
        b: &'a [V],
        /// What residuals are multiplied by, one number a row.
        d: &'a [V],
        /// The factor of the residual.
        alpha: V,
        /// The factor of `x`.
        beta: V,
        /// The factor of the old `y`.
        gamma: V,
    },
}

/// The order of colours in a sweep of Gauss-Seidel. A sweep backward is the adjoint of one forward, so both together
/// are symmetric where the matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Even cells first.
    Forward,
    /// Odd cells first.
    Backward,
}

/// What a sweep improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Zeros, whatever the vector holds.
    Zero,
    /// What the vector holds.
    Guess,
}

impl Direction {
    /// The parities in this order.
    pub fn parities(self) -> [usize; 2] {
        match self {
            Self::Forward => [0, 1],
            Self::Backward => [1, 0],
        }
    }
}

impl<'a, M: Scalar> StencilArrays<'a, M> {
    /// The entries of a row inside the grid: column and value.
    fn row<V: Real>(self, row: usize) -> impl Iterator<Item = (usize, V)> + use<'a, M, V> {
        let (nx, points, r) = (self.grid.length(), self.offsets.len(), self.unknowns);
        let (i, cell) = (row / self.grid.cells(), row % self.grid.cells());
        let (line, x) = (cell / nx, cell % nx);
        (0..points * r).filter_map(move |stream| {
            let (offset, j) = (self.offsets[stream / r], stream % r);
            let other = self.grid.neighbour(line, offset)?;
            let there = x.checked_add_signed(offset[0].into()).filter(|&x| x < nx)?;
            let value = self.values[((line * r + i) * points * r + stream) * nx + x];
            let column = j * self.grid.cells() + other * nx + there;
            let base = if column == row { self.base } else { 0.0 };
            Some((column, convert::<M, V>(value) + V::from_f64(base)))
        })
    }

    fn sum<V: Real>(self, row: usize, x: &[V]) -> V {
        self.row::<V>(row)
            .fold(V::zero(), |sum, (column, a)| a.multiply_add(x[column], sum))
    }
}

/// The product of `a` and `x`, made into `y` as `form` says.
pub fn product<M: Scalar, V: Real>(
    a: StencilArrays<'_, M>,
    form: Form<'_, V>,
    x: &[V],
    y: &mut [V],
) {
    for (row, y) in y.iter_mut().enumerate() {
        let sum = a.sum(row, x);
        let old = |weight: V, y: V| {
            if weight == V::zero() {
                V::zero()
            } else {
                weight * y
            }
        };
        *y = match form {
            Form::Product => sum,
            Form::Advanced { alpha, beta } => alpha * sum + old(beta, *y),
            Form::Residual { b } => b[row] - sum,
            Form::Relaxed {
                b,
                d,
                alpha,
                beta,
                gamma,
            } => alpha * d[row] * (b[row] - sum) + beta * x[row] + old(gamma, *y),
        };
    }
}

/// A sweep of Gauss-Seidel over the colours: planes by parity, in a plane lines by parity, in a line
/// cells by parity. Cells of one colour are not coupled; the unknowns of a cell change together.
pub fn gauss_seidel<M: Scalar, V: Real>(
    a: StencilArrays<'_, M>,
    (order, start): (Direction, Start),
    b: &[V],
    x: &mut [V],
) {
    if start == Start::Zero {
        x.fill(V::zero());
    }
    let (nx, per_plane) = (a.grid.length(), a.grid.lines_per_plane());
    for plane_parity in order.parities() {
        for plane in (plane_parity..a.grid.lines() / per_plane).step_by(2) {
            for line_parity in order.parities() {
                for line in (line_parity..per_plane).step_by(2) {
                    let first = (plane * per_plane + line) * nx;
                    for parity in order.parities() {
                        relax_cells(a, (first + parity..first + nx).step_by(2), b, x);
                    }
                }
            }
        }
    }
}

fn relax_cells<M: Scalar, V: Real>(
    a: StencilArrays<'_, M>,
    cells: std::iter::StepBy<Range<usize>>,
    b: &[V],
    x: &mut [V],
) {
    let rows_of = |cell: usize| (0..a.unknowns).map(move |unknown| unknown * a.grid.cells() + cell);
    for cell in cells {
        let rows: Vec<usize> = rows_of(cell).collect();
        let mut changes: Vec<V> = rows.iter().map(|&row| b[row] - a.sum(row, x)).collect();
        let entry = |row: usize, column: usize| {
            let found = a.row::<V>(row).find(|entry| entry.0 == column);
            found.expect("stencils have a centre").1
        };
        let mut block: Vec<Vec<V>> = rows
            .iter()
            .map(|&row| rows.iter().map(|&column| entry(row, column)).collect())
            .collect();
        eliminate(&mut block, &mut changes);
        rows.iter()
            .zip(changes)
            .for_each(|(&row, change)| x[row] += change);
    }
}

/// Makes `a^-1 b` of `b` by elimination without exchanges of rows, and the pivots of the diagonal of `a`.
pub fn eliminate<V: Real>(a: &mut [Vec<V>], b: &mut [V]) {
    for pivot in 0..b.len() {
        for row in pivot + 1..b.len() {
            let factor = a[row][pivot] / a[pivot][pivot];
            for column in pivot + 1..b.len() {
                let product = factor * a[pivot][column];
                a[row][column] -= product;
            }
            let product = factor * b[pivot];
            b[row] -= product;
        }
    }
    for row in (0..b.len()).rev() {
        for column in row + 1..b.len() {
            let product = a[row][column] * b[column];
            b[row] -= product;
        }
        b[row] /= a[row][row];
    }
}

/// Interpolation along one axis: cells with even places are those of the coarse grid, those with odd
/// places have a weight for either side. `weights[(line * 2 + side) * nx + x]` on the coarse grid
/// are those of the odd cell above a coarse one.
#[derive(Clone, Copy)]
pub struct TransferArrays<'a, W> {
    /// The fine grid.
    pub fine: Grid,
    /// The axis that is halved: 0 is x, 1 is y, 2 is z.
    pub axis: usize,
    /// The weights, two for every coarse cell.
    pub weights: &'a [W],
}

impl<W: Scalar> TransferArrays<'_, W> {
    /// The coarse cells that a fine cell is interpolated from, with their weights.
    fn parents<V: Real>(&self, row: usize) -> Vec<(usize, V)> {
        let coarse = self.fine.halved(self.axis);
        let mut at = self.fine.cell(row);
        let odd = at[self.axis] % 2 == 1;
        at[self.axis] /= 2;
        let place = |at| coarse.index(at);
        if !odd {
            return vec![(place(at), V::one())];
        }
        let nx = coarse.length();
        let weight = |side| {
            let line = place(at) / nx;
            convert::<W, V>(self.weights[(line * 2 + side) * nx + at[0]])
        };
        let mut above = at;
        above[self.axis] += 1;
        let mut parents = vec![(place(at), weight(0))];
        if above[self.axis] < coarse.size()[self.axis] {
            parents.push((place(above), weight(1)));
        }
        parents
    }
}

/// `coarse = P^T (q fine)`, `q` one number a fine cell or ones.
pub fn restrict<W: Scalar, V: Real>(
    transfer: TransferArrays<'_, W>,
    q: Option<&[V]>,
    fine: &[V],
    coarse: &mut [V],
) {
    coarse.fill(V::zero());
    for (row, &value) in fine.iter().enumerate() {
        let value = q.map_or(value, |q| q[row] * value);
        for (parent, weight) in transfer.parents::<V>(row) {
            coarse[parent] += weight * value;
        }
    }
}

/// `fine = q P coarse`, or added to `fine`.
pub fn prolong<W: Scalar, V: Real>(
    transfer: TransferArrays<'_, W>,
    q: Option<&[V]>,
    coarse: &[V],
    fine: &mut [V],
    add: bool,
) {
    for (row, fine) in fine.iter_mut().enumerate() {
        let parents = transfer.parents::<V>(row).into_iter();
        let value = parents
            .map(|(parent, weight)| weight * coarse[parent])
            .sum();
        let value = q.map_or(value, |q| q[row] * value);
        *fine = if add { *fine + value } else { value };
    }
}
