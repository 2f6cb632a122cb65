//! Singular systems: the null space is removed from the right-hand side and from the solution.

use std::sync::Arc;

use super::SystemMatrix;
use super::modes::{VanishingSum, annihilated, orthonormal, take_out};
use crate::communicator::Communicator;
use crate::configuration::Nullspace;
use crate::error::{ConfigError, Result};
use crate::matrix::{Csr, Distributed};
use crate::multigrid::NearNullspace;
use crate::scalar::{Field, Real, Scalar, c64};
use crate::vector::{Coefficient, Scalars, Vector};

/// A row or column sums to zero if its sum is less than this, relative to the sum of its moduli.
const ZERO_SUM: f64 = 1e-11;
/// Sums larger than this part of their moduli, all with one sign, are not made of rounding.
const SHIFT: f64 = 1e-15;
/// What is left of a right-hand side is rounding errors below this, relative to all of it.
const NOTHING_LEFT: f64 = 1e-13;

/// Removes the null space of a singular matrix from vectors.
///
/// Of a matrix that ranks share the constants are looked for alone.
///
/// ```
/// use vcycle::{config::{Nullspace, Projection}, executor::Executor, linop::Size, matrix::{Csr, Duplicates},
///              vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Csr::from_arrays(
///     &cpu, Size::square(2), vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, -1.0, -1.0, 1.0],
///     Duplicates::Refuse,
/// )?;
/// let projection = Projection::new(Nullspace::Auto, &a, None)?.expect("constants");
/// let mut x = Vector::from_column(&cpu, vec![3.0, 1.0]);
/// projection.project(&mut x)?;
/// assert_eq!(x.to_vec(), [1.0, -1.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// For every row the part of the matrix it belongs to, or [`KEPT`].
    parts: Vec<u32>,
    /// Rows of each part, on all ranks.
    sizes: Vec<f64>,
    /// The ranks that share the rows.
    team: Option<Arc<dyn Communicator>>,
    /// Vectors of the near-nullspace that are annihilated.
    given: usize,
    /// An orthonormal basis of these without their constants.
    modes: Vec<Vec<f64>>,
}

/// The part of rows of which nothing is taken.
const KEPT: u32 = u32::MAX;

impl Projection {
    /// What `nullspace` means for the matrix of a system.
    pub(super) fn of<T: Scalar>(
        nullspace: Nullspace,
        a: &SystemMatrix<T>,
        near_nullspace: Option<&NearNullspace>,
    ) -> Result<Option<Self>> {
        match a {
            SystemMatrix::Whole(a) => Self::new(nullspace, a, near_nullspace),
            SystemMatrix::Shared(a) => Self::of_ranks(nullspace, a),
        }
    }

    /// Constants on all rows, where a symmetric matrix annihilates them. All ranks call it together.
    fn of_ranks<T: Scalar>(nullspace: Nullspace, a: &Distributed<T>) -> Result<Option<Self>> {
        let found = match nullspace {
            Nullspace::None | Nullspace::NearNullspace => false,
            Nullspace::Auto | Nullspace::Constant => ranks_annihilate_constants(a)?,
        };
        if nullspace == Nullspace::Constant && !found {
            let why = "`constant`, but the matrix is not symmetric with rows that sum to zero";
            return Err(untrue(why));
        }
        Ok(found.then(|| Self {
            parts: vec![0; a.size().rows],
            sizes: vec![a.rows().total() as f64],
            team: Some(Arc::clone(a.team())),
            ..Self::default()
        }))
    }

