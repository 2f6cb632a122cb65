//! The dense matrix of a front, and the elimination of its pivots.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place_with_conj;
use faer::{Conj, Par};
use rayon::prelude::*;

use crate::dense::{part, part_mut, subtract, subtract_lower};
use crate::ldl::{self, Diagonal, Limits};
use crate::lu;
use crate::number::Number;
use crate::{Failure, NO_MEMORY};

/// A pivot is at least so large a part of the largest entry of its column. Larger parts keep more digits, and leave more
/// unknowns to parents, whose fronts grow.
const THRESHOLD: f64 = 0.01;
/// What takes the place of a pivot that is zero. Its square is no infinity.
const HUGE: f64 = 1e150;
/// Columns of `L D` that are made at once.
const CHUNK: usize = 256;

/// What is left of a front for its parent: a square matrix.
#[derive(Debug)]
pub(crate) struct Rest<F> {
    /// The places of rows and columns that found no pivot, the first ones.
    pub delayed_rows: Vec<u32>,
    pub delayed_columns: Vec<u32>,
    pub size: usize,
    pub values: Vec<F>,
}

/// Numbers that a thread writes at once, at least.
const PIECE: usize = 1 << 16;

/// Zeros, written here: pages that the system hands out as zeros when threads first use them took longer.
pub(crate) fn zeros<F: Number>(count: usize, parallel: Par) -> Result<Vec<F>, Failure> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| NO_MEMORY)?;
    match parallel {
        Par::Seq => values.resize(count, F::ZERO),
        Par::Rayon(_) => {
            let zeros = (0..count).into_par_iter().with_min_len(PIECE);
            zeros.map(|_| F::ZERO).collect_into_vec(&mut values);
        }
    }
    Ok(values)
}

/// How the halves of a matrix are related of which one is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symmetry {
    Hermitian,
    Transposed,
}

/// What a child has left, and the row of the front that each of its rows is added to.
pub(crate) struct Added<'r, F> {
    pub rest: &'r Rest<F>,
    pub targets: &'r [u32],
}

impl<F: Number> Added<'_, F> {
    fn is_in_order(&self) -> bool {
        self.rest.delayed_rows.is_empty()
    }

    /// Its column that is added to a column of the front, if one is.
    fn columns(&self, column: usize) -> Option<(&Self, usize)> {
        let at = self.targets.binary_search(&(column as u32)).ok()?;
        Some((self, at))
    }

    /// Its first row that is added to this row of the front or one below.
    fn first_row(&self, row: usize) -> usize {
        self.targets
            .partition_point(|&target| (target as usize) < row)
    }

    /// Adds a column, from its row `first` on, to one that begins with row `start` of the front.
    fn add_column(&self, at: usize, first: usize, to: &mut [F], start: usize) {
        let values = &self.rest.values[at * self.rest.size + first..(at + 1) * self.rest.size];
        for (&row, &value) in self.targets[first..].iter().zip(values) {
            to[row as usize - start] += value;
        }
    }
}

/// Works on pieces of this length, several at a time where there are threads for it.
fn in_pieces<F: Number>(
    values: &mut [F],
    length: usize,
    parallel: Par,
    work: impl Fn(usize, &mut [F]) + Sync,
) {
    let length = length.max(1);
    match parallel {
        Par::Seq => {
            let pieces = values.chunks_exact_mut(length).enumerate();
            pieces.for_each(|(place, piece)| work(place, piece));
        }
        Par::Rayon(_) => {
            let pieces = values.par_chunks_exact_mut(length).enumerate();
            pieces.for_each(|(place, piece)| work(place, piece));
        }
    }
}

/// A front that is being added up.
pub(crate) struct Work<F> {
    /// Rows and columns that may be eliminated, and others.
    pub columns: usize,
    pub others: usize,
    /// The former columns with all rows.
    pub panel: Vec<F>,
    /// Of a general matrix the former rows with all other columns, row after row.
    pub right: Vec<F>,
    /// All other rows and columns.
    pub square: Vec<F>,
}

impl<F: Number> Work<F> {
    fn rows(&self) -> usize {
        self.columns + self.others
    }

