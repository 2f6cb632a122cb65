//! NVIDIA cuSPARSE, asked for the same products.

mod api;
mod columns;
mod spgemm;

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use libloading::Library;
use vcycle::matrix::Csr;
use vcycle::scalar::{Scalar, f16};
use vcycle_gpu::{Device, Memory};

use self::api::{
    ALGORITHMS, BASE_ZERO, BufferSize, ColumnsFunctions, Create, CreateCsr, CreateVector, Destroy,
    INDEX_32, Multiply, NOT_TRANSPOSED, Opaque, ProductFunctions, SetStream, check, open,
};
use super::timing::microseconds;
use crate::common::Result;

/// Precisions that are compared.
pub(crate) trait CusparseReal: Scalar {
    /// The `cudaDataType`.
    const DATA_TYPE: c_int;
    /// The type of the arithmetic.
    const COMPUTE_TYPE: c_int = Self::DATA_TYPE;
    fn to_f64(self) -> f64;
}

impl CusparseReal for f64 {
    const DATA_TYPE: c_int = 1;
    fn to_f64(self) -> f64 {
        self
    }
}

impl CusparseReal for f32 {
    const DATA_TYPE: c_int = 0;
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl CusparseReal for f16 {
    const DATA_TYPE: c_int = 2;
    const COMPUTE_TYPE: c_int = f32::DATA_TYPE;
    fn to_f64(self) -> f64 {
        self.load().into()
    }
}

/// The library, with a handle of its own.
pub(crate) struct Cusparse {
    device: Arc<Device>,
    handle: Opaque,
    destroy: Destroy,
    set_stream: SetStream,
    create_csr: CreateCsr,
    create_vector: CreateVector,
    destroy_csr: Destroy,
    destroy_vector: Destroy,
    buffer_size: BufferSize,
    /// Since CUDA 12.4.
    preprocess: Option<Multiply>,
    multiply: Multiply,
    spgemm: ProductFunctions,
    columns: ColumnsFunctions,
}

/// One matrix with its vectors on the device.
struct Operands<'c> {
    cusparse: &'c Cusparse,
    a: Opaque,
    x: Opaque,
    y: Opaque,
    result: Memory,
    buffer: Memory,
    _arrays: [Memory; 4],
}

impl Cusparse {
    /// Loads the library; the device has to be one of CUDA.
    pub fn load(device: &Arc<Device>) -> Result<Self> {
        let name = &device.properties().name;
        if !name.starts_with("cuda:") {
            return Err(format!("{name} is no device of CUDA").into());
        }
        device.vendor_stream()?;
        // A library that has used a device is not unloaded.
        let library: &'static Library = Box::leak(Box::new(open()?));
        // SAFETY: the signatures are those of cusparse.h, the same since CUDA 12.0.
        unsafe {
            let create: Create = *library.get(b"cusparseCreate\0")?;
            let mut handle = ptr::null_mut();
            check("cusparseCreate", create(&mut handle))?;
            Ok(Self {
                device: Arc::clone(device),
                handle,
                destroy: *library.get(b"cusparseDestroy\0")?,
                set_stream: *library.get(b"cusparseSetStream\0")?,
                create_csr: *library.get(b"cusparseCreateCsr\0")?,
                create_vector: *library.get(b"cusparseCreateDnVec\0")?,
                destroy_csr: *library.get(b"cusparseDestroySpMat\0")?,
                destroy_vector: *library.get(b"cusparseDestroyDnVec\0")?,
                buffer_size: *library.get(b"cusparseSpMV_bufferSize\0")?,
                preprocess: library
                    .get(b"cusparseSpMV_preprocess\0")
                    .ok()
                    .map(|found| *found),
                multiply: *library.get(b"cusparseSpMV\0")?,
                columns: ColumnsFunctions {
                    create: *library.get(b"cusparseCreateDnMat\0")?,
                    destroy: *library.get(b"cusparseDestroyDnMat\0")?,
                    buffer_size: *library.get(b"cusparseSpMM_bufferSize\0")?,
                    multiply: *library.get(b"cusparseSpMM\0")?,
                },
                spgemm: ProductFunctions {
                    create: *library.get(b"cusparseSpGEMM_createDescr\0")?,
                    destroy: *library.get(b"cusparseSpGEMM_destroyDescr\0")?,
                    estimate: *library.get(b"cusparseSpGEMM_workEstimation\0")?,
                    compute: *library.get(b"cusparseSpGEMM_compute\0")?,
                    copy: *library.get(b"cusparseSpGEMM_copy\0")?,
                    get_size: *library.get(b"cusparseSpMatGetSize\0")?,
                    set_pointers: *library.get(b"cusparseCsrSetPointers\0")?,
                },
            })
        }
    }

