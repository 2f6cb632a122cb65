//! Numbers of levels in other types.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use crate::error::Result;
use crate::executor::{Buffer, Executor, check_memory};
use crate::operations::stencil_setup;
use crate::operations::vector::copy_numbers;
use crate::scalar::Scalar;

/// Values in another type, rounded to nearest.
pub(super) fn converted<T: Scalar, S: Scalar>(values: &Buffer<T>) -> Result<Buffer<S>> {
    if let Some(made) = stencil_setup::converted(values)? {
        return Ok(made);
    }
    let mut made = zeros(values.executor(), values.len())?;
    copy_numbers(values.executor(), values.host()?, &mut made);
    Ok(Buffer::from_vec(values.executor(), made))
}

/// Zeros that the system writes when they are first used, whatever their type.
pub(super) fn zeros<S: Scalar>(executor: &Executor, len: usize) -> Result<Vec<S>> {
    check_memory(executor, len, size_of::<S>())?;
    let layout = Layout::array::<S>(len).expect("no more than there is memory");
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is that of a vector, and all bits zero are a zero of every type.
    unsafe {
        let memory = alloc_zeroed(layout).cast::<S>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Ok(Vec::from_raw_parts(memory, len, len))
    }
}
