//! The library's errors as Python's exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{
    PyException, PyMemoryError, PyNotImplementedError, PyOSError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use vcycle::Error;
use vcycle::config::{Config, ConfigError};

create_exception!(
    vcycle,
    VcycleError,
    PyException,
    "What goes wrong in vcycle and has no other exception."
);
create_exception!(
    vcycle,
    DeviceError,
    PyRuntimeError,
    "A device that is absent or fails."
);

/// Results of the library as those of Python.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for vcycle::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| Python::attach(|py| raised(py, error)))
    }
}

/// A configuration that Python has written as JSON.
pub fn parsed(config: &str) -> PyResult<Config> {
    Config::from_json(config).map_err(|error| wrong_option(&error))
}

/// The exception for an error of the library.
pub fn raised(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::OutOfMemory { .. }
        | Error::NotEnoughMemory { .. }
        | Error::Device(vcycle_gpu::Error::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        Error::Device(vcycle_gpu::Error::Elsewhere { .. }) => PyValueError::new_err(text),
        Error::Device(_) => DeviceError::new_err(text),
        Error::Unsupported { .. } => PyNotImplementedError::new_err(text),
        Error::Singular { .. } | Error::ZeroDiagonal { .. } | Error::BadPivot { .. } => {
            linear_algebra_error(py, &text).unwrap_or_else(|error| error)
        }
        Error::Config(error) => wrong_option(&error),
        Error::File(_) => PyOSError::new_err(text),
        Error::Threads { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception for a wrong configuration.
pub fn wrong_option(error: &ConfigError) -> PyErr {
    let text = error.to_string();
    match error {
        ConfigError::UnknownKey {
            known, suggestion, ..
        } if suggestion.is_none() => {
            PyTypeError::new_err(format!("{text}; known are {}", known.join(", ")))
        }
        ConfigError::UnknownKey { .. } => PyTypeError::new_err(text),
        ConfigError::UnknownName {
            known, suggestion, ..
        } if suggestion.is_none() => {
            PyValueError::new_err(format!("{text}; known are {}", known.join(", ")))
        }
        ConfigError::NotAvailable { .. } => PyNotImplementedError::new_err(text),
        ConfigError::Unreadable { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

fn linear_algebra_error(py: Python<'_>, text: &str) -> PyResult<PyErr> {
    let class = py.import("numpy.linalg")?.getattr("LinAlgError")?;
    Ok(PyErr::from_value(class.call1((text,))?))
}
