//! Products by NVIDIA cuSPARSE.

mod api;

use std::ffi::{c_int, c_void};
use std::ptr;

use libloading::Library;
use vcycle::linop::Size;
use vcycle::matrix::Duplicates;
use vcycle_gpu::{Device, Memory};

use self::api::{
    ALGORITHMS, BASE_ZERO, Functions, INDEX_32, NOT_TRANSPOSED, Opaque, PRODUCT_ALGORITHM,
    Preprocess, open,
};
use crate::prelude::*;
use crate::timing::microseconds;

/// Precisions that are compared.
pub(crate) trait CusparseReal: Scalar {
    /// The `cudaDataType`.
    const DATA_TYPE: c_int;
    const ONE: &'static Self;
    const ZERO: &'static Self;
}

impl CusparseReal for f64 {
    const DATA_TYPE: c_int = 1;
    const ONE: &'static Self = &1.0;
    const ZERO: &'static Self = &0.0;
}

impl CusparseReal for f32 {
    const DATA_TYPE: c_int = 0;
    const ONE: &'static Self = &1.0;
    const ZERO: &'static Self = &0.0;
}

/// One and zero, as the library reads them.
fn factors<V: CusparseReal>() -> [*const c_void; 2] {
    [V::ONE, V::ZERO].map(|factor| ptr::from_ref(factor).cast())
}

/// The library, with a handle of its own.
pub(crate) struct Cusparse {
    device: Arc<Device>,
    handle: Opaque,
    functions: Functions,
    preprocess: Option<Preprocess>,
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
        let mut handle = ptr::null_mut();
        // SAFETY: the library is cuSPARSE, found by its name or named by the caller.
        unsafe {
            let functions = Functions::load(library)?;
            functions.create(&mut handle)?;
            let preprocess = library.get(b"cusparseSpMV_preprocess\0").ok();
            Ok(Self {
                device: Arc::clone(device),
                handle,
                functions,
                preprocess: preprocess.map(|found| *found),
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
            let new = |_| Operands::new::<V>(self, a, x, algorithm);
            let operands = (0..copies).map(new).collect::<Result<Vec<_>>>()?;
            let mut round = || {
                self.in_stream()?;
                operands.iter().try_for_each(Operands::multiply::<V>)
            };
            best = best.min(microseconds(&self.device, copies, &mut round)?);
            product = self.download(&operands[0].result)?;
        }
        Ok((best, product))
    }

    /// Sends what follows to where the device's own work goes.
    fn in_stream(&self) -> Result<()> {
        let stream = self.device.vendor_stream()?;
        let stream = stream.ok_or("the device has no stream")?;
        // SAFETY: a stream of the context that the library was started in.
        unsafe { self.functions.set_stream(self.handle, stream as Opaque) }
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

    /// What the device has computed.
    fn download<T: Copy>(&self, result: &Memory) -> Result<Vec<T>> {
        let mut bytes = vec![0; result.bytes()];
        self.device.download(&mut bytes, result)?;
        // SAFETY: every pattern of bits is a number; the bytes need no alignment.
        let value = |chunk: &[u8]| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() };
        Ok(bytes.chunks_exact(size_of::<T>()).map(value).collect())
    }

    /// Copies a matrix for the library.
    pub fn matrix<V: CusparseReal>(&self, a: &Csr<V>) -> Result<CusparseMatrix<'_>> {
        let offsets: Vec<i32> = a.offsets().iter().map(|&place| place as i32).collect();
        let arrays = [
            self.upload(&offsets)?,
            self.upload(a.columns())?,
            self.upload(a.values())?,
        ];
        self.described::<V>(a.size(), a.nonzeros(), arrays)
    }

