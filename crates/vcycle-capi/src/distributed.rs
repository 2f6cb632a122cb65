//! Matrices whose rows several processes share.

use std::ffi::c_void;
use std::sync::Arc;

use vcycle::communicator::{Communicator, mpi};
use vcycle::config::{SharedPrepared, SharedSystem};
use vcycle::executor::Workspace;
use vcycle::matrix::{Distributed, Duplicates};

use crate::codes::VCYCLE_ERROR_STATE;
use crate::failure::Failure;
use crate::guard::{collected, guarded, reference, slice};
use crate::handle::{Matrix, solver, vcycle_solver};
use crate::matrix::{Given, Places, check_finite, placed, vcycle_csr};
use crate::numbers::{AnyPrepared, Numbers};
use crate::scratch;

/// Sets a solver up for a matrix whose rows the processes of an MPI communicator share: matrix has the rows of this process, with
/// columns numbered over all of them, in the order of the processes. All processes call this, vcycle_solve and vcycle_apply
/// together, and with vectors of their own rows; a process may have none. communicator is what MPI_Comm_c2f makes of it. Numbers
/// are double. For other values all processes call vcycle_update_values. With a device in the options the processes of a machine take
/// its GPUs in turn; matrix and vectors are memory of the host.
///
/// # Safety
/// The arrays of the matrix are there, MPI was started, and communicator is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_setup_distributed(
    solver: *mut vcycle_solver,
    communicator: i32,
    matrix: *const vcycle_csr,
) -> i32 {
    guarded(|| {
        let solver = self::solver(solver)?;
        let team = mpi::of_fortran(communicator)?;
        scratch::forget(solver.id);
        solver.change(|state| {
            // SAFETY: it is null or points to a description of the caller, with its arrays.
            let given = unsafe { reference(matrix, "matrix") }.and_then(|given| {
                let given = Given::new(*given)?;
                // SAFETY: as above.
                let rows = unsafe { given.rows_of_many() }?;
                let disorder = Disorder::of(&rows.0, &rows.1)?;
                let near = state.known.near_nullspace(given.rows)?;
                Ok((given.rows, rows, disorder, near))
            });
            let (count, (offsets, columns, values), disorder, near) = all(team.as_ref(), given)?;
            let entries = values.len();
            let (executor, _) = state.config.run.executor_of_rank(&team)?;
            let a = Distributed::from_rows(&executor, offsets, columns, values, Duplicates::Sum)?;
            let places = match disorder {
                None => Places::Same(entries),
                Some(disorder) => disorder.places(&a),
            };
            let mut system = SharedSystem::new(Arc::new(a));
            system.near_nullspace = near;
            let prepared = SharedPrepared::new(&state.config, system, &Workspace::new())?;
            state.matrix = Some(Matrix {
                numbers: Numbers::F64,
                rows: count,
                places,
                on_device: false,
                prepared: AnyPrepared::Shared(Box::new(prepared)),
            });
            Ok(())
        })
    })
}

/// What one process has found, if none has failed: whoever fails alone must not leave the others waiting.
fn all<T>(team: &dyn Communicator, found: Result<T, Failure>) -> Result<T, Failure> {
    if team.any(found.is_err())? {
        let other = || Failure::new(VCYCLE_ERROR_STATE, "another process has failed");
        return Err(found.err().unwrap_or_else(other));
    }
    found
}

/// Entries that do not stand in the order of their columns.
struct Disorder {
    offsets: Vec<usize>,
    columns: Vec<u64>,
    /// Room for their places.
    places: Vec<usize>,
}

impl Disorder {
    fn of(offsets: &[usize], columns: &[u64]) -> Result<Option<Self>, Failure> {
        let increases =
            |range: &[usize]| columns[range[0]..range[1]].is_sorted_by(|one, next| one < next);
        if offsets.windows(2).all(increases) {
            return Ok(None);
        }
        Ok(Some(Self {
            offsets: collected(offsets.iter().copied())?,
            columns: collected(columns.iter().copied())?,
            places: collected(columns.iter().map(|_| 0))?,
        }))
    }

    fn places(mut self, a: &Distributed<f64>) -> Places {
        for (row, range) in self.offsets.windows(2).enumerate() {
            for entry in range[0]..range[1] {
                let place = a.place(row, self.columns[entry]);
                self.places[entry] = place.expect("every entry is in the matrix");
            }
        }
        Places::At(self.places)
    }
}

/// Takes other values for own rows.
///
/// # Safety
/// There are as many numbers as own rows have entries.
pub(crate) unsafe fn update(
    prepared: &mut SharedPrepared,
    places: &Places,
    values: *const c_void,
) -> Result<(), Failure> {
    let matrix = Arc::clone(&prepared.system().matrix);
    // SAFETY: a condition of this function.
    let given = unsafe { slice(values.cast::<f64>(), places.given(), "values") };
    let values = given.and_then(|given| {
        check_finite(given)?;
        placed(given, places, matrix.local().nonzeros())
    });
    let values = all(matrix.team().as_ref(), values)?;
    Ok(prepared.update_values(values, &Workspace::new())?)
}
