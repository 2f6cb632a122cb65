//! What can go wrong with a device.

use std::path::PathBuf;

use crate::properties::Properties;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything a device, its driver or its compiler can refuse.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A build without GPUs.
    #[error("{driver}: this build has no GPUs: build it with the feature `gpu`")]
    LeftOut {
        /// `cuda`, `hip` or `opencl`.
        driver: &'static str,
    },
    /// A vendor's library is not installed, or too old.
    #[error("{driver}: {library} {problem}; {advice}")]
    Library {
        /// `cuda`, `hip` or `opencl`.
        driver: &'static str,
        /// The library that was looked for.
        library: String,
        /// What is wrong with it.
        problem: String,
        /// What to install or do.
        advice: String,
    },
    /// An archive of kernels that was asked for cannot be used.
    #[error("VCYCLE_KERNELS names {}, which cannot be used: {problem}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No device of that name.
    #[error("there is no device `{name}`; {known}")]
    NoDevice {
        /// As it was asked for.
        name: String,
        /// The devices there are, or why there are none.
        known: String,
    },
    /// The device has not enough memory.
    #[error("out of memory on {device}: {bytes} bytes asked for, {free} free of {total}")]
    OutOfMemory {
        /// Where.
        device: String,
        /// Bytes of the request.
        bytes: usize,
        /// Bytes that are free.
        free: usize,
        /// Bytes the device has.
        total: usize,
    },
    /// Something that this device cannot do.
    #[error("{device} does not support {what}")]
    Unsupported {
        /// Which device.
        device: String,
        /// What was asked.
        what: String,
    },
    /// Memory that was handed in is not of the device.
    #[error("the memory at {address:#x} is not of {device}: {found}")]
    Elsewhere {
        /// The device that was to use it.
        device: String,
        /// Its address.
        address: u64,
        /// Whose it is.
        found: String,
    },
    /// A kernel does not compile: the compiler's own words, with file and line.
    #[error("kernels of {file} do not compile for {device} with {options}:\n{log}")]
    Compile {
        /// The source file.
        file: String,
        /// For which device.
        device: String,
        /// Options and definitions.
        options: String,
        /// What the compiler says.
        log: String,
    },
    /// A program has no kernel of that name.
    #[error("{file} has no kernel `{kernel}`")]
    NoKernel {
        /// The source file.
        file: String,
        /// The kernel asked for.
        kernel: String,
    },
    /// The device has failed or was taken away; what it held is gone.
    #[error("{device} was lost in {call}: {meaning}; restart the program")]
    Lost {
        /// Which device.
        device: String,
        /// The call that noticed.
        call: &'static str,
        /// The driver's own words.
        meaning: String,
    },
    /// A call of the vendor's library failed.
    #[error("{device}: {call} failed with {code}: {meaning}")]
    Call {
        /// Which device, or which driver where there is no device yet.
        device: String,
        /// The function.
        call: &'static str,
        /// Its error code.
        code: i64,
        /// The driver's own words.
        meaning: String,
    },
}

impl Error {
    pub(crate) fn unsupported(device: &Properties, what: impl Into<String>) -> Self {
        Self::Unsupported {
            device: device.name.clone(),
            what: what.into(),
        }
    }

    /// For what cannot be recorded.
    pub(crate) fn while_recording(device: &Properties, what: &str) -> Self {
        Self::unsupported(device, format!("{what} while work is recorded"))
    }

    pub(crate) fn out_of_memory(device: &Properties, bytes: usize, free: usize) -> Self {
        Self::OutOfMemory {
            device: device.name.clone(),
            bytes,
            free,
            total: device.memory,
        }
    }

    /// For a call that returned an error code.
    #[cfg(feature = "gpu")]
    pub(crate) fn of_call(
        device: &str,
        call: &'static str,
        code: i32,
        meaning: String,
        is_lost: bool,
    ) -> Self {
        let device = device.to_owned();
        match is_lost {
            true => Self::Lost {
                device,
                call,
                meaning,
            },
            false => Self::Call {
                device,
                call,
                code: code.into(),
                meaning,
            },
        }
    }
}
