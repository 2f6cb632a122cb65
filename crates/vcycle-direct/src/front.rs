//! One front: it is added up, its pivots are eliminated, and the rest is left for its parent.

use std::time::Instant;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place_with_conj;
use faer::{Conj, Par};

use crate::dense::{part, part_mut, subtract, subtract_lower};
use crate::elimination::inverse;
use crate::ldl::{self, Diagonal, Limits};
use crate::lu;
use crate::number::Number;
use crate::symbolic::{Front, Symbolic};
use crate::{Failure, Method, NO_MEMORY};

/// A pivot is at least so large a part of the largest entry of its column. Larger parts keep more digits, and leave more
/// unknowns to parents, whose fronts grow.
const THRESHOLD: f64 = 0.01;
/// What takes the place of a pivot that is zero. Its square is no infinity.
const HUGE: f64 = 1e150;
/// Columns of `L D` that are made at once.
const CHUNK: usize = 256;

/// The factors of a front.
#[derive(Debug)]
pub(crate) struct Block<F> {
    /// Rows and columns that were eliminated, and those of them that depend on others.
    pub pivots: usize,
    pub dependent: usize,
    /// Other rows: those whose pivots are left for the parent, and those below.
    pub rest: usize,
    /// The eliminated columns of `L`, and above their diagonal of `U`.
    pub lower: Vec<F>,
    /// The eliminated rows of `U` right of the pivots, row after row.
    pub upper: Vec<F>,
    /// `D` of `L D L^H`.
    pub diagonal: Diagonal<F>,
    /// The places of the rows that were eliminated, and of the columns where these are others.
    pub row_places: Vec<u32>,
    pub column_places: Vec<u32>,
    /// Where the rest is in the parent.
    pub targets: Targets,
}

/// What is left of a front for its parent: a square matrix.
#[derive(Debug)]
pub(crate) struct Rest<F> {
    /// The places of rows and columns that found no pivot, the first ones.
    delayed_rows: Vec<u32>,
    delayed_columns: Vec<u32>,
    size: usize,
    values: Vec<F>,
}

/// The rows of a front that the rest of a child is added to: its rows, and its columns where these are others.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    pub rows: Vec<u32>,
    pub columns: Vec<u32>,
}

/// The values of a matrix, and what it is factorised by.
pub(crate) struct Task<'t, F> {
    pub symbolic: &'t Symbolic,
    pub values: &'t [F],
    pub method: Method,
    /// Pivots that are not larger count as zero, and rows without others as dependent; none do where it is negative.
    pub zero: f64,
    /// When to end, ready or not.
    pub until: Option<Instant>,
}

