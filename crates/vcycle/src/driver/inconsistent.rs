//! The proof that a system has no solution, and its least-squares solution.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{SystemMatrix, Wide};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Size, Transpose};
use crate::scalar::{Field, Real, c64};
use crate::solver::{Cg, Solver};
use crate::stop::Stop;
use crate::vector::{Coefficient, Scalars, Vector};

/// A row is solved whose residual is at most this part of its terms.
const SOLVED: f64 = 1e-13;
/// A sum is zero whose terms cancel to this part of their moduli.
const CANCELS: f64 = 1e-13;
/// The same of all sums together, before a closer look.
const NEARLY: f64 = 1e-6;
/// Sums of larger and smaller terms may have overflowed or vanished.
const NUMBERS: RangeInclusive<f64> = 1e-250..=1e250;
/// Least squares take the square of the condition number: they are for systems of at most so many rows...
const ROWS: usize = 20_000;
/// ... and so many iterations, twice: the second time to refine.
const ITERATIONS: usize = 2_000;
/// What both leave of the gradient is rounding errors.
const STEP: f64 = 1e-8;
/// The part of the gradient that the first has to leave at most for the second to be worth it.
const WORTH_A_STEP: f64 = 1e-3;

/// For every column the norm of a component of `b` that is outside the range of `A`, if the residual of `x` proves that
/// there is one; zero if it does not. Ranks call it together.
///
/// Nothing is proved where a process has no memory for it: the solution is there without. Devices transpose the matrix for it.
///
/// `A x = b` has no solution if there is a `y` with `A^H y = 0` and `y^H b` other than zero (Fredholm's alternative), as the
/// residual of a least-squares solution is. Every entry of `A^H y` has to cancel by itself, so how rows and columns are
/// scaled does not count, and a regular matrix passes only if it is singular but for rounding.
pub(super) fn outside_range<T: Wide>(
    a: &SystemMatrix<T>,
    b: &Vector<T>,
    residual: &Vector<T>,
    x: &Vector<T>,
    ws: &Workspace,
) -> Result<Vec<f64>> {
    match proved_outside(a, b, residual, x, ws) {
        Err(error) if error.is_out_of_memory() && a.shared().is_none() => Ok(vec![0.0; b.cols()]),
        found => found,
    }
}

fn proved_outside<T: Wide>(
    a: &SystemMatrix<T>,
    b: &Vector<T>,
    residual: &Vector<T>,
    x: &Vector<T>,
    ws: &Workspace,
) -> Result<Vec<f64>> {
    let nothing = vec![0.0; b.cols()];
    if a.total_rows() > ROWS && !nearly_cancels(a, residual, ws)? {
        return Ok(nothing);
    }
    let mut y = residual.clone();
    let moduli = entry_moduli(a)?;
    drop_solved_rows(&moduli, b, x, &mut y, ws)?;
    let sums = adjoint(a, &y, ws)?.to_vec();
    let terms = adjoint(&moduli, &moduli_of(&y)?, ws)?.to_vec();
    let mut cancels = vec![true; b.cols()];
    for (place, (sum, terms)) in sums.iter().zip(&terms).enumerate() {
        let terms = size(terms);
        let is_number = terms == 0.0 || NUMBERS.contains(&terms);
        cancels[place % b.cols()] &= is_number && size(sum) <= CANCELS * terms;
    }
    let mut along = Scalars::filled(b.executor(), b.cols(), T::Arith::from_f64(0.0))?;
    y.dot(b, &mut along)?;
    let mut parts = nothing;
    for (place, norm) in y.norms()?.into_iter().enumerate() {
        let (along, norm) = (along.host()?[place].modulus().to_f64(), norm.to_f64());
        if !a.any(!cancels[place])? && norm > 0.0 {
            parts[place] = along / norm;
        }
    }
    Ok(parts)
}

