//! What callers tell a solver before its set-up.

use std::ffi::c_void;

use crate::failure::{Failure, ensure};
use crate::guard::{length, slice};
use crate::handle::{changing, vcycle_solver};
use crate::watch::{Callback, vcycle_callback};

/// Sets the number of unknowns per node, numbered node by node, for the next vcycle_setup.
#[unsafe(no_mangle)]
pub extern "C" fn vcycle_set_block_size(solver: *mut vcycle_solver, block_size: i32) -> i32 {
    changing(solver, |_, state| {
        ensure!(block_size > 0, "`block_size` is at least 1");
        state.known.block_size = block_size as usize;
        Ok(())
    })
}

/// Sets the vectors that the matrix nearly annihilates, for the next vcycle_setup: count columns of rows numbers, one
/// after the other. They are copied. A count of 0 removes earlier ones.
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
    changing(solver, |_, state| {
        let (count, rows) = (length(count.into(), "count")?, length(rows, "rows")?);
        let all = count.saturating_mul(rows);
        // SAFETY: the caller has that many numbers there.
        let values = unsafe { slice(vectors, all, "vectors") }?;
        check_finite(values, "vectors")?;
        let vector = |place: usize| values[place * rows..][..rows].to_vec();
        state.known.vectors = (0..count).map(vector).collect();
        Ok(())
    })
}

/// Sets the coordinates of the nodes, for the next vcycle_setup: dimension numbers for each of nodes nodes, node by node.
/// If there are as many unknowns per node as dimensions, rigid-body modes are used as near-nullspace. The numbers are
/// copied. NULL removes earlier ones.
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
    changing(solver, |_, state| {
        ensure!((1..=3).contains(&dimension), "`dimension` is 1, 2 or 3");
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
        // In one dimension nothing turns. A process without rows has no points, and yet as many motions as the others.
        let is_known = !coordinates.is_null() && dimension > 1;
        state.known.coordinates = is_known.then_some((dimension, points));
        Ok(())
    })
}

/// Sets a function that is called after every iteration of a solve, by the thread that solves; NULL: none. It must not unwind
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
    changing(solver, |_, state| {
        state.callback = function.map(|function| Callback { function, context });
        Ok(())
    })
}

fn check_finite(values: &[f64], name: &str) -> Result<(), Failure> {
    for (place, value) in values.iter().enumerate() {
        ensure!(value.is_finite(), "`{name}`: item {place} is not finite");
    }
    Ok(())
}
