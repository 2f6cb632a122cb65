//! Incomplete sparse approximate inverses.

use std::sync::Arc;

use num_traits::Zero;

use super::pattern::{Structure, check_lengths, power_pattern};
use super::{Fsai, bad_pivot, example, nonzero_diagonal, square_entries};
use crate::dense;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::host_stages::ISAI;
use crate::linop::{Factory, LinOp};
use crate::matrix::{Csr, fill_rows};
use crate::operations::{self, on_host};
use crate::registration::preconditioner;
use crate::scalar::{Field, Mixes, Scalar};

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
        let pattern = power_pattern(entries.pattern(), self.power);
        Ok(Arc::new(fill(&entries, pattern)?))
    }
}

/// A matrix of the given pattern, each of its rows solved for alone.
pub(super) fn fill<T: Scalar>(a: &Csr<T>, (offsets, columns): Structure) -> Result<Csr<T>> {
    check_lengths("isai", &offsets)?;
    let values = match operations::factor::isai(a, &offsets, &columns)? {
        Some(values) => values,
        None => values_of(a, &offsets, &columns),
    };
    let inverse = Csr::from_canonical(a.executor(), a.size(), offsets, columns, values);
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
    for_local_entries(a, columns, |i, j, value| transposed[j * n + i] = value);
    solve_unit(transposed, columns, row)
}

/// `visit(i, j, value)` for the entries of `a` in the rows and columns `columns`.
fn for_local_entries<T: Scalar>(
    a: &Csr<T>,
    columns: &[u32],
    mut visit: impl FnMut(usize, usize, T::Arith),
) {
    for (i, &row) in columns.iter().enumerate() {
        let (of_row, values) = a.row(row as usize);
        let mut j = 0;
        for (&column, value) in of_row.iter().zip(values) {
            while j < columns.len() && columns[j] < column {
                j += 1;
            }
            if columns.get(j) == Some(&column) {
                visit(i, j, value.load());
            }
        }
    }
}

/// Solves for the unit vector of `row`, whose place is that among `columns`.
fn solve_unit<A: Field>(mut local: Vec<A>, columns: &[u32], row: usize) -> Option<Vec<A>> {
    let n = columns.len();
    let mut solution = vec![A::zero(); n];
    solution[columns.binary_search(&(row as u32)).ok()?] = A::one();
    dense::solve(n, &mut local, 1, &mut solution).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::pattern::LONGEST_ROW;
    use crate::precond::testing::{
        convection, error_of, from_dense, largest_difference, made_of, matrix_of, multiply, said,
        to_dense,
    };

    const SPD: Isai = Isai {
        kind: IsaiKind::Spd,
        power: 1,
    };

    fn of_power(power: usize) -> Isai {
        Isai {
            power,
            ..Isai::default()
        }
    }

    #[test]
    fn on_a_full_pattern_it_is_the_inverse() {
        let a = [4.0, 1.0, 2.0, 1.0, 5.0, 1.0, 2.0, 1.0, 6.0];
        let a = from_dense::<f64>(&Executor::reference(), 3, &a);
        for isai in [of_power(1), SPD] {
            assert!(error_of(&isai, &a) < 1e-14);
        }
    }

    #[test]
    fn the_product_is_the_identity_on_the_pattern_and_a_larger_one_is_better() {
        let (n, a) = (16, convection::<f64>(&Executor::reference(), 4));
        let product = multiply(n, &matrix_of(&Isai::default(), &a), &to_dense(&a));
        for (row, column) in (0..n * n).map(|i| (i / n, i % n)) {
            if a.entry(row, column).is_some() {
                let expected = f64::from(row == column);
                assert!((product[row * n + column] - expected).abs() < 1e-14);
            }
        }
        let errors = [1, 2, 3].map(|power| error_of(&of_power(power), &a));
        assert!(errors[0] > errors[1] && errors[1] > errors[2], "{errors:?}");
    }

    #[test]
    fn devices_make_the_same_inverse() {
        let Some(device) = vcycle_core::testing::device() else {
            return;
        };
        for power in [1, 2] {
            let [here, there] = [&Executor::reference(), &device].map(|place| {
                let a = convection::<f64>(&Executor::reference(), 5);
                let a = a.copy_to(place).unwrap();
                let (inverse, told) = said(|| fill(&a, power_pattern(a.pattern(), power)).unwrap());
                assert!(!told.contains("isai"), "{told}");
                inverse.values().to_vec()
            });
            assert!(largest_difference(&here, &there) < 1e-13);
        }
        let singular = from_dense(&device, 2, &[1.0, 2.0, 2.0, 4.0]);
        let refused = fill(&singular, power_pattern(singular.pattern(), 1));
        assert!(matches!(refused, Err(Error::BadPivot { .. })));
    }

    #[test]
    fn rows_without_a_solution_long_ones_and_a_zero_power_are_refused() {
        let singular = made_of(&Isai::default(), 2, &[1.0, 2.0, 2.0, 4.0]);
        assert!(matches!(singular, Err(Error::BadPivot { row: 0, .. })));
        let indefinite = made_of(&SPD, 2, &[1.0, 2.0, 2.0, 1.0]);
        assert!(matches!(indefinite, Err(Error::BadPivot { row: 1, .. })));
        let n = LONGEST_ROW + 1;
        let long = made_of(&Isai::default(), n, &vec![1.0; n * n]);
        assert!(matches!(long, Err(Error::Unsupported { .. })));
        let zero = made_of(&of_power(0), 1, &[1.0]);
        assert!(matches!(zero, Err(Error::BadParameter { .. })));
    }
}
