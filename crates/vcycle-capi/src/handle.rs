//! Solvers, and the numbers by which callers know them.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

use vcycle::config::{Config, Prepared};

use crate::codes::{VCYCLE_ERROR_HANDLE, VCYCLE_ERROR_STATE};
use crate::failure::{Failure, ensure};
use crate::guard::{check_pointer, guarded};
use crate::known::Known;
use crate::numbers::{AnyPrepared, Numbers, OfSystems};
use crate::places::Places;
use crate::scratch;
use crate::vectors::Shape;
use crate::watch::Callback;

/// A solver: options, a matrix and its set-up.
pub struct vcycle_solver {
    _private: [u8; 0],
}

/// What a solver is.
pub(crate) struct Solver {
    pub id: usize,
    /// What calls that change the solver write to, and others read.
    state: RwLock<State>,
    /// The messages of the last solve.
    messages: Mutex<Vec<String>>,
}

/// What is set up, and what it was made of.
#[derive(Default)]
pub(crate) struct State {
    pub config: Config,
    pub known: Known,
    pub callback: Option<Callback>,
    pub matrix: Option<Matrix>,
}

/// A matrix that is set up.
pub(crate) struct Matrix {
    pub numbers: Numbers,
    pub rows: usize,
    /// Where the entries as they were given are in the matrix.
    pub places: Places,
    /// Whether vectors are in the memory of a device.
    pub on_device: bool,
    pub prepared: AnyPrepared,
}

/// The solvers that live. A number is never given twice, so that one that was freed is known.
static SOLVERS: RwLock<Option<HashMap<usize, Arc<Solver>>>> = RwLock::new(None);
static NEXT: AtomicUsize = AtomicUsize::new(1);
/// Numbers look like addresses that nothing is at.
const STEP: usize = 16;

/// Looks a solver up; it lives as long as what is returned, even if another thread frees it.
pub(crate) fn solver(pointer: *const vcycle_solver) -> Result<Arc<Solver>, Failure> {
    ensure!(
        !pointer.is_null(),
        VCYCLE_ERROR_HANDLE: "the solver is a null pointer"
    );
    let solvers = SOLVERS.read().unwrap_or_else(PoisonError::into_inner);
    let found = solvers
        .as_ref()
        .and_then(|all| all.get(&(pointer as usize)));
    found.cloned().ok_or_else(|| {
        let message = "the solver was freed, or is none";
        Failure::new(VCYCLE_ERROR_HANDLE, message)
    })
}

impl Solver {
    /// Reads, beside other readers.
    pub fn with<R>(&self, work: impl FnOnce(&State) -> Result<R, Failure>) -> Result<R, Failure> {
        match self.state.try_read() {
            Ok(state) => work(&state),
            Err(TryLockError::Poisoned(state)) => work(&state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use("changes")),
        }
    }

    /// Changes, alone.
    pub fn change<R>(
        &self,
        work: impl FnOnce(&mut State) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        match self.state.try_write() {
            Ok(mut state) => work(&mut state),
            Err(TryLockError::Poisoned(state)) => {
                // A panic may have left a set-up behind that is half of one.
                let mut state = state.into_inner();
                state.matrix = None;
                self.state.clear_poison();
                work(&mut state)
            }
            Err(TryLockError::WouldBlock) => Err(in_use("uses")),
        }
    }

    /// Keeps the messages of a solve.
    pub fn report(&self, messages: Vec<String>) {
        *self.messages.lock().unwrap_or_else(PoisonError::into_inner) = messages;
    }

