//! One front: it is added up, its pivots are eliminated, and the rest is left for its parent.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use faer::Par;

use crate::elimination::inverse;
use crate::ldl::Diagonal;
use crate::number::Number;
use crate::symbolic::{Front, Symbolic};
use crate::work::{Added, Rest, Symmetry, Work, zeros};
use crate::{Failure, Method};

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

/// The rows of a front that the rest of a child is added to: its rows, and its columns where these are others.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    pub rows: Vec<u32>,
    pub columns: Vec<u32>,
}

/// The factors of a front, what it leaves, and where the rest of each child was added.
pub(crate) type Made<F> = (Block<F>, Rest<F>, Vec<Targets>);

/// The values of a matrix, and what it is factorised by.
pub(crate) struct Task<'t, F> {
    pub symbolic: &'t Symbolic,
    pub values: &'t [F],
    pub method: Method,
    /// Pivots that are not larger count as zero, and rows without others as dependent; none do where it is negative.
    pub zero: f64,
    /// When to end, ready or not.
    pub until: Option<Instant>,
    /// How much work fronts may still be, if there is a limit.
    pub work_left: Option<AtomicI64>,
}

impl<F: Number> Task<'_, F> {
    /// Factorises a front from what its children have left, and says where that is.
    pub fn factorise(
        &self,
        front: &Front,
        children: &[(usize, Rest<F>)],
        parallel: Par,
    ) -> Result<Made<F>, Failure> {
        self.check_limits(front, children)?;
        let first = self.first_targets(front, children);
        let mut work = self.assembled(front, children, &first, parallel)?;
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
            columns: match self.method == Method::Lu {
                true => renamed(&columns, first),
                false => Vec::new(),
            },
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

    /// Fails where the time is used up, or the work: the sum of all fronts decides, whatever order they come in.
    fn check_limits(&self, front: &Front, children: &[(usize, Rest<F>)]) -> Result<(), Failure> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(Failure::OutOfTime);
        }
        let Some(left) = &self.work_left else {
            return Ok(());
        };
        let late = delayed(children);
        let rows = (front.rows() + late) as i64;
        let work = rows * rows * (front.pivots.len() + late) as i64;
        match left.fetch_sub(work, Ordering::Relaxed) < work {
            true => Err(Failure::ManyDelays),
            false => Ok(()),
        }
    }

    /// The row of a front that each row of the rest of its children is added to, before pivots are looked for.
    fn first_targets(&self, front: &Front, children: &[(usize, Rest<F>)]) -> Vec<Vec<u32>> {
        let pivots = front.pivots.len() as u32;
        let delayed = delayed(children);
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
        parallel: Par,
    ) -> Result<Work<F>, Failure> {
        let delayed = delayed(children);
        let (pivots, others) = (front.pivots.len(), front.below.len());
        let columns = pivots + delayed;
        let mut work = Work {
            columns,
            others,
            panel: zeros((columns + others) * columns, parallel)?,
            right: match self.symbolic.symmetric {
                true => Vec::new(),
                false => zeros(others * columns, parallel)?,
            },
            square: zeros(others * others, parallel)?,
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
            *at += if is_hermitian {
                value.conjugate()
            } else {
                value
            };
        }
        let symmetry = match self.symbolic.symmetric {
            true if is_hermitian => Some(Symmetry::Hermitian),
            true => Some(Symmetry::Transposed),
            false => None,
        };
        let added = children.iter().zip(targets);
        let added = added.map(|((_, rest), targets)| Added { rest, targets });
        work.add(&added.collect::<Vec<_>>(), symmetry, parallel);
        Ok(work)
    }
}

/// Rows that found no pivot in the fronts of children.
fn delayed<F>(children: &[(usize, Rest<F>)]) -> usize {
    let rows = children.iter().map(|(_, rest)| rest.delayed_rows.len());
    rows.sum()
}

/// Where rows are after those that may be eliminated were put in this order.
fn renamed(order: &[u32], rows: &[u32]) -> Vec<u32> {
    let places = inverse(order);
    let new = |&row: &u32| places.get(row as usize).copied().unwrap_or(row);
    rows.iter().map(new).collect()
}
