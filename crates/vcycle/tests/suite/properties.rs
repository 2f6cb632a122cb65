//! What must hold for every matrix, tried on random ones.
//!
//! Values are small multiples of a quarter unless said otherwise, so that sums and products are
//! exact and equal means equal to the bit.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use vcycle::config::PreconditionerConfig;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{Factory, LinOp, Size};
use vcycle::matrix::{Csr, Duplicates, Permutation, reverse_cuthill_mckee};
use vcycle::precond::Jacobi;
use vcycle::scalar::{convert, convert_slice, f16};
use vcycle::solver::{Cg, Solver};
use vcycle::stop::Stop;
use vcycle::vector::{Scalars, Vector};
use vcycle::{Error, Result};

/// The same cases in every run, and no files left behind.
fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        rng_seed: RngSeed::Fixed(42),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Rows and columns, among them those that tend to break kernels.
fn sizes() -> impl Strategy<Value = Size> {
    prop_oneof![
        6 => (1usize..40, 1usize..40),
        1 => Just((0, 0)),
        1 => (0usize..9).prop_map(|rows| (rows, 0)),
        1 => Just((1, 1)),
        1 => (1usize..70).prop_map(|rows| (rows, 1)),
        1 => (1usize..4).prop_map(|rows| (rows, 3000)),
    ]
    .prop_map(|(rows, cols)| Size::new(rows, cols))
}

fn quarter() -> impl Strategy<Value = f64> {
    (-8i8..=8).prop_map(|value| f64::from(value) / 4.0)
}

/// Entries that stand unsorted, twice and more often, and leave rows empty; now and then one row
/// is full.
fn matrix(size: Size) -> impl Strategy<Value = Csr<f64>> {
    let entries = vec((any::<u32>(), any::<u32>(), quarter()), 0..150);
    (entries, prop::bool::weighted(0.2)).prop_map(move |(entries, full_row)| {
        if size.rows * size.cols == 0 {
            return triplets(size, &[]);
        }
        let inside = |(row, column, value)| {
            let (rows, cols) = (size.rows as u32, size.cols as u32);
            (row % rows, column % cols, value)
        };
        let mut entries: Vec<_> = entries.into_iter().map(inside).collect();
        if full_row {
            entries.extend((0..size.cols as u32).rev().map(|column| (0, column, 0.75)));
        }
        triplets(size, &entries)
    })
}

fn triplets(size: Size, entries: &[(u32, u32, f64)]) -> Csr<f64> {
    let rows = entries.iter().map(|entry| entry.0).collect();
    let columns = entries.iter().map(|entry| entry.1).collect();
    let values = entries.iter().map(|entry| entry.2).collect();
    let host = Executor::reference();
    Csr::from_triplets(&host, size, rows, columns, values, Duplicates::Sum).unwrap()
}

fn matrices() -> impl Strategy<Value = Csr<f64>> {
    sizes().prop_flat_map(matrix)
}

fn square_matrices() -> impl Strategy<Value = Csr<f64>> {
    (0usize..40).prop_flat_map(|n| matrix(Size::square(n)))
}

/// A vector of quarters that fits the columns of a matrix.
fn operand(cols: usize) -> impl Strategy<Value = Vector<f64>> {
    vec(quarter(), cols).prop_map(|values| Vector::from_column(&Executor::reference(), values))
}

fn product(a: &dyn LinOp<f64>, x: &Vector<f64>) -> Vec<f64> {
    let mut y = Vector::zeros(x.executor(), a.size().rows, 1).unwrap();
    a.apply(x, &mut y, &Workspace::new()).unwrap();
    y.to_vec()
}

