//! Matrices and calls that the tests share.

use std::ffi::{CStr, CString};
use std::ptr;

use vcycle::executor::Executor;
use vcycle::gallery;
use vcycle_capi::*;

/// A solver that is freed at the end.
pub struct Handle(pub *mut vcycle_solver);

impl Handle {
    pub fn new(options: &str) -> Self {
        let options = CString::new(options).unwrap();
        let mut solver = ptr::null_mut();
        // SAFETY: a string, and a pointer to a pointer.
        let code = unsafe { vcycle_create(options.as_ptr(), &mut solver) };
        assert_eq!(code, VCYCLE_OK, "{}", last_error());
        Self(solver)
    }

    pub fn messages(&self) -> String {
        let mut buffer = vec![0u8; 4096];
        let (to, room) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the buffer has room for as many bytes as it says.
        let code = unsafe { vcycle_messages(self.0, to, room, ptr::null_mut()) };
        assert_eq!(code, VCYCLE_OK);
        let text = CStr::from_bytes_until_nul(&buffer).unwrap();
        text.to_str().unwrap().to_owned()
    }
}

// SAFETY: a solver may be used by several threads.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        assert_eq!(vcycle_free(self.0), VCYCLE_OK);
    }
}

/// Calls with arrays of the tests, whose lengths are those that are told.
impl Handle {
    pub fn setup(&self, a: &vcycle_csr) -> i32 {
        // SAFETY: the arrays are those of the tests.
        unsafe { vcycle_setup(self.0, a) }
    }

    pub fn update(&self, values: &[f64]) -> i32 {
        // SAFETY: there are as many values as entries.
        unsafe { vcycle_update_values(self.0, values.as_ptr().cast()) }
    }

    pub fn apply(&self, r: &[f64], z: &mut [f64]) -> i32 {
        let (from, to) = (r.as_ptr().cast(), z.as_mut_ptr().cast());
        // SAFETY: both vectors have as many rows as the matrix.
        unsafe { vcycle_apply(self.0, 1, from, 0, to, 0) }
    }

    pub fn near_nullspace(&self, vector: &[f64]) -> i32 {
        // SAFETY: there are as many numbers as it says.
        unsafe { vcycle_set_near_nullspace(self.0, 1, vector.len() as i64, vector.as_ptr()) }
    }
}

pub fn last_error() -> String {
    // SAFETY: the text is valid until the next call fails.
    let text = unsafe { CStr::from_ptr(vcycle_last_error()) };
    text.to_str().unwrap().to_owned()
}

/// The five-point Laplacian of a square with so many points a side.
pub struct Laplacian {
    pub offsets: Vec<i32>,
    pub columns: Vec<i32>,
    pub values: Vec<f64>,
}

impl Laplacian {
    pub fn new(side: usize) -> Self {
        let spec = format!("poisson5:{side}");
        let a = gallery::build(&spec, &Executor::reference())
            .unwrap()
            .matrix;
        Self {
            offsets: a.offsets().iter().map(|&offset| offset as i32).collect(),
            columns: a.columns().iter().map(|&column| column as i32).collect(),
            values: a.values().to_vec(),
        }
    }

    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn csr(&self) -> vcycle_csr {
        csr(self.rows(), &self.offsets, &self.columns, &self.values)
    }

    /// The largest entry of `b - A x`.
    pub fn residual(&self, b: &[f64], x: &[f64]) -> f64 {
        let row = |row: usize| {
            let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
            let product: f64 = range
                .map(|place| self.values[place] * x[self.columns[place] as usize])
                .sum();
            (b[row] - product).abs()
        };
        (0..self.rows()).map(row).fold(0.0, f64::max)
    }
}

pub fn csr<T>(rows: usize, offsets: &[i32], columns: &[i32], values: &[T]) -> vcycle_csr {
    vcycle_csr {
        size: size_of::<vcycle_csr>(),
        rows: rows as i64,
        offsets: offsets.as_ptr().cast(),
        columns: columns.as_ptr().cast(),
        values: values.as_ptr().cast(),
        offset_type: VCYCLE_I32,
        column_type: VCYCLE_I32,
        value_type: VCYCLE_F64,
        base: 0,
        flags: 0,
    }
}

pub fn setup(solver: &Handle, a: &vcycle_csr) {
    assert_eq!(solver.setup(a), VCYCLE_OK, "{}", last_error());
}

pub fn report() -> vcycle_report {
    vcycle_report {
        size: size_of::<vcycle_report>(),
        ..vcycle_report::default()
    }
}

/// Solves for so many columns, each a leading dimension after the one before; limits and report may be null.
pub fn solve_columns<T>(
    solver: *const vcycle_solver,
    columns: i32,
    (b, x, leading): (&[T], &mut [T], i64),
    limits: *const vcycle_limits,
    report: *mut vcycle_report,
) -> i32 {
    let (from, to) = (b.as_ptr().cast(), x.as_mut_ptr().cast());
    // SAFETY: vectors of the tests are as long as the matrix, or refused before they are read.
    unsafe { vcycle_solve(solver, columns, from, leading, to, leading, limits, report) }
}

/// Solves for one column.
pub fn solve<T: Clone + Default>(solver: &Handle, b: &[T]) -> (Vec<T>, vcycle_report) {
    let mut x = vec![T::default(); b.len()];
    let mut told = report();
    let code = solve_columns(solver.0, 1, (b, &mut x, 0), ptr::null(), &mut told);
    assert_eq!(code, VCYCLE_OK, "{}", last_error());
    (x, told)
}
