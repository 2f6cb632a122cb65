//! Problems with complex values.

use super::grid::Grid;
use super::poisson::poisson5;
use super::spec::{Spec, check_range};
use super::{find_in, in_spec};
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::Csr;
use crate::scalar::c64;

/// A linear system with complex values, one unknown a grid point and ones on the right.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ComplexProblem {
    /// Its specification; [`build_complex`] makes the same problem from it.
    pub name: String,
    /// The matrix.
    pub matrix: Csr<c64>,
    /// The right-hand side.
    pub rhs: Vec<c64>,
    /// Points along x, y and z: row `i + nx (j + ny k)` is point `(i, j, k)`.
    pub grid: [usize; 3],
}

/// One line of the [`complex_catalogue`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ComplexEntry {
    /// The name before the colon.
    pub name: &'static str,
    /// The form of a specification.
    pub usage: &'static str,
    /// What the problem is, in a line.
    pub description: &'static str,
    /// A small instance.
    pub example: &'static str,
    build: fn(&Spec<'_>, &Executor) -> Result<ComplexProblem>,
}

static CATALOGUE: [ComplexEntry; 2] = [
    ComplexEntry {
        name: "helmholtz",
        usage: "helmholtz:N,k[,absorption] or helmholtz:NxM,k[,absorption]",
        description: "2-D Helmholtz equation with absorption, complex symmetric; k is the wave number of the unit square",
        example: "helmholtz:8x6,10,0.5",
        build: |spec, executor| {
            spec.at_most(3)?;
            let absorption = spec.number_or(2, "absorption", ABSORPTION)?;
            helmholtz(spec.size()?, spec.number(1, "k")?, absorption, executor)
        },
    },
    ComplexEntry {
        name: "magnetic",
        usage: "magnetic:N,flux or magnetic:NxM,flux",
        description: "2-D Laplacian in a magnetic field, Hermitian positive definite; flux is that of a cell",
        example: "magnetic:8x6,0.01",
        build: |spec, executor| {
            spec.at_most(2)?;
            magnetic(spec.size()?, spec.number(1, "flux")?, executor)
        },
    },
];

/// That of [`helmholtz`] where a specification has none: the shift of the shifted Laplacian of Erlangga, Oosterlee and
/// Vuik (2006).
const ABSORPTION: f64 = 0.5;

/// All problems with complex values.
pub fn complex_catalogue() -> &'static [ComplexEntry] {
    &CATALOGUE
}

/// Whether `spec` begins with the name of a problem with complex values.
///
/// ```
/// assert!(vcycle::gallery::is_complex_problem("helmholtz:64,10"));
/// assert!(!vcycle::gallery::is_complex_problem("poisson7:64"));
/// ```
pub fn is_complex_problem(spec: &str) -> bool {
    let name = Spec::parse(spec).name;
    CATALOGUE.iter().any(|entry| entry.name == name)
}

/// Makes the problem with complex values that `spec` names.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let problem = gallery::build_complex("helmholtz:9,4,0.5", &Executor::cpu())?;
/// let diagonal = problem.matrix.entry(0, 0).unwrap();
/// assert!((diagonal.re - 3.84).abs() < 1e-15 && (diagonal.im - 0.08).abs() < 1e-15);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// As [`build`](super::build).
pub fn build_complex(spec: &str, executor: &Executor) -> Result<ComplexProblem> {
    let parsed = Spec::parse(spec);
    let entry = find_in(&CATALOGUE, parsed.name, |entry| entry.name)?;
    (entry.build)(&parsed, &executor.alone()).map_err(|error| in_spec(error, spec, entry.usage))
}

/// `-Laplace(u) - (1 - i absorption) k^2 u` on the unit square with Dirichlet boundary, times the square of the mesh
/// width `h`: 4 - (1 - i absorption) (k h)^2 on the diagonal and -1 for the four neighbours. With an absorption of a
/// half it is the shifted Laplacian that preconditions the equation without.
///
/// # Errors
/// As for [`poisson5`], or `k` or `absorption` not between 0 and 1e100.
pub fn helmholtz(
    size: [usize; 2],
    k: f64,
    absorption: f64,
    executor: &Executor,
) -> Result<ComplexProblem> {
    check_range("k", k, 0.0..=1e100)?;
    check_range("absorption", absorption, 0.0..=1e100)?;
    let width = 1.0 / (size[0].max(size[1]) + 1) as f64;
    let shift = c64::new(1.0, -absorption) * (k * width).powi(2);
    let label = Grid::on(executor, [size[0], size[1], 1])?.label(2);
    let name = format!("helmholtz:{label},{k},{absorption}");
    of_poisson(name, size, executor, |row, column, value| {
        match row == column {
            true => value - shift,
            false => value.into(),
        }
    })
}

/// The Laplacian of a charged particle in a magnetic field, by Peierls' substitution: the coupling from a point to the
/// next one along x is `-exp(i flux y)` with its row number `y` along y, back it is the conjugate. Hermitian and
/// positive definite.
///
/// # Errors
/// As for [`poisson5`], or `flux` not between -10 and 10.
pub fn magnetic(size: [usize; 2], flux: f64, executor: &Executor) -> Result<ComplexProblem> {
    check_range("flux", flux, -10.0..=10.0)?;
    let label = Grid::on(executor, [size[0], size[1], 1])?.label(2);
    let name = format!("magnetic:{label},{flux}");
    of_poisson(name, size, executor, |row, column, value| {
        let phase = flux * (row / size[0]) as f64;
        match column.wrapping_sub(row) as isize {
            1 if size[0] > 1 => c64::from_polar(-value, phase) * -1.0,
            -1 if size[0] > 1 => c64::from_polar(-value, -phase) * -1.0,
            _ => value.into(),
        }
    })
}

/// The five-point Laplacian with other values, `value(row, column, entry)`.
fn of_poisson(
    name: String,
    size: [usize; 2],
    executor: &Executor,
    value: impl Fn(usize, usize, f64) -> c64 + Sync + Send,
) -> Result<ComplexProblem> {
    let laplacian = poisson5(size, &executor.on_host())?.matrix;
    let (columns, entries) = (laplacian.columns(), laplacian.values());
    let matrix = Csr::from_places(laplacian.pattern(), |row, place| {
        value(row, columns[place] as usize, entries[place])
    })?;
    Ok(ComplexProblem {
        name,
        rhs: vec![c64::new(1.0, 0.0); matrix.size().rows],
        matrix: matrix.into_executor(executor)?,
        grid: [size[0], size[1], 1],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_problems_are_symmetric_and_hermitian_as_they_say() {
        let host = Executor::reference();
        let facts = |spec| build_complex(spec, &host).unwrap().matrix.facts();
        let waves = facts("helmholtz:8x6,10");
        assert!(waves.symmetric && !waves.hermitian && waves.complex);
        let field = facts("magnetic:8x6,0.3");
        assert!(field.hermitian && !field.symmetric && field.positive_diagonal());
        for entry in complex_catalogue() {
            let made = build_complex(entry.example, &host).unwrap();
            assert_eq!(made.name, entry.example);
            assert_eq!(made.rhs.len(), 48);
        }
    }

    #[test]
    fn wrong_specifications_are_named() {
        let host = Executor::reference();
        let error = |spec| build_complex(spec, &host).unwrap_err().to_string();
        assert!(
            error("helmholtz:8").contains("k"),
            "{}",
            error("helmholtz:8")
        );
        assert!(error("magnetic:8,1,2").contains("one too many"));
        assert!(error("helmholz:8,1").contains("did you mean `helmholtz`"));
    }
}
