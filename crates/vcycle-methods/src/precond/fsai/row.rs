//! One row of the factor: its pattern grows where the Kaporin number falls most.

use num_traits::{Float, One, Zero};

use crate::dense::Cholesky;
use crate::matrix::{Accumulator, Rows};
use crate::operations::factor::Growth;
use crate::precond::bad_pivot;
use crate::prelude::*;

/// Pivots below so many units of rounding are noise.
const NOISE: f64 = 16.0;
/// Marks columns that were tried in vain.
const REFUSED: u32 = u32::MAX;

/// What all rows have in common.
pub(super) struct Problem<'a, A: Field> {
    pub a: &'a Csr<A>,
    pub diagonal: Vec<A::Real>,
    /// The reciprocals of the diagonal.
    pub inverses: Vec<A::Real>,
    pub growth: Growth,
}

impl<A: Field> Problem<'_, A> {
    /// The unit of rounding of the matrix.
    fn rounding(&self) -> A::Real {
        A::Real::from_f64(self.growth.rounding)
    }
}

pub(super) const NOT_POSITIVE: &str =
    "not positive: the matrix is not positive definite in this precision";

/// Row `i` of the factor before scaling: `g` with `g_i = 1` that minimises `psi = g A g^H` over a
/// pattern. The Kaporin number of `G A G^H` is the geometric mean of all `psi`, up to a constant.
pub(super) struct Row<'a, A: Field> {
    problem: &'a Problem<'a, A>,
    index: usize,
    psi: A::Real,
    /// The pattern without the diagonal, in the order of growth.
    columns: Vec<u32>,
    /// The values there, conjugated.
    values: Vec<A>,
    /// For every column of the matrix one more than its place in the pattern, or zero.
    places: Vec<u32>,
    /// Columns whose place is not zero.
    tried: Vec<u32>,
    cholesky: Cholesky<A>,
    border: Vec<A>,
    product: Accumulator<A>,
    steepest: Vec<(A::Real, u32)>,
}

impl<'a, A: Field> Row<'a, A> {
    pub(super) fn new(problem: &'a Problem<'a, A>) -> Self {
        Self {
            problem,
            index: 0,
            psi: A::Real::zero(),
            columns: Vec::new(),
            values: Vec::new(),
            places: vec![0; problem.a.size().cols],
            tried: Vec::new(),
            cholesky: Cholesky::default(),
            border: Vec::new(),
            product: Accumulator::default(),
            steepest: Vec::new(),
        }
    }

    /// Makes row `index`, beginning with the columns `start`.
    pub(super) fn solve(&mut self, index: usize, start: &[u32]) -> Result<()> {
        self.clear(index);
        let growth = self.problem.growth;
        let enough = A::Real::from_f64(growth.tolerance) * self.psi;
        self.extend(start.iter().copied())?;
        for _ in 0..growth.steps {
            if self.psi <= enough {
                break;
            }
            self.find_steepest()?;
            if self.steepest.is_empty() {
                break;
            }
            let found = std::mem::take(&mut self.steepest);
            self.extend(found.iter().map(|&(_, column)| column))?;
            self.steepest = found;
        }
        self.drop_small()
    }

    /// Writes the row, scaled so that `G A G^H` has a unit diagonal.
    pub(super) fn write(&self, rows: &mut Rows<A>) -> Result<()> {
        let scale = A::from_real(Float::sqrt(self.psi));
        let pairs = self.columns.iter().zip(&self.values);
        let mut entries: Vec<(u32, A)> = pairs.map(|(&c, v)| (c, v.conj() / scale)).collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        rows.reserve(self.problem.a.executor(), entries.len() + 1)?;
        for (column, value) in entries {
            rows.push(column, value);
        }
        rows.push(self.index as u32, A::one() / scale);
        Ok(())
    }

    fn clear(&mut self, index: usize) {
        for &column in &self.tried {
            self.places[column as usize] = 0;
        }
        self.tried.clear();
        self.columns.clear();
        self.values.clear();
        self.cholesky.clear();
        self.index = index;
        self.psi = self.problem.diagonal[index];
    }

    /// Adds columns to the pattern and solves for the values there.
    fn extend(&mut self, columns: impl Iterator<Item = u32>) -> Result<()> {
        for column in columns {
            let added = self.add(column)?;
            self.tried.push(column);
            self.places[column as usize] = match added {
                true => self.columns.len() as u32,
                false => REFUSED,
            };
        }
        self.cholesky.solve(&mut self.values);
        Ok(())
    }