/// Equal in pattern and bits, so that a zero does not pass for a negative one.
fn assert_same(a: &Csr<f64>, b: &Csr<f64>) {
    let bits = |m: &Csr<f64>| m.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(a.size(), b.size());
    assert_eq!(a.offsets(), b.offsets());
    assert_eq!(a.columns(), b.columns());
    assert_eq!(bits(a), bits(b));
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn transposing_twice_changes_nothing(a in matrices()) {
        let transposed = a.transpose().unwrap();
        prop_assert_eq!(transposed.size(), Size::new(a.size().cols, a.size().rows));
        assert_same(&transposed.transpose().unwrap(), &a);
    }

    #[test]
    fn a_product_of_matrices_is_one_after_the_other(
        (a, b, x) in (0usize..30, 0usize..30, 0usize..30).prop_flat_map(|(l, m, n)| {
            (matrix(Size::new(l, m)), matrix(Size::new(m, n)), operand(n))
        })
    ) {
        let inner = Vector::from_column(x.executor(), product(&b, &x));
        prop_assert_eq!(product(&a.multiply(&b).unwrap(), &x), product(&a, &inner));
    }

    #[test]
    fn a_sum_of_matrices_is_the_sum_of_products(
        (a, b, x) in sizes().prop_flat_map(|size| {
            (matrix(size), matrix(size), operand(size.cols))
        })
    ) {
        let sum = product(&a.add(1.0, 1.0, &b).unwrap(), &x);
        let apart: Vec<f64> = product(&a, &x)
            .into_iter()
            .zip(product(&b, &x))
            .map(|(ax, bx)| ax + bx)
            .collect();
        prop_assert_eq!(sum, apart);
    }

    #[test]
    fn a_permutation_and_its_inverse_cancel(
        (a, order) in (0usize..40).prop_flat_map(|n| {
            let order = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
            (matrix(Size::square(n)), order)
        })
    ) {
        let p = Permutation::new(order).unwrap();
        let mixed = a.permute_symmetric(&p).unwrap();
        assert_same(&mixed.permute_symmetric(&p.inverse()).unwrap(), &a);
        let by_parts = a.permute_rows(&p).unwrap().permute_columns(&p).unwrap();
        assert_same(&by_parts, &mixed);
    }

    #[test]
    fn reverse_cuthill_mckee_is_a_permutation(a in square_matrices()) {
        let order = reverse_cuthill_mckee(a.pattern()).unwrap();
        let mut indices = order.order().to_vec();
        indices.sort_unstable();
        prop_assert!(indices.into_iter().eq(0..a.size().rows as u32));
    }

    #[test]
    fn equilibration_keeps_symmetry_and_bounds_entries(
        a in square_matrices(), exponents in vec(-120i32..120, 40), sweeps in 1usize..5
    ) {
        let powers: Vec<f64> = exponents.iter().map(|&e| 2f64.powi(e)).collect();
        let powers = &powers[..a.size().rows];
        let a = a.add(1.0, 1.0, &a.transpose().unwrap()).unwrap();
        let a = a.scale_rows(powers).unwrap().scale_columns(powers).unwrap();
        let scaled = a.equilibrate(sweeps).unwrap().matrix;
        assert_same(&scaled.transpose().unwrap(), &scaled);
        prop_assert!(scaled.norm_max() <= 1.0 + 4.0 * f64::EPSILON);
    }

    #[test]
    fn arbitrary_arrays_are_a_matrix_or_an_error(
        (rows, cols) in (0usize..6, 0usize..6),
        mut offsets in vec(0usize..8, 0..8),
        columns in vec(0u32..7, 0..8),
        mut values in vec(any::<f64>(), 0..8),
        plausible in any::<bool>(),
        sum in any::<bool>(),
    ) {
        if plausible {
            // Lengths that fit and offsets that increase: only the columns can be wrong.
            values.resize(columns.len(), 1.0);
            offsets.resize(rows, 0);
            offsets.iter_mut().for_each(|offset| *offset = (*offset).min(columns.len()));
            offsets.sort_unstable();
            offsets.insert(0, 0);
            offsets[rows] = columns.len();
        }
        let duplicates = if sum { Duplicates::Sum } else { Duplicates::Refuse };
        let (host, size) = (Executor::reference(), Size::new(rows, cols));
        let made = Csr::from_arrays(&host, size, offsets, columns, values, duplicates);
        check_made(made, size)?;
    }

    #[test]
    fn arbitrary_triplets_are_a_matrix_or_an_error(
        (rows, cols) in (0usize..6, 0usize..6),
        entries in vec((0u32..6, 0u32..6, any::<f64>()), 0..8),
        surplus in 0usize..2,
        sum in any::<bool>(),
    ) {
        let duplicates = if sum { Duplicates::Sum } else { Duplicates::Refuse };
        let (host, size) = (Executor::reference(), Size::new(rows, cols));
        let indices = entries.iter().map(|entry| entry.0).collect();
        let columns = entries.iter().skip(surplus).map(|entry| entry.1).collect();
        let values = entries.iter().map(|entry| entry.2).collect();
        let made = Csr::from_triplets(&host, size, indices, columns, values, duplicates);
        check_made(made, size)?;
    }

    #[test]
    fn values_half_precision_holds_pass_through_it(bits in vec(any::<u16>(), 0..70)) {
        let halves: Vec<f16> = bits.into_iter().map(f16::from_bits).filter(|h| !h.is_nan()).collect();
        let wide: Vec<f64> = halves.iter().map(|half| half.to_f64()).collect();
        let mut narrow = vec![f16::ZERO; wide.len()];
        convert_slice(&wide, &mut narrow);
        let mut back = vec![0f64; wide.len()];
        convert_slice(&narrow, &mut back);
        for ((half, wide), (narrow, back)) in halves.iter().zip(&wide).zip(narrow.iter().zip(&back)) {
            prop_assert_eq!(narrow.to_bits(), half.to_bits());
            prop_assert_eq!(back.to_bits(), wide.to_bits());
            prop_assert_eq!(convert::<f64, f16>(*wide).to_bits(), half.to_bits());
        }
    }
}

