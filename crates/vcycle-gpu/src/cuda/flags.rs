//! What a stream does with numbers in memory of the host: it tells a proxy of errands, and waits for their end.

use std::ptr;

use libloading::Library;

use crate::cuda::api::{CudaApi, Opaque};
use crate::cuda::library::Function;
use crate::cuda::vendor::Vendor;
use crate::errand::Errand;
use crate::error::Result;
use crate::handle::Address;

/// The functions for that, and what makes graphs ready that use them.
#[derive(Debug)]
pub(super) struct FlagFunctions {
    batch: Function<unsafe extern "system" fn(Opaque, u32, *mut FlagOperation, u32) -> i32>,
    upload: Function<unsafe extern "system" fn(Opaque, Opaque) -> i32>,
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

    /// Queues the number of an errand, once all that was queued before is done and what it wrote is seen by the host.
    pub fn begin(
        &self,
        (api, name): (&CudaApi, &str),
        stream: Opaque,
        errand: &Errand,
    ) -> Result<()> {
        let flags = errand.flags().expect("errands here have flags");
        let place = ptr::from_ref(flags.begun()) as Address;
        let operations = [FlagOperation::write(place, errand.number)];
        self.queue((api, name), stream, operations)
    }

    /// Queues waiting for the end of an errand, and forgetting it.
    pub fn end(
        &self,
        (api, name): (&CudaApi, &str),
        stream: Opaque,
        errand: &Errand,
    ) -> Result<()> {
        let flags = errand.flags().expect("errands here have flags");
        let place = ptr::from_ref(flags.ended()) as Address;
        let operations = [
            FlagOperation::wait(place, 1),
            FlagOperation::write(place, 0),
        ];
        self.queue((api, name), stream, operations)
    }

    fn queue<const N: usize>(
        &self,
        (api, name): (&CudaApi, &str),
        stream: Opaque,
        mut operations: [FlagOperation; N],
    ) -> Result<()> {
        // SAFETY: numbers in pinned memory that is never given back, and as many operations as it says.
        let code = unsafe { (self.batch.pointer)(stream, N as u32, operations.as_mut_ptr(), 0) };
        api.check(name, self.batch.name, code)
    }

    /// Brings a graph to the device. Its first launch would do so, and might wait for the streams of others then, which
    /// may wait for what it does.
    pub fn make_ready(
        &self,
        (api, name): (&CudaApi, &str),
        stream: Opaque,
        graph: Opaque,
    ) -> Result<()> {
        // SAFETY: a graph that was not forgotten, and the stream that it will be launched in.
        let code = unsafe { (self.upload.pointer)(graph, stream) };
        api.check(name, self.upload.name, code)
    }
}

/// One thing that a stream does with a number: `CUstreamBatchMemOpParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct FlagOperation {
    operation: u32,
    address: Address,
    value: u64,
    flags: u32,
    rest: [u64; 2],
}

impl FlagOperation {
    /// Waits until the number is this one.
    fn wait(address: Address, value: u32) -> Self {
        const WAIT_VALUE_32: u32 = 1;
        const EQUAL: u32 = 1;
        Self {
            operation: WAIT_VALUE_32,
            address,
            value: value.into(),
            flags: EQUAL,
            rest: [0; 2],
        }
    }

    /// Writes the number, after what all that was queued before has written.
    fn write(address: Address, value: u32) -> Self {
        const WRITE_VALUE_32: u32 = 2;
        Self {
            operation: WRITE_VALUE_32,
            address,
            value: value.into(),
            ..Self::default()
        }
    }
}
