//! Incomplete sparse approximate inverses.

use num_traits::{One, Zero};

use super::power::{check_lengths, power_pattern};
use super::{Fsai, bad_pivot, example, nonzero_diagonal, square_entries};
use crate::dense;
use crate::host_stages::ISAI;
use crate::matrix::fill_rows;
use crate::operations::{self, on_host};
use crate::prelude::*;
use crate::registration::preconditioner;

preconditioner! {
    /// A sparse matrix `M` on the pattern of a power of `A` that approximates its inverse; every row
    /// comes from a small dense system of its own.
    ///
    /// - `general` (Anzt, Huckle, Bräckle and Dongarra 2018): row `i` of `M A` is that of the identity
    ///   on the pattern of row `i`.
    /// - `spd`: an [`Fsai`] on that pattern, which does not grow.
    ///
    /// **Choose it** where triangular solves are slow: an application is one or two products. Take
    /// `spd` with conjugate gradients; `general` is not symmetric. Rows whose pattern exceeds 512
    /// entries are refused.
    ///
    #[doc = example!("Isai", "Gmres", "convdiff7:6,20", 40)]
    pub struct Isai {
        /// For which matrices.
        pub kind: IsaiKind = IsaiKind::General,
        /// The pattern is that of `A` to this power, at least 1.
        pub power: usize = 1,
    }
    name: "isai", summary: "Incomplete sparse approximate inverse.",
    after_colon: &["kind", "power"], needs: &[Entries], support: Support::own_rows(&[ISAI]),
    symmetry: OneSided, memory: Memory::per(13, 0);
    symmetric if: |own| own.kind == IsaiKind::Spd;
}

/// For which matrices an [`Isai`] is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsaiKind {
    /// Any matrix; the preconditioner is not symmetric.
    #[default]
    General,
    /// Hermitian positive definite matrices; so is the preconditioner.
    Spd,
}

impl<T: Mixes<T, T>> Factory<T> for Isai {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("isai set-up", 0);
        if self.power == 0 {
            return Err(Error::bad_parameter("power", "must be at least 1"));
        }
        if self.kind == IsaiKind::Spd {
            return Fsai::of_power(self.power).generate(a, ws);
        }
        let entries = square_entries(a.as_ref(), "isai")?;
        nonzero_diagonal(&entries, "isai")?;
        let pattern = power_pattern(entries.pattern(), self.power)?;
        Ok(Arc::new(fill(&entries, &pattern)?))
    }
}

/// A matrix of the given pattern, each of its rows solved for alone.
pub(super) fn fill<T: Scalar>(a: &Csr<T>, pattern: &Arc<Pattern>) -> Result<Csr<T>> {
    let (offsets, columns) = (pattern.offsets(), pattern.columns());
    check_lengths("isai", offsets)?;
    let values = match operations::factor::isai(a, offsets, columns)? {
        Some(values) => values,
        None => values_of(a, offsets, columns),
    };
    let inverse = Csr::with_pattern(pattern, values)?;
    match inverse.check_finite() {
        Err(Error::NonFiniteEntry { row, .. }) => Err(bad_pivot("isai", row, UNSOLVABLE)),
        _ => Ok(inverse),
    }
}

fn values_of<T: Scalar>(a: &Csr<T>, offsets: &[usize], columns: &[u32]) -> Vec<T> {
    on_host(a.executor(), ISAI);
    let mut values = vec![T::default(); columns.len()];
    fill_rows(a.executor(), offsets, &mut values, |row, values| {
        let solution = solve_row(a, row, &columns[offsets[row]..offsets[row + 1]]);
        for (k, value) in values.iter_mut().enumerate() {
            // A row that has no solution is found by its NaN.
            let solved = solution
                .as_ref()
                .map_or(T::Arith::from_f64(f64::NAN), |s| s[k]);
            *value = T::store(solved);
        }
    });
    values
}

const UNSOLVABLE: &str = "unusable: the system of its row is singular";

/// `m A(J, J) = e_row` for the columns `J`; none if it has no solution.
fn solve_row<T: Scalar>(a: &Csr<T>, row: usize, columns: &[u32]) -> Option<Vec<T::Arith>> {
    let n = columns.len();
    let mut transposed = vec![T::Arith::zero(); n * n];
    for (i, &other) in columns.iter().enumerate() {
        let (of_row, values) = a.row(other as usize);
        let mut j = 0;
        for (&column, value) in of_row.iter().zip(values) {
            while j < n && columns[j] < column {
                j += 1;
            }
            if columns.get(j) == Some(&column) {
                transposed[j * n + i] = value.load();
            }
        }
    }
    let mut solution = vec![T::Arith::zero(); n];
    solution[columns.binary_search(&(row as u32)).ok()?] = T::Arith::one();
    dense::solve(n, &mut transposed, 1, &mut solution).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{convection, matrix_of, multiply, to_dense};

    #[test]
    fn the_product_is_the_identity_on_the_pattern() {
        let (n, a) = (16, convection::<f64>(&Executor::reference(), 4));
        let product = multiply(n, &matrix_of(&Isai::default(), &a), &to_dense(&a));
        for (row, column) in (0..n * n).map(|i| (i / n, i % n)) {
            if a.entry(row, column).is_some() {
                let expected = f64::from(row == column);
                assert!((product[row * n + column] - expected).abs() < 1e-14);
            }
        }
    }
}