impl<F: Number> Task<'_, F> {
    /// Factorises a front from what its children have left, and says where that is.
    pub fn factorise(
        &self,
        front: &Front,
        children: &[(usize, Rest<F>)],
        parallel: Par,
    ) -> Result<(Block<F>, Rest<F>, Vec<Targets>), Failure> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(Failure::OutOfTime);
        }
        let first = self.first_targets(front, children);
        let mut work = self.assembled(front, children, &first)?;
        let natural: Vec<u32> = (0..work.columns as u32).collect();
        let (mut rows, mut columns) = (natural.clone(), Vec::new());
        let mut diagonal = Diagonal::new();
        let zero = self.zero.max(0.0);
        let mut pivots = match self.method {
            Method::Cholesky => {
                work.cholesky(parallel)?;
                work.columns
            }
            Method::Ldl { hermitian } => {
                work.ldl(hermitian, zero, &mut rows, &mut diagonal, parallel);
                diagonal.values.len()
            }
            Method::Lu => {
                columns = natural;
                work.lu(zero, &mut rows, &mut columns, parallel)
            }
        };
        let mut row_places = self.places(front, children, &rows, |rest| &rest.delayed_rows);
        let mut column_places =
            self.places(front, children, &columns, |rest| &rest.delayed_columns);
        let mut dependent = 0;
        if work.others == 0 && pivots < work.columns {
            if self.zero < 0.0 {
                let row = self.symbolic.rows[row_places[pivots] as usize] as usize;
                return Err(Failure::NoPivot { row });
            }
            dependent = work.columns - pivots;
            work.neglect(pivots, &mut diagonal);
            pivots = work.columns;
        }
        let targets = first.iter().map(|first| Targets {
            rows: renamed(&rows, first),
            columns: renamed(&columns, first),
        });
        let targets = targets.collect();
        let delayed = |places: &mut Vec<u32>| places.split_off(pivots.min(places.len()));
        let (delayed_rows, delayed_columns) =
            (delayed(&mut row_places), delayed(&mut column_places));
        let size = work.columns - pivots + work.others;
        let (values, upper) = (work.rest(pivots)?, work.upper(pivots));
        work.panel.truncate(pivots * (work.columns + work.others));
        work.panel.shrink_to_fit();
        let rest = Rest {
            delayed_rows,
            delayed_columns,
            size,
            values,
        };
        let block = Block {
            pivots,
            dependent,
            rest: size,
            lower: work.panel,
            upper,
            diagonal,
            row_places,
            column_places,
            targets: Targets::default(),
        };
        Ok((block, rest, targets))
    }

    /// The row of a front that each row of the rest of its children is added to, before pivots are looked for.
    fn first_targets(&self, front: &Front, children: &[(usize, Rest<F>)]) -> Vec<Vec<u32>> {
        let pivots = front.pivots.len() as u32;
        let delayed: usize = children
            .iter()
            .map(|(_, rest)| rest.delayed_rows.len())
            .sum();
        let mut next = pivots;
        let of_child = |(child, rest): &(usize, Rest<F>)| {
            let below = self.symbolic.fronts[*child].below.clone();
            let below = self.symbolic.targets[below].iter();
            let own = next..next + rest.delayed_rows.len() as u32;
            next = own.end;
            let shifted = below.map(|&row| match row < pivots {
                true => row,
                false => row + delayed as u32,
            });
            own.chain(shifted).collect()
        };
        children.iter().map(of_child).collect()
    }

    /// The places of rows or columns that may be eliminated, in an order of these.
    fn places(
        &self,
        front: &Front,
        children: &[(usize, Rest<F>)],
        order: &[u32],
        delayed: impl Fn(&Rest<F>) -> &Vec<u32>,
    ) -> Vec<u32> {
        if order.is_empty() {
            return Vec::new();
        }
        let own = front.pivots.clone().map(|place| place as u32);
        let late = children.iter().flat_map(|(_, rest)| delayed(rest));
        let all: Vec<u32> = own.chain(late.copied()).collect();
        order.iter().map(|&at| all[at as usize]).collect()
    }

    fn assembled(
        &self,
        front: &Front,
        children: &[(usize, Rest<F>)],
        targets: &[Vec<u32>],
    ) -> Result<Work<F>, Failure> {
        let delayed: usize = children
            .iter()
            .map(|(_, rest)| rest.delayed_rows.len())
            .sum();
        let (pivots, others) = (front.pivots.len(), front.below.len());
        let columns = pivots + delayed;
        let mut work = Work {
            columns,
            others,
            panel: zeros((columns + others) * columns)?,
            right: match self.symbolic.symmetric {
                true => Vec::new(),
                false => zeros(others * columns)?,
            },
            square: zeros(others * others)?,
        };
        let rows = columns + others;
        let shifted = |row: u32| match (row as usize) < pivots {
            true => row as usize,
            false => row as usize + delayed,
        };
        let is_hermitian = self.method.is_hermitian();
        for entry in &self.symbolic.entries[front.entries.clone()] {
            let (row, column) = (entry.row as usize, entry.column as usize);
            let value = self.values[entry.index];
            let at = match (self.symbolic.symmetric, column < pivots) {
                (true, _) => &mut work.panel[row * rows + shifted(entry.column)],
                (false, true) => &mut work.panel[column * rows + shifted(entry.row)],
                (false, false) => &mut work.right[row * others + column - pivots],
            };
            *at = *at
                + if is_hermitian {
                    value.conjugate()
                } else {
                    value
                };
        }
        for ((_, rest), targets) in children.iter().zip(targets) {
            match self.symbolic.symmetric {
                true => work.add_lower(rest, targets, is_hermitian),
                false => work.add(rest, targets),
            }
        }
        Ok(work)
    }
}

