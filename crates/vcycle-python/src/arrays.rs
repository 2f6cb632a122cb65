//! Between NumPy's arrays and the library's.

use numpy::{Complex32, Complex64, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use vcycle::executor::{Buffer, Element, Executor};
use vcycle::matrix::Csr;
use vcycle::scalar::{Scalar, c64};

use crate::error::OrRaise;

/// Below this many values one thread copies as fast as several.
const WORTH_THREADS: usize = 1 << 16;

/// Indices as SciPy has them.
#[derive(FromPyObject)]
pub enum Indices<'py> {
    Short(PyReadonlyArray1<'py, i32>),
    Long(PyReadonlyArray1<'py, i64>),
}

/// Values as SciPy has them.
#[derive(FromPyObject)]
pub enum Values<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    C64(PyReadonlyArray1<'py, Complex64>),
    C32(PyReadonlyArray1<'py, Complex32>),
}

/// Items of an array of NumPy where they are; `T` has the layout of `S`.
///
/// # Safety
/// Every `S` is a `T` of the same size, and nobody changes the array before the buffer is dropped.
unsafe fn in_place<S: numpy::Element, T: Element>(
    array: &PyReadonlyArray1<'_, S>,
    executor: &Executor,
) -> PyResult<Buffer<T>> {
    assert_eq!(
        (size_of::<S>(), align_of::<S>()),
        (size_of::<T>(), align_of::<T>())
    );
    let items = array.as_slice()?;
    let owner = Box::new(array.as_any().clone().unbind());
    // SAFETY: the array owns the items and is kept as the owner; an `S` is a `T`, and nobody changes the array
    // before the buffer is dropped, conditions of this function.
    unsafe { Buffer::borrowed(executor, items.as_ptr() as u64, items.len(), owner) }.or_raise()
}

/// Values in a type that systems are solved in.
pub enum WideValues {
    Real(Vec<f64>),
    Complex(Vec<c64>),
}

impl Indices<'_> {
    /// As 32-bit indices; what is none becomes the largest number, which no matrix has.
    pub fn columns(&self, executor: &Executor) -> PyResult<Vec<u32>> {
        self.converted(executor, |index| u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// As places in arrays; what is none becomes the largest number.
    pub fn offsets(&self, executor: &Executor) -> PyResult<Vec<usize>> {
        self.converted(executor, |index| {
            usize::try_from(index).unwrap_or(usize::MAX)
        })
    }

    fn converted<I: Clone + Default + Send>(
        &self,
        executor: &Executor,
        of: impl Fn(i64) -> I + Sync,
    ) -> PyResult<Vec<I>> {
        let threads = executor.threads();
        Ok(match self {
            Self::Short(array) => copied(threads, array.as_slice()?, |&index| of(index.into())),
            Self::Long(array) => copied(threads, array.as_slice()?, |&index| of(index)),
        })
    }

    /// As 32-bit indices where they are; none in another width. Negative ones are larger than any
    /// column.
    ///
    /// # Safety
    /// Nobody changes the array before the buffer is dropped.
    pub unsafe fn columns_in_place(&self, executor: &Executor) -> PyResult<Option<Buffer<u32>>> {
        match self {
            // SAFETY: nobody changes the array before the buffer is dropped, a condition of this function; every
            // `i32` is a `u32` of the same size.
            Self::Short(array) => unsafe { in_place(array, executor) }.map(Some),
            Self::Long(_) => Ok(None),
        }
    }

    /// One of them.
    pub fn get(&self, place: usize) -> Option<i64> {
        match self {
            Self::Short(array) => array.get(place).map(|&index| index.into()),
            Self::Long(array) => array.get(place).copied(),
        }
    }
}

impl Values<'_> {
    /// In double precision.
    pub fn wide(&self, executor: &Executor) -> PyResult<WideValues> {
        use WideValues::{Complex, Real};
        let threads = executor.threads();
        let widened = |value: &Complex32| c64::new(value.re.into(), value.im.into());
        Ok(match self {
            Self::F64(array) => Real(copied(threads, array.as_slice()?, |&value| value)),
            Self::F32(array) => Real(copied(threads, array.as_slice()?, |&value| value.into())),
            Self::C64(array) => Complex(copied(threads, array.as_slice()?, |&value| value)),
            Self::C32(array) => Complex(copied(threads, array.as_slice()?, widened)),
        })
    }
}

/// Values that are solved with as they are.
pub trait InPlace: Scalar {
    /// Values where they are; none in another type.
    ///
    /// # Safety
    /// Nobody changes the array before the buffer is dropped.
    unsafe fn values_in_place(
        values: &Values<'_>,
        executor: &Executor,
    ) -> PyResult<Option<Buffer<Self>>>;
}

macro_rules! in_place {
    ($($type:ty, $variant:ident;)*) => {$(
        impl InPlace for $type {
            unsafe fn values_in_place(
                values: &Values<'_>,
                executor: &Executor,
            ) -> PyResult<Option<Buffer<Self>>> {
                match values {
                    // SAFETY: nobody changes the array before the buffer is dropped, a condition of this function;
                    // both types are the same.
                    Values::$variant(array) => unsafe { in_place(array, executor) }.map(Some),
                    _ => Ok(None),
                }
            }
        }
    )*};
}

in_place!(f64, F64; c64, C64;);

/// `map` of every item, made by several threads: memory is first touched by those that write it.
fn copied<S: Sync, T: Clone + Default + Send>(
    threads: usize,
    from: &[S],
    map: impl Fn(&S) -> T + Sync,
) -> Vec<T> {
    if threads == 1 || from.len() < WORTH_THREADS {
        return from.iter().map(map).collect();
    }
    let mut to = vec![T::default(); from.len()];
    let part = from.len().div_ceil(threads);
    let map = &map;
    std::thread::scope(|scope| {
        for (from, to) in from.chunks(part).zip(to.chunks_mut(part)) {
            scope.spawn(move || {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = map(from);
                }
            });
        }
    });
    to
}

/// Row offsets, columns and values.
pub type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Row offsets, columns and values for SciPy, with indices of one width.
pub fn to_scipy<'py, T: Scalar + numpy::Element>(py: Python<'py>, a: &Csr<T>) -> Arrays<'py> {
    let threads = a.executor().threads();
    let largest = a.nonzeros().max(a.size().cols).max(a.size().rows);
    let values = array(py, copied(threads, a.values(), |value| *value));
    let (offsets, columns) = match i32::try_from(largest) {
        Ok(_) => (
            array(py, copied(threads, a.offsets(), |&at| at as i32)),
            array(py, copied(threads, a.columns(), |&at| at as i32)),
        ),
        Err(_) => (
            array(py, copied(threads, a.offsets(), |&at| at as i64)),
            array(py, copied(threads, a.columns(), |&at| i64::from(at))),
        ),
    };
    (offsets, columns, values)
}

fn array<T: numpy::Element>(py: Python<'_>, items: Vec<T>) -> Bound<'_, PyAny> {
    PyArray1::from_vec(py, items).into_any()
}
