//! Vectors as callers have them: columns one after the other, a leading dimension apart.

use std::ffi::c_void;

use vcycle::config::Wide;
use vcycle::executor::{Buffer, Executor};
use vcycle::vector::Vector;

use crate::failure::{Failure, ensure};
use crate::guard::{check_pointer, collected, length, slice};
use crate::numbers::Number;

/// The shape of vectors that a caller gave.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub rows: usize,
    pub columns: usize,
    /// From the beginning of a column to that of the next.
    pub leading: usize,
    pub on_device: bool,
}

impl Shape {
    pub fn new(rows: usize, columns: i32, leading: i64, on_device: bool) -> Result<Self, Failure> {
        let columns = length(columns.into(), "columns")?;
        let leading = length(leading, "leading dimension")?;
        ensure!(
            leading >= rows || columns <= 1,
            "a leading dimension of {leading} is less than the {rows} rows"
        );
        ensure!(
            !on_device || columns <= 1,
            "vectors on a GPU have one column a call"
        );
        Ok(Self {
            rows,
            columns,
            leading: if columns > 1 { leading } else { rows },
            on_device,
        })
    }

    /// Items from the first to the last.
    fn extent(&self) -> usize {
        match self.columns {
            0 => 0,
            columns => self
                .leading
                .saturating_mul(columns - 1)
                .saturating_add(self.rows),
        }
    }

    /// The vector at an address: used where it is if it can be, else copied.
    ///
    /// # Safety
    /// The numbers are there, and nobody changes them before the vector is dropped.
    pub unsafe fn read<N: Number>(
        &self,
        executor: &Executor,
        pointer: *const c_void,
        name: &'static str,
    ) -> Result<Vector<N::Wide>, Failure> {
        let is_wide = std::any::TypeId::of::<N>() == std::any::TypeId::of::<N::Wide>();
        let in_place = is_wide && self.columns == 1 && self.rows > 0 && !executor.is_device();
        if self.on_device || in_place {
            check_pointer(pointer.cast::<N>(), name)?;
            let (address, len) = (pointer as u64, self.rows);
            // SAFETY: the numbers are there and nobody changes them, a condition of this function.
            let values = unsafe { Buffer::borrowed(executor, address, len, Box::new(())) }?;
            return Ok(Vector::from_buffer(1, values)?);
        }
        // SAFETY: as above.
        let given = unsafe { slice(pointer.cast::<N>(), self.extent(), name) }?;
        let at = |place: usize| {
            let (row, column) = (place / self.columns, place % self.columns);
            given[column * self.leading + row].wide()
        };
        let values = match self.columns {
            1 => collected(given.iter().map(|value| value.wide()))?,
            several => collected((0..self.rows * several).map(at))?,
        };
        Ok(Vector::from_rows(executor, self.columns, values)?)
    }

    /// Writes a vector to an address.
    ///
    /// # Safety
    /// There is room for the numbers, and nobody else uses it during the call.
    pub unsafe fn write<N: Number>(
        &self,
        from: &Vector<N::Wide>,
        pointer: *mut c_void,
        name: &'static str,
    ) -> Result<(), Failure> {
        if self.extent() == 0 {
            return Ok(());
        }
        check_pointer(pointer.cast::<N>(), name)?;
        if self.on_device {
            // SAFETY: a condition of this function.
            return unsafe { write_on_device(from, pointer as u64) };
        }
        // SAFETY: there is room for so many numbers, which nobody else uses: a condition of this function.
        let room = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<N>(), self.extent()) };
        let values = from.host()?;
        if self.columns == 1 {
            for (to, &value) in room.iter_mut().zip(values) {
                *to = N::narrow(value);
            }
            return Ok(());
        }
        for (place, &value) in values.iter().enumerate() {
            let (row, column) = (place / self.columns, place % self.columns);
            room[column * self.leading + row] = N::narrow(value);
        }
        Ok(())
    }
}

/// Copies a vector of a device to an address of that device.
///
/// # Safety
/// There is room for it, and nobody else uses it during the call.
unsafe fn write_on_device<T: Wide>(from: &Vector<T>, address: u64) -> Result<(), Failure> {
    let Some(device) = from.executor().device() else {
        return Err(Failure::argument("the vector is not on a GPU"));
    };
    let bytes = from.rows() * size_of::<T>();
    let ours = from.buffer().address()?;
    // SAFETY: both are memory of the device with that many bytes, for as long as this function runs: that of the caller by
    // a condition of this function, ours because the vector lives.
    let (to, from) = unsafe {
        (
            device.adopt(address, bytes, Box::new(()))?,
            device.adopt(ours, bytes, Box::new(()))?,
        )
    };
    device.copy(&to, &from, bytes)?;
    device.synchronize()?;
    Ok(())
}