    /// Microseconds of the better algorithm, and the product.
    pub fn best<V: CusparseReal>(
        &self,
        a: &Csr<V>,
        x: &[V],
        copies: usize,
    ) -> Result<(f64, Vec<V>)> {
        let (mut best, mut product) = (f64::INFINITY, Vec::new());
        for algorithm in ALGORITHMS {
            let mut operands = Vec::new();
            for _ in 0..copies {
                operands.push(Operands::new::<V>(self, a, x, algorithm)?);
            }
            let mut round = || {
                self.in_stream()?;
                operands
                    .iter()
                    .try_for_each(|one| one.multiply::<V>(algorithm))
            };
            best = best.min(microseconds(&self.device, copies, &mut round)?);
            product = self.download(&operands[0].result)?;
        }
        Ok((best, product))
    }

    /// Sends what follows to where the device's own work goes.
    fn in_stream(&self) -> Result<()> {
        let stream = self
            .device
            .vendor_stream()?
            .ok_or("the device has no stream")?;
        // SAFETY: a stream of the context that the library was started in.
        check("cusparseSetStream", unsafe {
            (self.set_stream)(self.handle, stream as Opaque)
        })
    }

    fn upload<T: Copy>(&self, values: &[T]) -> Result<Memory> {
        let memory = self.device.allocate(size_of_val(values))?;
        // SAFETY: plain numbers, without padding.
        let bytes = unsafe {
            std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values))
        };
        self.device.upload(&memory, bytes)?;
        Ok(memory)
    }

    /// The descriptor of a matrix, and its arrays: offsets, columns and values.
    fn operand<V: CusparseReal>(&self, a: &Csr<V>) -> Result<(Opaque, [Memory; 3])> {
        let offsets: Vec<i32> = a.offsets().iter().map(|&place| place as i32).collect();
        let arrays = [
            self.upload(&offsets)?,
            self.upload(a.columns())?,
            self.upload(a.values())?,
        ];
        let [rows, cols, entries] =
            [a.size().rows, a.size().cols, a.nonzeros()].map(|number| number as i64);
        let [offsets, columns, values] = [0, 1, 2].map(|array: usize| arrays[array].address());
        let mut matrix = ptr::null_mut();
        // SAFETY: the arrays of a CSR matrix in device memory, with indices of 32 bits.
        check("cusparseCreateCsr", unsafe {
            (self.create_csr)(
                &mut matrix,
                rows,
                cols,
                entries,
                offsets,
                columns,
                values,
                INDEX_32,
                INDEX_32,
                BASE_ZERO,
                V::DATA_TYPE,
            )
        })?;
        Ok((matrix, arrays))
    }

    /// A result that was computed on the device.
    fn download<V: CusparseReal>(&self, result: &Memory) -> Result<Vec<V>> {
        let mut bytes = vec![0; result.bytes()];
        self.device.download(&mut bytes, result)?;
        // SAFETY: every pattern of bits is a number; the bytes need no alignment.
        let value = |chunk: &[u8]| unsafe { chunk.as_ptr().cast::<V>().read_unaligned() };
        Ok(bytes.chunks_exact(size_of::<V>()).map(value).collect())
    }

    fn vector<V: CusparseReal>(&self, values: &Memory) -> Result<Opaque> {
        let mut vector = ptr::null_mut();
        let len = (values.bytes() / size_of::<V>()) as i64;
        // SAFETY: device memory of that many values.
        check("cusparseCreateDnVec", unsafe {
            (self.create_vector)(&mut vector, len, values.address(), V::DATA_TYPE)
        })?;
        Ok(vector)
    }
}

