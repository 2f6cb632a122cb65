//! Incomplete LU factorisation with a threshold, row after row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::incomplete::{FactorRows, Solves};
use super::{example, make_room, rounding, square_entries};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::host_stages::{ILUT, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::matrix::Csr;
use crate::operations::{on_host, remark};
use crate::registration::preconditioner;
use crate::scalar::{Field, Mixes, Real, Scalar};

/// What takes the place of a pivot that vanishes, of the norm of its row; the threshold comes on top (Saad 1994).
const LEAST_PIVOT: f64 = 1e-4;

preconditioner! {
    /// `M = (L U)^-1` with the entries of the factors that matter (Saad 1994: ILUT).
    ///
    /// Row after row is eliminated. Entries smaller than `threshold` times the mean size of the row's entries are
    /// dropped, and of the rest so many are kept in either factor: the largest. A pivot that vanishes is replaced by a small
    /// one, and a message says how many were.
    ///
    /// **Choose it** with GMRES for matrices that are far from diagonally dominant, after a
    /// [matching](super::Preprocessing) where the diagonal has zeros. The set-up is serial;
    /// [`ParIlut`](super::ParIlut) is the parallel one.
    ///
    #[doc = example!("Ilut", "Gmres", "convdiff7:6,20", 10)]
    pub struct Ilut {
        /// Entries of the factors, over those of the matrix, at most; rows of the matrix that are longer than others keep
        /// as many as they have.
        pub fill: f64 = 2.0,
        /// What is smaller than this part of the mean entry of its row is dropped.
        pub threshold: f64 = 1e-3,
        /// Steps of Jacobi's iteration in place of each triangular solve; 0 for substitution. Where so many are far from
        /// it, it is substitution nevertheless.
        pub sweeps: usize = 0,
        /// Power of the pattern on which approximate inverses take the place of triangular solves; 0 for none.
        pub isai: usize = 0,
    }
    name: "ilut", summary: "Incomplete LU factorisation with a threshold.",
    after_colon: &["fill", "threshold"], needs: &[Entries],
    support: Support::own_rows(&[ILUT, TRIANGLES]), symmetry: OneSided, memory: Memory::per(0, 60);
    more memory: |own, _| Memory::per((24.0 * own.fill) as usize, 0);
}

impl<T: Mixes<T, T>> Factory<T> for Ilut {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("ilut set-up", 0);
        check_fill(self.fill)?;
        if self.threshold.is_nan() || self.threshold < 0.0 {
            return Err(Error::bad_parameter(
                "threshold",
                format!("must be zero or positive, not {}", self.threshold),
            ));
        }
        let entries = square_entries(a.as_ref(), "ilut")?;
        on_host(entries.executor(), ILUT);
        let (factors, replaced) = self.factorise(&entries)?;
        if replaced > 0 {
            remark(format!("ilut: {replaced} pivots vanish and are replaced"));
        }
        let (sweeps, isai) = (self.sweeps, self.isai);
        factors.operator("ilut", &entries, Solves { sweeps, isai }, ws)
    }
}

/// Fails for fill that is no number of at least one.
pub(super) fn check_fill(fill: f64) -> Result<()> {
    match fill >= 1.0 && fill.is_finite() {
        true => Ok(()),
        false => Err(Error::bad_parameter(
            "fill",
            format!("must be at least 1, not {fill}"),
        )),
    }
}

impl Ilut {
    /// The factors, and how many pivots vanished.
    fn factorise<T: Scalar>(&self, a: &Csr<T>) -> Result<(FactorRows<T::Arith>, usize)> {
        let n = a.size().rows;
        let mean = a.nonzeros() as f64 / (2 * n.max(1)) as f64;
        let at_least = (self.fill * mean).ceil() as usize;
        let mut done = FactorRows::new();
        let mut working = Row::new(n);
        let mut replaced = 0;
        for row in 0..n {
            let mean_size = working.start(row, a);
            let least = self.threshold * mean_size;
            eliminate(&done, &mut working, least);
            let columns = a.row(row).0;
            let before = columns.partition_point(|&column| (column as usize) < row);
            let rooms = [before, columns.len() - before].map(|own| own.max(at_least));
            let kept = working.finish(rooms, least);
            make_room(a.executor(), &mut done.columns, kept.len())?;
            make_room(a.executor(), &mut done.values, kept.len())?;
            let least_pivot = rounding(T::KIND) * mean_size;
            for &(column, mut value) in kept {
                if column as usize == row && size(value) <= least_pivot {
                    value = T::Arith::from_f64((LEAST_PIVOT + self.threshold) * mean_size);
                    replaced += 1;
                }
                done.push(column, value);
            }
            done.end_row();
        }
        Ok((done, replaced))
    }
}

