//! Matrices as callers have them.

use std::ffi::c_void;

use vcycle::executor::{Buffer, Executor};
use vcycle::linop::Size;
use vcycle::matrix::{Csr, Duplicates};
use vcycle::scalar::Scalar;

use crate::codes::{VCYCLE_BORROW, VCYCLE_DEVICE, VCYCLE_ERROR_MATRIX, VCYCLE_I32, VCYCLE_I64};
use crate::failure::{Failure, ensure};
use crate::guard::{check_pointer, collected, length, slice};
use crate::numbers::{Number, Numbers};
use crate::places::{GivenOrder, Places};

/// A square matrix in compressed rows. Columns of a row may stand in any order and more than once: their values are
/// added. Zeros may be stored, and a matrix may have no rows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vcycle_csr {
    /// sizeof(vcycle_csr)
    pub size: usize,
    /// The number of rows, and of columns.
    pub rows: i64,
    /// Where the entries of each row begin, and of the last one end: rows + 1 indices.
    pub offsets: *const c_void,
    /// The column of every entry.
    pub columns: *const c_void,
    /// The value of every entry.
    pub values: *const c_void,
    /// VCYCLE_I32 or VCYCLE_I64.
    pub offset_type: i32,
    /// VCYCLE_I32 or VCYCLE_I64.
    pub column_type: i32,
    /// VCYCLE_F64, VCYCLE_F32, VCYCLE_C64 or VCYCLE_C32.
    pub value_type: i32,
    /// The number of the first row, column and entry: 0, or 1 as in Fortran.
    pub base: i32,
    /// 0, or VCYCLE_BORROW, VCYCLE_DEVICE or both.
    pub flags: i32,
}

/// Offsets, columns of the whole matrix, and values.
pub(crate) type RowsOfMany<T> = (Vec<usize>, Vec<u64>, Vec<T>);

/// Whether they are 64 bits wide.
#[derive(Clone, Copy)]
struct Wide(bool);

impl Wide {
    fn of(code: i32) -> Result<Self, Failure> {
        match code {
            VCYCLE_I32 => Ok(Self(false)),
            VCYCLE_I64 => Ok(Self(true)),
            other => {
                let message =
                    format!("{other} is no type of indices: use VCYCLE_I32 or VCYCLE_I64");
                Err(Failure::argument(message))
            }
        }
    }
}

/// A description that was looked at.
pub(crate) struct Given {
    it: vcycle_csr,
    pub rows: usize,
    pub numbers: Numbers,
    offsets: Wide,
    columns: Wide,
    base: i64,
}

impl Given {
    /// Looks at what stands in the description.
    pub fn new(it: vcycle_csr) -> Result<Self, Failure> {
        ensure!(
            it.size == size_of::<vcycle_csr>(),
            "`size` is not sizeof(vcycle_csr): set it before all else"
        );
        let rows = length(it.rows, "rows")?;
        let most = u32::MAX as usize;
        ensure!(
            rows < most,
            "{rows} rows are more than 32-bit columns can name"
        );
        ensure!(
            (0..=1).contains(&it.base),
            "`base` is {}, not 0 or 1",
            it.base
        );
        let unknown = it.flags & !(VCYCLE_BORROW | VCYCLE_DEVICE);
        ensure!(unknown == 0, "`flags` are {:#x}", it.flags);
        Ok(Self {
            rows,
            numbers: Numbers::of(it.value_type)?,
            offsets: Wide::of(it.offset_type)?,
            columns: Wide::of(it.column_type)?,
            base: it.base.into(),
            it,
        })
    }

    pub fn is_on_device(&self) -> bool {
        self.it.flags & VCYCLE_DEVICE != 0
    }

    fn may_be_borrowed(&self) -> bool {
        self.it.flags & VCYCLE_BORROW != 0 && self.base == 0 && !self.columns.0
    }

