//! Tests with a line of points, of which few rows are at the boundary of a rank.

use super::testing::on_ranks;
use super::*;
use crate::linop::{LinOp, Transpose};
use crate::matrix::csr::testing::of_rows;
use crate::scalar::c64;
use crate::vector::Vector;
use crate::workspace::Workspace;

/// A line of points with 2.5 on the diagonal; `change` has the last word on the entry at a row and a column.
fn line(change: impl Fn(usize, usize, f64) -> Option<f64>) -> Csr<f64> {
    let n = 70;
    of_rows(
        &Executor::cpu(),
        Size::square(n),
        Duplicates::Refuse,
        |row| {
            let near = row.saturating_sub(1)..(row + 2).min(n);
            let entries = near.filter_map(|column| {
                let value = if row == column { 2.5 } else { -1.0 };
                change(row, column, value).map(|value| (column, value))
            });
            entries.collect()
        },
    )
}

#[test]
fn rows_of_a_small_boundary_are_computed_apart() {
    let whole = line(|row, _, value| Some(value / (1 + row) as f64));
    let x: Vec<f64> = (0..70).map(|row| 1.0 / f64::from(1 + row)).collect();
    let mut expected = Vector::<f64>::zeros(whole.executor(), 70, 1).unwrap();
    let all = Vector::from_column(whole.executor(), x.clone());
    whole.apply(&all, &mut expected, &Workspace::new()).unwrap();
    for ranks in [1, 2, 3] {
        on_ranks(None, ranks, &whole, |rank, a| {
            let own = a.rows().range(a.team().rank());
            let own = own.start as usize..own.end as usize;
            let here = Vector::from_column(rank, x[own.clone()].to_vec());
            let mut y = Vector::<f64>::filled(rank, own.len(), 1, 9.0)?;
            a.apply(&here, &mut y, &Workspace::new())?;
            assert_eq!(y.to_vec(), expected.to_vec()[own]);
            Ok(())
        });
    }
}

#[test]
fn symmetry_and_a_positive_diagonal_are_found_on_all_ranks() {
    type Change = fn(usize, usize, f64) -> Option<f64>;
    let cases: [(Change, [bool; 2]); 5] = [
        (|_, _, value| Some(value), [true, true]),
        (
            |i, j, value| ((i, j) != (35, 34)).then_some(value),
            [false, true],
        ),
        (
            |i, j, value| ((i, j) != (34, 35)).then_some(value),
            [false, true],
        ),
        (
            |i, j, value| Some(if (i, j) == (35, 34) { -1.1 } else { value }),
            [false, true],
        ),
        (
            |i, j, value| Some(if (i, j) == (40, 40) { -value } else { value }),
            [true, false],
        ),
    ];
    for (change, expected) in cases {
        let whole = line(change);
        assert_eq!(whole.symmetric_and_positive().unwrap(), expected);
        for ranks in [1, 2, 3] {
            on_ranks(None, ranks, &whole, |_, a| {
                assert_eq!(a.symmetric_and_positive()?, expected);
                Ok(())
            });
        }
    }
}

#[test]
fn complex_matrices_are_hermitian_and_products_with_adjoints_are_those_without_ranks() {
    // Conjugates, equal imaginary parts, and an imaginary part on the diagonal.
    for (sign, own, expected) in [(-1.0, 0.0, true), (1.0, 0.0, false), (-1.0, 0.1, false)] {
        let real = line(|_, _, value| Some(value));
        let columns = real.columns();
        let whole = Csr::from_places(real.pattern(), |row, place| {
            let imaginary = match columns[place] as usize {
                column if column == row => own,
                column if column > row => 0.5,
                _ => 0.5 * sign,
            };
            c64::new(real.values()[place], imaginary)
        })
        .unwrap();
        assert_eq!(whole.symmetric_and_positive().unwrap(), [expected, true]);
        let adjoint = whole.adjoint().unwrap();
        for ranks in [1, 2, 3, 7] {
            on_ranks(None, ranks, &whole, |rank, a| {
                assert_eq!(a.symmetric_and_positive()?, [expected, true]);
                if let Some(found) = a.adjoint()?.gathered()? {
                    assert_eq!(found.values(), adjoint.values());
                }
                let x = Vector::<c64>::filled(rank, a.size().rows, 1, 1.0)?;
                let (mut y, mut z) = (Vector::zeros_like(&x)?, Vector::zeros_like(&x)?);
                let (mode, ws) = (Transpose::Conjugate, Workspace::new());
                LinOp::<c64>::apply_transposed(&a, mode, &x, &mut y, &ws)?;
                a.adjoint()?.apply(&x, &mut z, &ws)?;
                let pairs = y.to_vec().into_iter().zip(z.to_vec());
                let mut pairs = pairs.into_iter();
                assert!(pairs.all(|(y, z): (c64, c64)| (y - z).norm() < 1e-14));
                Ok(())
            });
        }
    }
}
