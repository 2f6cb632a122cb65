//! `vcycle.gallery`.

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::json;
use vcycle::executor::Executor;
use vcycle::gallery;
use vcycle::matrix::Csr;
use vcycle::scalar::Scalar;

use crate::arrays::to_scipy;
use crate::error::raised;

/// What Python gets, by name.
type Named<'py> = Vec<(&'static str, Bound<'py, PyAny>)>;

/// A problem of the gallery: everything that is known of it, by name.
#[pyfunction]
pub fn build<'py>(py: Python<'py>, specification: &str) -> PyResult<Named<'py>> {
    let none = || py.None().into_bound(py);
    if gallery::is_complex_problem(specification) {
        let problem = py.detach(|| gallery::build_complex(specification, &Executor::cpu()));
        let problem = problem.map_err(|error| raised(py, error))?;
        let mut all = system(py, problem.name, &problem.matrix, problem.rhs)?;
        all.push(("coordinates", none()));
        all.push(("near_nullspace", none()));
        all.push(("block_size", 1_usize.into_pyobject(py)?.into_any()));
        all.push(("grid", problem.grid.into_pyobject(py)?.into_any()));
        return Ok(all);
    }
    let problem = py.detach(|| gallery::build(specification, &Executor::cpu()));
    let problem = problem.map_err(|error| raised(py, error))?;
    let two = |rows: Option<Vec<Vec<f64>>>| match rows {
        None => none(),
        Some(rows) => {
            let array = PyArray2::from_vec2(py, &rows);
            array.expect("rows of one length").into_any()
        }
    };
    let points = problem.coordinates;
    let points = points.map(|points| points.iter().map(|p| p.to_vec()).collect());
    let modes = problem.near_nullspace.as_ref();
    let mut all = system(py, problem.name, &problem.matrix, problem.rhs)?;
    all.push(("coordinates", two(points)));
    all.push((
        "near_nullspace",
        two(modes.map(|near| near.vectors().to_vec())),
    ));
    all.push((
        "block_size",
        problem.block_size.into_pyobject(py)?.into_any(),
    ));
    all.push(("grid", problem.grid.into_pyobject(py)?.into_any()));
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
    let (offsets, columns, values) = to_scipy(py, a)?;
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