impl Drop for Cusparse {
    fn drop(&mut self) {
        // SAFETY: made by `load`, and no longer used. Nothing can be done where it fails.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

impl<'c> Operands<'c> {
    fn new<V: CusparseReal>(
        cusparse: &'c Cusparse,
        a: &Csr<V>,
        x: &[V],
        algorithm: c_int,
    ) -> Result<Self> {
        let (matrix, [offsets, columns, values]) = cusparse.operand(a)?;
        let x = cusparse.upload(x)?;
        let result = cusparse.device.allocate(a.size().rows * size_of::<V>())?;
        let mut operands = Self {
            cusparse,
            a: matrix,
            x: cusparse.vector::<V>(&x)?,
            y: cusparse.vector::<V>(&result)?,
            result,
            buffer: cusparse.device.allocate(0)?,
            _arrays: [offsets, columns, values, x],
        };
        operands.prepare::<V>(algorithm)?;
        Ok(operands)
    }

    /// Takes the scratch memory that the library wants, and lets it look at the matrix.
    fn prepare<V: CusparseReal>(&mut self, algorithm: c_int) -> Result<()> {
        let Cusparse {
            handle,
            buffer_size,
            preprocess,
            ..
        } = *self.cusparse;
        self.cusparse.in_stream()?;
        let (one, zero) = factors::<V>();
        let mut bytes = 0;
        // SAFETY: descriptors of this library, factors of the type of the values.
        check("cusparseSpMV_bufferSize", unsafe {
            buffer_size(
                handle,
                NOT_TRANSPOSED,
                one.as_ptr().cast(),
                self.a,
                self.x,
                zero.as_ptr().cast(),
                self.y,
                V::COMPUTE_TYPE,
                algorithm,
                &mut bytes,
            )
        })?;
        self.buffer = self.cusparse.device.allocate(bytes)?;
        match preprocess {
            Some(preprocess) => self.call::<V>("cusparseSpMV_preprocess", preprocess, algorithm),
            None => Ok(()),
        }
    }

    fn multiply<V: CusparseReal>(&self, algorithm: c_int) -> Result<()> {
        self.call::<V>("cusparseSpMV", self.cusparse.multiply, algorithm)
    }

    fn call<V: CusparseReal>(
        &self,
        name: &str,
        function: Multiply,
        algorithm: c_int,
    ) -> Result<()> {
        let (one, zero) = factors::<V>();
        // SAFETY: as in `prepare`, and the scratch memory has the size that was asked for.
        check(name, unsafe {
            function(
                self.cusparse.handle,
                NOT_TRANSPOSED,
                one.as_ptr().cast(),
                self.a,
                self.x,
                zero.as_ptr().cast(),
                self.y,
                V::COMPUTE_TYPE,
                algorithm,
                self.buffer.address(),
            )
        })
    }
}

impl Drop for Operands<'_> {
    fn drop(&mut self) {
        // SAFETY: descriptors of this library, no longer used.
        unsafe {
            (self.cusparse.destroy_csr)(self.a);
            (self.cusparse.destroy_vector)(self.x);
            (self.cusparse.destroy_vector)(self.y);
        }
    }
}

/// One and zero, as the library reads them.
fn factors<V: CusparseReal>() -> (Vec<u8>, Vec<u8>) {
    let one = match size_of::<V>() {
        8 => 1.0_f64.to_ne_bytes().to_vec(),
        _ => 1.0_f32.to_ne_bytes().to_vec(),
    };
    let zero = vec![0; one.len()];
    (one, zero)
}