/// Whether `A^H y` is small, as it is for most residuals of least squares: a test without the memory for another matrix.
fn nearly_cancels<T: Wide>(a: &SystemMatrix<T>, y: &Vector<T>, ws: &Workspace) -> Result<bool> {
    let (mut flipped, mut product) = (ws.vector_like(y)?, ws.vector_like(y)?);
    let mut adjoint_norms = |y: &Vector<T>| {
        let conjugate = Transpose::Conjugate;
        a.operator()
            .apply_transposed(conjugate, y, &mut product, ws)?;
        product.norms()
    };
    flipped.flip_signs(y)?;
    let (sums, terms) = (adjoint_norms(y)?, adjoint_norms(&flipped)?);
    let mut both = sums.into_iter().zip(terms);
    Ok(both.any(|(sum, terms)| sum.to_f64() <= NEARLY * terms.to_f64()))
}

/// Makes the residuals of solved rows zero.
fn drop_solved_rows<T: Wide>(
    moduli: &SystemMatrix<T>,
    b: &Vector<T>,
    x: &Vector<T>,
    y: &mut Vector<T>,
    ws: &Workspace,
) -> Result<()> {
    let mut terms = moduli_of(b)?;
    add_terms(moduli, x, &mut terms, ws)?;
    let mut left = y.to_vec();
    for (value, terms) in left.iter_mut().zip(&terms.to_vec()) {
        if size(value) <= SOLVED * size(terms) {
            *value = T::default();
        }
    }
    y.write(&left)
}

/// The norm of `|A| |x|` for every column, the size of the terms of `A x`.
pub(super) fn norms_of_terms<T: Wide>(
    a: &SystemMatrix<T>,
    x: &Vector<T>,
    ws: &Workspace,
) -> Result<Vec<f64>> {
    let mut terms = Vector::zeros_like(x)?;
    add_terms(&entry_moduli(a)?, x, &mut terms, ws)?;
    Ok(terms.norms()?.into_iter().map(Real::to_f64).collect())
}

/// Adds `|A| |x|`.
fn add_terms<T: Wide>(
    moduli: &SystemMatrix<T>,
    x: &Vector<T>,
    terms: &mut Vector<T>,
    ws: &Workspace,
) -> Result<()> {
    let (a, x, one) = (moduli.operator(), moduli_of(x)?, Coefficient::one());
    a.apply_advanced(one, &x, Coefficient::one(), terms, ws)
}

/// The least-squares solution of least norm, as far as conjugate gradients find it; none where that takes too long.
/// Ranks call it together.
pub(super) fn least_squares<T: Wide>(
    a: &SystemMatrix<T>,
    b: &Vector<T>,
    stop: &Stop,
    ws: &Workspace,
) -> Result<Option<Vector<T>>> {
    let rows = a.total_rows();
    if rows > ROWS {
        return Ok(None);
    }
    let _stage = ws.stage("least squares", 0);
    let iterations = ITERATIONS.min(4 * rows + 100).min(stop.iterations);
    let mut step = Stop::relative(STEP).max_iterations(iterations);
    step.time = stop.time.map(|time| time / 2);
    let solver = Solver::new(Cg::default(), Arc::new(NormalMatrix(a.clone())))?.stopping(step);
    let improved = |x: &Vector<T>, gradient: &Vector<T>| -> Result<_> {
        let (mut next, mut r) = (Vector::zeros_like(b)?, Vector::zeros_like(b)?);
        solver.apply(gradient, &mut next, ws)?;
        next.axpy(Coefficient::one(), x)?;
        a.operator().residual(b, &next, &mut r, ws)?;
        Ok((next, adjoint(a, &r, ws)?))
    };
    let before = adjoint(a, b, ws)?;
    let (mut x, left) = improved(&Vector::zeros_like(b)?, &before)?;
    if !smaller(&left, &before, WORTH_A_STEP)?.contains(&true) {
        return Ok(None);
    }
    let (next, after) = improved(&x, &left)?;
    // A step from rounding errors may follow the null space.
    replace_columns(&mut x, &next, &smaller(&after, &left, 1.0)?)?;
    Ok(Some(x))
}

