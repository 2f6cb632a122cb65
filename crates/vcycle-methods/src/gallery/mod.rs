//! Problems with known answers, made on the spot.
//!
//! A problem is named by a specification `name:size[,parameter...]`, where the size is `N` or
//! `NxM` in two dimensions and `N` or `NxMxK` in three. [`catalogue`] lists the names, [`build`]
//! makes the matrix. Each family is a file here that also has its plain functions
//! ([`poisson7`], [`elasticity`], ...). Rows are numbered with x fastest, then y, then z, but those of
//! [`tet`], which is on no grid.
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

mod anisotropic;
mod assemble;
mod complex;
mod convection;
mod elasticity;
mod extent;
mod finite_element;
mod grid;
mod jump;
mod poisson;
mod spec;
mod stencil;
mod structured;
mod tetrahedra;

pub use anisotropic::{aniso5, aniso7};
pub use complex::{
    ComplexEntry, ComplexProblem, build_complex, complex_catalogue, helmholtz, is_complex_problem,
    magnetic,
};
pub use convection::convdiff7;
pub use elasticity::{Material, elasticity, elasticity_of};
pub use finite_element::{beam, lshape};
pub use jump::jump7;
pub use poisson::{poisson5, poisson7, poisson9, poisson27};
pub use tetrahedra::tet;

use self::grid::Grid;
use self::spec::Spec;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::matrix::{Csr, Distributed, Duplicates};
use crate::multigrid::NearNullspace;
use crate::structured::StencilMatrix;
use vcycle_core::size::Extent;

/// A linear system, with what is known of where it comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// Its specification; [`build`] makes the same problem from it.
    pub name: String,
    /// The matrix.
    pub matrix: Csr<f64>,
    /// The right-hand side: ones, but for the finite-element problems, which have their load.
    pub rhs: Vec<f64>,
    /// Where each node lies, one for every `block_size` rows. `None` where [`grid`](Self::grid)
    /// says as much.
    pub coordinates: Option<Vec<[f64; 3]>>,
    /// Vectors the operator nearly annihilates, where they are more than the constant.
    pub near_nullspace: Option<NearNullspace>,
    /// Unknowns of a node, which are neighbours in the numbering.
    pub block_size: usize,
    /// Points along x, y and z of a stencil problem: row `i + nx (j + ny k)` is point `(i, j, k)`.
    pub grid: Option<[usize; 3]>,
}

impl Problem {
    /// A stencil problem: one unknown a grid point and ones on the right.
    fn on_grid(name: String, grid: Grid, matrix: Csr<f64>) -> Self {
        Self {
            name,
            rhs: vec![1.0; matrix.size().rows],
            matrix,
            coordinates: None,
            near_nullspace: None,
            block_size: 1,
            grid: Some(grid.size),
        }
    }

    /// Where each unknown lies, of a problem in the plane with one unknown a point; else `None`.
    ///
    /// ```
    /// use vcycle::{executor::Executor, gallery};
    /// let plane = |spec| gallery::build(spec, &Executor::cpu()).map(|problem| problem.plane());
    /// assert_eq!(plane("poisson5:3x2")?.unwrap()[4], [1.0, 1.0]);
    /// assert_eq!(plane("poisson7:3")?, None);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn plane(&self) -> Option<Vec<[f64; 2]>> {
        if self.block_size != 1 {
            return None;
        }
        if let Some([nx, ny, 1]) = self.grid {
            let points = (0..nx * ny).map(|row| [(row % nx) as f64, (row / nx) as f64]);
            return Some(points.collect());
        }
        let points = self.coordinates.as_ref()?;
        let flat = points.iter().all(|point| point[2] == points[0][2]);
        flat.then(|| points.iter().map(|&[x, y, _]| [x, y]).collect())
    }
}

/// One line of the [`catalogue`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The name before the colon.
    pub name: &'static str,
    /// The form of a specification.
    pub usage: &'static str,
    /// What the problem is, in a line.
    pub description: &'static str,
    /// A small instance.
    pub example: &'static str,
    build: fn(&Spec<'_>, &Executor) -> Result<Problem>,
}

static CATALOGUE: [Entry; 20] = [
    poisson::POISSON5,
    poisson::POISSON9,
    poisson::POISSON7,
    poisson::POISSON27,
    structured::LAPLACE27,
    structured::LAPLACE27E8,
    anisotropic::ANISO5,
    anisotropic::ANISO7,
    jump::ENTRY,
    convection::ENTRY,
    elasticity::ENTRY,
    finite_element::BEAM,
    finite_element::LSHAPE,
    tetrahedra::ENTRY,
    structured::RHD,
    structured::OIL,
    structured::WEATHER,
    structured::RHD3T,
    structured::OIL4C,
    structured::SOLID3D,
];

