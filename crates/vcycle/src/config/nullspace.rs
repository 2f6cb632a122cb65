//! Singular systems: what has to be left out of the right-hand side and of the solution.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::components::unknown_name;
use super::error::ConfigError;
use crate::error::Result;
use crate::matrix::Csr;
use crate::scalar::{Field, Real, Scalar, c64};
use crate::vector::Vector;

/// A row or column sums to zero if its sum is less than this, relative to the sum of its moduli.
const ZERO_SUM: f64 = 1e-11;
/// What is left of a right-hand side is rounding errors below this, relative to all of it.
const NOTHING_LEFT: f64 = 1e-13;

/// What the matrix annihilates, and so no solution can be told from another by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nullspace {
    /// `constant` if every row and every column sums to zero, else `none`.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// The constants of the connected parts of the matrix whose rows and columns sum to zero:
    /// pure Neumann conditions. They are taken out of the right-hand side, so that there is a
    /// solution, and out of the solution.
    Constant,
}

impl Nullspace {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Constant => "constant",
        }
    }

    pub(super) fn from_value(value: Value) -> Result<Self, ConfigError> {
        value.as_str().unwrap_or_default().parse()
    }
}

impl FromStr for Nullspace {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let all = [Self::Auto, Self::None, Self::Constant];
        let known = all.map(Self::name);
        let found = all.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| unknown_name("nullspace", text, &known, &[]))
    }
}

impl Display for Nullspace {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Nullspace {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Takes constants out of vectors.
pub(super) struct Projection {
    /// For every row the part of the matrix it belongs to, or [`KEPT`].
    parts: Vec<u32>,
    /// Rows of each part.
    sizes: Vec<f64>,
}

/// The part of rows of which nothing is taken.
const KEPT: u32 = u32::MAX;

impl Projection {
    /// What `nullspace` means for `a`; none where nothing is to be taken out.
    ///
    /// # Errors
    /// When constants are not annihilated as was told.
    pub fn new<T: Scalar>(nullspace: Nullspace, a: &Csr<T>) -> Result<Option<Self>> {
        let sums_to_zero = match nullspace {
            Nullspace::None => return Ok(None),
            Nullspace::Auto if !all_rows_sum_to_zero(a) => return Ok(None),
            _ => zero_sums(a),
        };
        let found = Self::of_parts(a.pattern().parts()?, &sums_to_zero);
        match (nullspace, found.sizes.is_empty()) {
            (_, false) => Ok(Some(found)),
            (Nullspace::Constant, true) => Err(ConfigError::Conflict(
                "nullspace: `constant`, but the matrix has no connected part whose rows and \
                 columns all sum to zero"
                    .to_owned(),
            )
            .into()),
            (_, true) => Ok(None),
        }
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
        Self { parts, sizes }
    }

    /// Takes the mean of each part from every column.
    pub fn project<T: Scalar>(&self, x: &mut Vector<T>) -> Result<()> {
        let cols = x.cols();
        let mut values = x.to_vec();
        for column in 0..cols {
            let mut means = vec![c64::new(0.0, 0.0); self.sizes.len()];
            let entries = || (column..).step_by(cols.max(1)).zip(&self.parts);
            for (place, &part) in entries().filter(|(_, part)| **part != KEPT) {
                means[part as usize] += values[place].to_c64();
            }
            means.iter_mut().zip(&self.sizes).for_each(|(m, n)| *m /= n);
            for (place, &part) in entries().filter(|(_, part)| **part != KEPT) {
                values[place] = T::from_c64(values[place].to_c64() - means[part as usize]);
            }
        }
        *x = Vector::from_rows(x.executor(), cols, values)?;
        Ok(())
    }

    /// The part of `b` that has a solution, and what is said of the rest.
    pub fn consistent<T: Scalar>(&self, b: &Vector<T>) -> Result<(Vector<T>, String)> {
        let mut left = b.clone();
        self.project(&mut left)?;
        let of = |v: &Vector<T>| -> Result<f64> {
            let squares = v.norms()?.into_iter().map(|norm| norm.to_f64().powi(2));
            Ok(squares.sum::<f64>().sqrt())
        };
        let (all, kept) = (of(b)?, of(&left)?);
        if kept <= NOTHING_LEFT * all {
            left.fill(T::default())?;
        }
        let share = (1.0 - (kept / all).powi(2)).max(0.0).sqrt();
        let rest = match share {
            share if share > 1e-7 => format!(
                "the right-hand side has no solution; its constant part, {share:.1e} of it, is \
                 left out"
            ),
            _ => "the right-hand side has solutions".to_owned(),
        };
        let constants = match self.sizes.len() {
            1 => "constants".to_owned(),
            parts => format!("constants on {parts} parts"),
        };
        let message = format!(
            "singular: the matrix annihilates {constants}; {rest}; the solution has mean zero"
        );
        Ok((left, message))
    }
}

/// Whether no row has another sum than zero; ends at the first that has.
fn all_rows_sum_to_zero<T: Scalar>(a: &Csr<T>) -> bool {
    let vanishes = |row: usize| {
        let sums = a.row(row).1.iter().fold(Sums::default(), Sums::with);
        sums.vanish()
    };
    let size = a.size();
    size.rows > 0 && size.rows == size.cols && (0..size.rows).all(vanishes)
}

/// For every unknown whether its row and its column sum to zero.
fn zero_sums<T: Scalar>(a: &Csr<T>) -> Vec<bool> {
    let mut columns = vec![Sums::default(); a.size().cols];
    let mut rows = vec![Sums::default(); a.size().rows];
    for (row, sums) in rows.iter_mut().enumerate() {
        let (places, values) = a.row(row);
        for (&column, value) in places.iter().zip(values) {
            *sums = sums.with(value);
            columns[column as usize] = columns[column as usize].with(value);
        }
    }
    let both = rows.iter().zip(&columns);
    both.map(|(row, column)| row.vanish() && column.vanish())
        .collect()
}

/// Of the entries of a row or column: their sum, and that of their moduli.
#[derive(Clone, Copy, Default)]
struct Sums {
    sum: c64,
    moduli: f64,
}

impl Sums {
    fn with<T: Scalar>(self, value: &T) -> Self {
        let value = value.to_c64();
        Self {
            sum: self.sum + value,
            moduli: self.moduli + value.modulus(),
        }
    }

