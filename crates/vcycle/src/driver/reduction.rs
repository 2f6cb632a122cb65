//! Rows and columns with one entry, which are solved by substitution before a method is chosen for the others.

mod elimination;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use elimination::{Elimination, has_single_entries};

use super::entries::norms;
use super::right_hand_side::RightHandSide;
use super::{Solution, System, Wide};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{LinOp, Size};
use crate::matrix::{Csr, Duplicates};
use crate::multigrid::NearNullspace;
use crate::stop::{Outcome, Status, Stop};
use crate::vector::Vector;
use vcycle_core::stop::is_rounding;

/// The rows that are left, and those that are solved before and after them.
///
/// Every row here has its number in the matrix that was given, and is removed together with the column of the same number.
/// Removing one may leave another with a single entry, so triangular parts vanish as a whole.
#[derive(Debug)]
pub(super) struct Reduction<T> {
    a: Arc<Csr<T>>,
    kept: Vec<u32>,
    /// Rows whose other unknowns are known, in the order they are solved in.
    first: Vec<u32>,
    /// Columns that no other row refers to: their unknowns follow from all others, in the reverse order.
    last: Vec<u32>,
    /// Rows and columns of zeros, whose unknowns may have any value.
    free: Vec<u32>,
}

/// A right-hand side for the rows that are left.
#[derive(Debug)]
pub(super) struct Substituted<T: Wide> {
    pub b: Vector<T>,
    /// The unknowns that are known before, and zeros.
    known: Vector<T>,
    norms: Vec<f64>,
    given_norms: Vec<f64>,
}

/// Solves for the rows that are left, if some are substituted, and makes of that the solution of the system that was given.
pub(super) fn around<T: Wide>(
    reduction: Option<&Reduction<T>>,
    given: &System<T>,
    b: &Vector<T>,
    stop: Stop,
    ws: &Workspace,
    solve: impl FnOnce(&Vector<T>, Stop) -> Result<Solution<T>>,
) -> Result<Solution<T>> {
    let Some(reduction) = reduction else {
        return solve(b, stop);
    };
    let part = reduction.right_hand_side(b, ws)?;
    let mut solution = solve(&part.b, part.stop(stop.clone()))?;
    reduction.undo(given, b, part, &stop, &mut solution, ws)?;
    Ok(solution)
}

impl<T: Wide> Reduction<T> {
    /// What can be substituted; none if nothing can. One row is left in any case.
    pub fn find(a: &Arc<Csr<T>>) -> Result<Option<Self>> {
        if !has_single_entries(a) {
            return Ok(None);
        }
        let mut elimination = Elimination::new(a)?;
        elimination.run();
        let Elimination {
            removed,
            first,
            last,
            free,
            ..
        } = elimination;
        let rows = 0..a.size().rows as u32;
        let kept: Vec<u32> = rows.filter(|&row| !removed[row as usize]).collect();
        let is_any = kept.len() < a.size().rows;
        Ok(is_any.then(|| Self {
            a: Arc::clone(a),
            kept,
            first,
            last,
            free,
        }))
    }

    /// Whether there are rows and columns of zeros.
    pub fn has_zeros(&self) -> bool {
        !self.free.is_empty()
    }

    /// What is removed, a sentence each.
    pub fn messages(&self) -> Vec<String> {
        let counted = |count: usize, word: &str| match count {
            1 => format!("1 {word}"),
            _ => format!("{count} {word}s"),
        };
        let sentences = [
            (
                &self.free,
                "singular: ",
                "row",
                "of zeros, and the column too: the unknown may have any value, zero is taken",
            ),
            (&self.first, "", "row", "with one entry: solved first"),
            (&self.last, "", "column", "with one entry: solved last"),
        ];
        let found = sentences.into_iter().filter(|(rows, ..)| !rows.is_empty());
        found
            .map(|(rows, before, word, after)| {
                format!("{before}{} {after}", counted(rows.len(), word))
            })
            .collect()
    }

    /// The system of the rows that are left.
    pub fn system(&self, given: &System<T>) -> Result<System<T>> {
        let near = given.near_nullspace.as_ref();
        let of_rows =
            |vector: &Vec<f64>| self.kept.iter().map(|&row| vector[row as usize]).collect();
        let near =
            near.map(|near| NearNullspace::new(1, near.vectors().iter().map(of_rows).collect()));
        let guess = given.guess.as_ref();
        Ok(System {
            matrix: Arc::new(self.matrix()?).into(),
            near_nullspace: near.transpose()?,
            guess: guess.map(|guess| self.gather(guess)).transpose()?,
            single: given.single,
        })
    }

    fn matrix(&self) -> Result<Csr<T>> {
        let mut places = vec![u32::MAX; self.a.size().cols];
        for (place, &row) in self.kept.iter().enumerate() {
            places[row as usize] = place as u32;
        }
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for &row in &self.kept {
            let (of_row, entries) = self.a.row(row as usize);
            for (&column, &value) in of_row.iter().zip(entries) {
                if places[column as usize] != u32::MAX {
                    columns.push(places[column as usize]);
                    values.push(value);
                }
            }
            offsets.push(columns.len());
        }
        let size = Size::square(self.kept.len());
        Csr::from_arrays(
            self.a.executor(),
            size,
            offsets,
            columns,
            values,
            Duplicates::Refuse,
        )
    }

