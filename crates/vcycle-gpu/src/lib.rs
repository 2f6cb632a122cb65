//! The run-time layer of vcycle's GPU backend.
//!
//! Three vendors' libraries (CUDA, HIP, OpenCL 3), loaded when a device is asked for, behind one
//! small interface: memory, kernels compiled at run time from one source, a stream, events and
//! graphs. It knows nothing of matrices. Without the feature `gpu` there are no devices.
//!
//! ```no_run
//! use vcycle_gpu::{Argument, Device, Shape, Source};
//! let device = Device::open("cuda:0")?;
//! let memory = device.allocate(1024)?;
//! let source = Source { file: "one.c".into(), text: "...".into(), defines: vec![] };
//! let kernel = device.kernel(&source, "one")?;
//! // SAFETY: the kernel has one argument, and uses 1024 bytes there.
//! unsafe { device.launch(&kernel, Shape { blocks: 1, threads: 128 }, &[Argument::from(&memory)]) }?;
//! # Ok::<(), vcycle_gpu::Error>(())
//! ```

mod archive;
mod cache;
mod counters;
#[cfg(feature = "gpu")]
mod cuda;
mod device;
mod discovery;
mod driver;
mod error;
mod graph;
mod hash;
mod host_block;
mod host_task;
mod kernel;
#[cfg(not(feature = "gpu"))]
mod left_out;
#[cfg(feature = "gpu")]
mod library;
mod memory;
#[cfg(feature = "gpu")]
mod opencl;
mod pool;
mod precompile;
mod prefetch;
mod prelude;
mod properties;
mod proxy;
mod readback;
mod sync;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod times;
mod transfer;
mod uses;
#[cfg(feature = "gpu")]
mod vendors;

pub use archive::{Compiled, add_archive, write_archive};
pub use cache::Builds;
pub use counters::{Counts, is_recording, streams_opened};
#[cfg(feature = "gpu")]
pub use cuda::compile_only;
pub use device::Device;
pub use discovery::{Found, compiler, discover};
pub use error::{Error, Result};
pub use graph::Graph;
pub use host_block::HostBlock;
pub use kernel::{Address, Argument, Kernel, Requests, Shape, Source};
pub use memory::Memory;
pub use precompile::finish;
pub use properties::Properties;
pub use proxy::HostTask;
pub use proxy::Work;
pub use readback::Readback;
pub use times::{KernelTime, Moment};
pub use uses::Owner;
