//! Matrices and vectors numbered node by node, and back.

use super::super::norms::modulus;
use super::super::permute::copy_rows;
use super::{NO_ROW, Nodes};
use crate::linop::check_size;
use crate::prelude::*;

impl Nodes {
    /// The matrix numbered node by node. Unknowns that a node lacks are added with a diagonal entry of the
    /// size of their neighbours and nothing else, so that they are zero if the right-hand side is.
    pub fn gather_matrix<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>> {
        check_size("unknowns of nodes", Size::square(self.given), a.size())?;
        let places = self.places();
        let source = |new: usize| match self.rows[new] {
            NO_ROW => Err(self.substitute(a, new)),
            old => Ok(old as usize),
        };
        let size = Size::square(self.rows.len());
        a.rearranged(size, source, |column| places[column as usize])
    }

    /// The diagonal entry of an unknown that its node lacks: that of another one.
    fn substitute<T: Scalar>(&self, a: &Csr<T>, place: usize) -> T {
        let first = place / self.block_size * self.block_size;
        let others = &self.rows[first..first + self.block_size];
        let other = others.iter().find(|row| **row != NO_ROW);
        let diagonal = other.and_then(|&row| a.entry(row as usize, row as usize));
        let size = diagonal.map_or(0.0, modulus);
        let size = if size > 0.0 && size.is_finite() {
            size
        } else {
            1.0
        };
        T::store(T::Arith::from_f64(size))
    }

    /// The rows of a vector in the same order, zero where a node lacks an unknown.
    pub fn gather<T: Scalar>(&self, x: &Vector<T>) -> Result<Vector<T>> {
        let cols = x.cols();
        check_size("unknowns of nodes", Size::new(self.given, cols), x.size())?;
        let gathered = self.gather_rows(&x.to_vec(), cols);
        Vector::from_rows(x.executor(), cols, gathered)
    }

    /// The same for the rows of an array.
    pub fn gather_rows<N: Copy + Default>(&self, values: &[N], cols: usize) -> Vec<N> {
        let mut gathered = vec![N::default(); self.rows.len() * cols];
        copy_rows(self.present(), cols, values, &mut gathered);
        gathered
    }

    /// Undoes [`gather`](Self::gather).
    pub fn scatter<T: Scalar>(&self, y: &Vector<T>) -> Result<Vector<T>> {
        let cols = y.cols();
        check_size(
            "unknowns of nodes",
            Size::new(self.rows.len(), cols),
            y.size(),
        )?;
        let mut scattered = vec![T::default(); self.given * cols];
        let pairs = self.present().map(|(place, row)| (row, place));
        copy_rows(pairs, cols, &y.to_vec(), &mut scattered);
        Vector::from_rows(y.executor(), cols, scattered)
    }

    /// The constant of one component, zero where a node lacks it.
    pub fn constant(&self, component: usize) -> Vec<f64> {
        let mut values = vec![0.0; self.rows.len()];
        let own = self
            .present()
            .filter(|(place, _)| place % self.block_size == component);
        own.for_each(|(place, _)| values[place] = 1.0);
        values
    }

    /// Places of unknowns with their rows.
    fn present(&self) -> impl Iterator<Item = (usize, usize)> {
        let places = self.rows.iter().enumerate();
        places.filter_map(|(place, &row)| (row != NO_ROW).then_some((place, row as usize)))
    }

    /// Where each row goes.
    pub(super) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.given];
        for (place, row) in self.present() {
            places[row] = place as u32;
        }
        places
    }
}
