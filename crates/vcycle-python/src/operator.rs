//! Preconditioners as operators.

use std::sync::Arc;

use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;
use vcycle::Error;
use vcycle::config::{AnySystem, Attempt, System, attempts};
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::vector::Vector;

use crate::error::{OrRaise, parsed};
use crate::matrix::Matrix;
use crate::solve::{like, vector};

/// A preconditioner that was set up for a real matrix.
#[pyclass(frozen)]
pub struct Operator {
    operator: Arc<dyn LinOp<f64>>,
    /// Its name and parameters.
    #[pyo3(get)]
    name: String,
}

#[pymethods]
impl Operator {
    #[new]
    fn new(py: Python<'_>, matrix: &Matrix, config: &str) -> PyResult<Self> {
        let config = parsed(config)?;
        let AnySystem::Real(system) = &matrix.any else {
            return Err(PyNotImplementedError::new_err(
                "preconditioners of complex matrices",
            ));
        };
        let near = system.near_nullspace.as_ref();
        let facts = || system.facts().expect("no other rank can fail");
        let Attempt {
            preconditioner,
            preprocessing,
            ..
        } = attempts(&config, near, facts).swap_remove(0);
        let factory = preconditioner
            .factory::<f64>()
            .map_err(Error::from)
            .or_raise()?;
        let factory = factory.ok_or_else(|| PyValueError::new_err("`none` is no operator"))?;
        let a = matrix_operator(system);
        let operator =
            py.detach(|| preprocessing.precondition(&a, factory.as_ref(), &Workspace::new()));
        Ok(Self {
            operator: operator.or_raise()?,
            name: preconditioner.brief(),
        })
    }

    /// Applied to one or many columns.
    fn apply<'py>(&self, py: Python<'py>, b: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        applied(py, self.operator.as_ref(), &b)
    }
}

/// The matrix of a system of this process alone.
pub fn matrix_operator(system: &System<f64>) -> Arc<dyn LinOp<f64>> {
    let whole = system.matrix.whole();
    Arc::clone(whole.expect("this process has all rows")) as _
}

/// An operator applied to one or many columns.
pub fn applied<'py>(
    py: Python<'py>,
    operator: &dyn LinOp<f64>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let r = vector::<f64>(b, operator.executor())?;
    let apply = || {
        let mut x = Vector::zeros_like(&r)?;
        operator.apply(&r, &mut x, &Workspace::new())?;
        Ok(x)
    };
    like(py.detach(apply).or_raise()?, b)
}
