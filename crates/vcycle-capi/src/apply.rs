//! The preconditioner alone.

use std::ffi::c_void;

use vcycle::executor::Workspace;

use crate::failure::Failure;
use crate::handle::{Matrix, matrix, reading, vcycle_solver};
use crate::numbers::{Number, for_numbers};
use crate::scratch;
use crate::vectors::Shape;

/// Applies the preconditioner once, usually a multigrid cycle: z = M r, for an iterative solver of the caller. It is a
/// fixed linear operator, and symmetric for a symmetric matrix. r and z may be the same.
///
/// # Safety
/// There are columns of as many numbers as the matrix has rows at r, and memory for as many at z.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_apply(
    solver: *const vcycle_solver,
    columns: i32,
    r: *const c_void,
    leading_r: i64,
    z: *mut c_void,
    leading_z: i64,
) -> i32 {
    reading(solver, |solver, state| {
        let matrix = matrix(state)?;
        let from = (r, matrix.shape(columns, leading_r)?);
        let to = (z, matrix.shape(columns, leading_z)?);
        scratch::with(solver.id, |ws| {
            // SAFETY: the vectors are there, a condition of this function.
            unsafe { for_numbers!(matrix.numbers, apply_as(matrix, from, to, ws)) }
        })
    })
}

/// # Safety
/// The vectors are there.
unsafe fn apply_as<N: Number>(
    matrix: &Matrix,
    (r, from): (*const c_void, Shape),
    (z, to): (*mut c_void, Shape),
    ws: &Workspace,
) -> Result<(), Failure> {
    let prepared = matrix.prepared::<N::Wide>()?;
    let Some(prepared) = prepared.filter(|_| from.columns > 0) else {
        return Ok(());
    };
    // SAFETY: a condition of this function.
    let r = unsafe { from.read::<N>(prepared.matrix().executor(), r, "r") }?;
    let mut inner = ws.vector_like::<N::Wide, N::Wide>(&r)?;
    prepared.apply(&r, &mut inner, ws)?;
    drop(r);
    // SAFETY: a condition of this function.
    unsafe { to.write::<N>(&inner, z, "z") }
}