    /// Adds what children have left: the lower half of it where that is all there is. Every column of the front belongs to one
    /// thread.
    pub fn add(&mut self, children: &[Added<'_, F>], symmetry: Option<Symmetry>, parallel: Par) {
        let in_order: Vec<&Added<'_, F>> = children
            .iter()
            .filter(|child| child.is_in_order())
            .collect();
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        let is_lower = symmetry.is_some();
        in_pieces(&mut self.panel, rows, parallel, |place, to| {
            for (child, at) in in_order.iter().flat_map(|child| child.columns(place)) {
                child.add_column(at, if is_lower { at } else { 0 }, to, 0);
            }
        });
        in_pieces(&mut self.square, others, parallel, |place, to| {
            for (child, at) in in_order
                .iter()
                .flat_map(|child| child.columns(place + columns))
            {
                let first = if is_lower {
                    at
                } else {
                    child.first_row(columns)
                };
                child.add_column(at, first, to, columns);
            }
        });
        in_pieces(&mut self.right, others, parallel, |place, to| {
            for (child, row) in in_order.iter().flat_map(|child| child.columns(place)) {
                for at in child.first_row(columns)..child.targets.len() {
                    to[child.targets[at] as usize - columns] +=
                        child.rest.values[at * child.rest.size + row];
                }
            }
        });
        for child in children.iter().filter(|child| !child.is_in_order()) {
            match symmetry {
                Some(symmetry) => self.add_lower_of_any(child, symmetry),
                None => self.add_of_any(child),
            }
        }
    }

    /// The same of a child whose rows are not in order, since some were left by its own children.
    fn add_lower_of_any(&mut self, child: &Added<'_, F>, symmetry: Symmetry) {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        for (at, &own) in child.targets.iter().enumerate() {
            let values = &child.rest.values[at * child.rest.size + at..(at + 1) * child.rest.size];
            for (&row, &value) in child.targets[at..].iter().zip(values) {
                let (low, high) = (own.min(row) as usize, own.max(row) as usize);
                let to = match low < columns {
                    true => &mut self.panel[low * rows + high],
                    false => &mut self.square[(low - columns) * others + high - columns],
                };
                *to += match symmetry {
                    Symmetry::Hermitian if row < own => value.conjugate(),
                    Symmetry::Hermitian | Symmetry::Transposed => value,
                };
            }
        }
    }

