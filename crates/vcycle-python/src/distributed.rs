//! Systems whose rows the processes of an MPI communicator share.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use vcycle::communicator::mpi;
use vcycle::config::{Config, SharedPrepared, SharedSystem};
use vcycle::executor::Workspace;
use vcycle::matrix::{Distributed, Duplicates};

use crate::describe;
use crate::error::{raised, wrong_option};
use crate::matrix::known;
use crate::solve::{like, vector};
use crate::watch::watched;

/// A system that is set up, over all processes. They call everything together.
#[pyclass(frozen)]
pub struct DistributedSystem {
    prepared: Mutex<SharedPrepared>,
    /// What is to be told of devices.
    note: Option<String>,
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
        values: PyReadonlyArray1<'_, f64>,
        near_nullspace: Option<Vec<PyReadonlyArray1<'_, f64>>>,
        block_size: Option<usize>,
    ) -> PyResult<Self> {
        let config = Config::from_json(config).map_err(|error| wrong_option(&error))?;
        let offsets = offsets.as_slice()?.iter().map(|&offset| offset as usize);
        let offsets: Vec<usize> = offsets.collect();
        let columns = columns.as_slice()?.iter().map(|&column| column as u64);
        let columns: Vec<u64> = columns.collect();
        let values = values.as_slice()?.to_vec();
        let near = known(py, near_nullspace, block_size)?;
        let made = py.detach(|| {
            let team = mpi::of_fortran(communicator)?;
            let (rank, note) = config.run.executor_of_rank(&team)?;
            let a = Distributed::from_rows(&rank, offsets, columns, values, Duplicates::Refuse)?;
            let mut system = SharedSystem::new(Arc::new(a));
            system.near_nullspace = near;
            Ok((
                SharedPrepared::new(&config, system, &Workspace::new())?,
                note,
            ))
        });
        let (prepared, note) = made.map_err(|error| raised(py, error))?;
        Ok(Self {
            prepared: Mutex::new(prepared),
            note,
        })
    }

    /// Own rows of the solution, and the outcome as JSON.
    #[pyo3(signature = (b, guess, callback))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: Bound<'py, PyAny>,
        guess: Option<Bound<'py, PyAny>>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, String)> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let executor = prepared.system().matrix.executor();
        let rhs = vector::<f64>(py, &b, executor)?;
        let guess = guess.map(|guess| vector::<f64>(py, &guess, executor));
        let guess = guess.transpose()?;
        let prepared = &*prepared;
        let solution = watched(py, callback, |ws| {
            prepared.solve(&rhs, guess.as_ref(), &prepared.config().stop, ws)
        })?;
        let mut solution = solution.map_err(|error| raised(py, error))?;
        solution.messages.splice(0..0, self.note.clone());
        let text = describe::solution(&solution);
        Ok((like(solution.x, &b)?, text))
    }

    /// Other values for the entries of own rows, in the same order.
    fn update(&self, py: Python<'_>, values: PyReadonlyArrayDyn<'_, f64>) -> PyResult<()> {
        let values = values.as_slice()?.to_vec();
        let updated = py.detach(|| {
            let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            prepared.update_values(values, &Workspace::new())
        });
        updated.map_err(|error| raised(py, error))
    }
}
