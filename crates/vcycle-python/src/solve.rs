//! `vcycle.solve`.

use numpy::{Complex64, PyArray1, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray};
use pyo3::prelude::*;
use vcycle::config::{AnySystem, Config, System, solve_system};
use vcycle::executor::{Buffer, Executor};
use vcycle::vector::Vector;

use crate::describe;
use crate::device::{Foreign, OnDevice};
use crate::error::{OrRaise, parsed};
use crate::matrix::Matrix;
use crate::watch::watched;

/// The solution, row after row, and the outcome as JSON. `b` has one or many columns; iterations
/// start from `guess`, or zero. The solution is rounded to `single` precision where the caller returns it so.
#[pyfunction]
#[pyo3(signature = (matrix, b, guess, config, callback, single))]
pub fn solve<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    b: Bound<'py, PyAny>,
    guess: Option<Bound<'py, PyAny>>,
    config: &str,
    callback: Option<Py<PyAny>>,
    single: bool,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let config = parsed(config)?;
    match &matrix.any {
        AnySystem::Real(system) => {
            solve_as::<f64>(py, of(system, single), &b, guess, &config, callback)
        }
        AnySystem::Complex(system) => {
            solve_as::<Complex64>(py, of(system, single), &b, guess, &config, callback)
        }
    }
}

/// The system with solutions in this precision.
pub fn of<T: Clone>(system: &System<T>, single: bool) -> System<T> {
    let mut system = system.clone();
    system.single = single;
    system
}

fn solve_as<'py, T: OnDevice + numpy::Element>(
    py: Python<'py>,
    mut system: System<T>,
    b: &Bound<'py, PyAny>,
    guess: Option<Bound<'py, PyAny>>,
    config: &Config,
    callback: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let executor = system.matrix.executor().clone();
    let rhs = vector::<T>(b, &executor)?;
    if let Some(guess) = guess {
        system = system.with_guess(vector(&guess, &executor)?);
    }
    let solution = watched(py, callback, |ws| solve_system(config, &system, &rhs, ws))?;
    let text = describe::solution(&solution);
    Ok((like(solution.x, b)?, text))
}

/// A vector of the rows of an array that has one or two dimensions and lies row after row: copied
/// from NumPy, shared with other libraries on a device.
pub fn vector<'py, T: OnDevice + numpy::Element>(
    array: &Bound<'py, PyAny>,
    executor: &Executor,
) -> PyResult<Vector<T>> {
    let columns = |shape: &[usize]| match shape {
        [_, columns] => *columns,
        _ => 1,
    };
    let (columns, values) = match is_numpy(array) {
        true => {
            let array: PyReadonlyArrayDyn<'py, T> = array.extract()?;
            let values = Buffer::from_vec(executor, array.as_slice()?.to_vec());
            (columns(array.as_array().shape()), values)
        }
        false => {
            let array = Foreign::of(array, "the vector", executor)?;
            (columns(array.shape()), T::taken(array, executor)?)
        }
    };
    Vector::from_buffer(columns, values).or_raise()
}

fn is_numpy(array: &Bound<'_, PyAny>) -> bool {
    array.is_instance_of::<PyUntypedArray>()
}

/// The values row after row: in an array of NumPy if `b` is one, else in one of the device.
pub fn like<'py, T: OnDevice + numpy::Element>(
    x: Vector<T>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = b.py();
    if !is_numpy(b) {
        let dimensions = b.getattr("ndim").and_then(|n| n.extract());
        return Ok(T::given(x, dimensions.unwrap_or(1) == 1)?
            .into_pyobject(py)?
            .into_any());
    }
    let values = PyArray1::from_vec(py, x.to_vec());
    Ok(match values.reshape([x.rows(), x.cols()]) {
        Ok(array) if x.cols() > 1 => array.into_any(),
        _ => values.into_any(),
    })
}
