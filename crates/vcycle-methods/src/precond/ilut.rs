//! Incomplete LU factorisation with a threshold, row after row.

use num_traits::Zero;

use super::fill_levels::WorkingRow;
use super::incomplete::Incomplete;
use super::{example, reserve, rounding, square_entries};
use crate::host_stages::{ILUT, TRIANGLES};
use crate::operations::{on_host, remark};
use crate::prelude::*;
use crate::registration::preconditioner;

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
        let (executor, size) = (entries.executor(), entries.size());
        let factors = Incomplete::<T> {
            component: "ilut",
            pattern: &Pattern::new(executor, size, factors.offsets, factors.columns),
            values: &factors.values,
            diagonal: &factors.diagonal,
        };
        factors.operator((self.sweeps, self.isai), ws)
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

/// Both factors as they are made, row after row.
struct FactorRows<A> {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<A>,
    /// Where the diagonal entry of every row is.
    diagonal: Vec<usize>,
}

impl Ilut {
    /// The factors, and how many pivots vanished.
    fn factorise<T: Scalar>(&self, a: &Csr<T>) -> Result<(FactorRows<T::Arith>, usize)> {
        let n = a.size().rows;
        let mean = a.nonzeros() as f64 / (2 * n.max(1)) as f64;
        let at_least = (self.fill * mean).ceil() as usize;
        let mut done = FactorRows {
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            diagonal: Vec::new(),
        };
        let mut working = WorkingRow::new(n);
        let (mut kept, mut replaced) = (Vec::new(), 0);
        for row in 0..n {
            let mean_size = start(&mut working, row, a);
            let least = self.threshold * mean_size;
            eliminate(&done, &mut working, least);
            let columns = a.row(row).0;
            let before = columns.partition_point(|&column| (column as usize) < row);
            let most = [before, columns.len() - before].map(|own| own.max(at_least));
            working.take_entries(&mut kept);
            drop_small(&mut kept, row as u32, most, least);
            reserve(a.executor(), &mut done.columns, kept.len())?;
            reserve(a.executor(), &mut done.values, kept.len())?;
            let least_pivot = rounding(T::KIND) * mean_size;
            for &(column, mut value) in &kept {
                if column as usize == row {
                    done.diagonal.push(done.columns.len());
                    if size(value) <= least_pivot {
                        value = T::Arith::from_f64((LEAST_PIVOT + self.threshold) * mean_size);
                        replaced += 1;
                    }
                }
                done.columns.push(column);
                done.values.push(value);
            }
            done.offsets.push(done.columns.len());
        }
        Ok((done, replaced))
    }
}

/// Takes a row of `a`, with a diagonal entry in any case; returns the mean size of its entries.
fn start<T: Scalar>(working: &mut WorkingRow<T::Arith>, row: usize, a: &Csr<T>) -> f64 {
    let zero = T::Arith::zero();
    working.start(row);
    working.entry(row as u32, zero);
    let (columns, values) = a.row(row);
    let mut sum = 0.0;
    for (&column, value) in columns.iter().zip(values) {
        *working.entry(column, zero) += value.load();
        sum += size(value.load());
    }
    sum / columns.len().max(1) as f64
}

/// Eliminates what is before the diagonal of a row by the rows that are done, but for entries of at most `least`.
fn eliminate<A: Field>(done: &FactorRows<A>, working: &mut WorkingRow<A>, least: f64) {
    while let Some(column) = working.next() {
        let value = working.entry(column, A::zero());
        if size(*value) <= least {
            *value = A::zero();
            continue;
        }
        let above = column as usize;
        let pivot = done.diagonal[above];
        let factor = *value / done.values[pivot];
        *value = factor;
        for place in pivot + 1..done.offsets[above + 1] {
            *working.entry(done.columns[place], A::zero()) += -(factor * done.values[place]);
        }
    }
}

fn size<A: Field>(value: A) -> f64 {
    value.modulus_squared().to_f64().sqrt()
}

/// Keeps the diagonal and the entries larger than `least`, at most so many of the largest before it and behind, and sorts them by column.
fn drop_small<A: Field>(kept: &mut Vec<(u32, A)>, row: u32, most: [usize; 2], least: f64) {
    kept.retain(|&(column, value)| {
        let large = if column < row { 0.0 } else { least };
        column == row || size(value) > large
    });
    let side = |column: u32| (column >= row) as u8 + (column > row) as u8;
    kept.sort_unstable_by(|x, y| {
        let larger = size(y.1).total_cmp(&size(x.1));
        side(x.0).cmp(&side(y.0)).then(larger).then(x.0.cmp(&y.0))
    });
    let [mut lower, mut upper] = most;
    kept.retain(|&(column, _)| {
        let left = match side(column) {
            0 => &mut lower,
            1 => return true,
            _ => &mut upper,
        };
        let fits = *left > 0;
        *left -= usize::from(fits);
        fits
    });
    kept.sort_unstable_by_key(|entry| entry.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{made_of, with_messages};

    #[test]
    fn a_pivot_that_vanishes_is_replaced_with_a_message() {
        let (made, messages) =
            with_messages(|| made_of(&Ilut::default(), 2, &[0.0, 1.0, 1.0, 0.0]));
        let is_named = messages.contains("ilut: 1 pivots vanish");
        assert!(made.is_ok() && is_named, "{messages}");
    }
}
