//! `vcycle.gallery`.

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::json;
use vcycle::executor::Executor;
use vcycle::gallery;
use vcycle::matrix::Csr;
use vcycle::scalar::Scalar;

use crate::arrays::to_scipy;
use crate::error::OrRaise;

/// What Python gets, by name.
type Named<'py> = Vec<(&'static str, Bound<'py, PyAny>)>;

/// A problem of the gallery: everything that is known of it, by name.
#[pyfunction]
pub fn build<'py>(py: Python<'py>, specification: &str) -> PyResult<Named<'py>> {
    let two = |rows: Option<Vec<Vec<f64>>>| match rows {
        None => py.None().into_bound(py),
        Some(rows) => {
            let array = PyArray2::from_vec2(py, &rows);
            array.expect("rows of one length").into_any()
        }
    };
    let (mut all, points, modes, block_size, grid);
    if gallery::is_complex_problem(specification) {
        let build = || gallery::build_complex(specification, &Executor::cpu());
        let problem = py.detach(build).or_raise()?;
        all = system(py, problem.name, &problem.matrix, problem.rhs)?;
        (points, modes, block_size, grid) = (None, None, 1, problem.grid);
    } else {
        let build = || gallery::build(specification, &Executor::cpu());
        let problem = py.detach(build).or_raise()?;
        all = system(py, problem.name, &problem.matrix, problem.rhs)?;
        let listed = |points: Vec<[f64; 3]>| points.iter().map(|p| p.to_vec()).collect();
        points = problem.coordinates.map(listed);
        modes = problem.near_nullspace.map(|near| near.vectors().to_vec());
        (block_size, grid) = (problem.block_size, problem.grid);
    }
    all.extend([
        ("coordinates", two(points)),
        ("near_nullspace", two(modes)),
        ("block_size", block_size.into_pyobject(py)?.into_any()),
        ("grid", grid.into_pyobject(py)?.into_any()),
    ]);
    Ok(all)
}

/// What all problems have.
fn system<'py, T: Scalar + numpy::Element>(
    py: Python<'py>,
    name: String,
    a: &Csr<T>,
    b: Vec<T>,
) -> PyResult<Named<'py>> {
    let shape = (a.size().rows, a.size().cols);
    let (offsets, columns, values) = to_scipy(py, a);
    Ok(vec![
        ("name", name.into_pyobject(py)?.into_any()),
        ("offsets", offsets),
        ("columns", columns),
        ("values", values),
        ("shape", shape.into_pyobject(py)?.into_any()),
        ("b", PyArray1::from_vec(py, b).into_any()),
    ])
}

/// Usage, description and a small example of every problem, as JSON.
#[pyfunction]
pub fn problems() -> String {
    let entry = |[name, usage, description, example]: [&str; 4]| json!({"name": name, "usage": usage, "description": description, "example": example});
    let real = gallery::catalogue().iter();
    let real = real.map(|one| [one.name, one.usage, one.description, one.example]);
    let complex = gallery::complex_catalogue().iter();
    let complex = complex.map(|one| [one.name, one.usage, one.description, one.example]);
    json!(real.chain(complex).map(entry).collect::<Vec<_>>()).to_string()
}
