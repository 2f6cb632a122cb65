//! Matrices on their way into the library.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vcycle::Error;
use vcycle::config::{AnySystem, System};
use vcycle::executor::{Buffer, Executor};
use vcycle::linop::Size;
use vcycle::matrix::{Csr, Duplicates};
use vcycle::multigrid::NearNullspace;
use vcycle::scalar::{Scalar, c64};

use crate::arrays::{InPlace, Indices, Values, WideValues};
use crate::device::{Foreign, OnDevice};
use crate::error::{OrRaise, parsed, raised};

/// A matrix where it is solved with, and what is known of it.
#[pyclass(frozen)]
pub struct Matrix {
    pub any: AnySystem,
}

#[pymethods]
impl Matrix {
    /// Takes over the arrays of a CSR matrix, or of a CSC matrix if `by_columns`, for the device
    /// that a configuration names. They are copied unless they are to be shared and can be: nobody
    /// may change them then.
    #[new]
    #[pyo3(signature = (config, shape, offsets, indices, values, by_columns, near_nullspace, block_size, share))]
    fn new(
        py: Python<'_>,
        config: &str,
        shape: (usize, usize),
        offsets: Indices<'_>,
        indices: Indices<'_>,
        values: Values<'_>,
        by_columns: bool,
        near_nullspace: Option<Vec<PyReadonlyArray1<'_, f64>>>,
        block_size: Option<usize>,
        share: bool,
    ) -> PyResult<Self> {
        let config = parsed(config)?;
        let executor = config.run.executor().or_raise()?;
        let arrays = Positions {
            size: Size::new(shape.0, shape.1),
            offsets,
            indices,
            by_columns,
        };
        let near = known(near_nullspace, block_size)?;
        if share {
            if let Some(a) = arrays.shared::<f64>(py, &executor, &values)? {
                return Ok(AnySystem::Real(system(a, near)).into());
            }
            if let Some(a) = arrays.shared::<c64>(py, &executor, &values)? {
                return Ok(AnySystem::Complex(system(a, near)).into());
            }
        }
        let any = match values.wide(&executor)? {
            WideValues::Real(values) => {
                AnySystem::Real(system(arrays.csr(py, &executor, values)?, near))
            }
            WideValues::Complex(values) => {
                AnySystem::Complex(system(arrays.csr(py, &executor, values)?, near))
            }
        };
        Ok(any.into())
    }

