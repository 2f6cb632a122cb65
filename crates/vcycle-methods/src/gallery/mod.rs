//! Problems with known answers, made on the spot.
//!
//! A problem is named by a specification `name:size[,parameter...]`, where the size is `N` or
//! `NxM` in two dimensions and `N` or `NxMxK` in three. [`catalogue`] lists the names, [`build`]
//! makes the matrix. Rows are numbered with x fastest, then y, then z, but those of `tet`, which is on no grid.
//!
//! ```
//! use vcycle::{executor::Executor, gallery};
//! let problem = gallery::build("poisson7:4x3x2", &Executor::cpu())?;
//! assert_eq!(problem.matrix.size().rows, 24);
//! assert_eq!(problem.matrix.entry(0, 0), Some(6.0));
//! assert_eq!(problem.rhs, [1.0; 24]);
//!
//! let error = gallery::build("poison7:8", &Executor::cpu()).unwrap_err();
//! assert!(error.to_string().contains("did you mean `poisson7`?"));
//! # Ok::<(), vcycle::Error>(())
//! ```

mod assemble;
mod catalogue;
mod complex;
mod elasticity;
mod entry;
mod finite_element;
mod grid;
mod problem;
mod spec;
mod stencil;
mod structured;
#[cfg(test)]
mod tests;
mod tetrahedra;

pub use entry::Entry;
pub use problem::Problem;

use self::entry::{Given, Make};
use self::spec::name_of;
use crate::matrix::Duplicates;
use crate::prelude::*;
use crate::structured::StencilMatrix;
use vcycle_core::size::Extent;

/// All problems.
///
/// ```
/// for entry in vcycle::gallery::catalogue() {
///     println!("{:32} {}", entry.usage, entry.description);
/// }
/// ```
pub fn catalogue() -> &'static [Entry] {
    &catalogue::REAL
}

/// Whether `spec` begins with the name of a problem; its size and parameters are not looked at.
///
/// ```
/// assert!(vcycle::gallery::is_problem("poisson7:64"));
/// assert!(!vcycle::gallery::is_problem("poisson7.mtx"));
/// ```
pub fn is_problem(spec: &str) -> bool {
    find(catalogue(), spec).is_ok()
}

/// Makes the problem that `spec` names, on `executor` and with its threads.
///
/// # Errors
/// [`Error::UnknownProblem`] for a name that is not in the [`catalogue`], [`Error::BadProblem`]
/// naming the part of the specification that is wrong, [`Error::NotEnoughMemory`] before more is
/// taken than the machine has.
pub fn build(spec: &str, executor: &Executor) -> Result<Problem> {
    build_on(spec, &executor.alone())
}

/// The same; of problems that are made in parts, a rank makes its own rows.
fn build_on(spec: &str, executor: &Executor) -> Result<Problem> {
    read(catalogue(), spec, |given| {
        let extent = given.extent(grid::most_rows(executor))?;
        let what = || format!("the matrix of `{spec}`");
        let ranks = executor.team().map_or(1, |team| team.size());
        executor
            .on_host()
            .check_need(what, extent.bytes() / ranks)?;
        make(given, executor)
    })
}

fn make(given: &Given<'_>, executor: &Executor) -> Result<Problem> {
    let grid = given.grid();
    let matrix = match given.entry.make {
        Make::Rows(_, build) => return build(given, executor),
        Make::Elements(domain) => {
            return finite_element::problem(given.entry.name, domain, given.size, executor);
        }
        Make::Cells(_) => {
            let made = structured::stencil(given, executor)?.expect("a problem of cells");
            return Ok(structured::problem(given, &made));
        }
        Make::Complex(_) => unreachable!("they are in another catalogue"),
        Make::Weights(weight) => {
            stencil::matrix(executor, grid, |shift| weight(&given.numbers, shift))?
        }
        Make::Jump => {
            let contrast = given.numbers[0];
            assemble::assemble(executor, &stencil::Jump { grid, contrast })?
        }
    };
    Ok(Problem {
        grid: Some(given.size),
        ..Problem::new(given.name(), matrix)
    })
}

/// Whether a rank can make its own rows of the problem that `spec` names alone.
pub fn is_made_in_parts(spec: &str) -> bool {
    let made = find(catalogue(), spec).map(|entry| entry.make);
    matches!(made, Ok(Make::Weights(_) | Make::Jump))
}

