//! Matrices whose rows several processes share.

use std::sync::Arc;

use vcycle::communicator::{Communicator, mpi};
use vcycle::config::{SharedPrepared, SharedSystem};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::{Distributed, Duplicates};

use crate::codes::VCYCLE_ERROR_STATE;
use crate::failure::Failure;
use crate::guard::{guarded, reference};
use crate::handle::{Matrix, State, solver, vcycle_solver};
use crate::matrix::{Given, Places, vcycle_csr};
use crate::numbers::{AnyPrepared, Numbers};
use crate::scratch;

/// Sets a solver up for a matrix whose rows the processes of an MPI communicator share: matrix has the rows of this process, with
/// columns numbered over all of them, in the order of the processes. All processes call this, vcycle_solve and vcycle_apply
/// together, and with vectors of their own rows; a process may have none. communicator is what MPI_Comm_c2f makes of it. Numbers
/// are double. Other values need another call of this; vcycle_update_values refuses.
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
                let near = state.known.near_nullspace(given.rows)?;
                Ok((given.rows, rows, near))
            });
            // Whoever fails alone must not leave the others waiting.
            if team.any(given.is_err())? {
                let other = || Failure::new(VCYCLE_ERROR_STATE, "another process has failed");
                return Err(given.err().unwrap_or_else(other));
            }
            let (count, (offsets, columns, values), near) = given?;
            let executor = executor(state, &team)?;
            let a = Distributed::from_rows(&executor, offsets, columns, values, Duplicates::Sum)?;
            let mut system = SharedSystem::new(Arc::new(a));
            system.near_nullspace = near;
            let prepared = SharedPrepared::new(&state.config, system, &Workspace::new())?;
            state.matrix = Some(Matrix {
                numbers: Numbers::F64,
                rows: count,
                places: Places::Same(0),
                on_device: false,
                prepared: AnyPrepared::Shared(Box::new(prepared)),
            });
            Ok(())
        })
    })
}

/// Processes share the cores unless the options say how many threads each has.
fn executor(state: &State, team: &Arc<dyn Communicator>) -> Result<Executor, Failure> {
    if state.config.run.device != "cpu" {
        return Err(Failure::argument(
            "over several processes the device is cpu",
        ));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = (cores / team.size().max(1)).max(1);
    let threads = state.config.run.threads.unwrap_or(shared);
    Ok(Executor::cpu_with_threads(threads)?.with_team(team)?)
}