    fn described<V: CusparseReal>(
        &self,
        size: Size,
        entries: usize,
        arrays: [Memory; 3],
    ) -> Result<CusparseMatrix<'_>> {
        let mut description = ptr::null_mut();
        let address = |array: usize| match entries {
            0 if array > 0 => 0,
            _ => arrays[array].address(),
        };
        let [rows, cols, count] = [size.rows, size.cols, entries].map(|number| number as i64);
        // SAFETY: the arrays of a CSR matrix in device memory, with indices of 32 bits.
        unsafe {
            self.functions.create_csr(
                &mut description,
                rows,
                cols,
                count,
                address(0),
                address(1),
                address(2),
                INDEX_32,
                INDEX_32,
                BASE_ZERO,
                V::DATA_TYPE,
            )?;
        }
        Ok(CusparseMatrix {
            cusparse: self,
            size,
            entries,
            description,
            arrays,
        })
    }

    /// `A B`.
    pub fn product<'c>(
        &'c self,
        a: &CusparseMatrix<'_>,
        b: &CusparseMatrix<'_>,
    ) -> Result<CusparseMatrix<'c>> {
        self.in_stream()?;
        let size = Size::new(a.size.rows, b.size.cols);
        let none = || self.device.allocate(0);
        let arrays = [self.device.allocate(4 * (size.rows + 1))?, none()?, none()?];
        let mut c = self.described::<f64>(size, 0, arrays)?;
        let mut product = ptr::null_mut();
        // SAFETY: the library makes it, and it is no longer used when it is destroyed.
        unsafe {
            self.functions.create_product(&mut product)?;
            let made = self.product_steps(a, b, &mut c, product);
            self.functions.destroy_product(product)?;
            made?;
        }
        Ok(c)
    }

    fn product_steps(
        &self,
        a: &CusparseMatrix<'_>,
        b: &CusparseMatrix<'_>,
        c: &mut CusparseMatrix<'_>,
        product: Opaque,
    ) -> Result<()> {
        let [one, zero] = factors::<f64>();
        let (f, handle, none) = (&self.functions, self.handle, NOT_TRANSPOSED);
        let [of_a, of_b, of_c] = [a.description, b.description, c.description];
        let (kind, algorithm, mut bytes) = (f64::DATA_TYPE, PRODUCT_ALGORITHM, 0);
        // The first call of a step returns the size of its memory; that of the first step is used until the end.
        let mut memory = Vec::new();
        // SAFETY: descriptions of this library, factors of the type of the values, and memory of the size that the library has named.
        unsafe {
            for step in [Functions::estimate_product, Functions::compute_product] {
                let mut buffer = 0;
                for is_known in [false, true] {
                    step(
                        f, handle, none, none, one, of_a, of_b, zero, of_c, kind, algorithm,
                        product, &mut bytes, buffer,
                    )?;
                    if !is_known {
                        let taken = self.device.allocate(bytes)?;
                        buffer = taken.address();
                        memory.push(taken);
                    }
                }
            }
            let (mut rows, mut cols, mut entries) = (0, 0, 0);
            f.get_size(of_c, &mut rows, &mut cols, &mut entries)?;
            c.entries = entries as usize;
            c.arrays[1] = self.device.allocate(4 * c.entries)?;
            c.arrays[2] = self.device.allocate(8 * c.entries)?;
            let [offsets, columns, values] = c.arrays.each_ref().map(|array| array.address());
            f.set_pointers(of_c, offsets, columns, values)?;
            f.copy_product(
                handle, none, none, one, of_a, of_b, zero, of_c, kind, algorithm, product,
            )
        }
    }
}

impl Drop for Cusparse {
    fn drop(&mut self) {
        // SAFETY: made by `load`, and no longer used. Nothing can be done where it fails.
        let _ = unsafe { self.functions.destroy(self.handle) };
    }
}

/// A matrix of the library.
pub(crate) struct CusparseMatrix<'c> {
    cusparse: &'c Cusparse,
    size: Size,
    entries: usize,
    description: Opaque,
    arrays: [Memory; 3],
}

