//! The preconditioners of a batch, set up for one system after the other.

use std::collections::BTreeMap;

use super::band_lu::BandLu;
use super::matrix::{BatchMatrix, One, row_product};
use super::parameters::BatchPreconditioner;
use crate::precond::eliminate;
use crate::prelude::*;

/// An approximate inverse of the system at hand.
pub(super) enum Inverse<A> {
    None,
    /// One over the diagonal.
    Jacobi(Vec<A>),
    Blocks {
        size: usize,
        factors: Vec<BandLu<A>>,
    },
    Ilu0(Factors<A>),
    Isai(Isai<A>),
}

/// Both factors on the pattern of the matrices.
pub(super) struct Factors<A> {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// Where the diagonal entry of every row is, or [`NOWHERE`].
    diagonal: Vec<usize>,
    values: Vec<A>,
    /// Of [`eliminate`].
    places: Vec<Option<usize>>,
}

const NOWHERE: usize = usize::MAX;

impl<A: Field> Inverse<A> {
    pub(super) fn new(
        preconditioner: BatchPreconditioner,
        block_size: usize,
        matrix: &dyn BatchMatrix<A>,
    ) -> Self {
        let n = matrix.rows();
        match preconditioner {
            BatchPreconditioner::None => Self::None,
            BatchPreconditioner::Jacobi => Self::Jacobi(vec![A::zero(); n]),
            BatchPreconditioner::BlockJacobi => {
                let size = block_size.min(n.max(1));
                let block = |start: usize| {
                    let rows = size.min(n - start);
                    BandLu::new(rows, rows - 1, rows - 1)
                };
                let factors = (0..n).step_by(size).map(block).collect();
                Self::Blocks { size, factors }
            }
            BatchPreconditioner::Ilu0 => Self::Ilu0(Factors::new(matrix)),
            BatchPreconditioner::Isai => Self::Isai(Isai::new(matrix)),
        }
    }

    /// Makes it the inverse of a system, or names the row that has no pivot.
    pub(super) fn set_up(&mut self, a: One<'_, A>) -> Result<(), usize> {
        match self {
            Self::None => Ok(()),
            Self::Jacobi(inverse) => {
                inverse.fill(A::zero());
                a.visit(|row, column, value| {
                    if row == column {
                        inverse[row] = value;
                    }
                });
                for (row, value) in inverse.iter_mut().enumerate() {
                    if value.is_zero() {
                        return Err(row);
                    }
                    *value = A::one() / *value;
                }
                Ok(())
            }
            Self::Blocks { size, factors } => {
                let size = *size;
                factors.iter_mut().for_each(BandLu::clear);
                a.visit(|row, column, value| {
                    if row / size == column / size {
                        *factors[row / size].entry(row % size, column % size) = value;
                    }
                });
                let mut blocks = factors.iter_mut().enumerate();
                blocks.try_for_each(|(block, factors)| {
                    factors.factorise().map_err(|row| block * size + row)
                })
            }
            Self::Ilu0(factors) => factors.factorise(a),
            Self::Isai(inverse) => inverse.set_up(a),
        }
    }

    /// `z = M r`.
    pub(super) fn apply(&self, r: &[A], z: &mut [A]) {
        match self {
            Self::None => z.copy_from_slice(r),
            Self::Jacobi(inverse) => {
                for ((z, &r), &d) in z.iter_mut().zip(r).zip(inverse) {
                    *z = d * r;
                }
            }
            Self::Blocks { size, factors } => {
                z.copy_from_slice(r);
                for (factors, z) in factors.iter().zip(z.chunks_mut(*size)) {
                    factors.solve(z);
                }
            }
            Self::Ilu0(factors) => factors.solve(r, z),
            Self::Isai(inverse) => inverse.apply(r, z),
        }
    }
}

impl<A: Field> Factors<A> {
    fn new(matrix: &dyn BatchMatrix<A>) -> Self {
        let (offsets, columns) = matrix.structure();
        let place = |row: usize| {
            let of_row = &columns[offsets[row]..offsets[row + 1]];
            let found = of_row.binary_search(&(row as u32));
            found.map_or(NOWHERE, |found| offsets[row] + found)
        };
        Self {
            diagonal: (0..matrix.rows()).map(place).collect(),
            values: vec![A::zero(); columns.len()],
            places: vec![None; matrix.rows()],
            offsets,
            columns,
        }
    }

    fn factorise(&mut self, a: One<'_, A>) -> Result<(), usize> {
        a.collect(&self.offsets, &self.columns, &mut self.values);
        for row in 0..self.diagonal.len() {
            if self.diagonal[row] == NOWHERE {
                return Err(row);
            }
            let pattern = (&self.offsets[..], &self.columns[..], &self.diagonal[..]);
            eliminate(row, pattern, &mut self.values, &mut self.places);
            let pivot = self.values[self.diagonal[row]];
            if pivot.is_zero() || !Field::is_finite(pivot) {
                return Err(row);
            }
        }
        Ok(())
    }

    fn solve(&self, r: &[A], z: &mut [A]) {
        z.copy_from_slice(r);
        let sum = |z: &[A], places: std::ops::Range<usize>| {
            row_product(&self.columns[places.clone()], &self.values[places], z)
        };
        for row in 0..z.len() {
            let below = sum(z, self.offsets[row]..self.diagonal[row]);
            z[row] -= below;
        }
        for row in (0..z.len()).rev() {
            let place = self.diagonal[row];
            let behind = sum(z, place + 1..self.offsets[row + 1]);
            z[row] = (z[row] - behind) / self.values[place];
        }
    }
}

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
            *z = row_product(&self.columns[own.clone()], &self.values[own], r);
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