    fn add_of_any(&mut self, child: &Added<'_, F>) {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        for (at, &own) in child.targets.iter().enumerate() {
            let values = &child.rest.values[at * child.rest.size..(at + 1) * child.rest.size];
            for (&row, &value) in child.targets.iter().zip(values) {
                let (row, own) = (row as usize, own as usize);
                let to = match (row < columns, own < columns) {
                    (_, true) => &mut self.panel[own * rows + row],
                    (true, false) => &mut self.right[row * others + own - columns],
                    (false, false) => &mut self.square[(own - columns) * others + row - columns],
                };
                *to += value;
            }
        }
    }

    pub fn cholesky(&mut self, parallel: Par) -> Result<(), Failure> {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        let need = cholesky_in_place_scratch::<F>(columns, parallel, Default::default());
        let mut memory = MemBuffer::try_new(need).map_err(|_| NO_MEMORY)?;
        let panel = part_mut(&mut self.panel, rows, rows, columns);
        let (mut upper, lower) = panel.split_at_row_mut(columns);
        let stack = MemStack::new(&mut memory);
        let (regularisation, parameters) = (Default::default(), Default::default());
        cholesky_in_place(upper.as_mut(), regularisation, parallel, stack, parameters)
            .map_err(|_| Failure::NotPositive)?;
        let mut lower = lower;
        solve_lower_triangular_in_place_with_conj(
            upper.as_ref(),
            Conj::Yes,
            lower.as_mut().transpose_mut(),
            parallel,
        );
        let square = part_mut(&mut self.square, others, others, others);
        let l = lower.as_ref();
        subtract_lower(square, l, l.transpose(), Conj::Yes, parallel);
        Ok(())
    }

    /// Pivots of one and two rows.
    pub fn ldl(
        &mut self,
        hermitian: bool,
        zero: f64,
        unknowns: &mut [u32],
        diagonal: &mut Diagonal<F>,
        parallel: Par,
    ) {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        let mut threshold = THRESHOLD;
        loop {
            let mut panel = ldl::Panel {
                values: &mut self.panel,
                rows,
                columns,
                unknowns,
            };
            let limits = Limits {
                threshold,
                zero,
                hermitian,
            };
            ldl::eliminate(&mut panel, limits, diagonal, parallel);
            // The last front has no parent to leave anything for.
            if others > 0 || diagonal.values.len() == columns || threshold == 0.0 {
                break;
            }
            threshold = if threshold > 1e-8 {
                0.1 * threshold
            } else {
                0.0
            };
        }
        let conjugate = if hermitian { Conj::Yes } else { Conj::No };
        let count = diagonal.values.len();
        let mut start = 0;
        while start < count && others > 0 {
            let mut end = count.min(start + CHUNK);
            // A pivot of two rows stays in one piece.
            end += usize::from(diagonal.below[end - 1] != F::ZERO);
            let l = part(
                &self.panel[start * rows + columns..],
                rows,
                others,
                end - start,
            );
            let products = diagonal.products(
                start..end,
                hermitian,
                |row, column| self.panel[column * rows + columns + row],
                others,
            );
            let w = part(&products, others, others, end - start);
            let square = part_mut(&mut self.square, others, others, others);
            subtract_lower(square, l, w.transpose(), conjugate, parallel);
            start = end;
        }
    }

    /// Pivots that are large enough in their columns; says how many.
    pub fn lu(
        &mut self,
        zero: f64,
        row_unknowns: &mut [u32],
        column_unknowns: &mut [u32],
        parallel: Par,
    ) -> usize {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        let mut panel = lu::Panel {
            values: &mut self.panel,
            right: &mut self.right,
            rows,
            columns,
            row_unknowns,
            column_unknowns,
        };
        let pivots = lu::eliminate(&mut panel, (THRESHOLD, zero), parallel);
        if pivots > 0 && others > 0 {
            let l = part(&self.panel[columns..], rows, others, pivots);
            let u = part(&self.right, others, others, pivots);
            let square = part_mut(&mut self.square, others, others, others);
            subtract(square, l, u.transpose(), Conj::No, parallel);
        }
        pivots
    }

    /// Makes the unknowns zero that found no pivot in a front without parent: they are divided by something huge.
    pub fn neglect(&mut self, pivots: usize, diagonal: &mut Diagonal<F>) {
        let rows = self.rows();
        for column in pivots..self.columns {
            self.panel[column * rows + pivots..(column + 1) * rows].fill(F::ZERO);
            self.panel[column * rows + column] = F::real(HUGE);
            diagonal.values.push(F::real(HUGE));
            diagonal.below.push(F::ZERO);
        }
    }

    /// What is left: rows and columns without pivots, and all others.
    pub fn rest(&mut self, pivots: usize) -> Result<Vec<F>, Failure> {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        let square = std::mem::take(&mut self.square);
        if pivots == columns {
            return Ok(square);
        }
        let size = rows - pivots;
        let mut rest = zeros(size * size, Par::Seq)?;
        for column in pivots..columns {
            let to = &mut rest[(column - pivots) * size..(column - pivots + 1) * size];
            to.copy_from_slice(&self.panel[column * rows + pivots..(column + 1) * rows]);
        }
        let late = columns - pivots;
        for column in 0..others {
            let to = &mut rest[(late + column) * size..(late + column + 1) * size];
            to[late..].copy_from_slice(&square[column * others..(column + 1) * others]);
            if !self.right.is_empty() {
                for row in 0..late {
                    to[row] = self.right[(pivots + row) * others + column];
                }
            }
        }
        Ok(rest)
    }

    /// The eliminated rows of `U` right of the pivots.
    pub fn upper(&mut self, pivots: usize) -> Vec<F> {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        let right = std::mem::take(&mut self.right);
        if pivots == columns || right.is_empty() && others > 0 {
            return right;
        }
        let mut upper = Vec::with_capacity(pivots * (rows - pivots));
        for row in 0..pivots {
            upper.extend((pivots..columns).map(|column| self.panel[column * rows + row]));
            upper.extend_from_slice(&right[row * others..(row + 1) * others]);
        }
        upper
    }
}
