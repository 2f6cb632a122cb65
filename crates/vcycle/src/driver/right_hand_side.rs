//! What a solve was asked for: residuals are those of the right-hand side as it was given and of the solution as it is
//! returned. Where squares of its entries overflow or vanish it is a multiple that is solved for.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::chain::ILL_CONDITIONED;
use super::entries::{largest, norms, power_of_two_below};
use super::inconsistent::{least_squares, norms_of_terms, outside_range, replace_columns};
use super::projection::Projection;
use super::{System, SystemMatrix, Wide};
use crate::configuration::Nullspace;
use crate::error::Result;
use crate::executor::Workspace;
use crate::scalar::Scalar;
use crate::solver::rounding_levels;
use crate::stop::{ColumnOutcome, Outcome, Status, Stop};
use crate::vector::Vector;
use vcycle_core::stop::is_rounding;

/// From this part of the residual on it is the component outside the range that keeps the residual above the tolerance.
const DECISIVE: f64 = 0.3;

/// Squares of larger and smaller norms, and their products, may not be numbers.
const ORDINARY: RangeInclusive<f64> = 1e-140..=1e140;

/// Up to so many rows the terms of `A x` are added.
const FEW: usize = 100;
/// The part of the right-hand side that rounding of `A x` has to be for a small residual to be an accident.
const ACCIDENT: f64 = 0.1;

/// A right-hand side as it was given, and what iterations solve for.
#[derive(Debug)]
pub struct RightHandSide<'b, T: Scalar> {
    /// Multiplied by the factors, if there are any.
    given: Cow<'b, Vector<T>>,
    norms: Vec<f64>,
    /// Powers of two for the columns, where the norm of one is not ordinary.
    factors: Option<Vec<f64>>,
    /// Of a singular matrix the part in its range, and of every column the norm of the rest.
    consistent: Option<(Vector<T>, Vec<f64>)>,
    /// Whether the caller has named the null space: then the part in the range is all that was asked for.
    named: bool,
}

/// The norms of a column: what was asked for and what was solved for, and so on.
struct Sizes {
    asked: f64,
    solved: f64,
    removed: f64,
    residual: f64,
    /// Of rounding.
    level: f64,
    target: f64,
}

impl<'b, T: Wide> RightHandSide<'b, T> {
    /// Takes out of `b` what has no solution, where the null space is known; and a message on that. Ranks call it together.
    ///
    /// # Errors
    /// When memory is short, a device or another rank fails.
    pub fn new(
        b: &'b Vector<T>,
        nullspace: Option<&Projection>,
        option: Nullspace,
    ) -> Result<(Self, Option<String>)> {
        let (mut given, mut sizes) = (Cow::Borrowed(b), norms(b)?);
        let factors = factors(b, &sizes)?;
        if let Some(factors) = &factors {
            multiply_columns(given.to_mut(), |place| factors[place])?;
            sizes = norms(&given)?;
        }
        let found = nullspace.map(|one| one.consistent(&given)).transpose()?;
        let (consistent, message) = found.map(|(b, removed, said)| ((b, removed), said)).unzip();
        let made = Self {
            given,
            norms: sizes,
            factors,
            consistent,
            named: option != Nullspace::Auto,
        };
        Ok((made, message))
    }

    /// What was asked for where another right-hand side was solved for, and of every column the norm of what has no solution.
    ///
    /// # Errors
    /// When a device fails.
    pub(super) fn in_place_of(
        given: &'b Vector<T>,
        solved: Vector<T>,
        removed: Vec<f64>,
    ) -> Result<Self> {
        Ok(Self {
            given: Cow::Borrowed(given),
            norms: norms(given)?,
            factors: None,
            consistent: Some((solved, removed)),
            named: false,
        })
    }

    /// What iterations solve for.
    pub fn solvable(&self) -> &Vector<T> {
        self.consistent.as_ref().map_or(&self.given, |(b, _)| b)
    }

    /// The criterion for [`solvable`](Self::solvable).
    pub fn stop(&self, mut stop: Stop) -> Stop {
        let factors = self.factors.iter().flatten().copied();
        let least = factors.reduce(f64::min).unwrap_or(1.0);
        stop.absolute_tolerance = stop.absolute_tolerance.map(|one| least * one);
        stop
    }

