//! Error codes in words.

use super::api::SUCCESS;
use crate::prelude::*;

/// An error unless a call succeeded.
pub(crate) fn check(device: &str, call: &'static str, code: i32) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        _ => Err(Error::of_call(
            device,
            call,
            code,
            meaning(code).to_owned(),
            is_lost(code),
        )),
    }
}

/// Context and queue are ours and valid as long as the device lives; -9999 is NVIDIA's word for
/// a kernel that went astray, after which nothing works.
fn is_lost(code: i32) -> bool {
    matches!(code, -2 | -34 | -36 | -9999)
}

fn meaning(code: i32) -> &'static str {
    match code {
        -1 => "no device was found",
        -2 => "the device is not available",
        -3 => "the driver has no compiler",
        -4 => "the device has no memory left",
        -5 => "the device has no resources left, or a kernel failed",
        -6 => "the host has no memory left",
        -7 => "the event has no time",
        -8 => "the copy overlaps itself",
        -11 => "the program does not compile",
        -14 => "work that was queued failed",
        -30 => "a value is invalid",
        -34 => "the context is invalid",
        -36 => "the queue is invalid",
        -42 => "the binary is invalid",
        -43 => "the build options are invalid",
        -46 => "there is no such kernel",
        -49 => "the kernel has fewer arguments",
        -50 => "an argument is invalid",
        -51 => "an argument has another size",
        -52 => "the kernel has more arguments",
        -54 => "the kernel cannot have blocks of that size",
        -55 => "the device cannot have blocks of that size",
        -59 => "the operation is invalid",
        -63 => "the number of blocks is invalid",
        -9999 => "a kernel used memory that is not its own",
        _ => "see the error codes of OpenCL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_errors() {
        assert!(check("opencl:0", "clFinish", 0).is_ok());
        let failed = check("opencl:0", "clSetKernelArg", -51).unwrap_err();
        let words = "opencl:0: clSetKernelArg failed with -51: an argument has another size";
        assert_eq!(failed.to_string(), words);
        let lost = check("opencl:0", "clFinish", -36).unwrap_err();
        assert!(matches!(lost, Error::Lost { .. }));
    }
}