/// All problems.
///
/// ```
/// for entry in vcycle::gallery::catalogue() {
///     println!("{:32} {}", entry.usage, entry.description);
/// }
/// ```
pub fn catalogue() -> &'static [Entry] {
    &CATALOGUE
}

/// Whether `spec` begins with the name of a problem; its size and parameters are not looked at.
///
/// ```
/// assert!(vcycle::gallery::is_problem("poisson7:64"));
/// assert!(!vcycle::gallery::is_problem("poisson7.mtx"));
/// ```
pub fn is_problem(spec: &str) -> bool {
    find(Spec::parse(spec).name).is_ok()
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
    let parsed = Spec::parse(spec);
    let entry = find(parsed.name)?;
    let told = extent::extent(&parsed, grid::most_rows(executor));
    if let Some(extent) = told.map_err(|error| in_spec(error, spec, entry.usage))? {
        let what = || format!("the matrix of `{spec}`");
        let ranks = executor.team().map_or(1, |team| team.size());
        let share = extent.bytes() / ranks;
        executor.on_host().check_need(what, share)?;
    }
    (entry.build)(&parsed, executor).map_err(|error| in_spec(error, spec, entry.usage))
}

/// Problems of which a rank can make its own rows alone.
const IN_PARTS: [&str; 8] = [
    "poisson5",
    "poisson7",
    "poisson9",
    "poisson27",
    "aniso5",
    "aniso7",
    "jump7",
    "convdiff7",
];

