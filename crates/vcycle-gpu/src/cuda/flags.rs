//! What a stream does with numbers in memory of the host: it signals host tasks to a proxy, and waits for their end.

use std::ptr;
use std::sync::atomic::AtomicU32;

use libloading::Library;

use crate::cuda::vendor::{Opaque, Vendor};
use crate::library::Function;
use crate::prelude::*;

/// The functions for that, and what makes graphs ready that use them.
#[derive(Debug)]
pub(super) struct FlagFunctions {
    pub batch: Function<unsafe extern "system" fn(Opaque, u32, *mut FlagOperation, u32) -> i32>,
    /// Brings a graph to the device. Its first launch would do so, and might wait for the streams of others then, which may
    /// wait for what it does.
    pub upload: Function<unsafe extern "system" fn(Opaque, Opaque) -> i32>,
}

impl FlagFunctions {
    /// None of HIP, which does not record them.
    pub fn load(vendor: Vendor, library: &Library) -> Option<Self> {
        if vendor != Vendor::Cuda {
            return None;
        }
        let wanted = vendor.driver_library();
        // SAFETY: documented with these arguments.
        unsafe {
            Some(Self {
                batch: wanted.function(library, "cuStreamBatchMemOp_v2").ok()?,
                upload: wanted.function(library, "cuGraphUpload").ok()?,
            })
        }
    }
}

/// One thing that a stream does with a number: `CUstreamBatchMemOpParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlagOperation {
    operation: u32,
    address: Address,
    value: u64,
    flags: u32,
    rest: [u64; 2],
}

impl FlagOperation {
    /// Waits until the number is this one.
    pub fn wait(number: &AtomicU32, value: u32) -> Self {
        const WAIT_VALUE_32: u32 = 1;
        const EQUAL: u32 = 1;
        Self {
            flags: EQUAL,
            ..Self::new(WAIT_VALUE_32, number, value)
        }
    }

    /// Writes the number, after what all that was queued before has written is seen by the host.
    pub fn write(number: &AtomicU32, value: u32) -> Self {
        const WRITE_VALUE_32: u32 = 2;
        Self::new(WRITE_VALUE_32, number, value)
    }

    fn new(operation: u32, number: &AtomicU32, value: u32) -> Self {
        Self {
            operation,
            address: ptr::from_ref(number) as Address,
            value: value.into(),
            ..Self::default()
        }
    }
}
