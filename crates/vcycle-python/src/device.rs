//! Arrays of GPUs, shared with CuPy, PyTorch, JAX and whatever else speaks DLPack or has the CUDA
//! array interface. Nothing is copied, and each side's stream waits for the other's.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::Complex64;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use vcycle::config::Wide;
use vcycle::executor::{Buffer, Element, Executor};
use vcycle::scalar::{Scalar, c32, c64};
use vcycle::vector::Vector;
use vcycle_gpu::{Device, add_archive};

use crate::dlpack::{self, Described};
use crate::error::raised;

/// The stream of CUDA that waits for all others, where a library says nothing else.
const LEGACY_STREAM: u64 = 1;

/// Numbers that systems are solved in, from and to arrays of a device.
pub trait OnDevice: Wide {
    /// Takes over an array, converted where it holds other floating-point numbers.
    fn taken(array: Foreign, executor: &Executor) -> PyResult<Buffer<Self>>;
    /// The array for other libraries.
    fn given(x: Vector<Self>, flat: bool) -> PyResult<DeviceArray>;
}

impl OnDevice for f64 {
    fn taken(array: Foreign, executor: &Executor) -> PyResult<Buffer<Self>> {
        match array.it.kind.as_str() {
            "f8" => array.shared(executor),
            "f4" => array.widened::<f32, _>(executor),
            _ => Err(array.unfit("float32 or float64")),
        }
    }

    fn given(x: Vector<Self>, flat: bool) -> PyResult<DeviceArray> {
        DeviceArray::new(DeviceValues::Double(x), flat)
    }
}

impl OnDevice for Complex64 {
    fn taken(array: Foreign, executor: &Executor) -> PyResult<Buffer<Self>> {
        match array.it.kind.as_str() {
            "c16" => array.shared(executor),
            "c8" => array.widened::<c32, _>(executor),
            "f8" => array.widened::<f64, _>(executor),
            "f4" => array.widened::<f32, _>(executor),
            _ => Err(array.unfit("float32, float64, complex64 or complex128")),
        }
    }

    fn given(x: Vector<Self>, flat: bool) -> PyResult<DeviceArray> {
        DeviceArray::new(DeviceValues::Complex(x), flat)
    }
}

fn checked<T, E: Into<vcycle::Error>>(result: Result<T, E>) -> PyResult<T> {
    result.map_err(|error| Python::attach(|py| raised(py, error.into())))
}

fn converted<S: Scalar, T: Scalar>(x: &Vector<S>) -> vcycle::Result<Vector<T>> {
    let mut y = Vector::zeros_like(x)?;
    y.copy_from(x)?;
    Ok(y)
}

/// An array of a device that another library owns.
pub struct Foreign {
    it: Described,
    /// For messages: `b`, or the values of the matrix.
    name: &'static str,
}

impl Foreign {
    /// Asks for an array; work that is queued by us from now on waits for its values.
    pub fn of(array: &Bound<'_, PyAny>, name: &'static str, executor: &Executor) -> PyResult<Self> {
        let Some(device) = executor.device() else {
            let text = format!("{name} is on a GPU, which {} is not", executor.name());
            return Err(PyValueError::new_err(text));
        };
        let it = match array.hasattr("__dlpack__")? {
            true => dlpack::read(array, stream(device)?)?,
            false => interface(array, device)?,
        };
        if !it.is_contiguous() {
            let text = format!("{name} is not contiguous; pass a contiguous copy");
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { it, name })
    }

    /// Rows and columns.
    pub fn shape(&self) -> &[usize] {
        &self.it.shape
    }

    /// Whether its numbers are complex.
    pub fn is_complex(&self) -> bool {
        self.it.kind.starts_with('c')
    }

    /// Its numbers of `S` as those of a wider type.
    fn widened<S: Scalar, T: Scalar>(self, executor: &Executor) -> PyResult<Buffer<T>> {
        let narrow = checked(Vector::<S>::from_buffer(1, self.shared(executor)?))?;
        Ok(checked(converted::<S, T>(&narrow))?.buffer().clone())
    }

    fn shared<T: Element>(self, executor: &Executor) -> PyResult<Buffer<T>> {
        let (address, len) = (self.it.address, self.it.len());
        if len == 0 {
            return Ok(Buffer::from_vec(executor, Vec::new()));
        }
        // SAFETY: the library that owns the array says so, and keeps it for as long as its owner
        // lives. That nobody changes it meanwhile is asked of the user.
        checked(unsafe { Buffer::borrowed(executor, address, len, Box::new(self.it.owner)) })
    }