    /// The matrix, and where the entries are in it.
    ///
    /// # Safety
    /// The arrays are there, and stay as long as the caller has promised.
    pub unsafe fn csr<N: Number>(
        &self,
        executor: &Executor,
    ) -> Result<(Csr<N::Wide>, Places), Failure> {
        if self.is_on_device() {
            // SAFETY: a condition of this function.
            return unsafe { self.on_device::<N>(executor) };
        }
        // SAFETY: a condition of this function, as below.
        let offsets = unsafe { self.offsets() }?;
        let entries = offsets.last().copied().unwrap_or(0);
        // SAFETY: as above.
        let values = unsafe { slice(self.it.values.cast::<N>(), entries, "values") }?;
        if self.may_be_borrowed() && !executor.is_device() {
            // SAFETY: the caller keeps the arrays, which is what borrowing means.
            if let Some(a) = unsafe { self.borrowed::<N>(executor, &offsets, values) }? {
                return Ok((a, Places::Same(entries)));
            }
        }
        // SAFETY: as above.
        let columns = unsafe { self.columns(entries) }?;
        let given_order = GivenOrder::of(&offsets, &columns)?;
        let values = collected(values.iter().map(|value| value.wide()))?;
        let size = Size::square(self.rows);
        let a = Csr::from_arrays(executor, size, offsets, columns, values, Duplicates::Sum)?;
        a.check_finite()?;
        let places = given_order.places(|row, column| {
            let found = a.row(row).0.binary_search(&column).ok()?;
            Some(a.offsets()[row] + found)
        });
        Ok((a, places))
    }

    /// The matrix of arrays that stay where they are; none where they are not in order.
    ///
    /// # Safety
    /// Nobody changes or frees the arrays for as long as the matrix is used.
    unsafe fn borrowed<N: Number>(
        &self,
        executor: &Executor,
        offsets: &[usize],
        values: &[N],
    ) -> Result<Option<Csr<N::Wide>>, Failure> {
        if std::any::TypeId::of::<N>() != std::any::TypeId::of::<N::Wide>() {
            return Ok(None);
        }
        let entries = values.len();
        if entries == 0 {
            return Ok(None);
        }
        check_pointer(self.it.columns.cast::<u32>(), "columns")?;
        let (columns, values) = (self.it.columns as u64, self.it.values as u64);
        // SAFETY: there are as many columns and values as the offsets say, of these types, which nobody changes or
        // frees for as long as the matrix is used; a negative column is larger than any other.
        let (columns, values) = unsafe {
            (
                Buffer::<u32>::borrowed(executor, columns, entries, Box::new(()))?,
                Buffer::<N::Wide>::borrowed(executor, values, entries, Box::new(()))?,
            )
        };
        let offsets = Buffer::from_vec(executor, offsets.to_vec());
        let Ok(a) = Csr::from_buffers(Size::square(self.rows), offsets, columns, values) else {
            return Ok(None);
        };
        a.check_finite()?;
        Ok(Some(a))
    }

    /// The matrix of arrays on a device.
    ///
    /// # Safety
    /// The arrays are there, and nobody changes or frees them for as long as the matrix is used.
    unsafe fn on_device<N: Number>(
        &self,
        executor: &Executor,
    ) -> Result<(Csr<N::Wide>, Places), Failure> {
        ensure!(
            executor.is_device(),
            "VCYCLE_DEVICE, but the options name no GPU: device=cuda:0, say"
        );
        ensure!(
            self.numbers == Numbers::F64 && self.base == 0,
            "arrays of a GPU have numbers VCYCLE_F64 and base 0"
        );
        let it = &self.it;
        for (pointer, name) in [
            (it.offsets, "offsets"),
            (it.columns, "columns"),
            (it.values, "values"),
        ] {
            check_pointer(pointer, name)?;
        }
        if let Some(device) = executor.device() {
            device.synchronize_all()?;
        }
        let owner = || Box::new(());
        let count = self.rows + 1;
        // SAFETY: the caller has these arrays there, a condition of this function.
        let offsets: Buffer<usize> = unsafe {
            match self.offsets.0 {
                true => Buffer::borrowed(executor, it.offsets as u64, count, owner())?,
                false => Buffer::<u32>::borrowed(executor, it.offsets as u64, count, owner())?
                    .widened()?,
            }
        };
        let entries = offsets.get(self.rows)?;
        // SAFETY: as above.
        let (columns, values) = unsafe {
            let columns = match self.columns.0 {
                false => Buffer::borrowed(executor, it.columns as u64, entries, owner())?,
                true => Buffer::<usize>::borrowed(executor, it.columns as u64, entries, owner())?
                    .narrowed()?,
            };
            let values = Buffer::<N::Wide>::borrowed(executor, it.values as u64, entries, owner())?;
            (columns, values)
        };
        let a = Csr::from_buffers(Size::square(self.rows), offsets, columns, values)?;
        a.check_finite()?;
        Ok((a, Places::Same(entries)))
    }

