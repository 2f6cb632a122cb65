//! Matrices whose rows several processes share.

use std::ffi::c_void;
use std::sync::Arc;

use vcycle::communicator::{Communicator, mpi};
use vcycle::config::{Prepared, System};
use vcycle::executor::Workspace;
use vcycle::matrix::{Distributed, Duplicates};

use crate::codes::VCYCLE_ERROR_STATE;
use crate::failure::{Failure, ensure};
use crate::guard::{reference, slice};
use crate::handle::{Matrix, State, changing, vcycle_solver};
use crate::matrix::{Given, check_finite, vcycle_csr};
use crate::numbers::{Number, OfSystems, for_numbers};
use crate::places::{GivenOrder, Places, placed};
use crate::scratch;

/// Sets a solver up for a matrix whose rows the processes of an MPI communicator share: matrix has the rows of this process, with
/// columns numbered over all of them, in the order of the processes. All processes call this, vcycle_solve and vcycle_apply
/// together, and with vectors of their own rows; a process may have none. communicator is the result of
/// MPI_Comm_c2f. All processes use numbers of the same type. For new values all processes call vcycle_update_values. With
/// a device in the options the processes of a machine are assigned its GPUs in turn; matrix and vectors are in the memory of
/// the host.
///
/// # Safety
/// The arrays of the matrix are valid, MPI is initialised, and communicator is the number of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_setup_distributed(
    solver: *mut vcycle_solver,
    communicator: i32,
    matrix: *const vcycle_csr,
) -> i32 {
    changing(solver, |solver, state| {
        let team = mpi::of_fortran(communicator)?;
        scratch::forget(solver.id);
        // SAFETY: it is null or points to a description of the caller.
        let given = unsafe { reference(matrix, "matrix") }.and_then(|given| Given::new(*given));
        let given = all(team.as_ref(), given)?;
        ensure!(
            team.alike(&[given.numbers as u8])?.1 == team.size(),
            "processes have matrices of different types of numbers"
        );
        // SAFETY: its arrays are there, a condition of this function.
        let made = unsafe { for_numbers!(given.numbers, set_up(state, &given, &team)) }?;
        state.matrix = Some(made);
        Ok(())
    })
}

/// # Safety
/// The arrays of the matrix are there.
unsafe fn set_up<N: Number>(
    state: &State,
    given: &Given,
    team: &Arc<dyn Communicator>,
) -> Result<Matrix, Failure> {
    // SAFETY: a condition of this function.
    let found = unsafe { given.rows_of_many::<N>() }.and_then(|rows| {
        let given_order = GivenOrder::of(&rows.0, &rows.1)?;
        Ok((rows, given_order, state.known.near_nullspace(given.rows)?))
    });
    let ((offsets, columns, values), given_order, near) = all(team.as_ref(), found)?;
    let (executor, _) = state.config.run.executor_of_rank(team)?;
    let a = Distributed::from_rows(&executor, offsets, columns, values, Duplicates::Sum)?;
    let places = given_order.places(|row, column| a.place(row, column));
    let mut system = System::new(Arc::new(a));
    system.single = N::SINGLE;
    system.near_nullspace = near;
    let prepared = Prepared::new(state.config.clone(), system, &Workspace::new())?;
    Ok(Matrix {
        numbers: given.numbers,
        rows: given.rows,
        places,
        on_device: false,
        prepared: N::Wide::any(prepared),
    })
}

/// What one process has found, if none has failed: a process that fails alone must not leave the others waiting.
fn all<T>(team: &dyn Communicator, found: Result<T, Failure>) -> Result<T, Failure> {
    if team.any(found.is_err())? {
        let other = || Failure::new(VCYCLE_ERROR_STATE, "another process has failed");
        return Err(found.err().unwrap_or_else(other));
    }
    found
}

/// Other values for own rows, in the order that the matrix has them in.
///
/// # Safety
/// There are as many numbers as own rows have entries.
pub(crate) unsafe fn own_values<N: Number>(
    a: &Distributed<N::Wide>,
    places: &Places,
    values: *const c_void,
) -> Result<Vec<N::Wide>, Failure> {
    // SAFETY: a condition of this function.
    let given = unsafe { slice(values.cast::<N>(), places.given(), "values") };
    let values = given.and_then(|given| {
        check_finite(given)?;
        placed(given, places, a.local().nonzeros())
    });
    all(a.team().as_ref(), values)
}