/// A matrix that was made is sorted and of the size asked for; what was refused says why.
fn check_made(made: Result<Csr<f64>>, size: Size) -> std::result::Result<(), TestCaseError> {
    match made {
        Ok(a) => {
            prop_assert_eq!(a.size(), size);
            prop_assert_eq!(a.offsets().len(), size.rows + 1);
            for row in 0..size.rows {
                let (columns, values) = a.row(row);
                prop_assert!(columns.is_sorted_by(|left, right| left < right));
                prop_assert!(columns.iter().all(|&column| (column as usize) < size.cols));
                prop_assert_eq!(columns.len(), values.len());
            }
        }
        Err(
            Error::InvalidStructure { .. }
            | Error::IndexOutOfRange { .. }
            | Error::DuplicateEntry { .. },
        ) => {}
        Err(other) => prop_assert!(false, "unexpected: {}", other),
    }
    Ok(())
}

/// `B^T B + I` with random numbers in `B`, which is symmetric positive definite, and a
/// right-hand side.
fn definite_systems() -> impl Strategy<Value = (Csr<f64>, Vector<f64>)> {
    let sizes = (1usize..40, 1usize..40);
    sizes.prop_flat_map(|(rows, cols)| {
        let b = (matrix(Size::new(rows, cols)), vec(-1.0..1.0, 200 + cols));
        let b = b.prop_map(|(pattern, values)| {
            let values = values[..pattern.nonzeros()].to_vec();
            Csr::with_pattern(pattern.pattern(), values).unwrap()
        });
        let a = b.prop_map(|b| {
            let one = Csr::identity(b.executor(), b.size().cols);
            let square = b.transpose().unwrap().multiply(&b).unwrap();
            square.add(1.0, 1.0, &one).unwrap()
        });
        let column = |values| Vector::from_column(&Executor::reference(), values);
        (a, vec(-1.0..1.0, cols).prop_map(column))
    })
}

/// Every preconditioner that conjugate gradients may use.
fn symmetric_preconditioners() -> impl Iterator<Item = Arc<dyn Factory<f64>>> {
    let names = "jacobi l1-jacobi block-jacobi ssor ic0 isai:spd fsai".split(' ');
    names.map(|name| {
        let component: PreconditionerConfig = name.parse().unwrap();
        component.factory().unwrap().expect("it is not `none`")
    })
}

