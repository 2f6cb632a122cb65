//! Solves.

use std::ffi::c_void;

use vcycle::config::{Solution, StopConfig};
use vcycle::executor::Workspace;

use crate::failure::{Failure, ensure};
use crate::guard::{check_pointer, reference};
use crate::handle::{Matrix, matrix, reading, vcycle_solver};
use crate::numbers::{Number, for_numbers};
use crate::vectors::Shape;
use crate::{scratch, status, watch};

/// When a solve ends, and where it starts. For a negative number the value of the options holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vcycle_limits {
    /// sizeof(vcycle_limits)
    pub size: usize,
    /// Residual norm relative to that of the right-hand side.
    pub rtol: f64,
    /// Or residual norm relative to that of the initial guess.
    pub reduction: f64,
    /// Or residual norm. One of the tolerances that are given has to be reached.
    pub atol: f64,
    /// Iterations at most.
    pub max_iterations: i64,
    /// Whether x holds a guess to start from; 0: start from zero.
    pub nonzero_guess: i32,
}

/// How a solve ended.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct vcycle_report {
    /// sizeof(vcycle_report), set by the caller: no more bytes are written.
    pub size: usize,
    /// VCYCLE_CONVERGED only if the true residual of every column converged; else the status of the first column that did not.
    pub status: i32,
    /// Number of multigrid levels; 0 without multigrid.
    pub levels: i32,
    /// Iterations of the column that took most.
    pub iterations: i64,
    /// The largest true residual of the columns, relative to the right-hand side.
    pub relative_residual: f64,
    /// The largest backward error of the columns.
    pub backward_error: f64,
    /// Time of the set-up.
    pub setup_seconds: f64,
    /// Time of this solve.
    pub solve_seconds: f64,
    /// Entries of all levels relative to those of the matrix; 0 without multigrid.
    pub operator_complexity: f64,
    /// Rows of all levels relative to those of the matrix; 0 without multigrid.
    pub grid_complexity: f64,
    /// Bytes of the stored matrix and the preconditioner.
    pub bytes: u64,
    /// The largest component of the columns that is known to be outside the range of the matrix, relative to the right-hand side.
    pub outside_range: f64,
}

impl vcycle_report {
    /// That of a matrix without rows.
    fn empty() -> Self {
        Self {
            size: size_of::<Self>(),
            status: status::VCYCLE_CONVERGED,
            ..Self::default()
        }
    }

    fn of<T>(solution: &Solution<T>) -> Self {
        let outcome = &solution.outcome;
        let multigrid = solution.multigrid.as_ref();
        Self {
            size: size_of::<Self>(),
            status: status::number(outcome.status),
            levels: multigrid.map_or(0, |report| report.levels.len() as i32),
            iterations: outcome.iterations as i64,
            relative_residual: outcome.relative_residual,
            backward_error: outcome.backward_error,
            setup_seconds: solution.setup.as_secs_f64(),
            solve_seconds: solution.solving.as_secs_f64(),
            operator_complexity: multigrid.map_or(0.0, |report| report.operator_complexity()),
            grid_complexity: multigrid.map_or(0.0, |report| report.grid_complexity()),
            bytes: solution.bytes as u64,
            outside_range: outcome.outside_range,
        }
    }

    /// Writes as much as the caller's report has room for.
    ///
    /// # Safety
    /// `to` is null, or points to a report that begins with its size.
    unsafe fn write(&self, to: *mut Self) -> Result<(), Failure> {
        if to.is_null() {
            return Ok(());
        }
        check_pointer(to, "report")?;
        // SAFETY: it begins with its size, a condition of this function.
        let room = unsafe { to.cast::<usize>().read() };
        ensure!(
            room >= size_of::<usize>(),
            "`size` of the report is not set: sizeof(vcycle_report)"
        );
        let mut written = *self;
        written.size = room.min(size_of::<Self>());
        // SAFETY: there is room for so many bytes, as the caller says.
        unsafe {
            let from: *const u8 = (&raw const written).cast();
            std::ptr::copy_nonoverlapping(from, to.cast(), written.size);
        }
        Ok(())
    }
}

/// Where a call finds its vectors, and what it is to do.
struct Request<'c> {
    b: *const c_void,
    x: *mut c_void,
    shape_of_b: Shape,
    shape_of_x: Shape,
    has_guess: bool,
    stop: &'c StopConfig,
}

