//! The types that systems are given in.

use vcycle_core::matrix::WorkingScalar;
use vcycle_methods::precision::Unit;

use super::set_up::{InPrecision, SetUp, Setting};
use crate::error::Result;
use crate::scalar::{c32, c64};

/// A type systems are given in: `f64` or [`c64`].
pub trait Wide: WorkingScalar<Wide = Self> {
    /// What sets up attempts in the precision that is asked for. Being no generic function it is compiled here once, with
    /// all solvers, and not again by every crate that calls it.
    #[doc(hidden)]
    fn setting_up<'d>(setting: Setting<'d, Self>) -> Result<Box<dyn SetUp<Self> + 'd>>;
}

macro_rules! wide {
    ($($wide:ty, $narrow:ty;)*) => {$(
        impl Wide for $wide {
            fn setting_up<'d>(setting: Setting<'d, Self>) -> Result<Box<dyn SetUp<Self> + 'd>> {
                Ok(match setting.config.precision.unwrap_or_default().working {
                    Unit::Double => Box::new(InPrecision::<Self, Self>::new(setting)?),
                    Unit::Single | Unit::Half | Unit::Bfloat => {
                        Box::new(InPrecision::<Self, $narrow>::new(setting)?)
                    }
                })
            }
        }
    )*};
}

wide! { f64, f32; c64, c32; }