    /// The rows of one process: offsets, columns of the whole matrix, and values.
    ///
    /// # Safety
    /// The arrays are there.
    pub unsafe fn rows_of_many<N: Number>(&self) -> Result<RowsOfMany<N::Wide>, Failure> {
        ensure!(self.it.flags == 0, "over several processes flags are 0");
        // SAFETY: a condition of this function, as below.
        let offsets = unsafe { self.offsets() }?;
        let entries = offsets.last().copied().unwrap_or(0);
        let of = |column: i64| u64::try_from(column).unwrap_or(u64::MAX);
        let given = (self.it.columns, self.columns, entries);
        // SAFETY: as above.
        let columns = unsafe { self.indices(given, "columns", of) }?;
        // SAFETY: as above.
        let values = unsafe { slice(self.it.values.cast::<N>(), entries, "values") }?;
        check_finite(values)?;
        let values = collected(values.iter().map(|value| value.wide()))?;
        Ok((offsets, columns, values))
    }

    /// Indices of the caller, from 0, each as `of` has it.
    ///
    /// # Safety
    /// There are so many of them.
    unsafe fn indices<I>(
        &self,
        (pointer, wide, count): (*const c_void, Wide, usize),
        name: &'static str,
        of: impl Fn(i64) -> I,
    ) -> Result<Vec<I>, Failure> {
        let of = |index: i64| of(index.wrapping_sub(self.base));
        match wide.0 {
            false => {
                // SAFETY: a condition of this function.
                let given = unsafe { slice(pointer.cast::<i32>(), count, name) }?;
                collected(given.iter().map(|&index| of(index.into())))
            }
            true => {
                // SAFETY: as above.
                let given = unsafe { slice(pointer.cast::<i64>(), count, name) }?;
                collected(given.iter().map(|&index| of(index)))
            }
        }
    }

    /// Offsets from 0, looked at.
    ///
    /// # Safety
    /// The array is there.
    unsafe fn offsets(&self) -> Result<Vec<usize>, Failure> {
        let given = (self.it.offsets, self.offsets, self.rows + 1);
        // SAFETY: a condition of this function.
        let signed = unsafe { self.indices(given, "offsets", |offset| offset) }?;
        let (first, base) = (signed[0].wrapping_add(self.base), self.base);
        ensure!(first == base, VCYCLE_ERROR_MATRIX: "offsets[0] is {first}, not {base}");
        if let Some(row) = signed.windows(2).position(|pair| pair[0] > pair[1]) {
            let message = format!("offsets[{}] is smaller than offsets[{row}]", row + 1);
            return Err(Failure::new(VCYCLE_ERROR_MATRIX, message));
        }
        collected(signed.iter().map(|&offset| offset as usize))
    }

    /// Columns from 0, looked at.
    ///
    /// # Safety
    /// The array is there.
    unsafe fn columns(&self, entries: usize) -> Result<Vec<u32>, Failure> {
        let of = |column: i64| match (0..self.rows as i64).contains(&column) {
            true => column as u32,
            false => u32::MAX,
        };
        let given = (self.it.columns, self.columns, entries);
        // SAFETY: a condition of this function.
        let columns = unsafe { self.indices(given, "columns", of) }?;
        if let Some(place) = columns.iter().position(|&column| column == u32::MAX) {
            let message = format!(
                "columns[{place}] is no column of a matrix with {} rows",
                self.rows
            );
            return Err(Failure::new(VCYCLE_ERROR_MATRIX, message));
        }
        Ok(columns)
    }
}

/// Fails for the first value that is not a number.
pub(crate) fn check_finite<N: Number>(values: &[N]) -> Result<(), Failure> {
    let is_finite = |value: &N| {
        let value = value.wide().to_c64();
        value.re.is_finite() && value.im.is_finite()
    };
    let Some(place) = values.iter().position(|value| !is_finite(value)) else {
        return Ok(());
    };
    let message = format!("values[{place}] is not finite");
    Err(Failure::new(VCYCLE_ERROR_MATRIX, message))
}