/// Which columns are at most this part of others.
fn smaller<T: Wide>(x: &Vector<T>, than: &Vector<T>, part: f64) -> Result<Vec<bool>> {
    let both = x.norms()?.into_iter().zip(than.norms()?);
    let is_smaller = both.map(|(x, than)| x.to_f64() <= part * than.to_f64());
    Ok(is_smaller.collect())
}

/// Replaces some columns of `x`.
pub(super) fn replace_columns<T: Wide>(
    x: &mut Vector<T>,
    by: &Vector<T>,
    which: &[bool],
) -> Result<()> {
    let mut values = x.to_vec();
    for (place, (value, by)) in values.iter_mut().zip(by.to_vec()).enumerate() {
        if which[place % which.len()] {
            *value = by;
        }
    }
    x.write(&values)
}

/// `A^H y`.
fn adjoint<T: Wide>(a: &SystemMatrix<T>, y: &Vector<T>, ws: &Workspace) -> Result<Vector<T>> {
    let mut product = Vector::zeros_like(y)?;
    let conjugate = Transpose::Conjugate;
    a.operator()
        .apply_transposed(conjugate, y, &mut product, ws)?;
    Ok(product)
}

/// The moduli of the entries, at the same places.
fn entry_moduli<T: Wide>(a: &SystemMatrix<T>) -> Result<SystemMatrix<T>> {
    a.with_values(moduli(match a {
        SystemMatrix::Whole(a) => a.values(),
        SystemMatrix::Shared(a) => a.local().values(),
    }))
}

fn moduli_of<T: Wide>(x: &Vector<T>) -> Result<Vector<T>> {
    Vector::from_rows(x.executor(), x.cols(), moduli(&x.to_vec()))
}

/// The moduli as numbers of the same type.
fn moduli<T: Wide>(values: &[T]) -> Vec<T> {
    let modulus = |value| T::from_c64(c64::new(size(value), 0.0));
    values.iter().map(modulus).collect()
}

fn size<T: Wide>(value: &T) -> f64 {
    value.to_c64().modulus()
}

/// `A^H A`.
#[derive(Debug)]
struct NormalMatrix<T: Wide>(SystemMatrix<T>);

impl<T: Wide> LinOp<T> for NormalMatrix<T> {
    fn size(&self) -> Size {
        self.0.size()
    }

    fn executor(&self) -> &Executor {
        self.0.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let mut product = ws.vector_like::<T, T>(x)?;
        self.0.operator().apply(x, &mut product, ws)?;
        let conjugate = Transpose::Conjugate;
        self.0
            .operator()
            .apply_transposed(conjugate, &product, y, ws)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        assert_has, config, cycle, neumann, solve, solved, system, triplets,
    };
    use super::super::{Solution, System, solve_system};
    use super::*;
    use crate::communicator::threads;
    use crate::matrix::{Distributed, Partition};
    use crate::stop::Status;

