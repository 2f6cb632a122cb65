//! The functions of cuSPARSE, and where they are found.

use std::env;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;

use libloading::Library;

use crate::prelude::*;

/// A handle or descriptor of the library.
pub(super) type Opaque = *mut c_void;

/// Declares functions of cuSPARSE with the signatures of cusparse.h; each is a method that fails where the function does.
macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {
        pub(super) struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
        }

        impl Functions {
            /// # Safety
            /// The library has to be cuSPARSE of CUDA 12 or later.
            pub(super) unsafe fn load(library: &'static Library) -> Result<Self> {
                // SAFETY: the signatures are those of cusparse.h, the same since CUDA 12.0.
                unsafe { Ok(Self { $($name: *library.get(concat!($symbol, "\0").as_bytes())?,)* }) }
            }

            $(
                /// # Safety
                /// As that of the function of the library.
                pub(super) unsafe fn $name(&self, $($argument: $type),*) -> Result<()> {
                    // SAFETY: what the caller vouches for.
                    match unsafe { (self.$name)($($argument),*) } {
                        0 => Ok(()),
                        code => Err(format!("{} failed with {code}", $symbol).into()),
                    }
                }
            )*
        }
    };
}

functions! {
    create = "cusparseCreate" (handle: *mut Opaque);
    destroy = "cusparseDestroy" (handle: Opaque);
    set_stream = "cusparseSetStream" (handle: Opaque, stream: Opaque);
    create_csr = "cusparseCreateCsr" (
        matrix: *mut Opaque, rows: i64, cols: i64, entries: i64, offsets: u64, columns: u64, values: u64,
        offset_type: c_int, column_type: c_int, base: c_int, value_type: c_int
    );
    destroy_csr = "cusparseDestroySpMat" (matrix: Opaque);
    get_size = "cusparseSpMatGetSize" (matrix: Opaque, rows: *mut i64, cols: *mut i64, entries: *mut i64);
    set_pointers = "cusparseCsrSetPointers" (matrix: Opaque, offsets: u64, columns: u64, values: u64);
    create_vector = "cusparseCreateDnVec" (vector: *mut Opaque, length: i64, values: u64, value_type: c_int);
    destroy_vector = "cusparseDestroyDnVec" (vector: Opaque);
    multiply_size = "cusparseSpMV_bufferSize" (
        handle: Opaque, transposed: c_int, alpha: *const c_void, a: Opaque, x: Opaque, beta: *const c_void, y: Opaque,
        compute_type: c_int, algorithm: c_int, bytes: *mut usize
    );
    multiply = "cusparseSpMV" (
        handle: Opaque, transposed: c_int, alpha: *const c_void, a: Opaque, x: Opaque, beta: *const c_void, y: Opaque,
        compute_type: c_int, algorithm: c_int, buffer: u64
    );
    create_product = "cusparseSpGEMM_createDescr" (product: *mut Opaque);
    destroy_product = "cusparseSpGEMM_destroyDescr" (product: Opaque);
    estimate_product = "cusparseSpGEMM_workEstimation" (
        handle: Opaque, of_a: c_int, of_b: c_int, alpha: *const c_void, a: Opaque, b: Opaque, beta: *const c_void, c: Opaque,
        compute_type: c_int, algorithm: c_int, product: Opaque, bytes: *mut usize, buffer: u64
    );
    compute_product = "cusparseSpGEMM_compute" (
        handle: Opaque, of_a: c_int, of_b: c_int, alpha: *const c_void, a: Opaque, b: Opaque, beta: *const c_void, c: Opaque,
        compute_type: c_int, algorithm: c_int, product: Opaque, bytes: *mut usize, buffer: u64
    );
    copy_product = "cusparseSpGEMM_copy" (
        handle: Opaque, of_a: c_int, of_b: c_int, alpha: *const c_void, a: Opaque, b: Opaque, beta: *const c_void, c: Opaque,
        compute_type: c_int, algorithm: c_int, product: Opaque
    );
}

/// `cusparseSpMV_preprocess`, which there is since CUDA 12.4.
pub(super) type Preprocess = unsafe extern "C" fn(
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

/// Of the enumerations of cuSPARSE and CUDA.
pub(super) const INDEX_32: c_int = 2;
pub(super) const BASE_ZERO: c_int = 0;
pub(super) const NOT_TRANSPOSED: c_int = 0;
/// `CUSPARSE_SPMV_ALG_DEFAULT` and `CUSPARSE_SPMV_CSR_ALG2`.
pub(super) const ALGORITHMS: [c_int; 2] = [0, 3];
/// `CUSPARSE_SPGEMM_DEFAULT`.
pub(super) const PRODUCT_ALGORITHM: c_int = 0;

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
