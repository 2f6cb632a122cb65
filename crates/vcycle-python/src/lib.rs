//! The native part of the Python package `vcycle`: matrices, solves and hierarchies.
//!
//! Python keeps what is convenience (keywords, SciPy's formats, plots) under `python/vcycle`; here
//! is what needs the library. Whatever is plain data crosses the border as JSON.

mod arrays;
mod assembly;
mod batch;
mod describe;
mod device;
mod distributed;
mod dlpack;
mod error;
mod gallery;
mod hierarchy;
mod matrix;
mod operator;
mod options;
mod solve;
mod watch;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("VcycleError", module.py().get_type::<error::VcycleError>())?;
    module.add("DeviceError", module.py().get_type::<error::DeviceError>())?;
    module.add_class::<matrix::Matrix>()?;
    module.add_class::<hierarchy::Hierarchy>()?;
    module.add_class::<operator::Operator>()?;
    module.add_class::<device::DeviceArray>()?;
    module.add_class::<assembly::Assembly>()?;
    module.add_class::<distributed::DistributedSystem>()?;
    module.add_function(wrap_pyfunction!(device::traffic, module)?)?;
    module.add_function(wrap_pyfunction!(solve::solve, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_solve, module)?)?;
    module.add_function(wrap_pyfunction!(batch::batch_solve_on_device, module)?)?;
    module.add_function(wrap_pyfunction!(gallery::build, module)?)?;
    module.add_function(wrap_pyfunction!(gallery::problems, module)?)?;
    module.add_function(wrap_pyfunction!(options::options, module)?)?;
    module.add_function(wrap_pyfunction!(options::preset, module)?)?;
    module.add_function(wrap_pyfunction!(options::read_config, module)?)?;
    module.add_function(wrap_pyfunction!(options::devices, module)?)?;
    module.add_function(wrap_pyfunction!(device::use_kernels, module)?)
}
