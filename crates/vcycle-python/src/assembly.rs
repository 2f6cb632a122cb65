//! `vcycle.Assembly`.

use numpy::Element;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vcycle::Error;
use vcycle::executor::{Buffer, Executor};
use vcycle::linop::Size;
use vcycle::matrix::{self, Csr};
use vcycle::scalar::Scalar;
use vcycle::vector::Vector;

use crate::arrays::{Arrays, Indices, Values, WideValues, to_scipy};
use crate::device::{DeviceArray, Foreign, OnDevice};
use crate::error::{OrRaise, raised};
use crate::options::executor;

/// Triplets that were sorted once.
#[pyclass(frozen)]
pub struct Assembly {
    sorted: matrix::Assembly,
    executor: Executor,
}

#[pymethods]
impl Assembly {
    /// Sorts triplets with rows and columns of the host, on a device where one is named.
    #[new]
    #[pyo3(signature = (shape, rows, columns, device, threads))]
    fn new(
        py: Python<'_>,
        shape: (usize, usize),
        rows: Indices<'_>,
        columns: Indices<'_>,
        device: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let executor = executor(device, threads)?;
        let buffer = |indices: &Indices<'_>| -> PyResult<_> {
            Ok(Buffer::from_vec(&executor, indices.columns(&executor)?))
        };
        let (of_rows, of_columns) = (buffer(&rows)?, buffer(&columns)?);
        let given = |axis: &str, position| match axis {
            "row" => rows.get(position),
            _ => columns.get(position),
        };
        Self::sorted(py, shape, executor, &of_rows, &of_columns, given)
    }

    /// Sorts triplets whose rows and columns are on a device.
    #[staticmethod]
    fn on_device(
        py: Python<'_>,
        shape: (usize, usize),
        rows: Bound<'_, PyAny>,
        columns: Bound<'_, PyAny>,
        device: &str,
    ) -> PyResult<Self> {
        let executor = Executor::gpu(device).or_raise()?;
        let taken = |array: &Bound<'_, PyAny>, name| {
            Foreign::of(array, name, &executor)?.columns(&executor)
        };
        let (rows, columns) = (taken(&rows, "rows")?, taken(&columns, "columns")?);
        Self::sorted(py, shape, executor.clone(), &rows, &columns, |_, _| None)
    }

    /// Entries of the matrix.
    #[getter]
    fn nonzeros(&self) -> usize {
        self.sorted.pattern().nonzeros()
    }

    /// Row offsets, columns and sums of values of the host, for SciPy.
    fn sums<'py>(&self, py: Python<'py>, values: Values<'py>) -> PyResult<Arrays<'py>> {
        match values.wide(&self.executor)? {
            WideValues::Real(values) => self.summed(py, values),
            WideValues::Complex(values) => self.summed(py, values),
        }
    }

    /// Row offsets and columns on the device, with 32 bits.
    fn structure_on_device(&self) -> PyResult<(DeviceArray, DeviceArray)> {
        let (offsets, columns) = self.sorted.pattern().buffers();
        let narrowed = offsets.narrowed().or_raise()?;
        let indices = DeviceArray::of_indices;
        Ok((indices(narrowed)?, indices(columns.clone())?))
    }

    /// Sums of values that are on the device.
    fn sums_on_device(&self, py: Python<'_>, values: Bound<'_, PyAny>) -> PyResult<DeviceArray> {
        let values = Foreign::of(&values, "values", &self.executor)?;
        let values = f64::taken(values, &self.executor)?;
        let sums = py.detach(|| {
            let a = self.sorted.matrix(&values)?;
            Vector::from_buffer(1, a.values_buffer().clone())
        });
        f64::given(sums.or_raise()?, true)
    }
}

impl Assembly {
    /// Sorts triplets; `given` is an index as the user knows it.
    fn sorted(
        py: Python<'_>,
        shape: (usize, usize),
        executor: Executor,
        rows: &Buffer<u32>,
        columns: &Buffer<u32>,
        given: impl Fn(&str, usize) -> Option<i64>,
    ) -> PyResult<Self> {
        let size = Size::new(shape.0, shape.1);
        let sorted = py.detach(|| matrix::Assembly::new(size, rows, columns));
        let sorted = sorted.map_err(|error| match error {
            Error::IndexOutOfRange {
                position,
                axis,
                limit,
                ..
            } => {
                let index =
                    given(axis, position).map_or(String::new(), |index| format!("{index}, "));
                PyValueError::new_err(format!(
                    "{axis}s[{position}] is {index}outside of 0..{limit}"
                ))
            }
            other => raised(py, other),
        })?;
        Ok(Self { sorted, executor })
    }

    fn summed<'py, T: Scalar + Element>(
        &self,
        py: Python<'py>,
        values: Vec<T>,
    ) -> PyResult<Arrays<'py>> {
        let values = Buffer::from_vec(&self.executor, values);
        let made: vcycle::Result<Csr<T>> = py.detach(|| self.sorted.matrix(&values));
        Ok(to_scipy(py, &made.or_raise()?))
    }
}