    /// Adds a column unless only rounding tells the matrix from a singular one there.
    fn add(&mut self, column: u32) -> Result<bool> {
        let rhs = self.gather(column);
        let on_diagonal = self.problem.diagonal[column as usize];
        let pivot = self.cholesky.eliminate(&mut self.border, on_diagonal);
        if !self.usable(pivot, on_diagonal)? {
            return Ok(false);
        }
        let inverse = A::from_real(A::Real::one() / Float::sqrt(pivot));
        let y = self.cholesky.forward(&self.border, inverse, rhs);
        let psi = self.psi - y.modulus_squared();
        if !self.usable(psi, self.problem.diagonal[self.index])? {
            return Ok(false);
        }
        self.cholesky.push(&self.border, inverse, y);
        self.columns.push(column);
        self.psi = psi;
        Ok(true)
    }

    /// Fails where a pivot is so negative that rounding cannot be the reason.
    fn usable(&self, pivot: A::Real, on_diagonal: A::Real) -> Result<bool> {
        let noise = A::Real::from_f64(NOISE) * self.problem.rounding() * on_diagonal;
        let order = A::Real::from_f64(1.0 + self.columns.len() as f64);
        match pivot < -noise * order {
            true => Err(bad_pivot("fsai", self.index, NOT_POSITIVE)),
            false => Ok(pivot > noise),
        }
    }

    /// Row `column` of the dense system into `border`; gives its right-hand side.
    fn gather(&mut self, column: u32) -> A {
        self.border.clear();
        self.border.resize(self.columns.len(), A::zero());
        let mut rhs = A::zero();
        let (columns, values) = self.problem.a.row(column as usize);
        for (&column, &value) in columns.iter().zip(values) {
            match self.places[column as usize] {
                _ if column as usize == self.index => rhs = -value,
                0 | REFUSED => {}
                place => self.border[place as usize - 1] = value,
            }
        }
        rhs
    }

    /// The columns outside the pattern that lower `psi` most, each taken alone.
    ///
    /// Half the gradient is `d = g A` (3.15 of the source); along one column alone `psi` falls by
    /// `|d_j|^2 / a_jj`, which for a unit diagonal orders as `|d_j|` does and, unlike that, does
    /// not depend on the scaling of the matrix.
    fn find_steepest(&mut self) -> Result<()> {
        self.multiply()?;
        let least = self.problem.rounding() * self.psi;
        let most = self.problem.growth.step_size;
        self.steepest.clear();
        let (columns, sums) = self.product.entries();
        for (&column, sum) in columns.iter().zip(sums) {
            let place = column as usize;
            let gain = sum.modulus_squared() * self.problem.inverses[place];
            if place == self.index || self.places[place] != 0 || gain <= least {
                continue;
            }
            let rank = self
                .steepest
                .partition_point(|&(g, c)| g > gain || (g == gain && c > column));
            if rank < most {
                self.steepest.truncate(most - 1);
                self.steepest.insert(rank, (gain, column));
            }
        }
        Ok(())
    }

    /// `g A` up to the diagonal.
    fn multiply(&mut self) -> Result<()> {
        let a = self.problem.a;
        let length = |column: usize| a.pattern().range(column).len();
        let pattern = self.columns.iter().map(|&column| column as usize);
        let entries = length(self.index) + pattern.map(length).sum::<usize>();
        self.product.start(a.executor(), a.size().cols, entries)?;
        let off_diagonal = self.columns.iter().zip(&self.values);
        let off_diagonal = off_diagonal.map(|(&c, v)| (c as usize, v.conj()));
        for (row, factor) in off_diagonal.chain([(self.index, A::one())]) {
            let (columns, values) = a.row(row);
            let entries = columns.iter().zip(values);
            for (&column, &value) in entries.take_while(|e| *e.0 as usize <= self.index) {
                *self.product.sum(column) += factor * value;
            }
        }
        Ok(())
    }

    /// Drops the entries that are small beside the largest of the row, all of them measured as if
    /// the matrix had a unit diagonal.
    fn drop_small(&mut self) -> Result<()> {
        let (diagonal, filter) = (&self.problem.diagonal, self.problem.growth.filter);
        let size =
            |&(column, value): &(u32, A)| value.modulus_squared() * diagonal[column as usize];
        let pairs = self
            .columns
            .iter()
            .copied()
            .zip(self.values.iter().copied());
        let largest = pairs.clone().fold(diagonal[self.index], |largest, pair| {
            Float::max(largest, size(&pair))
        });
        let least = A::Real::from_f64(filter * filter) * largest;
        let kept: Vec<(u32, A)> = pairs.filter(|pair| size(pair) >= least).collect();
        if kept.len() == self.columns.len() {
            return Ok(());
        }
        (self.columns, self.values) = kept.into_iter().unzip();
        self.multiply()?;
        self.psi = self.form();
        Ok(())
    }

    /// `g A g^H`, once [`multiply`](Self::multiply) has made the first product.
    fn form(&mut self) -> A::Real {
        let off_diagonal = self.columns.iter().zip(&self.values);
        off_diagonal.fold(
            self.product.sum(self.index as u32).real(),
            |sum, (&c, &v)| sum + (*self.product.sum(c) * v).real(),
        )
    }
}