    /// What `nullspace` means for `a`; none where nothing is to be removed.
    ///
    /// # Errors
    /// When something is not annihilated as was given, and for a near-nullspace of wrong size.
    pub fn new<T: Scalar>(
        nullspace: Nullspace,
        a: &Csr<T>,
        near_nullspace: Option<&NearNullspace>,
    ) -> Result<Option<Self>> {
        let constants = match nullspace {
            Nullspace::Constant => true,
            Nullspace::Auto => all_rows_sum_to_zero(a) && !is_shifted(a),
            Nullspace::None | Nullspace::NearNullspace => false,
        };
        let mut found = match constants {
            true => Self::of_parts(a.pattern().parts()?, &zero_sums(a)),
            false => Self::default(),
        };
        let looked_at = matches!(nullspace, Nullspace::Auto | Nullspace::NearNullspace);
        if let Some(near) = near_nullspace.filter(|_| looked_at) {
            found.add_modes(annihilated(a, near, ZERO_SUM)?);
        }
        if nullspace == Nullspace::Constant && found.sizes.is_empty() {
            return Err(untrue(
                "`constant`, but the matrix has no connected part whose rows and columns all sum \
                 to zero",
            ));
        }
        if nullspace == Nullspace::NearNullspace && found.given == 0 {
            let why = "`near-nullspace`, but the matrix annihilates none of its vectors";
            return Err(untrue(why));
        }
        let is_empty = found.sizes.is_empty() && found.modes.is_empty();
        Ok((!is_empty).then_some(found))
    }

    /// With vectors that the matrix annihilates.
    fn add_modes(&mut self, mut vectors: Vec<Vec<f64>>) {
        self.given = vectors.len();
        for vector in &mut vectors {
            let sums = self.sums(vector, 1);
            self.subtract(&sums, vector, 1);
        }
        self.modes = orthonormal(vectors);
    }

    /// The parts all of whose rows are `singular`, numbered anew.
    fn of_parts(mut parts: Vec<u32>, singular: &[bool]) -> Self {
        let mut is_singular = vec![true; parts.len()];
        for (&part, &singular) in parts.iter().zip(singular) {
            is_singular[part as usize] &= singular;
        }
        let mut number = vec![KEPT; parts.len()];
        let mut sizes: Vec<f64> = Vec::new();
        for part in parts.iter_mut() {
            let (place, known) = (*part as usize, number[*part as usize]);
            if is_singular[place] && known == KEPT {
                number[place] = sizes.len() as u32;
                sizes.push(0.0);
            }
            *part = number[place];
            if *part != KEPT {
                sizes[*part as usize] += 1.0;
            }
        }
        Self {
            parts,
            sizes,
            ..Self::default()
        }
    }

    /// Removes everything that is annihilated from every column. Ranks that share the rows call it together.
    ///
    /// # Errors
    /// When memory is short, a device or another rank fails.
    pub fn project<T: Scalar>(&self, x: &mut Vector<T>) -> Result<()> {
        let cols = x.cols();
        let mut values = x.to_vec();
        let mut sums = self.sums(&values, cols);
        if let Some(team) = &self.team {
            team.sum(sums.as_flattened_mut())?;
        }
        self.subtract(&sums, &mut values, cols);
        take_out(&self.modes, &mut values, cols);
        x.write(&values)
    }