/// Where rows are after those that may be eliminated were put in this order.
fn renamed(order: &[u32], rows: &[u32]) -> Vec<u32> {
    if order.is_empty() {
        return Vec::new();
    }
    let places = inverse(order);
    let new = |&row: &u32| places.get(row as usize).copied().unwrap_or(row);
    rows.iter().map(new).collect()
}

fn zeros<F: Number>(count: usize) -> Result<Vec<F>, Failure> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| NO_MEMORY)?;
    values.resize(count, F::ZERO);
    Ok(values)
}

/// A front that is being added up.
struct Work<F> {
    /// Rows and columns that may be eliminated, and others.
    columns: usize,
    others: usize,
    /// The former columns with all rows.
    panel: Vec<F>,
    /// Of a general matrix the former rows with all other columns, row after row.
    right: Vec<F>,
    /// All other rows and columns.
    square: Vec<F>,
}

impl<F: Number> Work<F> {
    fn rows(&self) -> usize {
        self.columns + self.others
    }

    /// Adds the lower half of what a child has left.
    fn add_lower(&mut self, rest: &Rest<F>, targets: &[u32], is_hermitian: bool) {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        for (column, &own) in targets.iter().enumerate() {
            let values = &rest.values[column * rest.size + column..(column + 1) * rest.size];
            let own = own as usize;
            if rest.delayed_rows.is_empty() {
                // Rows increase.
                let (to, shift) = match own < columns {
                    true => (&mut self.panel[own * rows..(own + 1) * rows], 0),
                    false => {
                        let column = own - columns;
                        (
                            &mut self.square[column * others..(column + 1) * others],
                            columns,
                        )
                    }
                };
                for (&row, &value) in targets[column..].iter().zip(values) {
                    let at = &mut to[row as usize - shift];
                    *at = *at + value;
                }
                continue;
            }
            for (&row, &value) in targets[column..].iter().zip(values) {
                let (low, high) = (own.min(row as usize), own.max(row as usize));
                let is_mirrored = is_hermitian && (row as usize) < own;
                let at = match low < columns {
                    true => &mut self.panel[low * rows + high],
                    false => &mut self.square[(low - columns) * others + high - columns],
                };
                *at = *at
                    + if is_mirrored {
                        value.conjugate()
                    } else {
                        value
                    };
            }
        }
    }

    /// Adds what a child has left.
    fn add(&mut self, rest: &Rest<F>, targets: &[u32]) {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        for (column, &own) in targets.iter().enumerate() {
            let values = &rest.values[column * rest.size..(column + 1) * rest.size];
            let own = own as usize;
            if own < columns {
                let to = &mut self.panel[own * rows..(own + 1) * rows];
                for (&row, &value) in targets.iter().zip(values) {
                    to[row as usize] = to[row as usize] + value;
                }
                continue;
            }
            let column = own - columns;
            let to = &mut self.square[column * others..(column + 1) * others];
            for (&row, &value) in targets.iter().zip(values) {
                let at = match (row as usize).checked_sub(columns) {
                    None => &mut self.right[row as usize * others + column],
                    Some(row) => &mut to[row],
                };
                *at = *at + value;
            }
        }
    }

    fn cholesky(&mut self, parallel: Par) -> Result<(), Failure> {
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
    fn ldl(
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
    fn lu(
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
    fn neglect(&mut self, pivots: usize, diagonal: &mut Diagonal<F>) {
        let rows = self.rows();
        for column in pivots..self.columns {
            self.panel[column * rows + pivots..(column + 1) * rows].fill(F::ZERO);
            self.panel[column * rows + column] = F::real(HUGE);
            diagonal.values.push(F::real(HUGE));
            diagonal.below.push(F::ZERO);
        }
    }

    /// What is left: rows and columns without pivots, and all others.
    fn rest(&mut self, pivots: usize) -> Result<Vec<F>, Failure> {
        let (rows, columns, others) = (self.rows(), self.columns, self.others);
        let square = std::mem::take(&mut self.square);
        if pivots == columns {
            return Ok(square);
        }
        let size = rows - pivots;
        let mut rest = zeros(size * size)?;
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
    fn upper(&mut self, pivots: usize) -> Vec<F> {
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
