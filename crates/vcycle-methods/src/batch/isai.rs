//! Approximate inverses of a batch on the pattern of its matrices.

use std::collections::BTreeMap;

use super::band_lu::BandLu;
use super::matrix::BatchMatrix;
use super::one::One;
use crate::scalar::Field;

/// Row `i` of `M A` is that of the identity on the pattern of row `i` (Anzt, Huckle, Bräckle and Dongarra 2018).
pub(super) struct Isai<A> {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// Of the matrix, then of its inverse.
    entries: Vec<A>,
    values: Vec<A>,
    /// Systems of rows by the number of their entries.
    systems: BTreeMap<usize, BandLu<A>>,
    side: Vec<A>,
}

impl<A: Field> Isai<A> {
    pub(super) fn new(matrix: &dyn BatchMatrix<A>) -> Self {
        let (offsets, columns) = matrix.structure();
        let lengths = offsets.windows(2).map(|pair| pair[1] - pair[0]);
        let system = |n: usize| (n, BandLu::new(n, n.saturating_sub(1), n.saturating_sub(1)));
        Self {
            entries: vec![A::zero(); columns.len()],
            values: vec![A::zero(); columns.len()],
            systems: lengths.map(system).collect(),
            side: Vec::new(),
            offsets,
            columns,
        }
    }

    /// Makes it the inverse of a system, or names the row whose own system is singular.
    pub(super) fn set_up(&mut self, a: One<'_, A>) -> Result<(), usize> {
        a.collect(&self.offsets, &self.columns, &mut self.entries);
        (0..self.offsets.len() - 1).try_for_each(|row| self.solve_row(row).ok_or(row))
    }

    /// `m A(J, J) = e_row` for the columns `J` of a row, by the transposed matrix.
    fn solve_row(&mut self, row: usize) -> Option<()> {
        let own = self.offsets[row]..self.offsets[row + 1];
        let columns = &self.columns[own.clone()];
        let place = columns.binary_search(&(row as u32)).ok()?;
        let system = self.systems.get_mut(&columns.len())?;
        system.clear();
        for (i, &other) in columns.iter().enumerate() {
            let places = self.offsets[other as usize]..self.offsets[other as usize + 1];
            for (&column, &value) in self.columns[places.clone()]
                .iter()
                .zip(&self.entries[places])
            {
                if let Ok(j) = columns.binary_search(&column) {
                    *system.entry(j, i) = value;
                }
            }
        }
        system.factorise().ok()?;
        self.side.clear();
        self.side.resize(columns.len(), A::zero());
        self.side[place] = A::one();
        system.solve(&mut self.side);
        self.values[own].copy_from_slice(&self.side);
        Some(())
    }

    /// `z = M r`.
    pub(super) fn apply(&self, r: &[A], z: &mut [A]) {
        for (row, z) in z.iter_mut().enumerate() {
            let own = self.offsets[row]..self.offsets[row + 1];
            let terms = self.columns[own.clone()].iter().zip(&self.values[own]);
            *z = terms.fold(A::zero(), |sum, (&column, &value)| {
                sum + value * r[column as usize]
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::BatchDense;

    #[test]
    fn on_a_full_pattern_it_is_the_inverse() {
        let a = BatchDense::new(2, vec![9.0, 9.0, 9.0, 9.0, 2.0, 1.0, 4.0, 3.0]).unwrap();
        let mut isai = Isai::new(&a);
        let one = |system| One { matrix: &a, system };
        assert_eq!(isai.set_up(one(0)), Err(0));
        isai.set_up(one(1)).unwrap();
        let mut z = [0.0; 2];
        isai.apply(&[4.0, 10.0], &mut z);
        assert!((z[0] - 1.0_f64).abs() < 1e-14 && (z[1] - 2.0_f64).abs() < 1e-14);
    }
}
