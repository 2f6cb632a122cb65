//! The functions of cuSPARSE, and where they are found.

use std::env;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;

use libloading::Library;

use crate::common::Result;

/// A handle or descriptor of the library.
pub(super) type Opaque = *mut c_void;

/// Of the enumerations of cuSPARSE and CUDA.
pub(super) const INDEX_32: c_int = 2;
pub(super) const BASE_ZERO: c_int = 0;
pub(super) const NOT_TRANSPOSED: c_int = 0;
pub(super) const ORDER_ROW: c_int = 2;
const ORDER_COLUMN: c_int = 1;
/// Products with several columns: the algorithm, and how columns stand.
pub(super) const COLUMN_ALGORITHMS: [(c_int, c_int); 3] = [
    (0, ORDER_ROW),    // CUSPARSE_SPMM_ALG_DEFAULT
    (6, ORDER_ROW),    // CUSPARSE_SPMM_CSR_ALG2
    (0, ORDER_COLUMN), // CUSPARSE_SPMM_ALG_DEFAULT
];
pub(super) const ALGORITHMS: [c_int; 2] = [
    0, // CUSPARSE_SPMV_ALG_DEFAULT
    3, // CUSPARSE_SPMV_CSR_ALG2
];

pub(super) type Create = unsafe extern "C" fn(*mut Opaque) -> c_int;
pub(super) type Destroy = unsafe extern "C" fn(Opaque) -> c_int;
pub(super) type SetStream = unsafe extern "C" fn(Opaque, Opaque) -> c_int;
pub(super) type CreateCsr = unsafe extern "C" fn(
    *mut Opaque,
    i64,
    i64,
    i64,
    u64,
    u64,
    u64,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;
pub(super) type CreateVector = unsafe extern "C" fn(*mut Opaque, i64, u64, c_int) -> c_int;
pub(super) type CreateMatrix =
    unsafe extern "C" fn(*mut Opaque, i64, i64, i64, u64, c_int, c_int) -> c_int;
pub(super) type BufferSize = unsafe extern "C" fn(
    Opaque,
    c_int,
    *const c_void,
    Opaque,
    Opaque,
    *const c_void,
    Opaque,
    c_int,
    c_int,
    *mut usize,
) -> c_int;
pub(super) type Multiply = unsafe extern "C" fn(
    Opaque,
    c_int,
    *const c_void,
    Opaque,
    Opaque,
    *const c_void,
    Opaque,
    c_int,
    c_int,
    u64,
) -> c_int;

pub(super) type ColumnsBufferSize = unsafe extern "C" fn(
    Opaque,
    c_int,
    c_int,
    *const c_void,
    Opaque,
    Opaque,
    *const c_void,
    Opaque,
    c_int,
    c_int,
    *mut usize,
) -> c_int;
pub(super) type MultiplyColumns = unsafe extern "C" fn(
    Opaque,
    c_int,
    c_int,
    *const c_void,
    Opaque,
    Opaque,
    *const c_void,
    Opaque,
    c_int,
    c_int,
    u64,
) -> c_int;

pub(super) type CreateDescription = unsafe extern "C" fn(*mut Opaque) -> c_int;
pub(super) type ProductStep = unsafe extern "C" fn(
    Opaque,
    c_int,
    c_int,
    *const c_void,
    Opaque,
    Opaque,
    *const c_void,
    Opaque,
    c_int,
    c_int,
    Opaque,
    *mut usize,
    u64,
) -> c_int;
pub(super) type ProductCopy = unsafe extern "C" fn(
    Opaque,
    c_int,
    c_int,
    *const c_void,
    Opaque,
    Opaque,
    *const c_void,
    Opaque,
    c_int,
    c_int,
    Opaque,
) -> c_int;
pub(super) type GetSize = unsafe extern "C" fn(Opaque, *mut i64, *mut i64, *mut i64) -> c_int;
pub(super) type SetPointers = unsafe extern "C" fn(Opaque, u64, u64, u64) -> c_int;

pub(super) fn check(call: &str, code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(format!("{call} failed with {code}").into()),
    }
}

/// The library that is named, or else the first that is found.
pub(super) fn open() -> Result<Library> {
    const NAMES: [&str; 2] = ["libcusparse.so.12", "libcusparse.so"];
    if let Some(path) = env::var_os("VCYCLE_CUSPARSE") {
        // SAFETY: what the library runs when it is loaded asks nothing of us.
        return Ok(unsafe { Library::new(path) }?);
    }
    let named = ["CUDA_PATH", "CUDA_HOME"].iter().filter_map(env::var_os);
    let roots = named.map(PathBuf::from).chain(["/usr/local/cuda".into()]);
    let folders = roots.map(|root| root.join("lib64"));
    let folders = [PathBuf::new()].into_iter().chain(folders);
    let paths = folders.flat_map(|folder| NAMES.map(|name| folder.join(name)));
    // SAFETY: what the library runs when it is loaded asks nothing of us.
    let mut opened = paths.map(|path| unsafe { Library::new(path) });
    opened
        .find_map(|library| library.ok())
        .ok_or_else(|| "libcusparse.so.12 was not found; name the file in VCYCLE_CUSPARSE".into())
}

/// The functions of products.
pub(super) struct ProductFunctions {
    pub create: CreateDescription,
    pub destroy: Destroy,
    pub estimate: ProductStep,
    pub compute: ProductStep,
    pub copy: ProductCopy,
    pub get_size: GetSize,
    pub set_pointers: SetPointers,
}

/// The functions of products with several columns.
pub(super) struct ColumnsFunctions {
    pub create: CreateMatrix,
    pub destroy: Destroy,
    pub buffer_size: ColumnsBufferSize,
    pub multiply: MultiplyColumns,
}
