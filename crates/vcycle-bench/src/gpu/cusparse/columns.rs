//! Products with several columns by cuSPARSE.

use std::ffi::c_int;
use std::ptr;

use vcycle::matrix::Csr;
use vcycle_gpu::Memory;

use super::api::{COLUMN_ALGORITHMS, NOT_TRANSPOSED, ORDER_ROW, Opaque, check};
use super::{Cusparse, CusparseReal, factors};
use crate::common::Result;
use crate::gpu::timing::microseconds;

/// One matrix with the columns it is multiplied with, on the device.
struct ColumnOperands<'c> {
    cusparse: &'c Cusparse,
    a: Opaque,
    x: Opaque,
    y: Opaque,
    _result: Memory,
    buffer: Memory,
    _arrays: [Memory; 4],
}

impl Cusparse {
    /// Microseconds of the best algorithm for `cols` columns, side by side or one after the other, with the same numbers in `x`.
    pub fn best_columns<V: CusparseReal>(
        &self,
        a: &Csr<V>,
        x: &[V],
        cols: usize,
        copies: usize,
    ) -> Result<f64> {
        let mut best = f64::INFINITY;
        for (algorithm, order) in COLUMN_ALGORITHMS {
            let mut operands = Vec::new();
            for _ in 0..copies {
                operands.push(ColumnOperands::new::<V>(
                    self,
                    a,
                    x,
                    cols,
                    (algorithm, order),
                )?);
            }
            let mut round = || {
                self.in_stream()?;
                operands
                    .iter()
                    .try_for_each(|one| one.multiply::<V>(algorithm))
            };
            best = best.min(microseconds(&self.device, copies, &mut round)?);
        }
        Ok(best)
    }

    /// The descriptor of columns.
    fn columns<V: CusparseReal>(
        &self,
        values: &Memory,
        cols: usize,
        order: c_int,
    ) -> Result<Opaque> {
        let rows = values.bytes() / size_of::<V>() / cols;
        let apart = if order == ORDER_ROW { cols } else { rows };
        let mut columns = ptr::null_mut();
        // SAFETY: device memory of that many values.
        check("cusparseCreateDnMat", unsafe {
            (self.columns.create)(
                &mut columns,
                rows as i64,
                cols as i64,
                apart as i64,
                values.address(),
                V::DATA_TYPE,
                order,
            )
        })?;
        Ok(columns)
    }
}

impl<'c> ColumnOperands<'c> {
    fn new<V: CusparseReal>(
        cusparse: &'c Cusparse,
        a: &Csr<V>,
        x: &[V],
        cols: usize,
        (algorithm, order): (c_int, c_int),
    ) -> Result<Self> {
        let (matrix, [offsets, columns, values]) = cusparse.operand(a)?;
        let x = cusparse.upload(x)?;
        let bytes = a.size().rows * cols * size_of::<V>();
        let result = cusparse.device.allocate(bytes)?;
        let mut operands = Self {
            cusparse,
            a: matrix,
            x: cusparse.columns::<V>(&x, cols, order)?,
            y: cusparse.columns::<V>(&result, cols, order)?,
            _result: result,
            buffer: cusparse.device.allocate(0)?,
            _arrays: [offsets, columns, values, x],
        };
        cusparse.in_stream()?;
        let (one, zero) = factors::<V>();
        let mut bytes = 0;
        // SAFETY: descriptors of this library, factors of the type of the arithmetic.
        check("cusparseSpMM_bufferSize", unsafe {
            (cusparse.columns.buffer_size)(
                cusparse.handle,
                NOT_TRANSPOSED,
                NOT_TRANSPOSED,
                one.as_ptr().cast(),
                operands.a,
                operands.x,
                zero.as_ptr().cast(),
                operands.y,
                V::COMPUTE_TYPE,
                algorithm,
                &mut bytes,
            )
        })?;
        operands.buffer = cusparse.device.allocate(bytes)?;
        Ok(operands)
    }

    fn multiply<V: CusparseReal>(&self, algorithm: c_int) -> Result<()> {
        let (one, zero) = factors::<V>();
        // SAFETY: as in `new`, and the scratch memory has the size that was asked for.
        check("cusparseSpMM", unsafe {
            (self.cusparse.columns.multiply)(
                self.cusparse.handle,
                NOT_TRANSPOSED,
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

impl Drop for ColumnOperands<'_> {
    fn drop(&mut self) {
        // SAFETY: descriptors of this library, no longer used.
        unsafe {
            (self.cusparse.destroy_csr)(self.a);
            (self.cusparse.columns.destroy)(self.x);
            (self.cusparse.columns.destroy)(self.y);
        }
    }
}