    /// Real and imaginary part of the sums over own rows, one column after the other, for each part.
    fn sums<T: Scalar>(&self, values: &[T], cols: usize) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 2]; self.sizes.len() * cols];
        for (row, &part) in values.chunks_exact(cols.max(1)).zip(&self.parts) {
            for (column, value) in row.iter().enumerate().filter(|_| part != KEPT) {
                let (sum, value) = (&mut sums[part as usize * cols + column], value.to_c64());
                *sum = [sum[0] + value.re, sum[1] + value.im];
            }
        }
        sums
    }

    /// Subtracts the mean of each part from every column.
    fn subtract<T: Scalar>(&self, sums: &[[f64; 2]], values: &mut [T], cols: usize) {
        for (row, &part) in values.chunks_exact_mut(cols.max(1)).zip(&self.parts) {
            for (column, value) in row.iter_mut().enumerate().filter(|_| part != KEPT) {
                let sum = sums[part as usize * cols + column];
                let mean = sum.map(|sum| sum / self.sizes[part as usize]);
                *value = T::from_c64(value.to_c64() - c64::new(mean[0], mean[1]));
            }
        }
    }

    /// The part of `b` that has a solution, the norm of the rest of every column, and a message on that.
    pub(super) fn consistent<T: Scalar>(
        &self,
        b: &Vector<T>,
    ) -> Result<(Vector<T>, Vec<f64>, String)> {
        let mut left = b.clone();
        self.project(&mut left)?;
        let mut rest = b.clone();
        rest.axpy(Coefficient::real(-1.0), &left)?;
        let norms = |v: &Vector<T>| -> Result<Vec<f64>> {
            Ok(v.norms()?.into_iter().map(Real::to_f64).collect())
        };
        let (all, removed) = (norms(b)?, norms(&rest)?);
        // What rounding leaves of a column.
        let factors = norms(&left)?.into_iter().zip(&all);
        let factors = factors.map(|(kept, all)| f64::from(kept > NOTHING_LEFT * all));
        let factors: Vec<_> = factors.map(T::Arith::from_f64).collect();
        let mut scalars = Scalars::filled(b.executor(), b.cols(), T::Arith::from_f64(1.0))?;
        scalars.write(&factors)?;
        left.scale(Coefficient::of(&scalars))?;
        let message = self.report(&all, &removed);
        Ok((left, removed, message))
    }

    /// What is said about columns of these norms, of which so much was removed.
    fn report(&self, all: &[f64], removed: &[f64]) -> String {
        let size = |norms: &[f64]| norms.iter().map(|norm| norm.powi(2)).sum::<f64>().sqrt();
        let share = size(removed) / size(all);
        let rest = match (share > 1e-7, 100.0 * share) {
            (false, _) => "b has no component in the null space".to_owned(),
            (true, percent) => {
                let part = match percent >= 1.0 {
                    true => format!("{percent:.0}"),
                    false => format!("{percent:.1e}"),
                };
                format!(
                    "b has a component in the null space ({part} % of its norm); it was removed"
                )
            }
        };
        let what = self.annihilated();
        format!("singular: A annihilates {what}; {rest}; x is orthogonal to the null space")
    }

    /// In words.
    fn annihilated(&self) -> String {
        let given = match self.given {
            0 => String::new(),
            given => format!("{given} vectors of the near-nullspace"),
        };
        let constants = match self.sizes.len() {
            // They are among the vectors.
            parts if parts + self.modes.len() == self.given => return given,
            0 => return given,
            1 => "constants".to_owned(),
            parts => format!("constants on {parts} parts"),
        };
        match self.given {
            0 => constants,
            _ => format!("{given} and {constants}"),
        }
    }
}

fn untrue(reason: &str) -> crate::Error {
    ConfigError::Conflict(format!("nullspace: {reason}")).into()
}

/// Whether no row has another sum than zero; ends at the first that has.
fn all_rows_sum_to_zero<T: Scalar>(a: &Csr<T>) -> bool {
    let vanishes = |row: usize| is_zero_sum(&row_sum(a, row));
    let size = a.size();
    let square = size.rows > 0 && size.rows == size.cols;
    square && first_row_sums_to_zero(a) && (1..size.rows).all(vanishes)
}

/// Whether sums are small and all of one sign: not made of rounding, but a diagonal that was added on purpose to a
/// singular matrix, which is regular by that.
fn is_shifted<T: Scalar>(a: &Csr<T>) -> bool {
    let share = |row: usize| row_sum(a, row).share();
    let rows = a.size().rows;
    (0..rows).all(|row| share(row) > SHIFT) || (0..rows).all(|row| share(row) < -SHIFT)
}

/// Whether the matrix is symmetric, and its rows sum to zero but for rounding.
fn ranks_annihilate_constants<T: Scalar>(a: &Distributed<T>) -> Result<bool> {
    let (team, mut sums) = (
        a.team(),
        (0..a.size().rows).map(|row| row_sum(a.local(), row)),
    );
    let vanish = sums.clone().all(|sum| is_zero_sum(&sum));
    if a.rows().total() == 0 || team.any(!vanish)? {
        return Ok(false);
    }
    let above = team.any(sums.clone().any(|sum| sum.share() <= SHIFT))?;
    let below = team.any(sums.any(|sum| sum.share() >= -SHIFT))?;
    // Sums of one sign are a diagonal that was added on purpose.
    Ok(above && below && a.symmetric_and_positive()?[0])
}

fn row_sum<T: Scalar>(a: &Csr<T>, row: usize) -> VanishingSum {
    VanishingSum::of_row(a, row, |_| 1.0)
}

/// Looked at by itself, so that the others stay on their device where that is enough.
fn first_row_sums_to_zero<T: Scalar>(a: &Csr<T>) -> bool {
    let answers = "the device still answers";
    let mut sum = VanishingSum::default();
    for place in 0..a.pattern().buffers().0.get(1).expect(answers) {
        sum.add(&a.values_buffer().get(place).expect(answers), 1.0);
    }
    is_zero_sum(&sum)
}