/// The own rows of the problem that `spec` names and of its right-hand side, for one rank of a team; nobody makes the
/// whole matrix. `None` for problems that are not made in parts. All ranks call it together.
///
/// ```
/// use vcycle::{communicator::threads, executor::Executor, gallery};
/// let rows = threads::run(3, |team| {
///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
///     let (a, b) = gallery::build_part("poisson7:6", &rank)?.expect("it is made in parts");
///     assert_eq!(a.rows().total(), 216);
///     Ok(b.len())
/// })?;
/// assert_eq!(rows, [72; 3]);
/// # Ok::<(), vcycle::Error>(())
/// ```
pub fn build_part(spec: &str, rank: &Executor) -> Result<Option<(Distributed<f64>, Vec<f64>)>> {
    if !is_made_in_parts(spec) {
        return Ok(None);
    }
    let Problem {
        matrix, rhs, grid, ..
    } = rank.agree(build_on(spec, rank))?;
    let rows: usize = grid.iter().flatten().product();
    let first = assemble::first_column(rank, rows);
    let columns = matrix.columns().iter();
    let columns = columns
        .map(|&column| first.wrapping_add(u64::from(column)))
        .collect();
    let (offsets, values) = (matrix.offsets().to_vec(), matrix.values().to_vec());
    drop(matrix);
    let a = Distributed::from_rows(rank, offsets, columns, values, Duplicates::Refuse)?;
    Ok(Some((a, rhs)))
}

/// How large the matrix of the problem that `spec` names will be. Where blocks of several unknowns are not full it says more
/// entries than there are.
///
/// ```
/// let extent = vcycle::gallery::extent("poisson7:1000")?;
/// assert_eq!((extent.rows, extent.entries), (1_000_000_000, 6_994_000_000));
/// # Ok::<(), vcycle::Error>(())
/// ```
pub fn extent(spec: &str) -> Result<Extent> {
    read(catalogue(), spec, |given| given.extent(u32::MAX as usize))
}

/// The points along x, y and z of the grid that the problem `spec` names is on, and the unknowns of each; `None` for a
/// problem that is on none.
///
/// ```
/// assert_eq!(vcycle::gallery::grid("poisson5:8x6")?, Some(([8, 6, 1], 1)));
/// # Ok::<(), vcycle::Error>(())
/// ```
pub fn grid(spec: &str) -> Result<Option<([usize; 3], usize)>> {
    read(catalogue(), spec, |given| {
        Ok(given.nodes().map(|nodes| (nodes, given.entry.unknowns)))
    })
}

/// The matrix of a problem on a box of cells as a stencil matrix; those that are made so take no more
/// memory.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let a = gallery::build_stencil("oil-4C:6x5x4", &Executor::cpu())?;
/// assert_eq!((a.stencil().points(), a.unknowns()), (7, 4));
/// # Ok::<(), vcycle::Error>(())
/// ```
pub fn build_stencil(spec: &str, executor: &Executor) -> Result<StencilMatrix<f64>> {
    match read(catalogue(), spec, |given| {
        structured::stencil(given, executor)
    })? {
        Some(made) => Ok(made),
        None => StencilMatrix::from_csr(&build(spec, executor)?.matrix),
    }
}

/// All problems with complex values.
pub fn complex_catalogue() -> &'static [Entry] {
    &catalogue::COMPLEX
}

/// Whether `spec` begins with the name of a problem with complex values.
///
/// ```
/// assert!(vcycle::gallery::is_complex_problem("helmholtz:64,10"));
/// assert!(!vcycle::gallery::is_complex_problem("poisson7:64"));
/// ```
pub fn is_complex_problem(spec: &str) -> bool {
    find(complex_catalogue(), spec).is_ok()
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
pub fn build_complex(spec: &str, executor: &Executor) -> Result<Problem<c64>> {
    read(complex_catalogue(), spec, |given| {
        given.extent(u32::MAX as usize)?;
        complex::problem(given, &executor.alone())
    })
}

/// Does something with a specification; what is wrong is told as the part of it that it is.
fn read<R>(
    catalogue: &'static [Entry],
    spec: &str,
    work: impl FnOnce(&Given<'_>) -> Result<R>,
) -> Result<R> {
    let entry = find(catalogue, spec)?;
    let done = Given::read(spec, entry).and_then(|given| work(&given));
    done.map_err(|error| match error {
        Error::BadParameter { parameter, reason } => Error::BadProblem {
            problem: spec.to_owned(),
            part: parameter,
            reason,
            usage: entry.usage,
        },
        other => other,
    })
}

/// The entry that a specification names.
fn find(catalogue: &'static [Entry], spec: &str) -> Result<&'static Entry> {
    let name = name_of(spec);
    let found = catalogue.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| {
        let known: Vec<&'static str> = catalogue.iter().map(|entry| entry.name).collect();
        Error::UnknownProblem {
            name: name.to_owned(),
            suggestion: nearest(name, &known),
            known,
        }
    })
}

/// The name that most resembles `name`, if any does.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    known
        .iter()
        .map(|&known| (strsim::jaro_winkler(name, known), known))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, near)| near)
}
