//! `vcycle.gallery`.

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::json;
use vcycle::executor::Executor;
use vcycle::gallery;

use crate::arrays::to_scipy;
use crate::error::raised;

/// A problem of the gallery: everything that is known of it, by name.
#[pyfunction]
pub fn build<'py>(
    py: Python<'py>,
    specification: &str,
) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
    if gallery::is_complex_problem(specification) {
        return complex(py, specification);
    }
    let problem = py.detach(|| gallery::build(specification, &Executor::cpu()));
    let problem = problem.map_err(|error| raised(py, error))?;
    let a = &problem.matrix;
    let (offsets, columns, values) = to_scipy(py, a)?;
    let coordinates = problem
        .coordinates
        .map(|points| points.iter().map(|p| p.to_vec()).collect::<Vec<_>>());
    let modes = problem
        .near_nullspace
        .as_ref()
        .map(|near| near.vectors().to_vec());
    let two = |rows: Option<Vec<Vec<f64>>>| -> PyResult<Bound<'py, PyAny>> {
        match rows {
            None => Ok(py.None().into_bound(py)),
            Some(rows) => Ok(PyArray2::from_vec2(py, &rows)
                .expect("rows of one length")
                .into_any()),
        }
    };
    Ok(vec![
        ("name", problem.name.into_pyobject(py)?.into_any()),
        ("offsets", offsets),
        ("columns", columns),
        ("values", values),
        (
            "shape",
            (a.size().rows, a.size().cols).into_pyobject(py)?.into_any(),
        ),
        ("b", PyArray1::from_vec(py, problem.rhs).into_any()),
        ("coordinates", two(coordinates)?),
        ("near_nullspace", two(modes)?),
        (
            "block_size",
            problem.block_size.into_pyobject(py)?.into_any(),
        ),
        ("grid", problem.grid.into_pyobject(py)?.into_any()),
    ])
}

/// The same for a problem with complex values.
fn complex<'py>(
    py: Python<'py>,
    specification: &str,
) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
    let problem = py.detach(|| gallery::build_complex(specification, &Executor::cpu()));
    let problem = problem.map_err(|error| raised(py, error))?;
    let size = problem.matrix.size();
    let (offsets, columns, values) = to_scipy(py, &problem.matrix)?;
    let none = || py.None().into_bound(py);
    Ok(vec![
        ("name", problem.name.into_pyobject(py)?.into_any()),
        ("offsets", offsets),
        ("columns", columns),
        ("values", values),
        (
            "shape",
            (size.rows, size.cols).into_pyobject(py)?.into_any(),
        ),
        ("b", PyArray1::from_vec(py, problem.rhs).into_any()),
        ("coordinates", none()),
        ("near_nullspace", none()),
        ("block_size", 1_usize.into_pyobject(py)?.into_any()),
        ("grid", problem.grid.into_pyobject(py)?.into_any()),
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
