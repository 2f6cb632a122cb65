//! Which devices there are.

use std::sync::Mutex;

use crate::driver::Driver;
#[cfg(not(feature = "gpu"))]
use crate::left_out::{self as vendors, devices, open};
use crate::prelude::*;
#[cfg(feature = "gpu")]
use crate::vendors::{self, devices, open};

const DRIVERS: [&str; 3] = ["cuda", "hip", "opencl"];

/// Held while a vendor's library is asked: some do not bear that several threads ask them first at once.
static ASKING: Mutex<()> = Mutex::new(());

/// A vendor's devices, or why there are none.
#[derive(Debug)]
pub struct Found {
    /// `cuda`, `hip` or `opencl`.
    pub driver: &'static str,
    /// Its devices, or what is missing.
    pub devices: Result<Vec<Properties>>,
}

/// Asks every vendor's library.
///
/// ```
/// for found in vcycle_gpu::discover() {
///     match found.devices {
///         Ok(devices) => devices.iter().for_each(|device| println!("{}: {}", device.name, device.model)),
///         Err(missing) => println!("{missing}"),
///     }
/// }
/// ```
pub fn discover() -> Vec<Found> {
    let _asking = lock(&ASKING);
    ask_all()
}

fn ask_all() -> Vec<Found> {
    let found = DRIVERS.map(|driver| Found {
        driver,
        devices: devices(driver),
    });
    found.into()
}

/// Name and version of the compiler that a driver such as `cuda` needs where kernels are not in an archive, or why it cannot be
/// used; none where devices bring their own.
pub fn compiler(driver: &str) -> Option<Result<String>> {
    vendors::compiler(driver)
}

/// The driver of a device by its name.
pub(crate) fn driver(name: &str) -> Result<Box<dyn Driver>> {
    let _asking = lock(&ASKING);
    let asked = name.split(':').next();
    let Some(driver) = DRIVERS.into_iter().find(|&driver| asked == Some(driver)) else {
        return Err(no_device(name, &ask_all()));
    };
    let listed = devices(driver)?;
    let Some(index) = listed.iter().position(|device| device.name == name) else {
        return Err(no_device(name, &ask_all()));
    };
    open(driver, index)
}

fn no_device(name: &str, found: &[Found]) -> Error {
    Error::NoDevice {
        name: name.to_owned(),
        known: known(found),
    }
}

fn known(found: &[Found]) -> String {
    let devices = found
        .iter()
        .filter_map(|found| found.devices.as_ref().ok())
        .flatten();
    let names: Vec<String> = devices
        .map(|device| format!("{} ({})", device.name, device.model))
        .collect();
    if !names.is_empty() {
        return format!("there are {}", names.join(", "));
    }
    let reasons = found
        .iter()
        .filter_map(|found| found.devices.as_ref().err());
    let reasons: Vec<String> = reasons.map(ToString::to_string).collect();
    format!("none was found: {}", reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_driver_answers() {
        let drivers: Vec<&str> = discover().iter().map(|found| found.driver).collect();
        assert_eq!(drivers, DRIVERS);
    }

    #[test]
    fn unknown_names_get_a_list() {
        for name in ["gpu:0", "", "cpu", "openclx:0"] {
            let error = driver(name).unwrap_err();
            assert!(matches!(error, Error::NoDevice { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn reasons_are_told_where_nothing_is() {
        let missing = |driver| Found {
            driver,
            devices: Err(Error::Library {
                driver,
                library: "lib.so".into(),
                problem: "is missing".into(),
                advice: "install it".into(),
            }),
        };
        let known = known(&[missing("cuda"), missing("hip")]);
        let words = "none was found: cuda: lib.so is missing; install it; hip: lib.so is missing; install it";
        assert_eq!(known, words);
    }
}