    /// An empty row does not count: nothing can be solved for there.
    fn vanish(&self) -> bool {
        self.moduli > 0.0 && self.sum.modulus() <= ZERO_SUM * self.moduli
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{self, Config, Solution};
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::linop::Size;
    use crate::matrix::Duplicates;

    /// Two lines of three and two points with Neumann ends, and one point by itself.
    fn lines(own: f64) -> Csr<f64> {
        let line = [
            (0, 0, 1.0),
            (0, 1, -1.0),
            (1, 0, -1.0),
            (1, 1, 2.0),
            (1, 2, -1.0),
            (2, 1, -1.0),
            (2, 2, 1.0),
            (3, 3, 4.0),
            (3, 4, -4.0),
            (4, 3, -4.0),
            (4, 4, 4.0),
            (5, 5, own),
        ];
        let rows = line.map(|entry| entry.0).to_vec();
        let columns = line.map(|entry| entry.1).to_vec();
        let values = line.map(|entry| entry.2).to_vec();
        let (host, size) = (Executor::reference(), Size::square(6));
        Csr::from_triplets(&host, size, rows, columns, values, Duplicates::Refuse).unwrap()
    }

    #[test]
    fn each_part_has_its_own_constant() {
        let found = Projection::new(Nullspace::Constant, &lines(1.0))
            .unwrap()
            .unwrap();
        let b = vec![1.0, 2.0, 3.0, 5.0, 7.0, 9.0];
        let mut x = Vector::from_column(&Executor::reference(), b);
        found.project(&mut x).unwrap();
        assert_eq!(x.to_vec(), [-1.0, 0.0, 1.0, -1.0, 1.0, 9.0]);
    }

    #[test]
    fn only_matrices_without_any_other_sum_are_found_singular() {
        assert!(
            Projection::new(Nullspace::Auto, &lines(1.0))
                .unwrap()
                .is_none()
        );
        let diagonal = Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 2.0]);
        assert!(
            Projection::new(Nullspace::Auto, &diagonal)
                .unwrap()
                .is_none()
        );
        let told = Projection::new(Nullspace::Constant, &diagonal);
        let error = told.err().unwrap().to_string();
        assert!(error.starts_with("nullspace: `constant`, but"), "{error}");
    }

    #[test]
    fn a_right_hand_side_of_constants_becomes_zero() {
        let found = Projection::new(Nullspace::Constant, &lines(1.0))
            .unwrap()
            .unwrap();
        let b = vec![0.1, 0.1, 0.1, 0.3, 0.3, 0.0];
        let b = Vector::from_column(&Executor::reference(), b);
        let (left, message) = found.consistent(&b).unwrap();
        assert_eq!(left.to_vec(), [0.0; 6]);
        assert!(
            message.contains("2 parts") && message.contains("left out"),
            "{message}"
        );
    }

    /// Diffusion on a square with Neumann conditions all around.
    fn neumann(side: usize) -> Arc<Csr<f64>> {
        let spec = format!("poisson5:{side}");
        let mut a = gallery::build(&spec, &Executor::cpu()).unwrap().matrix;
        for row in 0..a.size().rows {
            let others = a.row(row).0.len() - 1;
            let diagonal = a.row(row).0.binary_search(&(row as u32)).unwrap();
            let place = a.offsets()[row] + diagonal;
            a.values_mut()[place] = others as f64;
        }
        Arc::new(a)
    }

    fn solve(a: &Arc<Csr<f64>>, b: Vec<f64>) -> Solution<f64> {
        let config = "solver = \"cg\"\npreconditioner = \"amg\"";
        let b = Vector::from_column(a.executor(), b);
        let config = Config::from_toml(config).unwrap();
        config::solve(&config, a, &b, &Workspace::new()).unwrap()
    }

    #[test]
    fn neumann_problems_are_solved_as_far_as_they_can_be() {
        let a = neumann(40);
        let b = (0..1600).map(|row| (row % 13) as f64).collect();
        let solution = solve(&a, b);
        assert!(solution.outcome.converged(), "{}", solution.outcome);
        assert!(solution.outcome.iterations <= 16);
        assert!(solution.x.to_vec().iter().sum::<f64>().abs() < 1e-9);
        assert!(solution.messages[0].starts_with("singular: the matrix annihilates constants"));
        assert!(solution.messages[0].contains("left out"));
    }

    #[test]
    fn nothing_is_left_of_a_constant_right_hand_side() {
        let solution = solve(&neumann(20), vec![0.1; 400]);
        assert!(solution.outcome.converged() && solution.outcome.iterations == 0);
        assert_eq!(solution.x.to_vec(), [0.0; 400]);
    }
}