/// For every unknown whether its row and its column sum to zero.
fn zero_sums<T: Scalar>(a: &Csr<T>) -> Vec<bool> {
    let columns = VanishingSum::of_columns(a, |_| 1.0).into_iter().enumerate();
    let both = columns.map(|(row, column)| is_zero_sum(&row_sum(a, row)) && is_zero_sum(&column));
    both.collect()
}

/// An empty row does not count: nothing can be solved for there.
fn is_zero_sum(sum: &VanishingSum) -> bool {
    sum.moduli > 0.0 && sum.vanishes(ZERO_SUM)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_has, matrix, neumann, solve, solved, system, triplets};
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::stop::{ColumnOutcome, Status};

    /// Two lines of three and two points with Neumann ends, and one point by itself.
    fn lines() -> Csr<f64> {
        let line = [(0, 1, 1.0), (1, 2, 1.0), (3, 4, 4.0)];
        let springs = line
            .iter()
            .flat_map(|&(i, j, k)| [(i, i, k), (j, j, k), (i, j, -k), (j, i, -k)]);
        triplets(6, &springs.chain([(5, 5, 1.0)]).collect::<Vec<_>>())
    }

    fn constants() -> Projection {
        let found = Projection::new(Nullspace::Constant, &lines(), None);
        found.unwrap().expect("constants")
    }

    #[test]
    fn each_part_has_its_own_constant() {
        for place in [Some(Executor::reference()), vcycle_core::testing::device()] {
            let Some(place) = place else { return };
            let mut x = Vector::from_column(&place, vec![1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
            constants().project(&mut x).unwrap();
            assert_eq!(x.to_vec(), [-1.0, 0.0, 1.0, -1.0, 1.0, 9.0]);
        }
    }

    #[test]
    fn only_matrices_without_any_other_sum_are_found_singular() {
        let is_singular =
            |a: &Csr<f64>| Projection::new(Nullspace::Auto, a, None).unwrap().is_some();
        let ends = |d: f64| triplets(2, &[(0, 0, d), (0, 1, -1.0), (1, 0, -1.0), (1, 1, d)]);
        let diagonal = triplets(2, &[(0, 0, 1.0), (1, 1, 2.0)]);
        assert!(is_singular(&ends(1.0)));
        // A small diagonal that was added makes a matrix regular.
        for regular in [&lines(), &diagonal, &ends(1.0 + 1e-12)] {
            assert!(!is_singular(regular));
        }
        let refused = Projection::new(Nullspace::Constant, &diagonal, None);
        assert_has(refused.unwrap_err(), "nullspace: `constant`, but");
    }

    #[test]
    fn a_right_hand_side_of_constants_becomes_zero() {
        let b = vec![0.1, 0.1, 0.1, 0.3, 0.3, 0.0];
        let b = Vector::from_column(&Executor::reference(), b);
        let (left, removed, message) = constants().consistent(&b).unwrap();
        assert!((removed[0] - 0.21f64.sqrt()).abs() < 1e-15);
        assert_eq!(left.to_vec(), [0.0; 6]);
        assert_has(message, "2 parts|(100 % of its norm)");
    }

    #[test]
    fn neumann_problems_are_solved_as_far_as_they_can_be() {
        let a = system(neumann(40));
        let solve = |b: Vec<f64>| {
            let b = Vector::from_column(&Executor::cpu(), b);
            let options = "solver=cg preconditioner=amg nullspace=constant";
            let solution = solved(options, &a, &b);
            assert!(solution.outcome.outside_range > 0.5);
            solution
        };
        let solution = solve((0..1600).map(|row| (row % 13) as f64).collect());
        assert!(solution.outcome.iterations <= 16);
        assert!(solution.x.to_vec().iter().sum::<f64>().abs() < 1e-9);
        assert_has(
            &solution.messages[0],
            "singular: A annihilates constants|it was removed",
        );
        let nothing = solve(vec![0.1; 1600]);
        assert_eq!(nothing.outcome.iterations, 0);
        assert_eq!(nothing.x.to_vec(), [0.0; 1600]);
    }

    #[test]
    fn what_no_x_solves_is_inconsistent_unless_the_null_space_was_named() {
        let a = system(triplets(
            2,
            &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)],
        ));
        let columns = vec![1.0, 1.0, 3.0, 1.0, -1.0, 1.0];
        let b = Vector::from_rows(&Executor::cpu(), 3, columns).unwrap();
        let found = solve("", &a, &b).unwrap();
        assert_eq!(found.outcome.status, Status::Inconsistent);
        let of = |part: fn(&ColumnOutcome) -> f64| {
            Vec::from_iter(found.outcome.columns.iter().map(part))
        };
        let [all, some] = [1.0, 0.8f64.sqrt()];
        for (found, expected) in of(|c| c.outside_range).iter().zip([all, 0.0, some]) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert_eq!(of(|c| c.outside_range), of(|c| c.relative_residual));
        let statuses = found.outcome.columns.iter().map(|c| c.status.name());
        let expected = ["inconsistent", "converged", "inconsistent"];
        assert_eq!(statuses.collect::<Vec<_>>(), expected);
        assert_has(found.outcome, "name the null space|is 1.0e0 of the norm");
        let named = solved("nullspace=constant", &a, &b);
        assert_eq!(named.x.to_vec(), found.x.to_vec());
        assert_eq!(named.outcome.outside_range, 1.0);
    }

    /// Springs between the points of a square lattice, to the right, up and along both diagonals,
    /// that nothing holds; and where the points are.
    fn free_body(side: usize) -> (Csr<f64>, Vec<[f64; 3]>) {
        let place = |point: usize| [(point % side) as f64, (point / side) as f64, 0.0];
        let mut entries = Vec::new();
        for from in 0..side * side {
            for to in [from + 1, from + side, from + side + 1, from + side - 1] {
                let ends = [place(from), place(to)];
                let d = [ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]];
                if to >= side * side || d[0].abs() > 1.0 {
                    continue;
                }
                for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let k = d[i] * d[j];
                    let (one, other) = ([2 * from + i, 2 * to + i], [2 * from + j, 2 * to + j]);
                    entries.extend([(one[0], other[0], k), (one[1], other[1], k)]);
                    entries.extend([(one[0], other[1], -k), (one[1], other[0], -k)]);
                }
            }
        }
        let points = (0..side * side).map(place).collect();
        (triplets(2 * side * side, &entries), points)
    }

    #[test]
    fn a_free_body_is_solved_without_its_rigid_motions() {
        let (a, points) = free_body(14);
        let near = NearNullspace::rigid_body_modes(2, &points).unwrap();
        let b = (0..a.size().rows).map(|row| (row % 7) as f64).collect();
        let b = Vector::from_column(a.executor(), b);
        let system = system(a).with_near_nullspace(near.clone());
        for options in ["", "solver=cg nullspace=near-nullspace"] {
            let solution = solve(&format!("preconditioner=amg {options}"), &system, &b).unwrap();
            let is_named = solution.outcome.converged();
            assert_eq!(is_named, !options.is_empty(), "{}", solution.outcome);
            assert!(solution.outcome.outside_range > 0.8);
            assert!(solution.outcome.iterations <= 25, "{}", solution.outcome);
            assert!(solution.multigrid.unwrap().levels.len() > 1);
            let start = "singular: A annihilates 3 vectors of the near-nullspace;";
            assert_has(&solution.messages[0], start);
            let x = solution.x.to_vec();
            for mode in near.vectors() {
                let share: f64 = mode.iter().zip(&x).map(|(m, x)| m * x).sum();
                assert!(share.abs() < 1e-9, "{share}");
            }
        }
    }

    #[test]
    fn a_body_that_is_held_has_no_nullspace() {
        let problem = gallery::build("elasticity:3x2x2", &Executor::cpu()).unwrap();
        let near = problem.near_nullspace.as_ref();
        let found = |nullspace| Projection::new(nullspace, &matrix("elasticity:3x2x2"), near);
        assert!(found(Nullspace::Auto).unwrap().is_none());
        let error = found(Nullspace::NearNullspace).unwrap_err();
        assert_has(error, "annihilates none of its vectors");
    }
}