/// Whether a rank can make its own rows of the problem that `spec` names alone.
pub fn is_made_in_parts(spec: &str) -> bool {
    IN_PARTS.contains(&Spec::parse(spec).name)
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
///
/// # Errors
/// As [`build`], and when another rank has failed.
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

/// How large the matrix of the problem that `spec` names will be; `None` where that shows only when it is made.
/// Where blocks of several unknowns are not full it says more entries than there are.
///
/// ```
/// let extent = vcycle::gallery::extent("poisson7:1000")?.unwrap();
/// assert_eq!((extent.rows, extent.entries), (1_000_000_000, 6_994_000_000));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// As [`build`], as far as the size shows it.
pub fn extent(spec: &str) -> Result<Option<Extent>> {
    let parsed = Spec::parse(spec);
    let entry = find(parsed.name)?;
    let most = u32::MAX as usize;
    extent::extent(&parsed, most).map_err(|error| in_spec(error, spec, entry.usage))
}

/// The points along x, y and z of the grid that the problem `spec` names is on, and the unknowns of each; `None` for a
/// problem that is on none.
///
/// ```
/// assert_eq!(vcycle::gallery::grid("poisson5:8x6")?, Some(([8, 6, 1], 1)));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// As [`build`], as far as the size shows it.
pub fn grid(spec: &str) -> Result<Option<([usize; 3], usize)>> {
    let parsed = Spec::parse(spec);
    let entry = find(parsed.name)?;
    let shape = extent::shape(&parsed).map_err(|error| in_spec(error, spec, entry.usage))?;
    Ok(shape.map(|(size, _, unknowns)| (size, unknowns)))
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
///
/// # Errors
/// As [`build`], and for a problem that is on no box of cells.
pub fn build_stencil(spec: &str, executor: &Executor) -> Result<StencilMatrix<f64>> {
    let parsed = Spec::parse(spec);
    let entry = find(parsed.name)?;
    match structured::stencil(&parsed, executor) {
        Some(made) => made.map_err(|error| in_spec(error, spec, entry.usage)),
        None => StencilMatrix::from_csr(&build(spec, executor)?.matrix),
    }
}

fn find(name: &str) -> Result<&'static Entry> {
    find_in(&CATALOGUE, name, |entry| entry.name)
}

/// The entry of a name in a catalogue.
fn find_in<E>(
    catalogue: &'static [E],
    name: &str,
    name_of: fn(&E) -> &'static str,
) -> Result<&'static E> {
    let found = catalogue.iter().find(|entry| name_of(entry) == name);
    found.ok_or_else(|| {
        let known: Vec<&'static str> = catalogue.iter().map(name_of).collect();
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

/// A wrong parameter, told as the part of `spec` that it is.
fn in_spec(error: Error, spec: &str, usage: &'static str) -> Error {
    match error {
        Error::BadParameter { parameter, reason } => Error::BadProblem {
            problem: spec.to_owned(),
            part: parameter,
            reason,
            usage,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_of_error(spec: &str) -> &'static str {
        match build(spec, &Executor::reference()) {
            Err(Error::BadProblem { part, .. }) => part,
            other => panic!("{spec}: {:?}", other.map(|problem| problem.name)),
        }
    }

    #[test]
    fn every_example_builds_and_its_name_builds_it_again() {
        let host = Executor::reference();
        for entry in catalogue() {
            let problem = build(entry.example, &host).unwrap();
            let again = build(&problem.name, &host).unwrap();
            let rows = problem.matrix.size().rows;
            assert!(problem.name.starts_with(entry.name));
            assert_eq!(problem.rhs.len(), rows);
            assert_eq!(again.matrix.values(), problem.matrix.values());
            assert!(problem.matrix.check_finite().is_ok());
            assert!(problem.matrix.diagonal().iter().all(|&d| d > 0.0));
            if let Some(coordinates) = &problem.coordinates {
                assert_eq!(coordinates.len() * problem.block_size, rows);
            }
        }
    }

    #[test]
    fn any_number_of_threads_makes_the_same_matrix() {
        let threads = Executor::cpu_with_threads(3).unwrap();
        for spec in [
            "poisson27:17x13x11",
            "jump7:17x13x11,100",
            "beam:o2,l1",
            "tet:16",
        ] {
            let serial = build(spec, &Executor::reference()).unwrap().matrix;
            let parallel = build(spec, &threads).unwrap().matrix;
            assert_eq!(parallel.offsets(), serial.offsets());
            assert_eq!(parallel.columns(), serial.columns());
            assert_eq!(parallel.values(), serial.values());
        }
    }

    #[test]
    fn all_but_flows_are_symmetric() {
        for entry in catalogue() {
            let a = build(entry.example, &Executor::reference()).unwrap().matrix;
            let symmetric = (0..a.size().rows).all(|row| {
                let (columns, values) = a.row(row);
                columns
                    .iter()
                    .zip(values)
                    .all(|(&column, &value)| a.entry(column as usize, row) == Some(value))
            });
            let directed = ["convdiff7", "oil", "weather", "oil-4C"];
            assert_eq!(symmetric, !directed.contains(&entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn unknown_names_get_the_nearest_one() {
        let suggestion = |spec| match build(spec, &Executor::reference()) {
            Err(Error::UnknownProblem { suggestion, .. }) => suggestion,
            _ => panic!("{spec} is not a problem"),
        };
        assert_eq!(suggestion("Poisson7:8"), Some("poisson7"));
        assert_eq!(suggestion("elastic:8"), Some("elasticity"));
        assert_eq!(suggestion("zq:8"), None);
        assert_eq!(suggestion(""), None);
    }

    #[test]
    fn wrong_sizes_are_named() {
        for spec in [
            "poisson7",
            "poisson7:",
            "poisson7:0",
            "poisson7:-4",
            "poisson7:four",
            "poisson7:4x4",
            "poisson7:4x0x4",
            "poisson7:4xx4",
            "poisson5:4x4x4",
            "poisson7:2000",
            "poisson7:99999999999999999999999",
            "poisson7:4294967295x4294967295x4294967295",
            "elasticity:18446744073709551615x1x1",
            "elasticity:1x18446744073709551615x1",
        ] {
            assert_eq!(part_of_error(spec), "size", "{spec}");
        }
    }

    #[test]
    fn wrong_parameters_are_named() {
        assert_eq!(part_of_error("aniso7:4"), "eps");
        assert_eq!(part_of_error("aniso7:4,0"), "eps");
        assert_eq!(part_of_error("aniso5:4,nan"), "eps");
        assert_eq!(part_of_error("aniso5:4,0.1,inf"), "theta");
        assert_eq!(part_of_error("jump7:4,high"), "contrast");
        assert_eq!(part_of_error("convdiff7:4,-1"), "peclet");
        assert_eq!(part_of_error("beam:3,l1"), "order");
        assert_eq!(part_of_error("beam:o0,l1"), "order");
        assert_eq!(part_of_error("beam:o3"), "levels");
        assert_eq!(part_of_error("beam:o3,l20"), "levels");
        assert_eq!(part_of_error("lshape:o3,l99"), "levels");
        assert_eq!(part_of_error("poisson7:4,5"), "parameters");
        assert_eq!(part_of_error("lshape:o1,l1,l2"), "parameters");
        assert_eq!(part_of_error("tet:1"), "size");
        assert_eq!(part_of_error("tet:4x4x4"), "size");
        assert_eq!(part_of_error("tet:4,0"), "contrast");
    }
}