/// Eliminates what is before the diagonal of a row by the rows that are done, but for entries of at most `least`.
fn eliminate<A: Field>(done: &FactorRows<A>, working: &mut Row<A>, least: f64) {
    while let Some(above) = working.next() {
        let value = working.values[above];
        if size(value) <= least {
            working.values[above] = A::zero();
            continue;
        }
        let pivot = done.diagonal[above];
        let factor = value / done.values[pivot];
        working.values[above] = factor;
        for place in pivot + 1..done.offsets[above + 1] {
            working.add(done.columns[place], -(factor * done.values[place]));
        }
    }
}

fn size<A: Field>(value: A) -> f64 {
    value.modulus_squared().to_f64().sqrt()
}

/// A row while it is eliminated.
struct Row<A> {
    row: u32,
    values: Vec<A>,
    is_there: Vec<bool>,
    found: Vec<u32>,
    /// Columns before the diagonal that are still to be eliminated.
    left: BinaryHeap<Reverse<u32>>,
    kept: Vec<(u32, A)>,
}

impl<A: Field> Row<A> {
    fn new(columns: usize) -> Self {
        Self {
            row: 0,
            values: vec![A::zero(); columns],
            is_there: vec![false; columns],
            found: Vec::new(),
            left: BinaryHeap::new(),
            kept: Vec::new(),
        }
    }

    /// Takes a row of `a`, with a diagonal entry in any case; says how large its entries are in the mean.
    fn start<T: Scalar<Arith = A>>(&mut self, row: usize, a: &Csr<T>) -> f64 {
        self.row = row as u32;
        self.found.clear();
        let (columns, values) = a.row(row);
        self.add(row as u32, A::zero());
        let mut sum = 0.0;
        for (&column, value) in columns.iter().zip(values) {
            self.add(column, value.load());
            sum += size(value.load());
        }
        sum / columns.len().max(1) as f64
    }

    fn add(&mut self, column: u32, value: A) {
        let at = column as usize;
        if !std::mem::replace(&mut self.is_there[at], true) {
            self.found.push(column);
            if column < self.row {
                self.left.push(Reverse(column));
            }
        }
        self.values[at] += value;
    }

    fn next(&mut self) -> Option<usize> {
        self.left.pop().map(|Reverse(column)| column as usize)
    }

    /// The entries larger than `least`, so many of the largest on either side of the diagonal, by column. The diagonal is
    /// always there.
    fn finish(&mut self, [before, behind]: [usize; 2], least: f64) -> &[(u32, A)] {
        let row = self.row;
        self.kept.clear();
        for column in self.found.drain(..) {
            let value = std::mem::take(&mut self.values[column as usize]);
            self.is_there[column as usize] = false;
            let large = if column < row { 0.0 } else { least };
            if column == row || size(value) > large {
                self.kept.push((column, value));
            }
        }
        let side = |column: u32| (column >= row) as u8 + (column > row) as u8;
        self.kept.sort_unstable_by(|x, y| {
            let larger = size(y.1).total_cmp(&size(x.1));
            side(x.0).cmp(&side(y.0)).then(larger).then(x.0.cmp(&y.0))
        });
        let [mut lower, mut upper] = [before, behind];
        self.kept.retain(|&(column, _)| {
            let room = match side(column) {
                0 => &mut lower,
                1 => return true,
                _ => &mut upper,
            };
            let fits = *room > 0;
            *room -= usize::from(fits);
            fits
        });
        self.kept.sort_unstable_by_key(|entry| entry.0);
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{made_of, said};

    #[test]
    fn a_pivot_that_vanishes_is_replaced_and_told_of() {
        let (made, told) = said(|| made_of(&Ilut::default(), 2, &[0.0, 1.0, 1.0, 0.0]));
        let is_told = told.contains("ilut: 1 pivots vanish");
        assert!(made.is_ok() && is_told, "{told}");
    }
}