    /// Where iterations start for a guess of the solution.
    ///
    /// # Errors
    /// When memory is short or a device fails.
    pub fn guess(&self, mut x: Vector<T>) -> Result<Vector<T>> {
        if let Some(factors) = &self.factors {
            multiply_columns(&mut x, |place| factors[place])?;
        }
        Ok(x)
    }

    /// What was asked for.
    pub(super) fn asked(&self) -> &Vector<T> {
        if self.named {
            self.solvable()
        } else {
            &self.given
        }
    }

    /// Makes of the solution and the outcome of iterations for [`solvable`](Self::solvable) those of what was asked for, with
    /// the residual of `x` as it is returned: rounded, and a least-squares solution where there is no other. Ranks call it
    /// together.
    ///
    /// # Errors
    /// When memory is short, a device or another rank fails.
    pub fn judge(
        &self,
        system: &System<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        outcome: &mut Outcome,
        ws: &Workspace,
    ) -> Result<()> {
        let asked = norms(self.asked())?;
        if !stop.trust_recurrence && stop.criteria.is_empty() {
            doubt(&system.matrix, x, &asked, outcome, ws)?;
        }
        let first = outcome.history.first().copied().unwrap_or(1.0);
        let target = |&norm: &f64| stop.target(norm, first * norm).unwrap_or(0.0);
        let targets: Vec<_> = asked.iter().map(target).collect();
        let is_changed = self.look_for_proof(system, x, stop, &targets, outcome, ws)?;
        if self.consistent.is_some() || system.single || is_changed {
            self.correct(
                system,
                x,
                (&asked, &targets),
                stop.trust_recurrence,
                outcome,
                ws,
            )?;
        }
        if let Some(factors) = &self.factors {
            multiply_columns(x, |place| factors[place].recip())?;
            outcome.check_finite(&largest(x)?);
        }
        Ok(())
    }

    /// Sets numbers and statuses by the residual of `x` as it is returned.
    fn correct(
        &self,
        system: &System<T>,
        x: &mut Vector<T>,
        (asked, targets): (&[f64], &[f64]),
        trust_recurrence: bool,
        outcome: &mut Outcome,
        ws: &Workspace,
    ) -> Result<()> {
        if system.single {
            T::round_to_single(x)?;
        }
        let (a, b) = (system.matrix.operator(), self.asked());
        let mut r = ws.vector_like(b)?;
        a.residual(b, x, &mut r, ws)?;
        let (residuals, levels) = (norms(&r)?, rounding_levels::<T>(a, b, x, ws)?);
        let solved = norms(self.solvable())?;
        for (place, column) in outcome.columns.iter_mut().enumerate() {
            let sizes = Sizes {
                asked: asked[place],
                solved: solved[place],
                removed: self.removed(place),
                residual: residuals[place],
                level: levels[place],
                target: targets[place],
            };
            if let Some((_, removed)) = &self.consistent {
                let known = relative(removed[place], self.norms[place]);
                column.outside_range = column.outside_range.max(known);
            }
            sizes.correct(column);
            if !trust_recurrence {
                sizes.correct_status::<T>(system.single, column);
            }
        }
        outcome.summarise();
        Ok(())
    }

    /// The norm of what was taken out of a column although it was asked for.
    fn removed(&self, place: usize) -> f64 {
        let consistent = self.consistent.as_ref().filter(|_| !self.named);
        consistent.map_or(0.0, |(_, removed)| removed[place])
    }

    /// Looks for a proof that columns that failed have no solution, which least squares may find. Returns whether some of them
    /// have another outcome now.
    fn look_for_proof(
        &self,
        system: &System<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        targets: &[f64],
        outcome: &mut Outcome,
        ws: &Workspace,
    ) -> Result<bool> {
        let (a, b) = (&system.matrix, self.asked());
        let may_go_on =
            |column: &ColumnOutcome| is_doubtful(column) && column.iterations < stop.iterations;
        let mut is_changed = false;
        if outcome.columns.iter().any(may_go_on)
            && let Some(best) = least_squares(a, b, stop, ws)?
        {
            let changed = self.note_proofs(a, &best, targets, outcome, ws)?;
            is_changed = changed.contains(&true);
            replace_columns(x, &best, &changed)?;
        }
        if outcome.columns.iter().any(is_doubtful) {
            let changed = self.note_proofs(a, x, targets, outcome, ws)?;
            is_changed |= changed.contains(&true);
        }
        Ok(is_changed)
    }

