//! What callers tell a solver before its set-up.

use std::ffi::c_void;

use crate::failure::Failure;
use crate::guard::{guarded, length, slice};
use crate::handle::{solver, vcycle_solver};
use crate::watch::{Callback, vcycle_callback};

/// Tells how many unknowns a node has, numbered node by node; for the next vcycle_setup.
#[unsafe(no_mangle)]
pub extern "C" fn vcycle_set_block_size(solver: *mut vcycle_solver, block_size: i32) -> i32 {
    guarded(|| {
        let size = usize::try_from(block_size).ok().filter(|&size| size > 0);
        let size = size.ok_or_else(|| Failure::argument("`block_size` is at least 1"))?;
        self::solver(solver)?.change(|state| {
            state.known.set_block_size(size);
            Ok(())
        })
    })
}

/// Tells the vectors that the matrix nearly annihilates, for the next vcycle_setup: count columns of rows numbers, one
/// after the other. They are copied. No vectors: forgets those told before.
///
/// # Safety
/// There are count * rows numbers at vectors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_set_near_nullspace(
    solver: *mut vcycle_solver,
    count: i32,
    rows: i64,
    vectors: *const f64,
) -> i32 {
    guarded(|| {
        let solver = self::solver(solver)?;
        let (count, rows) = (length(count.into(), "count")?, length(rows, "rows")?);
        let all = count.saturating_mul(rows);
        // SAFETY: the caller has that many numbers there.
        let values = unsafe { slice(vectors, all, "vectors") }?;
        check_finite(values, "vectors")?;
        let vector = |place: usize| values[place * rows..][..rows].to_vec();
        let copied = (0..count).map(vector).collect();
        solver.change(|state| {
            state.known.set_vectors(copied);
            Ok(())
        })
    })
}

/// Tells where the nodes are, for the next vcycle_setup: dimension numbers for each of nodes nodes, node by node. With as
/// many unknowns a node as there are dimensions, the motions of rigid bodies are what the matrix nearly annihilates. The
/// numbers are copied. NULL: forgets those told before.
///
/// # Safety
/// There are dimension * nodes numbers at coordinates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_set_coordinates(
    solver: *mut vcycle_solver,
    dimension: i32,
    nodes: i64,
    coordinates: *const f64,
) -> i32 {
    guarded(|| {
        let solver = self::solver(solver)?;
        if !(1..=3).contains(&dimension) {
            return Err(Failure::argument("`dimension` is 1, 2 or 3"));
        }
        let (dimension, nodes) = (dimension as usize, length(nodes, "nodes")?);
        let all = nodes.saturating_mul(dimension);
        // SAFETY: the caller has that many numbers there.
        let values = unsafe { slice(coordinates, all, "coordinates") }?;
        check_finite(values, "coordinates")?;
        let point = |place: &[f64]| {
            let mut point = [0.0; 3];
            point[..dimension].copy_from_slice(place);
            point
        };
        let points: Vec<_> = values.chunks_exact(dimension).map(point).collect();
        solver.change(|state| {
            match coordinates.is_null() {
                true => state.known.forget_coordinates(),
                false => state.known.set_coordinates(dimension, points),
            }
            Ok(())
        })
    })
}

/// Has a function called after every iteration of a solve, by the thread that solves; NULL: none. It must not unwind
/// or jump out of the library.
///
/// # Safety
/// Function may be called with context until it is replaced or the solver is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_set_callback(
    solver: *mut vcycle_solver,
    function: vcycle_callback,
    context: *mut c_void,
) -> i32 {
    guarded(|| {
        self::solver(solver)?.change(|state| {
            state.callback = function.map(|function| Callback { function, context });
            Ok::<(), Failure>(())
        })
    })
}

fn check_finite(values: &[f64], name: &str) -> Result<(), Failure> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => {
            let message = format!("`{name}`: item {place} is not finite");
            Err(Failure::argument(message))
        }
    }
}