/// `|b - A x| / |b|`, by plain loops.
fn relative_residual(a: &Csr<f64>, b: &[f64], x: &[f64]) -> f64 {
    let square = |row: usize| {
        let (columns, values) = a.row(row);
        let terms = columns.iter().zip(values);
        let product: f64 = terms
            .map(|(&column, value)| value * x[column as usize])
            .sum();
        (b[row] - product).powi(2)
    };
    let squares: f64 = (0..b.len()).map(square).sum();
    (squares / b.iter().map(|value| value * value).sum::<f64>()).sqrt()
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn definite_systems_are_solved_and_the_residual_is_true((a, b) in definite_systems()) {
        let a = Arc::new(a);
        for factory in symmetric_preconditioners() {
            let solver = Solver::<f64>::new(Cg::default(), a.clone()).unwrap();
            let solver = match solver.preconditioned_by(factory.as_ref()) {
                Ok(solver) => solver.stopping(Stop::relative(1e-10)),
                // An incomplete factorisation need not exist.
                Err(Error::BadPivot { component: "ic0", .. }) => continue,
                Err(error) => panic!("{factory:?}: {error}"),
            };
            let mut x = Vector::zeros_like(&b).unwrap();
            let outcome = solver.solve(&b, &mut x).unwrap();
            prop_assert!(outcome.converged(), "{:?}: {}", factory, outcome);
            let expected = relative_residual(&a, &b.to_vec(), &x.to_vec());
            let difference = (outcome.relative_residual - expected).abs();
            prop_assert!(difference <= 1e-14, "{:?}: {}, not {}", factory, outcome, expected);
        }
    }
}

/// Bits of a product, a dot product and a whole solve with so many threads.
fn bits_on(threads: usize, a: &Csr<f64>, x: &[f64]) -> Vec<u64> {
    let cpu = Executor::cpu_with_threads(threads).unwrap();
    let a = Arc::new(a.copy_to(&cpu).unwrap());
    let x = Vector::from_column(&cpu, x.to_vec());
    let mut results = product(a.as_ref(), &x);
    let mut dot = Scalars::filled(&cpu, 1, 0.0).unwrap();
    x.dot(&x, &mut dot).unwrap();
    results.push(dot.get(0).unwrap());
    let solver = Solver::<f64>::new(Cg::default(), a).unwrap();
    let solver = solver.preconditioned_by(&Jacobi::default()).unwrap();
    let mut solution = Vector::zeros_like(&x).unwrap();
    let outcome = solver.solve(&x, &mut solution).unwrap();
    assert!(outcome.converged(), "{outcome}");
    results.extend(solution.to_vec());
    results.extend(outcome.history);
    results.into_iter().map(f64::to_bits).collect()
}

proptest! {
    #![proptest_config(cases(4))]

    /// Large enough to be cut in pieces, with rows of very different length.
    #[test]
    fn the_number_of_threads_changes_no_bit(
        n in 60_000u32..90_000,
        values in vec(-1.0..1.0, 97),
        strides in vec(1u32..5_000, 3),
        hub in 0u32..60_000,
    ) {
        let value = |k: u32| values[k as usize % values.len()];
        let mut entries: Vec<_> = (0..n).map(|row| (row, row, 40.0 + value(row))).collect();
        for (row, stride) in (0..n).flat_map(|row| strides.iter().map(move |s| (row, s))) {
            let (column, value) = ((row + stride) % n, value(row ^ stride));
            entries.extend([(row, column, value), (column, row, value)]);
        }
        for column in (0..n).step_by(7).filter(|column| *column != hub) {
            let value = 1e-3 * value(column);
            entries.extend([(hub, column, value), (column, hub, value)]);
        }
        let a = triplets(Size::square(n as usize), &entries);
        let x: Vec<f64> = (0..n).map(|row| value(row.wrapping_mul(31))).collect();
        let expected = bits_on(1, &a, &x);
        for threads in [2, 3] {
            prop_assert!(bits_on(threads, &a, &x) == expected, "{} threads", threads);
        }
    }
}