    /// Shares the arrays of a CSR matrix on the device that a configuration names: row offsets,
    /// columns and values.
    #[staticmethod]
    #[pyo3(signature = (config, shape, arrays, near_nullspace, block_size))]
    fn on_device(
        py: Python<'_>,
        config: &str,
        shape: (usize, usize),
        arrays: [Bound<'_, PyAny>; 3],
        near_nullspace: Option<Vec<PyReadonlyArray1<'_, f64>>>,
        block_size: Option<usize>,
    ) -> PyResult<Self> {
        let config = parsed(config)?;
        let executor = config.run.executor().or_raise()?;
        let near = known(near_nullspace, block_size)?;
        let a = foreign(py, &executor, Size::new(shape.0, shape.1), &arrays)?;
        Ok(AnySystem::Real(system(a, near)).into())
    }

    /// [`with_arrays`](Self::with_arrays) for arrays of the device, which are shared.
    fn with_arrays_on_device(
        &self,
        py: Python<'_>,
        arrays: [Bound<'_, PyAny>; 3],
    ) -> PyResult<Self> {
        let AnySystem::Real(first) = &self.any else {
            return Err(no_update());
        };
        let (executor, size) = (first.matrix.executor(), first.matrix.size());
        let a = foreign(py, executor, size, &arrays)?;
        Ok(AnySystem::Real(system(a, first.near_nullspace.clone())).into())
    }

    /// The same values on the executor of this matrix, so that both can be operands of one
    /// operation; what is known of this one holds for the other.
    fn with_arrays(
        &self,
        py: Python<'_>,
        offsets: Indices<'_>,
        indices: Indices<'_>,
        values: Values<'_>,
        by_columns: bool,
    ) -> PyResult<Self> {
        let AnySystem::Real(first) = &self.any else {
            return Err(no_update());
        };
        let executor = first.matrix.executor().clone();
        let WideValues::Real(values) = values.wide(&executor)? else {
            return Err(PyValueError::new_err(
                "the hierarchy is of a real matrix, this one is complex",
            ));
        };
        let arrays = Positions {
            size: first.matrix.size(),
            offsets,
            indices,
            by_columns,
        };
        let matrix = arrays.csr(py, &executor, values)?;
        Ok(AnySystem::Real(system(matrix, first.near_nullspace.clone())).into())
    }

    /// Whether the values have an imaginary part.
    #[getter]
    fn is_complex(&self) -> bool {
        matches!(self.any, AnySystem::Complex(_))
    }
}

impl From<AnySystem> for Matrix {
    fn from(any: AnySystem) -> Self {
        Self { any }
    }
}

fn no_update() -> PyErr {
    PyValueError::new_err("complex matrices have no hierarchy to update")
}

/// The matrix of arrays that another library has on the device: row offsets, columns, values.
fn foreign(
    py: Python<'_>,
    executor: &Executor,
    size: Size,
    [offsets, columns, values]: &[Bound<'_, PyAny>; 3],
) -> PyResult<Csr<f64>> {
    let offsets = Foreign::of(offsets, "the array of row offsets", executor)?.offsets(executor)?;
    let columns = Foreign::of(columns, "the array of columns", executor)?.columns(executor)?;
    let values = f64::taken(Foreign::of(values, "the matrix", executor)?, executor)?;
    py.detach(|| {
        let a = Csr::from_buffers(size, offsets, columns, values)?;
        a.check_finite()?;
        Ok(a)
    })
    .or_raise()
}

fn system<T: Scalar>(matrix: Csr<T>, near_nullspace: Option<NearNullspace>) -> System<T> {
    let mut system = System::new(Arc::new(matrix));
    system.near_nullspace = near_nullspace;
    system
}

/// What is known of a matrix beside its entries.
pub fn known(
    vectors: Option<Vec<PyReadonlyArray1<'_, f64>>>,
    block_size: Option<usize>,
) -> PyResult<Option<NearNullspace>> {
    if vectors.is_none() && matches!(block_size, None | Some(1)) {
        return Ok(None);
    }
    let copied = |vector: &PyReadonlyArray1<'_, f64>| Ok(vector.as_slice()?.to_vec());
    let vectors = vectors
        .iter()
        .flatten()
        .map(copied)
        .collect::<PyResult<_>>()?;
    let near = NearNullspace::new(block_size.unwrap_or(1), vectors);
    near.map(Some).or_raise()
}

/// The positions of entries.
struct Positions<'py> {
    size: Size,
    offsets: Indices<'py>,
    indices: Indices<'py>,
    by_columns: bool,
}

impl Positions<'_> {
    /// The matrix of arrays that stay where they are; none where they cannot be used so, or are
    /// wrong.
    fn shared<T: InPlace>(
        &self,
        py: Python<'_>,
        executor: &Executor,
        values: &Values<'_>,
    ) -> PyResult<Option<Csr<T>>> {
        if self.by_columns || executor.is_device() {
            return Ok(None);
        }
        // SAFETY: callers that share arrays must not change them, as the documentation says.
        let shared = unsafe {
            let columns = self.indices.columns_in_place(executor)?;
            columns.zip(T::values_in_place(values, executor)?)
        };
        let Some((columns, values)) = shared else {
            return Ok(None);
        };
        let offsets = Buffer::from_vec(executor, self.offsets.offsets(executor)?);
        let size = self.size;
        let made = py.detach(|| Csr::from_buffers(size, offsets, columns, values));
        let Ok(a) = made else { return Ok(None) };
        py.detach(|| a.check_finite()).or_raise()?;
        Ok(Some(a))
    }

    /// The matrix with these values. Entries given twice are summed, as SciPy understands them.
    fn csr<T: Scalar>(
        &self,
        py: Python<'_>,
        executor: &Executor,
        values: Vec<T>,
    ) -> PyResult<Csr<T>> {
        let offsets = self.offsets.offsets(executor)?;
        let columns = self.indices.columns(executor)?;
        let (size, by_columns, sum) = (self.size, self.by_columns, Duplicates::Sum);
        let made = py.detach(|| {
            let a = match by_columns {
                true => {
                    Csr::from_arrays(executor, size.transposed(), offsets, columns, values, sum)?
                        .transpose()?
                }
                false => Csr::from_arrays(executor, size, offsets, columns, values, sum)?,
            };
            a.check_finite()?;
            Ok(a)
        });
        made.map_err(|error| self.explained(py, error))
    }

    /// An index that is out of range as it was given, not as it was converted.
    fn explained(&self, py: Python<'_>, error: Error) -> PyErr {
        match error {
            Error::IndexOutOfRange {
                position, limit, ..
            } => {
                let index = self.indices.get(position).unwrap_or_default();
                PyValueError::new_err(format!(
                    "indices[{position}] is {index}, which is outside 0..{limit}"
                ))
            }
            other => raised(py, other),
        }
    }
}
