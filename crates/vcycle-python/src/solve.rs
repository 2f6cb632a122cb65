//! `vcycle.solve`.

use numpy::{Complex64, PyArray1, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use vcycle::config::{Config, System, Wide, solve_system};
use vcycle::executor::Executor;
use vcycle::vector::Vector;

use crate::describe;
use crate::error::{raised, wrong_option};
use crate::matrix::{AnySystem, Matrix};
use crate::watch::watched;

/// The solution, row after row, and the outcome as JSON. `b` has one or many columns.
#[pyfunction]
#[pyo3(signature = (matrix, b, config, callback))]
pub fn solve<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    b: Bound<'py, PyAny>,
    config: &str,
    callback: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let config = Config::from_json(config).map_err(|error| wrong_option(&error))?;
    match &matrix.any {
        AnySystem::Real(system) => solve_as::<f64>(py, system, &b, &config, callback),
        AnySystem::Complex(system) => solve_as::<Complex64>(py, system, &b, &config, callback),
    }
}

fn solve_as<'py, T: Wide + numpy::Element>(
    py: Python<'py>,
    system: &System<T>,
    b: &Bound<'py, PyAny>,
    config: &Config,
    callback: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let b = vector::<T>(py, b, system.matrix.executor())?;
    let solution = watched(py, callback, |ws| solve_system(config, system, &b, ws))?;
    let solution = solution.map_err(|error| raised(py, error))?;
    let text = describe::solution(&solution);
    Ok((array(py, &solution.x), text))
}

/// A vector of the rows of an array that has one or two dimensions and lies row after row.
pub fn vector<'py, T: Wide + numpy::Element>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    executor: &Executor,
) -> PyResult<Vector<T>> {
    let array: PyReadonlyArrayDyn<'py, T> = array.extract()?;
    let values = array.as_slice()?.to_vec();
    let columns = match array.as_array().shape() {
        [_, columns] => *columns,
        _ => 1,
    };
    Vector::from_rows(executor, columns, values).map_err(|error| raised(py, error))
}

/// The values row after row.
pub fn array<'py, T: Wide + numpy::Element>(py: Python<'py>, x: &Vector<T>) -> Bound<'py, PyAny> {
    let values = PyArray1::from_vec(py, x.to_vec());
    match values.reshape([x.rows(), x.cols()]) {
        Ok(array) if x.cols() > 1 => array.into_any(),
        _ => values.into_any(),
    }
}