    /// As row offsets: 32 bits are widened, on the device.
    pub fn offsets(self, executor: &Executor) -> PyResult<Buffer<usize>> {
        match self.it.kind.as_str() {
            "i4" | "u4" => checked(self.shared::<u32>(executor)?.widened()),
            "i8" | "u8" => self.shared(executor),
            _ => Err(self.unfit("int32 or int64")),
        }
    }

    /// As columns: 64 bits are narrowed, on the device. Negative ones are larger than any column.
    pub fn columns(self, executor: &Executor) -> PyResult<Buffer<u32>> {
        match self.it.kind.as_str() {
            "i4" | "u4" => self.shared(executor),
            "i8" | "u8" => checked(self.shared::<usize>(executor)?.narrowed()),
            _ => Err(self.unfit("int32 or int64")),
        }
    }

    fn unfit(&self, wanted: &str) -> PyErr {
        let Self { it, name } = self;
        PyTypeError::new_err(format!(
            "{name} holds values of type `{}` on a device, where {wanted} is needed",
            it.kind
        ))
    }
}

/// Our stream, for libraries that make it wait.
fn stream(device: &Device) -> PyResult<u64> {
    checked(device.vendor_stream())?.ok_or_else(|| {
        let name = &device.properties().name;
        PyValueError::new_err(format!("{name} shares no memory with other libraries"))
    })
}

/// An array by its `__cuda_array_interface__`.
fn interface(array: &Bound<'_, PyAny>, device: &Device) -> PyResult<Described> {
    let facts = array.getattr("__cuda_array_interface__")?;
    let facts = facts.cast_into::<PyDict>()?;
    let wanted = |key: &str| {
        facts.get_item(key)?.ok_or_else(|| {
            PyValueError::new_err(format!("__cuda_array_interface__ has no `{key}`"))
        })
    };
    let (address, _): (u64, bool) = wanted("data")?.extract()?;
    let kind: String = wanted("typestr")?.extract()?;
    let item = kind.get(2..).and_then(|bytes| bytes.parse::<i64>().ok());
    let Some(item) = item.filter(|&item| item > 0 && !kind.starts_with('>')) else {
        return Err(PyValueError::new_err(format!("an array of type `{kind}`")));
    };
    let strides: Option<Vec<i64>> = match facts.get_item("strides")? {
        Some(strides) => strides.extract()?,
        None => None,
    };
    let stream: Option<u64> = match facts.get_item("stream")? {
        Some(stream) => stream.extract()?,
        // Versions before the third do not say when the values are there.
        None => Some(0),
    };
    let waited = match stream {
        None => Ok(()),
        Some(0) => device.synchronize_all(),
        // SAFETY: a stream of the device's vendor, as the interface has it.
        Some(stream) => unsafe { device.wait_for(stream) },
    };
    checked(waited)?;
    // No array is contiguous where a step is part of an item.
    let items = |step: i64| if step % item == 0 { step / item } else { 0 };
    let strides = strides.map(|steps| steps.into_iter().map(items).collect());
    let lengths: Vec<i64> = wanted("shape")?.extract()?;
    let (kind, owner) = (kind[1..].to_owned(), array.clone().unbind());
    Described::new(address, &lengths, strides, kind, owner)
}

enum DeviceValues {
    Double(Vector<f64>),
    Single(Vector<f32>),
    Complex(Vector<c64>),
    ComplexSingle(Vector<c32>),
    Indices(Buffer<u32>),
}

/// Evaluates an expression with the vector that the values are, and another with indices.
macro_rules! with_values {
    ($values:expr, $x:ident => $of_vector:expr, $indices:ident => $of_indices:expr) => {
        match $values {
            DeviceValues::Double($x) => $of_vector,
            DeviceValues::Single($x) => $of_vector,
            DeviceValues::Complex($x) => $of_vector,
            DeviceValues::ComplexSingle($x) => $of_vector,
            DeviceValues::Indices($indices) => $of_indices,
        }
    };
}

/// An array of a device that belongs to us, for other libraries: `from_dlpack` of CuPy, PyTorch
/// and JAX shares it.
#[pyclass(frozen)]
pub struct DeviceArray {
    values: DeviceValues,
    flat: bool,
    device: Arc<Device>,
}

impl DeviceArray {
    /// Indices, which other libraries take for signed ones.
    pub fn of_indices(indices: Buffer<u32>) -> PyResult<Self> {
        Self::new(DeviceValues::Indices(indices), true)
    }

