//! Products of sparse matrices by cuSPARSE.

use std::ffi::c_int;
use std::ptr;

use vcycle::executor::Executor;
use vcycle::linop::Size;
use vcycle::matrix::{Csr, Duplicates};
use vcycle_gpu::Memory;

use super::api::{BASE_ZERO, INDEX_32, NOT_TRANSPOSED, Opaque, ProductStep, check};
use super::{Cusparse, CusparseReal, factors};
use crate::common::Result;

/// `CUSPARSE_SPGEMM_DEFAULT`.
const ALGORITHM: c_int = 0;

/// A matrix of the library.
pub(crate) struct CusparseMatrix<'c> {
    cusparse: &'c Cusparse,
    size: Size,
    entries: usize,
    description: Opaque,
    arrays: [Memory; 3],
}

impl Drop for CusparseMatrix<'_> {
    fn drop(&mut self) {
        // SAFETY: a description of this library, no longer used.
        unsafe { (self.cusparse.destroy_csr)(self.description) };
    }
}

impl Cusparse {
    /// Copies a matrix for the library.
    pub fn matrix(&self, a: &Csr<f64>) -> Result<CusparseMatrix<'_>> {
        let offsets: Vec<i32> = a.offsets().iter().map(|&place| place as i32).collect();
        let arrays = [
            self.upload(&offsets)?,
            self.upload(a.columns())?,
            self.upload(a.values())?,
        ];
        self.described(a.size(), a.nonzeros(), arrays)
    }

    fn described(
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
        // SAFETY: the arrays of a CSR matrix in device memory, with indices of 32 bits.
        check("cusparseCreateCsr", unsafe {
            (self.create_csr)(
                &mut description,
                size.rows as i64,
                size.cols as i64,
                entries as i64,
                address(0),
                address(1),
                address(2),
                INDEX_32,
                INDEX_32,
                BASE_ZERO,
                f64::DATA_TYPE,
            )
        })?;
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
        let offsets = self.device.allocate(4 * (size.rows + 1))?;
        let nothing = [self.device.allocate(0)?, self.device.allocate(0)?];
        let [columns, values] = nothing;
        let mut c = self.described(size, 0, [offsets, columns, values])?;
        let mut description = ptr::null_mut();
        // SAFETY: the library makes it.
        check("cusparseSpGEMM_createDescr", unsafe {
            (self.spgemm.create)(&mut description)
        })?;
        let made = self.steps(a, b, &mut c, description);
        // SAFETY: made above, and no longer used.
        unsafe { (self.spgemm.destroy)(description) };
        made?;
        Ok(c)
    }

    fn steps(
        &self,
        a: &CusparseMatrix<'_>,
        b: &CusparseMatrix<'_>,
        c: &mut CusparseMatrix<'_>,
        description: Opaque,
    ) -> Result<()> {
        let functions = &self.spgemm;
        // The memory of the first step is used until the end.
        let _first = self.step(
            "cusparseSpGEMM_workEstimation",
            functions.estimate,
            [a, b, c],
            description,
        )?;
        let _second = self.step(
            "cusparseSpGEMM_compute",
            functions.compute,
            [a, b, c],
            description,
        )?;
        let (mut rows, mut cols, mut entries) = (0, 0, 0);
        // SAFETY: a description of this library.
        check("cusparseSpMatGetSize", unsafe {
            (functions.get_size)(c.description, &mut rows, &mut cols, &mut entries)
        })?;
        c.entries = entries as usize;
        c.arrays[1] = self.device.allocate(4 * c.entries)?;
        c.arrays[2] = self.device.allocate(8 * c.entries)?;
        let [offsets, columns, values] = [0, 1, 2].map(|array: usize| c.arrays[array].address());
        // SAFETY: device memory of the sizes that the library has told.
        check("cusparseCsrSetPointers", unsafe {
            (functions.set_pointers)(c.description, offsets, columns, values)
        })?;
        let (one, zero) = factors::<f64>();
        // SAFETY: descriptions of this library, factors of the type of the values.
        check("cusparseSpGEMM_copy", unsafe {
            (functions.copy)(
                self.handle,
                NOT_TRANSPOSED,
                NOT_TRANSPOSED,
                one.as_ptr().cast(),
                a.description,
                b.description,
                zero.as_ptr().cast(),
                c.description,
                f64::DATA_TYPE,
                ALGORITHM,
                description,
            )
        })
    }

    /// A step that first tells how much memory it wants; that memory.
    fn step(
        &self,
        name: &str,
        function: ProductStep,
        [a, b, c]: [&CusparseMatrix<'_>; 3],
        description: Opaque,
    ) -> Result<Memory> {
        let (one, zero) = factors::<f64>();
        let mut bytes = 0;
        let mut call = |memory: u64| {
            // SAFETY: descriptions of this library, factors of the type of the values, and memory
            // of the size that was asked for.
            check(name, unsafe {
                function(
                    self.handle,
                    NOT_TRANSPOSED,
                    NOT_TRANSPOSED,
                    one.as_ptr().cast(),
                    a.description,
                    b.description,
                    zero.as_ptr().cast(),
                    c.description,
                    f64::DATA_TYPE,
                    ALGORITHM,
                    description,
                    &mut bytes,
                    memory,
                )
            })?;
            Ok::<usize, Box<dyn std::error::Error>>(bytes)
        };
        let memory = self.device.allocate(call(0)?)?;
        call(memory.address())?;
        Ok(memory)
    }
}

impl CusparseMatrix<'_> {
    /// How many entries it has.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The matrix on an executor of the host, its rows sorted.
    pub fn to_csr(&self, executor: &Executor) -> Result<Csr<f64>> {
        let offsets = self.download::<4>(0, self.size.rows + 1)?;
        let offsets = offsets.map(|bytes| u32::from_ne_bytes(bytes) as usize);
        let columns = self.download::<4>(1, self.entries)?.map(u32::from_ne_bytes);
        let values = self.download::<8>(2, self.entries)?.map(f64::from_ne_bytes);
        Ok(Csr::from_arrays(
            executor,
            self.size,
            offsets.collect(),
            columns.collect(),
            values.collect(),
            Duplicates::Refuse,
        )?)
    }

    fn download<const N: usize>(
        &self,
        array: usize,
        count: usize,
    ) -> Result<impl Iterator<Item = [u8; N]>> {
        let mut bytes = vec![0; N * count];
        let device = &self.cusparse.device;
        device.download(&mut bytes, &self.arrays[array])?;
        let words = (0..count).map(move |k| std::array::from_fn(|byte| bytes[N * k + byte]));
        Ok(words)
    }
}