/// Solves A x = b for one or more columns with the given leading dimensions, which are ignored for one column.
/// b and x have the numbers of the matrix, and may be the same. limits may be NULL: those of the options, from zero.
/// report may be NULL.
///
/// # Safety
/// There are columns of as many numbers as the matrix has rows at b, and memory for as many at x.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_solve(
    solver: *const vcycle_solver,
    columns: i32,
    b: *const c_void,
    leading_b: i64,
    x: *mut c_void,
    leading_x: i64,
    limits: *const vcycle_limits,
    report: *mut vcycle_report,
) -> i32 {
    reading(solver, |solver, state| {
        let matrix = matrix(state)?;
        // SAFETY: it is null or points to limits of the caller.
        let (stop, has_guess) = unsafe { stop(limits, &state.config.stop) }?;
        let request = Request {
            b,
            x,
            shape_of_b: matrix.shape(columns, leading_b)?,
            shape_of_x: matrix.shape(columns, leading_x)?,
            has_guess,
            stop: &stop,
        };
        // SAFETY: the vectors are there, a condition of this function.
        let work = |ws: &Workspace| unsafe {
            for_numbers!(matrix.numbers, solve_as(matrix, &request, ws))
        };
        let (summary, messages) = match state.callback {
            None => scratch::with(solver.id, work),
            Some(callback) => work(&Workspace::with_log(watch::log(callback))),
        }?;
        solver.report(messages);
        // SAFETY: it is null or points to a report of the caller.
        unsafe { summary.write(report) }
    })
}

/// # Safety
/// The vectors of the request are there.
unsafe fn solve_as<N: Number>(
    matrix: &Matrix,
    request: &Request<'_>,
    ws: &Workspace,
) -> Result<(vcycle_report, Vec<String>), Failure> {
    let prepared = matrix.prepared::<N::Wide>()?;
    let Some(prepared) = prepared.filter(|_| request.shape_of_b.columns > 0) else {
        return Ok((vcycle_report::empty(), Vec::new()));
    };
    let executor = prepared.matrix().executor();
    // SAFETY: a condition of this function, as below.
    let b = unsafe { request.shape_of_b.read::<N>(executor, request.b, "b") }?;
    // A process may have no rows of a matrix that several share.
    if matrix.rows > 0 {
        check_pointer(request.x.cast::<N>(), "x")?;
    }
    let guess = match request.has_guess {
        false => None,
        // SAFETY: as above.
        true => Some(unsafe { request.shape_of_x.read::<N>(executor, request.x, "x") }?),
    };
    let mut solution = prepared.solve(&b, guess.as_ref(), request.stop, ws)?;
    solution.setup += prepared.setup();
    // What was borrowed of x ends before x is written.
    drop((b, guess));
    // SAFETY: as above.
    unsafe { request.shape_of_x.write::<N>(&solution.x, request.x, "x") }?;
    Ok((vcycle_report::of(&solution), solution.messages))
}

/// The criteria, and whether there is a guess.
///
/// # Safety
/// `limits` is null or points to limits of the caller.
unsafe fn stop(
    limits: *const vcycle_limits,
    options: &StopConfig,
) -> Result<(StopConfig, bool), Failure> {
    let mut stop = options.clone();
    if limits.is_null() {
        return Ok((stop, false));
    }
    // SAFETY: it is not null, and points to limits of the caller.
    let limits = unsafe { reference(limits, "limits") }?;
    ensure!(
        limits.size == size_of::<vcycle_limits>(),
        "`size` is not sizeof(vcycle_limits): set it before all else"
    );
    let given = |value: f64, name: &str| match value {
        value if value < 0.0 => Ok(None),
        value if value.is_finite() => Ok(Some(value)),
        value => Err(Failure::argument(format!("`{name}` is {value}"))),
    };
    stop.rtol = given(limits.rtol, "rtol")?.or(stop.rtol);
    stop.reduction = given(limits.reduction, "reduction")?.or(stop.reduction);
    stop.atol = given(limits.atol, "atol")?.or(stop.atol);
    if let Ok(iterations) = usize::try_from(limits.max_iterations) {
        stop.max_iterations = iterations;
    }
    Ok((stop, limits.nonzero_guess != 0))
}