impl CusparseMatrix<'_> {
    /// The matrix on an executor of the host, its rows sorted.
    pub fn to_csr(&self, executor: &Executor) -> Result<Csr<f64>> {
        let [offsets, columns, values] = &self.arrays;
        let offsets = self.cusparse.download::<u32>(offsets)?;
        Ok(Csr::from_arrays(
            executor,
            self.size,
            offsets.into_iter().map(|place| place as usize).collect(),
            self.cusparse.download(columns)?,
            self.cusparse.download(values)?,
            Duplicates::Refuse,
        )?)
    }
}

impl Drop for CusparseMatrix<'_> {
    fn drop(&mut self) {
        // SAFETY: a description of this library, no longer used. Nothing can be done where it fails.
        let _ = unsafe { self.cusparse.functions.destroy_csr(self.description) };
    }
}

/// One matrix with its vectors on the device.
struct Operands<'c> {
    a: CusparseMatrix<'c>,
    x: Opaque,
    y: Opaque,
    result: Memory,
    buffer: Memory,
    _input: Memory,
    algorithm: c_int,
}

impl<'c> Operands<'c> {
    fn new<V: CusparseReal>(
        cusparse: &'c Cusparse,
        a: &Csr<V>,
        x: &[V],
        algorithm: c_int,
    ) -> Result<Self> {
        let input = cusparse.upload(x)?;
        let result = cusparse.device.allocate(a.size().rows * size_of::<V>())?;
        let describe = |values: &Memory| -> Result<Opaque> {
            let (mut made, f) = (ptr::null_mut(), &cusparse.functions);
            let length = (values.bytes() / size_of::<V>()) as i64;
            // SAFETY: device memory of that many values.
            unsafe { f.create_vector(&mut made, length, values.address(), V::DATA_TYPE)? };
            Ok(made)
        };
        let mut operands = Self {
            a: cusparse.matrix(a)?,
            x: describe(&input)?,
            y: describe(&result)?,
            result,
            buffer: cusparse.device.allocate(0)?,
            _input: input,
            algorithm,
        };
        operands.prepare::<V>()?;
        Ok(operands)
    }

    /// Allocates the scratch memory that the library needs, and lets it analyse the matrix.
    fn prepare<V: CusparseReal>(&mut self) -> Result<()> {
        let cusparse = self.a.cusparse;
        cusparse.in_stream()?;
        let [one, zero] = factors::<V>();
        let (a, x, y, none) = (self.a.description, self.x, self.y, NOT_TRANSPOSED);
        let (kind, algorithm, handle) = (V::DATA_TYPE, self.algorithm, cusparse.handle);
        let (f, mut bytes) = (&cusparse.functions, 0);
        // SAFETY: descriptions of this library, factors of the type of the arithmetic, memory of the size that the library has named.
        unsafe {
            f.multiply_size(
                handle, none, one, a, x, zero, y, kind, algorithm, &mut bytes,
            )?;
            self.buffer = cusparse.device.allocate(bytes)?;
            let buffer = self.buffer.address();
            let preprocess = cusparse.preprocess;
            let code =
                preprocess.map(|of| of(handle, none, one, a, x, zero, y, kind, algorithm, buffer));
            match code {
                None | Some(0) => Ok(()),
                Some(code) => Err(format!("cusparseSpMV_preprocess failed with {code}").into()),
            }
        }
    }

    fn multiply<V: CusparseReal>(&self) -> Result<()> {
        let Cusparse {
            handle,
            functions: f,
            ..
        } = self.a.cusparse;
        let [one, zero] = factors::<V>();
        let (a, x, y, none) = (self.a.description, self.x, self.y, NOT_TRANSPOSED);
        let (kind, algorithm, buffer) = (V::DATA_TYPE, self.algorithm, self.buffer.address());
        // SAFETY: as in `prepare`.
        unsafe { f.multiply(*handle, none, one, a, x, zero, y, kind, algorithm, buffer) }
    }
}

impl Drop for Operands<'_> {
    fn drop(&mut self) {
        for one in [self.x, self.y] {
            // SAFETY: a description of this library, no longer used. Nothing can be done where it fails.
            let _ = unsafe { self.a.cusparse.functions.destroy_vector(one) };
        }
    }
}