    fn of_column(b: &[f64]) -> Vector<f64> {
        Vector::from_column(&Executor::cpu(), b.to_vec())
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-12;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(near),
            "{found:?}"
        );
    }

    /// That nothing solves it, and the least-squares solution.
    fn assert_inconsistent(solution: &Solution<f64>, outside: f64, x: &[f64]) {
        let outcome = &solution.outcome;
        assert_eq!(outcome.status, Status::Inconsistent, "{outcome}");
        assert_near(
            &[outcome.outside_range, outcome.relative_residual],
            &[outside; 2],
        );
        assert_near(&solution.x.to_vec(), x);
    }

    #[test]
    fn small_singular_systems_are_inconsistent_or_solved() {
        let half = 0.5f64.sqrt();
        let ones = [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0)];
        let ones = system(triplets(2, &ones));
        let zero = system(triplets(1, &[(0, 0, 0.0)]));
        let jordan = system(triplets(2, &[(0, 1, 2.0)]));
        for options in [
            "",
            "solver=gmres preconditioner=none",
            "solver=minres preconditioner=none",
        ] {
            let found = |a: &System, b: &[f64]| solve(options, a, &of_column(b)).unwrap();
            assert_inconsistent(&found(&ones, &[1.0, 0.0]), half, &[0.25; 2]);
            assert_inconsistent(&found(&zero, &[3.0]), 1.0, &[0.0]);
            let x = solved(options, &ones, &of_column(&[2.0, 2.0])).x.to_vec();
            assert_near(&[x[0] + x[1]], &[2.0]);
        }
        let found = solve("", &jordan, &of_column(&[1.0, 1.0])).unwrap();
        assert_inconsistent(&found, half, &[0.0, 0.5]);
        let messages = solve("", &zero, &of_column(&[1.0])).unwrap().messages;
        assert_has(messages.concat(), "singular: 1 row of zeros");
    }

    #[test]
    fn how_rows_and_columns_are_scaled_does_not_make_a_system_inconsistent() {
        let a = system(triplets(
            3,
            &[(0, 0, 1.0), (1, 1, 1e-20), (2, 2, 1.0), (2, 0, 1e9)],
        ));
        for options in ["", "solver=gmres preconditioner=none"] {
            let found = solve(options, &a, &of_column(&[1.0, 1.0, 2.0])).unwrap();
            assert_ne!(
                found.outcome.status,
                Status::Inconsistent,
                "{}",
                found.outcome
            );
        }
    }

    #[test]
    fn sums_that_overflow_prove_nothing() {
        for size in [1e300, 1e-300] {
            let a = system(triplets(2, &[(0, 0, size), (1, 1, -size)]));
            let found = solve("solver=ir rtol=0", &a, &of_column(&[size, size])).unwrap();
            let status = found.outcome.status;
            assert_ne!(status, Status::Inconsistent, "{}", found.outcome);
        }
    }

    #[test]
    fn columns_and_ranks_are_told_apart() {
        // The matrix of a path with an edge that is missing, which no null space shows.
        let mut whole = cycle(7);
        whole.values_mut()[3] = 0.0;
        let config = config("solver=gmres preconditioner=none");
        let columns = |row: u64| [1.0, f64::from(u8::from(row != 3))];
        let found = threads::run(3, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let rows = Partition::even(7, 1, 3);
            let own = rows.range(team.rank());
            let b = Vector::from_rows(&rank, 2, own.flat_map(columns).collect())?;
            let a = Distributed::part_of(&rank, &whole, rows)?;
            let solved = solve_system(&config, &System::new(Arc::new(a)), &b, &Workspace::new())?;
            Ok(solved.outcome.columns)
        });
        let found = &found.unwrap()[0];
        let statuses = found.iter().map(|column| column.status);
        assert_eq!(
            Vec::from_iter(statuses),
            [Status::Inconsistent, Status::Converged]
        );
        assert_near(&[found[0].outside_range], &[7f64.sqrt().recip()]);
    }

    #[test]
    fn a_null_space_that_is_not_looked_for_is_proved_by_least_squares() {
        let a = system(neumann(8));
        let b: Vec<f64> = (0..64).map(|row| f64::from(row % 5)).collect();
        let expected = solve("", &a, &of_column(&b)).unwrap();
        let found = solve("nullspace=none", &a, &of_column(&b)).unwrap();
        assert_inconsistent(&found, expected.outcome.outside_range, &expected.x.to_vec());
    }

    #[test]
    fn a_hilbert_matrix_is_regular() {
        let entry = |place: usize| {
            (
                place / 9,
                place % 9,
                1.0 / (place / 9 + place % 9 + 1) as f64,
            )
        };
        let a = system(triplets(9, &(0..81).map(entry).collect::<Vec<_>>()));
        for options in [
            "",
            "solver=gmres preconditioner=none",
            "solver=cg preconditioner=none",
        ] {
            let b = of_column(&[1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0]);
            let found = solve(options, &a, &b).unwrap().outcome;
            assert_ne!(found.status, Status::Inconsistent, "{found}");
        }
    }
}