    /// Which of the columns that failed `x` proves to have no solution, or solves although the matrix is singular.
    fn note_proofs(
        &self,
        a: &SystemMatrix<T>,
        x: &Vector<T>,
        targets: &[f64],
        outcome: &mut Outcome,
        ws: &Workspace,
    ) -> Result<Vec<bool>> {
        let b = self.asked();
        let mut r = ws.vector_like(b)?;
        a.operator().residual(b, x, &mut r, ws)?;
        let (found, residuals) = (outside_range(a, b, &r, x, ws)?, norms(&r)?);
        let columns = &mut outcome.columns;
        let is_outside = |place: usize| found[place] > targets[place];
        // Only of a singular matrix: a regular one is solved as the caller wants it solved.
        let is_singular = (0..targets.len()).any(is_outside);
        let mut changed = vec![false; targets.len()];
        for (place, column) in columns
            .iter_mut()
            .enumerate()
            .filter(|(_, c)| is_doubtful(c))
        {
            let is_solved = residuals[place] <= targets[place];
            changed[place] = is_singular && (is_solved || is_outside(place));
            if changed[place] && is_solved {
                column.status = Status::Converged;
            } else if changed[place] {
                column.status = Status::Inconsistent;
                column.outside_range = relative(found[place], self.norms[place]);
            }
        }
        Ok(changed)
    }
}

/// Where rounding of `A x` is as large as the right-hand side, a small residual is an accident: singular matrices have that.
/// Random signs may hide it in systems of a few rows, whose terms are added.
fn doubt<T: Wide>(
    a: &SystemMatrix<T>,
    x: &Vector<T>,
    asked: &[f64],
    outcome: &mut Outcome,
    ws: &Workspace,
) -> Result<()> {
    let converged = |column: &ColumnOutcome| column.status == Status::Converged;
    if !outcome.columns.iter().any(converged) {
        return Ok(());
    }
    if a.total_rows() <= FEW && !a.executor().is_device() {
        let columns = outcome.columns.iter_mut().zip(asked);
        for ((column, &asked), terms) in columns.zip(norms_of_terms(a, x, ws)?) {
            column.condition = column.condition.max(relative(terms, asked));
        }
    }
    for column in outcome
        .columns
        .iter_mut()
        .filter(|column| converged(column))
    {
        if column.condition * f64::EPSILON > ACCIDENT {
            column.status = Status::AccuracyLimit;
        }
    }
    outcome.summarise();
    Ok(())
}

/// Whether a column has failed, as one without a solution does. Where `x` is huge everything is rounding.
fn is_doubtful(column: &ColumnOutcome) -> bool {
    match column.status {
        Status::Converged | Status::Inconsistent | Status::TimeLimit | Status::Interrupted => false,
        Status::AccuracyLimit => column.condition > ILL_CONDITIONED,
        Status::IterationLimit
        | Status::Stagnated
        | Status::Diverged
        | Status::NonFinite
        | Status::Indefinite(_)
        | Status::Breakdown
        | _ => true,
    }
}

impl Sizes {
    /// Sets the numbers of a column.
    fn correct(&self, column: &mut ColumnOutcome) {
        let recurrence = (column.recurrence_residual * self.solved).hypot(self.removed);
        column.relative_residual = relative(self.residual, self.asked);
        column.recurrence_residual = match column.status == Status::Inconsistent {
            true => column.relative_residual,
            false => relative(recurrence, self.asked),
        };
        column.condition = relative(self.level, self.asked);
        column.backward_error = match self.residual > 0.0 {
            true => self.residual / self.level,
            false => self.residual,
        };
    }

    /// Sets the status of a column that has converged as far as iterations know.
    fn correct_status<T: Scalar>(&self, single: bool, column: &mut ColumnOutcome) {
        let ended = matches!(column.status, Status::Converged | Status::AccuracyLimit);
        if !ended || self.residual <= self.target {
            return;
        }
        let is_in_range = is_rounding::<T>(self.removed, self.level, self.asked);
        if self.removed > DECISIVE * self.residual && !is_in_range {
            column.status = Status::Inconsistent;
        } else if single {
            column.status = match is_rounding::<f32>(self.residual, self.level, self.asked) {
                true => Status::AccuracyLimit,
                false => Status::Stagnated,
            };
        }
    }
}

