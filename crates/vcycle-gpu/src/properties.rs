//! What a device is and can do.

/// The facts of a device that kernels and people want to know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// As on the command line: `cuda:0`, `hip:0`, `opencl:0`.
    pub name: String,
    /// The vendor's name of the device.
    pub model: String,
    /// Version of driver and run-time library, and whatever else decides whether compiled
    /// kernels can be used again.
    pub driver: String,
    /// What kernels are compiled for: `sm_90`, `gfx90a`, `CL3.0`.
    pub architecture: String,
    /// Bytes of memory.
    pub memory: usize,
    /// Multiprocessors or compute units.
    pub compute_units: usize,
    /// Bytes of local (shared) memory a block may use.
    pub local_memory: usize,
    /// Most threads of a block.
    pub max_block: usize,
    /// Widths a sub-group may have, the one used first; empty where there are no shuffles.
    pub sub_groups: Vec<usize>,
    /// Whether kernels may compute in double precision.
    pub fp64: bool,
    /// Whether the device has instructions for half precision. Storage needs none.
    pub fp16: bool,
    /// Whether it is a CPU OpenCL device, as in tests.
    pub is_cpu: bool,
}
