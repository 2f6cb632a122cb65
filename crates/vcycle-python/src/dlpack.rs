//! Arrays in the words of DLPack: <https://dmlc.github.io/dlpack/latest/>.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

const NAME: &CStr = c"dltensor";
/// Codes of devices.
pub const CUDA: i32 = 2;
pub const ROCM: i32 = 10;
/// Codes of numbers.
pub const INTEGER: u8 = 0;
pub const FLOAT: u8 = 2;
pub const COMPLEX: u8 = 5;

/// Bytes of an item, at most.
const MOST_BYTES: usize = 16;

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// An array that another library owns.
pub struct Described {
    pub address: u64,
    pub shape: Vec<usize>,
    /// Steps between neighbours of each dimension, in items; none where row lies after row.
    pub strides: Option<Vec<i64>>,
    /// As NumPy writes it: `f8`, `i4`.
    pub kind: String,
    /// What keeps it alive.
    pub owner: Py<PyAny>,
}

impl Described {
    /// An array of items of a kind at an address.
    ///
    /// # Errors
    /// For lengths that are negative or too many items, and for another number of strides.
    pub fn new(
        address: u64,
        lengths: &[i64],
        strides: Option<Vec<i64>>,
        kind: String,
        owner: Py<PyAny>,
    ) -> PyResult<Self> {
        let shape: Option<Vec<usize>> = lengths
            .iter()
            .map(|&len| usize::try_from(len).ok())
            .collect();
        let items = shape.as_ref().and_then(|shape| {
            let mut lengths = shape.iter();
            lengths.try_fold(MOST_BYTES, |items: usize, &len| items.checked_mul(len))
        });
        let fits = |steps: &Vec<i64>| steps.len() == lengths.len();
        match (shape, items) {
            (Some(shape), Some(_)) if strides.as_ref().is_none_or(fits) => Ok(Self {
                address,
                shape,
                strides,
                kind,
                owner,
            }),
            _ => Err(PyValueError::new_err(format!(
                "an array of shape {lengths:?} and strides {strides:?} is none"
            ))),
        }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether row lies after row.
    pub fn is_contiguous(&self) -> bool {
        let Some(strides) = &self.strides else {
            return true;
        };
        let mut expected = 1;
        let mut fits = |(&len, &stride): (&usize, &i64)| {
            let fits = len == 1 || stride == expected;
            expected *= len as i64;
            fits
        };
        self.len() == 0 || self.shape.iter().zip(strides).rev().all(&mut fits)
    }
}

/// Asks an array for itself; its library makes `stream` wait until the values are there.
pub fn read(array: &Bound<'_, PyAny>, stream: u64) -> PyResult<Described> {
    let arguments = PyDict::new(array.py());
    arguments.set_item("stream", stream)?;
    let capsule = array.call_method("__dlpack__", (), Some(&arguments))?;
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let managed = capsule.pointer_checked(Some(NAME))?.cast::<Managed>();
    // SAFETY: a capsule of that name holds one, for as long as the capsule lives, which frees it.
    let tensor = unsafe { &managed.as_ref().tensor };
    let dimensions = usize::try_from(tensor.dimensions).ok();
    let numbers = |place: *mut i64| {
        let count = dimensions.filter(|_| !place.is_null())?;
        // SAFETY: as many numbers as there are dimensions.
        Some(unsafe { std::slice::from_raw_parts(place, count) })
    };
    let shape = numbers(tensor.shape).or((dimensions == Some(0)).then_some(&[]));
    let Some(shape) = shape else {
        let text = format!(
            "an array of {} dimensions without lengths",
            tensor.dimensions
        );
        return Err(PyValueError::new_err(text));
    };
    let address = (tensor.data as u64).wrapping_add(tensor.byte_offset);
    let strides = numbers(tensor.strides).map(<[i64]>::to_vec);
    let kind = kind(tensor)?;
    Described::new(address, shape, strides, kind, capsule.into_any().unbind())
}

fn kind(tensor: &Tensor) -> PyResult<String> {
    let letter = match (tensor.code, tensor.lanes) {
        (INTEGER, 1) => 'i',
        (1, 1) => 'u',
        (FLOAT, 1) => 'f',
        (COMPLEX, 1) => 'c',
        (6, 1) => 'b',
        (code, lanes) => {
            return Err(PyValueError::new_err(format!(
                "an array of DLPack's type {code} with {lanes} lanes"
            )));
        }
    };
    Ok(format!("{letter}{}", tensor.bits / 8))
}

/// An array of ours on its way to another library.
#[repr(C)]
struct Exported {
    managed: Managed,
    shape: [i64; 2],
    strides: [i64; 2],
    _owner: Py<PyAny>,
}

/// Numbers of a device, row after row, kept alive by `owner`; they have a code and so many bytes.
pub fn capsule<'py>(
    device: [i32; 2],
    address: u64,
    shape: &[usize],
    (code, item): (u8, usize),
    owner: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let columns = shape.get(1).copied().unwrap_or(1) as i64;
    let mut exported = Box::new(Exported {
        managed: Managed {
            tensor: Tensor {
                data: address as usize as *mut c_void,
                device,
                dimensions: shape.len() as i32,
                code,
                bits: 8 * item as u8,
                lanes: 1,
                shape: std::ptr::null_mut(),
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
            context: std::ptr::null_mut(),
            deleter: Some(delete),
        },
        shape: [shape[0] as i64, columns],
        strides: if shape.len() == 1 {
            [1, 0]
        } else {
            [columns, 1]
        },
        _owner: owner.clone().unbind(),
    });
    exported.managed.tensor.shape = exported.shape.as_mut_ptr();
    exported.managed.tensor.strides = exported.strides.as_mut_ptr();
    let pointer = NonNull::from(Box::leak(exported)).cast();
    // SAFETY: `let_go` frees what is behind the pointer, unless a consumer has taken that over.
    unsafe { PyCapsule::new_with_pointer_and_destructor(owner.py(), pointer, NAME, Some(let_go)) }
}

/// Frees what `capsule` made.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: the first field of a leaked box, which its consumer frees once.
    drop(unsafe { Box::from_raw(managed.cast::<Exported>()) });
}

/// The end of a capsule: a consumer that has taken over the array has renamed it.
unsafe extern "C" fn let_go(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with the capsule; of this name it still holds the array.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}
