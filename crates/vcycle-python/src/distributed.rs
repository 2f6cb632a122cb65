//! Systems whose rows the processes of an MPI communicator share.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Complex64, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use vcycle::communicator::mpi;
use vcycle::config::{Config, Prepared, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::{Distributed, Duplicates};
use vcycle::multigrid::NearNullspace;

use crate::arrays::{Values, WideValues};
use crate::describe;
use crate::device::OnDevice;
use crate::error::{OrRaise, parsed};
use crate::matrix::known;
use crate::solve::{like, vector};
use crate::watch::watched;

/// A system that is set up, over all processes. They call everything together.
#[pyclass(frozen)]
pub struct DistributedSystem {
    prepared: Mutex<AnyPrepared>,
    /// A message on devices.
    note: Option<String>,
}

/// What is set up, for the numbers that the rows have.
enum AnyPrepared {
    Real(Prepared),
    Complex(Prepared<Complex64>),
}

/// Offsets of own rows, and columns numbered over all processes.
type Structure = (Vec<usize>, Vec<u64>);

fn prepared<T: OnDevice>(
    config: &Config,
    rank: &Executor,
    (offsets, columns): Structure,
    values: Vec<T>,
    near: Option<NearNullspace>,
) -> vcycle::Result<Prepared<T>> {
    let a = Distributed::from_rows(rank, offsets, columns, values, Duplicates::Refuse)?;
    let mut system = System::new(Arc::new(a));
    system.near_nullspace = near;
    Prepared::new(config.clone(), system, &Workspace::new())
}

fn renewed<T: OnDevice>(prepared: &mut Prepared<T>, values: Vec<T>) -> vcycle::Result<()> {
    let matrix = prepared.matrix().with_values(values)?;
    prepared.update_values(matrix, &Workspace::new())
}

#[pymethods]
impl DistributedSystem {
    /// Own rows with columns numbered over all processes, in order and each once; the communicator as Fortran knows it.
    #[new]
    #[pyo3(signature = (config, communicator, offsets, columns, values, near_nullspace, block_size))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        config: &str,
        communicator: i32,
        offsets: PyReadonlyArray1<'_, i64>,
        columns: PyReadonlyArray1<'_, i64>,
        values: Values<'_>,
        near_nullspace: Option<Vec<PyReadonlyArray1<'_, f64>>>,
        block_size: Option<usize>,
    ) -> PyResult<Self> {
        let config = parsed(config)?;
        let offsets = offsets.as_slice()?.iter().map(|&offset| offset as usize);
        let columns = columns.as_slice()?.iter().map(|&column| column as u64);
        let structure: Structure = (offsets.collect(), columns.collect());
        let values = values.wide(&Executor::reference())?;
        let near = known(near_nullspace, block_size)?;
        let (prepared, note) = py
            .detach(|| {
                let team = mpi::of_fortran(communicator)?;
                let (rank, note) = config.run.executor_of_rank(&team)?;
                let made = match values {
                    WideValues::Real(values) => {
                        AnyPrepared::Real(prepared(&config, &rank, structure, values, near)?)
                    }
                    WideValues::Complex(values) => {
                        AnyPrepared::Complex(prepared(&config, &rank, structure, values, near)?)
                    }
                };
                Ok((made, note))
            })
            .or_raise()?;
        Ok(Self {
            prepared: Mutex::new(prepared),
            note,
        })
    }

    /// Own rows of the solution, and the outcome as JSON. `b` and `guess` have the numbers of the rows.
    #[pyo3(signature = (b, guess, callback))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: Bound<'py, PyAny>,
        guess: Option<Bound<'py, PyAny>>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, String)> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        match &*prepared {
            AnyPrepared::Real(prepared) => self.solve_as(py, prepared, &b, guess, callback),
            AnyPrepared::Complex(prepared) => self.solve_as(py, prepared, &b, guess, callback),
        }
    }

    /// Other values for the entries of own rows, in the same order.
    fn update(&self, py: Python<'_>, values: Values<'_>) -> PyResult<()> {
        let values = values.wide(&Executor::reference())?;
        let updated = py.detach(|| {
            let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *prepared, values) {
                (AnyPrepared::Real(prepared), WideValues::Real(values)) => {
                    Ok(renewed(prepared, values))
                }
                (AnyPrepared::Complex(prepared), WideValues::Complex(values)) => {
                    Ok(renewed(prepared, values))
                }
                _ => Err(PyTypeError::new_err(
                    "real and complex values cannot take each other's place",
                )),
            }
        })?;
        updated.or_raise()
    }
}

impl DistributedSystem {
    fn solve_as<'py, T: OnDevice + numpy::Element>(
        &self,
        py: Python<'py>,
        prepared: &Prepared<T>,
        b: &Bound<'py, PyAny>,
        guess: Option<Bound<'py, PyAny>>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, String)> {
        let executor = prepared.matrix().executor();
        let rhs = vector::<T>(b, executor)?;
        let guess = guess
            .map(|guess| vector::<T>(&guess, executor))
            .transpose()?;
        let mut solution = watched(py, callback, |ws| {
            prepared.solve(&rhs, guess.as_ref(), &prepared.config().stop, ws)
        })?;
        solution.messages.splice(0..0, self.note.clone());
        let text = describe::solution(&solution);
        Ok((like(solution.x, b)?, text))
    }
}
