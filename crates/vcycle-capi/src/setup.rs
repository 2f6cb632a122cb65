//! Set-ups, and other values for them.

use std::ffi::c_void;
use std::sync::Arc;

use vcycle::config::{Prepared, System};
use vcycle::executor::{Buffer, Executor, Workspace};
use vcycle::matrix::Csr;

use crate::distributed::own_values;
use crate::failure::Failure;
use crate::guard::{check_pointer, reference, slice};
use crate::handle::{Matrix, State, changing, no_matrix, vcycle_solver};
use crate::matrix::{Given, vcycle_csr};
use crate::numbers::{AnyPrepared, Number, OfSystems, for_numbers};
use crate::places::{Places, placed};
use crate::scratch;

/// Sets a solver up for a matrix; an earlier one is replaced. If it fails the solver keeps the earlier matrix.
///
/// # Safety
/// The arrays of the matrix are valid, for as long as its flags require.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_setup(
    solver: *mut vcycle_solver,
    matrix: *const vcycle_csr,
) -> i32 {
    changing(solver, |solver, state| {
        // SAFETY: it is null or points to a description of the caller.
        let given = Given::new(*unsafe { reference(matrix, "matrix") }?)?;
        scratch::forget(solver.id);
        // SAFETY: the arrays are there, a condition of this function.
        let made = unsafe { for_numbers!(given.numbers, set_up(state, &given)) }?;
        state.matrix = Some(made);
        Ok(())
    })
}

/// # Safety
/// The arrays of the matrix are there.
unsafe fn set_up<N: Number>(state: &State, given: &Given) -> Result<Matrix, Failure> {
    let mut made = Matrix {
        numbers: given.numbers,
        rows: given.rows,
        places: Places::Same(0),
        on_device: given.is_on_device(),
        prepared: AnyPrepared::Empty,
    };
    if given.rows == 0 {
        return Ok(made);
    }
    let executor = state.config.run.executor()?;
    // SAFETY: a condition of this function.
    let (a, places) = unsafe { given.csr::<N>(&executor) }?;
    let mut system = System::new(Arc::new(a));
    system.single = N::SINGLE;
    system.near_nullspace = state.known.near_nullspace(given.rows)?;
    let prepared = Prepared::new(state.config.clone(), system, &Workspace::new())?;
    made.places = places;
    made.prepared = N::Wide::any(prepared);
    Ok(made)
}

/// Sets new values of the entries of the matrix, in the order that vcycle_setup got: the levels of multigrid are
/// kept and their values updated. If it fails the solver keeps the old values. Processes that share a matrix
/// call it together, each with the values of its rows.
///
/// # Safety
/// There are as many numbers at values as the matrix has entries; if the old ones were borrowed, so are these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_update_values(
    solver: *mut vcycle_solver,
    values: *const c_void,
) -> i32 {
    changing(solver, |_, state| {
        let matrix = state.matrix.as_mut().ok_or_else(no_matrix)?;
        // SAFETY: the numbers are there, a condition of this function.
        unsafe { for_numbers!(matrix.numbers, update(matrix, values)) }
    })
}

/// # Safety
/// There are as many numbers as the matrix has entries.
unsafe fn update<N: Number>(matrix: &mut Matrix, values: *const c_void) -> Result<(), Failure> {
    let Some(prepared) = N::Wide::prepared_mut(&mut matrix.prepared) else {
        return Ok(());
    };
    if let Some(before) = prepared.matrix().shared().cloned() {
        // SAFETY: a condition of this function.
        let values = unsafe { own_values::<N>(&before, &matrix.places, values) }?;
        let after = prepared.matrix().with_values(values)?;
        return Ok(prepared.update_values(after, &Workspace::new())?);
    }
    let before = prepared.matrix().whole()?;
    let a = if matrix.on_device {
        check_pointer(values, "values")?;
        // SAFETY: the numbers are there, a condition of this function.
        unsafe { on_device::<N>(before.executor(), values, before) }?
    } else {
        // SAFETY: a condition of this function.
        let given = unsafe { slice(values.cast::<N>(), matrix.places.given(), "values") }?;
        let values = placed(given, &matrix.places, before.nonzeros())?;
        Csr::with_pattern(before.pattern(), values)?
    };
    a.check_finite()?;
    prepared.update_values(Arc::new(a), &Workspace::new())?;
    Ok(())
}

/// The matrix of the same pattern with values of the caller.
///
/// # Safety
/// There are as many numbers as the matrix has entries.
unsafe fn on_device<N: Number>(
    executor: &Executor,
    values: *const c_void,
    before: &Csr<N::Wide>,
) -> Result<Csr<N::Wide>, Failure> {
    if let Some(device) = executor.device() {
        device.synchronize_all()?;
    }
    let entries = before.nonzeros();
    // SAFETY: the numbers are there, a condition of this function.
    let values = unsafe { Buffer::borrowed(executor, values as u64, entries, Box::new(())) }?;
    Ok(Csr::of_buffers(before.pattern(), values))
}