    /// The rows that are left of a vector.
    pub fn gather(&self, x: &Vector<T>) -> Result<Vector<T>> {
        let (cols, values) = (x.cols(), x.to_vec());
        let rows = self.kept.iter().map(|&row| row as usize * cols);
        let kept = rows.flat_map(|begin| values[begin..begin + cols].iter().copied());
        Vector::from_rows(x.executor(), cols, kept.collect())
    }

    /// Solves the rows that come before the others.
    pub fn right_hand_side(&self, b: &Vector<T>, ws: &Workspace) -> Result<Substituted<T>> {
        let mut known = Vector::zeros_like(b)?;
        let mut x = known.to_vec();
        self.solve_rows(self.first.iter(), &b.to_vec(), &mut x, b.cols());
        known.write(&x)?;
        let mut r = Vector::zeros_like(b)?;
        self.a.residual(b, &known, &mut r, ws)?;
        let left = self.gather(&r)?;
        Ok(Substituted {
            known,
            norms: norms(&left)?,
            given_norms: norms(b)?,
            b: left,
        })
    }

    /// Solves rows for the unknowns of the same number, one after the other. Unknowns that are not known yet are zero.
    fn solve_rows<'r>(
        &self,
        rows: impl Iterator<Item = &'r u32>,
        b: &[T],
        x: &mut [T],
        cols: usize,
    ) {
        for &row in rows {
            let (columns, values) = self.a.row(row as usize);
            for col in 0..cols {
                let (mut sum, mut pivot) = (b[row as usize * cols + col].load(), None);
                for (&column, &value) in columns.iter().zip(values) {
                    match column == row {
                        true => pivot = Some(value.load()),
                        false => sum -= value.load() * x[column as usize * cols + col].load(),
                    }
                }
                let pivot = pivot.expect("such a row has an entry on the diagonal");
                x[row as usize * cols + col] = T::store(sum / pivot);
            }
        }
    }

    /// All unknowns, from those of the rows that are left.
    pub fn expand(&self, b: &Vector<T>, part: &Substituted<T>, x: &Vector<T>) -> Result<Vector<T>> {
        let (cols, mut all) = (b.cols(), part.known.to_vec());
        for (&row, values) in self.kept.iter().zip(x.to_vec().chunks(cols)) {
            all[row as usize * cols..][..cols].copy_from_slice(values);
        }
        self.solve_rows(self.last.iter().rev(), &b.to_vec(), &mut all, cols);
        Vector::from_rows(b.executor(), cols, all)
    }

    /// Makes of a solution for the rows that are left that of the system that was given, with its residual.
    pub fn undo(
        &self,
        given: &System<T>,
        b: &Vector<T>,
        part: Substituted<T>,
        stop: &Stop,
        solution: &mut Solution<T>,
        ws: &Workspace,
    ) -> Result<()> {
        solution.x = self.expand(b, &part, &solution.x)?;
        let outcome = &mut solution.outcome;
        let ratio = part.ratios().fold(0.0, f64::max);
        outcome.history.iter_mut().for_each(|norm| *norm *= ratio);
        let given_norms = part.given_norms;
        let whole = RightHandSide::in_place_of(b, part.b, self.norms_of_zero_rows(b))?;
        whole.judge(given, &mut solution.x, stop, outcome, ws)?;
        if !stop.trust_recurrence && stop.criteria.is_empty() {
            check_columns::<T>(outcome, &given_norms, stop);
        }
        Ok(())
    }

    /// The norm of every column of a right-hand side in the rows of zeros.
    fn norms_of_zero_rows(&self, b: &Vector<T>) -> Vec<f64> {
        let (cols, b) = (b.cols(), b.to_vec());
        let norm = |col: usize| {
            let rows = self.free.iter().map(|&row| b[row as usize * cols + col]);
            rows.map(|value| value.to_c64().norm_sqr())
                .sum::<f64>()
                .sqrt()
        };
        (0..cols).map(norm).collect()
    }
}

impl<T: Wide> Substituted<T> {
    /// The criterion for the rows that are left.
    pub fn stop(&self, mut stop: Stop) -> Stop {
        let factor = self
            .ratios()
            .fold(1.0, |least: f64, ratio| match ratio > 0.0 {
                true => least.min(ratio.recip()),
                false => least,
            });
        stop.rhs_tolerance = stop.rhs_tolerance.map(|tolerance| factor * tolerance);
        stop
    }

    /// The norm of every column beside the one that was given.
    fn ratios(&self) -> impl Iterator<Item = f64> {
        let norms = self.norms.iter().zip(&self.given_norms);
        norms.map(|(left, given)| if *given > 0.0 { left / given } else { 1.0 })
    }
}

/// Makes failures of columns that the residual of the given system does not show to have converged.
fn check_columns<T: Wide>(outcome: &mut Outcome, norms: &[f64], stop: &Stop) {
    let initial = outcome.history.first().copied().unwrap_or(1.0);
    for (column, &norm) in outcome.columns.iter_mut().zip(norms) {
        let residual = column.relative_residual * if norm > 0.0 { norm } else { 1.0 };
        let target = stop.target(norm, initial * norm);
        let is_met = target.is_none_or(|target| residual <= target);
        if column.status == Status::Converged && !is_met {
            let level = column.condition * norm;
            column.status = match is_rounding::<T>(residual, level, norm) {
                _ if !residual.is_finite() => Status::NonFinite,
                true => Status::AccuracyLimit,
                false => Status::Stagnated,
            };
        }
    }
    outcome.summarise();
}