/// What makes ordinary the columns whose norms are not; none if all are.
fn factors<T: Wide>(b: &Vector<T>, norms: &[f64]) -> Result<Option<Vec<f64>>> {
    if norms.iter().all(|norm| ORDINARY.contains(norm)) {
        return Ok(None);
    }
    let factor = |largest: f64| match largest > 0.0 && largest < f64::INFINITY {
        true => power_of_two_below(largest).recip(),
        false => 1.0,
    };
    let factors: Vec<f64> = largest(b)?.into_iter().map(factor).collect();
    Ok(factors
        .iter()
        .any(|&factor| factor != 1.0)
        .then_some(factors))
}

/// Multiplies every column by a factor.
fn multiply_columns<T: Wide>(x: &mut Vector<T>, factor: impl Fn(usize) -> f64) -> Result<()> {
    let (cols, values) = (x.cols(), x.to_vec().into_iter().enumerate());
    let product = |(place, value): (usize, T)| T::from_c64(value.to_c64() * factor(place % cols));
    x.write(&values.map(product).collect::<Vec<_>>())
}

fn relative(norm: f64, to: f64) -> f64 {
    if to > 0.0 { norm / to } else { norm }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{neumann, solve, solved, system, triplets};
    use super::*;
    use crate::executor::Executor;

    #[test]
    fn squares_of_entries_need_not_be_numbers() {
        let line = |entry: f64| {
            let near = |row: usize| [(row, row + 1, -entry), (row + 1, row, -entry)];
            let mut entries: Vec<_> = (0..20).map(|row| (row, row, 2.0 * entry)).collect();
            entries.extend((0..19).flat_map(near));
            system(triplets(20, &entries))
        };
        let sizes = [1.0, 1e-170, 5e-324, 1e200, 0.0];
        let b = (0..20).flat_map(|_| sizes).collect();
        let b = Vector::from_rows(&Executor::cpu(), sizes.len(), b).unwrap();
        for options in [
            "",
            "solver=cg preconditioner=none",
            "solver=gmres preconditioner=amg",
        ] {
            let solution = solved(options, &line(1.0), &b);
            let x = solution.x.to_vec();
            for (column, size) in sizes.iter().enumerate() {
                let found = x[10 * sizes.len() + column];
                assert!(
                    (found - 55.0 * size).abs() <= 1e-6 * found.abs(),
                    "{options}: {x:?}"
                );
            }
            let guess = solution.x.clone();
            let again = solved(options, &line(1.0).with_guess(guess), &b);
            assert_eq!(again.outcome.iterations, 0);
        }
        for (entry, size) in [(1e-300, 1e-300), (1e300, 1e300), (1e-40, 1e9), (1e200, 1.0)] {
            let b = Vector::from_column(&Executor::cpu(), vec![size; 20]);
            let absolute = format!("atol={:e} rtol=0", 1e-9 * size);
            for options in ["", "solver=cg preconditioner=none", &absolute] {
                let x = solved(options, &line(entry), &b).x.to_vec()[10];
                let expected = 55.0 * size / entry;
                assert!(
                    (x / expected - 1.0).abs() < 1e-6,
                    "{options}: {x}, {expected}"
                );
            }
        }
        let b = Vector::from_column(&Executor::cpu(), vec![1e300; 20]);
        let found = solve("solver=cg preconditioner=none", &line(1e-300), &b).unwrap();
        assert!(!found.outcome.converged(), "{}", found.outcome);
    }

    #[test]
    fn a_small_residual_of_a_huge_solution_is_an_accident() {
        // Of rank one but for rounding.
        let rows = [
            [5.877997303875788e-1, -8.1960464782486e-1],
            [-7.812805752716038e-1, 1.0893866697177006],
        ];
        let entry = |place: usize| (place / 2, place % 2, rows[place / 2][place % 2]);
        let a = system(triplets(2, &(0..4).map(entry).collect::<Vec<_>>()));
        let b = Vector::from_column(&Executor::cpu(), vec![1.0, 0.0]);
        let outcome = solve("", &a, &b).unwrap().outcome;
        assert!(!outcome.converged(), "{outcome}");
    }

    #[test]
    fn a_part_outside_the_range_is_found_in_any_size() {
        let a = system(neumann(3));
        for size in [1.0, 1e-200, 1e200] {
            let b = Vector::from_column(&Executor::cpu(), vec![size; 9]);
            let outcome = solve("", &a, &b).unwrap().outcome;
            assert_eq!(outcome.status, Status::Inconsistent, "{outcome}");
            assert!((outcome.outside_range - 1.0).abs() < 1e-12, "{outcome}");
        }
    }
}
