//! `vcycle.batch`.

use numpy::{Complex64, Element, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use vcycle::batch::{BatchCsr, BatchDense, BatchMatrix, BatchOutcome, BatchSolver, DeviceBatch};
use vcycle::executor::Executor;
use vcycle::scalar::Field;
use vcycle::vector::Vector;

use crate::device::{DeviceArray, Foreign, OnDevice};
use crate::error::OrRaise;
use crate::options;

/// The solutions of all systems, one after the other, and their outcomes as JSON. Without a structure (row offsets and
/// columns) matrices are dense.
#[pyfunction]
#[pyo3(signature = (rows, structure, values, b, x0, options, threads, device))]
#[expect(
    clippy::too_many_arguments,
    reason = "the arguments of the Python function"
)]
pub fn batch_solve<'py>(
    py: Python<'py>,
    rows: usize,
    structure: Option<(Vec<usize>, Vec<u32>)>,
    values: Bound<'py, PyAny>,
    b: Bound<'py, PyAny>,
    x0: Bound<'py, PyAny>,
    options: &str,
    threads: Option<usize>,
    device: Option<&str>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let executor = options::executor(device, threads)?;
    let call = Call::new(rows, structure, options, executor)?;
    match values.extract::<PyReadonlyArray1<'py, f64>>() {
        Ok(values) => call.solve(py, &values, &b, &x0),
        Err(_) => {
            let values: PyReadonlyArray1<'py, Complex64> = values.extract()?;
            call.solve(py, &values, &b, &x0)
        }
    }
}

/// [`batch_solve`] with values and vectors that are on a device, and a solution there, a row for every system.
#[pyfunction]
#[pyo3(signature = (rows, structure, values, b, x0, options, device))]
#[expect(
    clippy::too_many_arguments,
    reason = "the arguments of the Python function"
)]
pub fn batch_solve_on_device(
    py: Python<'_>,
    rows: usize,
    structure: Option<(Vec<usize>, Vec<u32>)>,
    values: Bound<'_, PyAny>,
    b: Bound<'_, PyAny>,
    x0: Option<Bound<'_, PyAny>>,
    options: &str,
    device: &str,
) -> PyResult<(DeviceArray, String)> {
    let executor = Executor::gpu(device).or_raise()?;
    let foreign = |array: &Bound<'_, PyAny>, name| Foreign::of(array, name, &executor);
    let given = [foreign(&values, "A")?, foreign(&b, "b")?];
    let guess = x0.map(|guess| foreign(&guess, "x0")).transpose()?;
    let is_complex = given.iter().chain(&guess).any(Foreign::is_complex);
    let call = Call::new(rows, structure, options, executor)?;
    match is_complex {
        false => call.solve_on_device::<f64>(py, given, guess),
        true => call.solve_on_device::<Complex64>(py, given, guess),
    }
}

struct Call {
    rows: usize,
    structure: Option<(Vec<usize>, Vec<u32>)>,
    solver: BatchSolver,
    executor: Executor,
}

impl Call {
    fn new(
        rows: usize,
        structure: Option<(Vec<usize>, Vec<u32>)>,
        options: &str,
        executor: Executor,
    ) -> PyResult<Self> {
        let solver = serde_json::from_str(options);
        Ok(Self {
            rows,
            structure,
            solver: solver.map_err(|error| PyValueError::new_err(format!("batch: {error}")))?,
            executor,
        })
    }

    fn solve_on_device<A: OnDevice + Field>(
        self,
        py: Python<'_>,
        [values, b]: [Foreign; 2],
        guess: Option<Foreign>,
    ) -> PyResult<(DeviceArray, String)> {
        let taken = |array| A::taken(array, &self.executor);
        let (values, b) = (taken(values)?, taken(b)?);
        let guess = guess.map(taken).transpose()?;
        let solved = py.detach(|| {
            let batch = match &self.structure {
                None => DeviceBatch::from_dense(self.rows, &values)?,
                Some((offsets, columns)) => DeviceBatch::from_values(offsets, columns, &values)?,
            };
            let b = Vector::from_buffer(1, b)?;
            let mut x = match guess {
                Some(guess) => Vector::from_buffer(1, guess)?,
                None => Vector::zeros_like(&b)?,
            };
            let outcomes = self.solver.solve_on_device(&batch, &b, &mut x)?;
            Ok((
                Vector::from_buffer(self.rows, x.buffer().clone())?,
                outcomes,
            ))
        });
        let (x, outcomes) = solved.or_raise()?;
        Ok((A::given(x, false)?, described(&outcomes)))
    }

    fn solve<'py, A: Field + Element>(
        self,
        py: Python<'py>,
        values: &PyReadonlyArray1<'py, A>,
        b: &Bound<'py, PyAny>,
        x0: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, String)> {
        let vector = |array: &Bound<'py, PyAny>| -> PyResult<Vec<A>> {
            let array: PyReadonlyArray1<'py, A> = array.extract()?;
            Ok(array.as_slice()?.to_vec())
        };
        let (values, b, mut x) = (values.as_slice()?.to_vec(), vector(b)?, vector(x0)?);
        let solved = py.detach(|| {
            let matrix: Box<dyn BatchMatrix<A>> = match self.structure {
                None => Box::new(BatchDense::new(self.rows, values)?),
                Some((offsets, columns)) => {
                    Box::new(BatchCsr::new(self.rows, offsets, columns, values)?)
                }
            };
            self.solver
                .solve(&self.executor, matrix.as_ref(), &b, &mut x)
        });
        let outcomes = solved.or_raise()?;
        Ok((PyArray1::from_vec(py, x).into_any(), described(&outcomes)))
    }
}

fn described(outcomes: &[BatchOutcome]) -> String {
    let one = |outcome: &BatchOutcome| {
        let residual = outcome.relative_residual;
        json!([
            outcome.status.name(),
            outcome.iterations,
            residual.is_finite().then_some(residual),
            outcome.row,
        ])
    };
    json!(outcomes.iter().map(one).collect::<Vec<_>>()).to_string()
}