    /// The messages of the last solve.
    pub fn messages(&self) -> Vec<String> {
        let messages = self.messages.lock();
        messages.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A call that reads what is known of a solver, beside other readers.
pub(crate) fn reading(
    solver: *const vcycle_solver,
    work: impl FnOnce(&Solver, &State) -> Result<(), Failure>,
) -> i32 {
    guarded(|| {
        let solver = self::solver(solver)?;
        solver.with(|state| work(&solver, state))
    })
}

/// A call that changes a solver, alone.
pub(crate) fn changing(
    solver: *const vcycle_solver,
    work: impl FnOnce(&Solver, &mut State) -> Result<(), Failure>,
) -> i32 {
    guarded(|| {
        let solver = self::solver(solver)?;
        solver.change(|state| work(&solver, state))
    })
}

fn in_use(does: &str) -> Failure {
    let message = format!("another call {does} the solver");
    Failure::new(VCYCLE_ERROR_STATE, message)
}

/// The matrix that is set up.
pub(crate) fn matrix(state: &State) -> Result<&Matrix, Failure> {
    state.matrix.as_ref().ok_or_else(no_matrix)
}

pub(crate) fn no_matrix() -> Failure {
    Failure::new(VCYCLE_ERROR_STATE, "no matrix yet: call vcycle_setup first")
}

impl Matrix {
    /// What is set up, once the values that a caller has queued on its device are there; none without rows.
    pub fn prepared<T: OfSystems>(&self) -> Result<Option<&Prepared<T>>, Failure> {
        let Some(prepared) = T::prepared(&self.prepared) else {
            return Ok(None);
        };
        if let Some(device) = prepared
            .matrix()
            .executor()
            .device()
            .filter(|_| self.on_device)
        {
            device.synchronize_all()?;
        }
        Ok(Some(prepared))
    }

    /// The shape of columns that a caller gave.
    pub fn shape(&self, columns: i32, leading: i64) -> Result<Shape, Failure> {
        Shape::new(self.rows, columns, leading, self.on_device)
    }
}

/// Text that a caller gave.
///
/// # Safety
/// `pointer` is null or a string that ends with a zero.
pub(crate) unsafe fn text<'c>(pointer: *const c_char, name: &str) -> Result<&'c str, Failure> {
    if pointer.is_null() {
        return Ok("");
    }
    // SAFETY: it is a string that ends with a zero, a condition of this function.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map_err(|_| Failure::argument(format!("`{name}` is not UTF-8")))
}

/// Makes a solver. Options are one line of pairs ("solver=cg preconditioner=amg rtol=1e-10 threads=4"), TOML or
/// JSON, with the names of vcycle's configuration files; NULL or "" means that the library makes every choice.
///
/// # Safety
/// Options is NULL or a string, and solver points to a pointer. Free the solver by vcycle_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_create(
    options: *const c_char,
    solver: *mut *mut vcycle_solver,
) -> i32 {
    guarded(|| {
        check_pointer(solver, "solver")?;
        // SAFETY: it is not null, and points to a pointer of the caller.
        unsafe { solver.write(std::ptr::null_mut()) };
        // SAFETY: it is null or a string of the caller.
        let config = unsafe { text(options, "options") }?.parse::<Config>()?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed) * STEP;
        let made = Solver {
            id,
            state: RwLock::new(State {
                config,
                ..State::default()
            }),
            messages: Mutex::default(),
        };
        let mut solvers = SOLVERS.write().unwrap_or_else(PoisonError::into_inner);
        solvers.get_or_insert_default().insert(id, Arc::new(made));
        // SAFETY: as above.
        unsafe { solver.write(id as *mut vcycle_solver) };
        Ok(())
    })
}

/// Frees a solver; NULL is allowed. A call of another thread that uses it runs to its end.
#[unsafe(no_mangle)]
pub extern "C" fn vcycle_free(solver: *mut vcycle_solver) -> i32 {
    guarded(|| {
        if solver.is_null() {
            return Ok(());
        }
        let id = self::solver(solver)?.id;
        let mut solvers = SOLVERS.write().unwrap_or_else(PoisonError::into_inner);
        let removed = solvers.as_mut().and_then(|all| all.remove(&id));
        if solvers.as_ref().is_some_and(HashMap::is_empty) {
            *solvers = None;
        }
        drop(solvers);
        drop(removed);
        scratch::forget(id);
        Ok(())
    })
}