    fn new(values: DeviceValues, flat: bool) -> PyResult<Self> {
        let executor = with_values!(&values, x => x.executor(), indices => indices.executor());
        let device = executor.device().cloned();
        Ok(Self {
            device: device.expect("only vectors of devices come here"),
            values,
            flat,
        })
    }

    fn address(&self) -> PyResult<u64> {
        let values = &self.values;
        checked(with_values!(values, x => x.buffer().address(), indices => indices.address()))
    }

    fn sizes(&self) -> Vec<usize> {
        let values = &self.values;
        let size = with_values!(values, x => x.size(), indices => return vec![indices.len()]);
        match self.flat {
            true => vec![size.rows],
            false => vec![size.rows, size.cols],
        }
    }

    /// The code of DLPack for its numbers, and how many bytes one has.
    fn item(&self) -> (u8, usize) {
        match self.values {
            DeviceValues::Double(_) => (dlpack::FLOAT, 8),
            DeviceValues::Single(_) => (dlpack::FLOAT, 4),
            DeviceValues::Complex(_) => (dlpack::COMPLEX, 16),
            DeviceValues::ComplexSingle(_) => (dlpack::COMPLEX, 8),
            DeviceValues::Indices(_) => (dlpack::INTEGER, 4),
        }
    }

    /// Code and number of the device in DLPack.
    fn place(&self) -> [i32; 2] {
        let name = &self.device.properties().name;
        let (vendor, number) = name.split_once(':').unwrap_or((name, "0"));
        let code = match vendor {
            "hip" => dlpack::ROCM,
            _ => dlpack::CUDA,
        };
        [code, number.parse().unwrap_or(0)]
    }
}

#[pymethods]
impl DeviceArray {
    /// Rows, and columns where there are several.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.sizes())
    }

    /// The same values in single precision.
    fn single(&self) -> PyResult<Self> {
        let narrowed = match &self.values {
            DeviceValues::Single(x) => DeviceValues::Single(x.clone()),
            DeviceValues::Double(x) => DeviceValues::Single(checked(converted(x))?),
            DeviceValues::ComplexSingle(x) => DeviceValues::ComplexSingle(x.clone()),
            DeviceValues::Complex(x) => DeviceValues::ComplexSingle(checked(converted(x))?),
            DeviceValues::Indices(_) => {
                return Err(PyTypeError::new_err("indices have no precision"));
            }
        };
        Self::new(narrowed, self.flat)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        self.place().into()
    }

    /// The array for another library, whose stream waits for ours.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<i64>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Consumers of any version know the first layout.
        let (_, _) = (max_version, dl_device);
        if copy == Some(true) {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "the array is shared, not copied: copy it there",
            ));
        }
        let this = slf.get();
        let address = this.address()?;
        if stream != Some(-1) {
            let stream = stream.map_or(LEGACY_STREAM, |stream| stream as u64);
            // SAFETY: a stream of the device's vendor, as the protocol has it.
            checked(unsafe { this.device.hold_up(stream) })?;
        }
        dlpack::capsule(
            this.place(),
            address,
            &this.sizes(),
            this.item(),
            slf.as_any(),
        )
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        facts.set_item("version", 3)?;
        facts.set_item("shape", self.shape(py)?)?;
        let (code, bytes) = self.item();
        let letter = match code {
            dlpack::FLOAT => 'f',
            dlpack::COMPLEX => 'c',
            _ => 'i',
        };
        facts.set_item("typestr", format!("<{letter}{bytes}"))?;
        facts.set_item("data", (self.address()?, false))?;
        facts.set_item("strides", py.None())?;
        facts.set_item("stream", stream(&self.device)?)?;
        Ok(facts)
    }
}

impl Drop for DeviceArray {
    fn drop(&mut self) {
        // The memory is used again, in our order; whoever looked at it may not be done yet. There
        // is nobody to tell of a failure.
        let wait = || drop(self.device.synchronize_all());
        Python::attach(|py| py.detach(wait));
    }
}

/// Bytes that were copied to a device and from it so far.
#[pyfunction]
pub fn traffic(device: &str) -> PyResult<(u64, u64)> {
    let counts = checked(Device::open(device))?.counts();
    Ok((counts.uploaded, counts.downloaded))
}

/// Uses an archive of kernels that were compiled ahead (`vcycle kernels build`).
#[pyfunction]
pub fn use_kernels(path: PathBuf) -> PyResult<()> {
    add_archive(&path).map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
}
