//! Sweeps of Gauss-Seidel on stencil matrices.

use super::fields::as_fields;
use super::{StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::linop::check_apply;
use crate::prelude::*;
use crate::reference;
use crate::reference::stencil::{Direction, Start};
use crate::scalar::convert;

/// Smallest part of a diagonal entry that its pivot may be: arithmetic is in single precision.
const PIVOT: f64 = 1e-5;

impl<M: Storage> StencilMatrix<M> {
    /// A sweep of Gauss-Seidel towards `A x = b`, in eight colours: planes, lines and cells by parity;
    /// the unknowns of a cell change together.
    ///
    /// Results do not depend on the number of threads. The block of a cell with itself has to have a
    /// factorisation without exchanges of rows; see [`check_diagonal`](Self::check_diagonal).
    ///
    /// ```
    /// use vcycle::{executor::{Executor, Workspace}, gallery, structured::{Direction, StencilMatrix},
    ///              vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = StencilMatrix::from_csr(&gallery::build("poisson5:3", &cpu)?.matrix)?;
    /// let b = Vector::<f64>::filled(&cpu, 9, 1, 1.0)?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// a.gauss_seidel(Direction::Forward, &b, &mut x, &Workspace::new())?;
    /// assert_eq!(x.to_vec()[..3], [0.25, 0.375, 0.25]);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For vectors that do not fit or have several columns.
    pub fn gauss_seidel<V: Vectors>(
        &self,
        direction: Direction,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.checked_sweep((direction, Start::Guess), b, x, ws)
    }

    /// Solves `T x = b` with the triangle `T` that a sweep from zero solves with: the diagonal and the entries of neighbours
    /// whose colours come before, 4 of 7, 10 of 19 and 14 of 27.
    ///
    /// ```
    /// use vcycle::{executor::{Executor, Workspace}, gallery, structured::{Direction, StencilMatrix},
    ///              vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = StencilMatrix::from_csr(&gallery::build("poisson5:3", &cpu)?.matrix)?;
    /// let b = Vector::<f64>::filled(&cpu, 9, 1, 1.0)?;
    /// let mut x = Vector::filled(&cpu, 9, 1, f64::NAN)?;
    /// a.solve_triangle(Direction::Forward, &b, &mut x, &Workspace::new())?;
    /// assert_eq!(x.to_vec()[..3], [0.25, 0.375, 0.25]);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn solve_triangle<V: Vectors>(
        &self,
        direction: Direction,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.checked_sweep((direction, Start::Zero), b, x, ws)
    }

    /// A sweep; vectors are those of a caller, cell by cell.
    fn checked_sweep<V: Vectors>(
        &self,
        sweep: (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("gauss-seidel", self.size(), self.executor(), b, x)?;
        if b.cols() != 1 {
            return Err(Error::unsupported(
                "gauss-seidel on a stencil",
                "several columns at once",
            ));
        }
        as_fields(self.unknowns(), b, (x, sweep.1), ws, |b, x| {
            self.sweep(sweep, b, x, ws)
        })
    }

    /// A sweep; vectors are unknown by unknown.
    pub(super) fn sweep<V: Vectors>(
        &self,
        sweep: (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.operand().gauss_seidel(sweep, b, x, ws)
    }

    /// Fails, naming the row, if a diagonal entry is zero, or becomes so where the unknowns of its cell
    /// are eliminated one after the other.
    ///
    /// # Errors
    /// [`ZeroDiagonal`](Error::ZeroDiagonal), [`BadPivot`](Error::BadPivot).
    pub fn check_diagonal(&self, component: &'static str) -> Result<()> {
        if let Some(facts) = self.operand().diagonal_facts(0.0)? {
            let zero = facts.zero.map(|place| self.row_of_field(place));
            let lost = facts.lost_pivot;
            let r = self.unknowns();
            let lost = lost.map(|row| self.row_of_all(row / r, row % r));
            return checked(component, zero, lost);
        }
        let zero: M = convert(-self.base());
        for (first, line) in self.diagonal_lines() {
            if let Some(x) = line.iter().position(|value| *value == zero) {
                return checked(component, Some(self.row_of_field(first + x)), None);
            }
        }
        let bad = match self.unknowns() {
            1 => None,
            r => {
                let (mut block, mut right) = (vec![vec![0.0; r]; r], vec![0.0; r]);
                let mut cells = 0..self.grid().cells();
                cells.find_map(|cell| self.bad_pivot(cell, &mut block, &mut right))
            }
        };
        checked(component, None, bad)
    }

    /// The first row of a cell whose pivot is not a safe part of its diagonal.
    fn bad_pivot(&self, cell: usize, block: &mut [Vec<f64>], right: &mut [f64]) -> Option<usize> {
        let (r, length) = (self.unknowns(), self.grid().length());
        let entry = |i, j| {
            let line = self.line_of([i, j], cell / length, self.stencil().centre());
            let base = if i == j { self.base() } else { 0.0 };
            convert::<M, f64>(line[cell % length]) + base
        };
        for (i, row) in block.iter_mut().enumerate() {
            row.iter_mut()
                .enumerate()
                .for_each(|(j, value)| *value = entry(i, j));
        }
        reference::stencil::eliminate(block, right);
        let safe = |i: usize| block[i][i].abs() > PIVOT * entry(i, i).abs();
        let bad = (0..r).find(|&i| !safe(i))?;
        Some(self.row_of_all(cell, bad))
    }
}

/// An error for a row with a zero on the diagonal, or for one whose pivot is lost.
fn checked(component: &'static str, zero: Option<usize>, lost: Option<usize>) -> Result<()> {
    match (zero, lost) {
        (Some(row), _) => Err(Error::ZeroDiagonal { component, row }),
        (None, Some(row)) => Err(Error::BadPivot {
            component,
            row,
            problem: "lost in rounding",
        }),
        (None, None) => Ok(()),
    }
}
