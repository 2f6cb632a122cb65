//! Numbers as callers have them, and as systems are solved in.

use vcycle::config::{Config, Prepared, Wide};
use vcycle::multigrid::Report;
use vcycle::scalar::{c32, c64};

use crate::codes::{VCYCLE_C32, VCYCLE_C64, VCYCLE_F32, VCYCLE_F64};
use crate::failure::Failure;

/// What is set up for a matrix, or for the rows of one process of several.
pub(crate) enum AnyPrepared {
    /// There are no rows.
    Empty,
    Real(Box<Prepared<f64>>),
    Complex(Box<Prepared<c64>>),
}

impl AnyPrepared {
    /// What the set-up reports, the configuration with every `auto` decided, and the levels of multigrid.
    pub fn described(&self) -> Option<(&[String], &Config, Option<&Report>)> {
        fn of<T: Wide>(it: &Prepared<T>) -> (&[String], &Config, Option<&Report>) {
            (it.messages(), it.config(), it.report())
        }
        match self {
            Self::Empty => None,
            Self::Real(prepared) => Some(of(prepared)),
            Self::Complex(prepared) => Some(of(prepared)),
        }
    }
}

/// The type of numbers that a matrix and its vectors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    F64,
    F32,
    C64,
    C32,
}

impl Numbers {
    pub fn of(code: i32) -> Result<Self, Failure> {
        Ok(match code {
            VCYCLE_F64 => Self::F64,
            VCYCLE_F32 => Self::F32,
            VCYCLE_C64 => Self::C64,
            VCYCLE_C32 => Self::C32,
            other => {
                let message =
                    format!("{other} is no type of numbers: use VCYCLE_F64, _F32, _C64 or _C32");
                return Err(Failure::argument(message));
            }
        })
    }
}

/// A number that callers have.
pub(crate) trait Number: Copy + Default + Send + Sync + 'static {
    /// What it is computed with.
    type Wide: OfSystems;
    /// Whether it has less than double precision.
    const SINGLE: bool = size_of::<Self>() < size_of::<Self::Wide>();
    fn wide(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! number {
    ($($type:ty, $wide:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Number for $type {
            type Wide = $wide;
            #[inline]
            fn wide(self) -> $wide {
                $widen(self)
            }
            #[inline]
            fn narrow(wide: $wide) -> Self {
                $narrow(wide)
            }
        }
    )*};
}

number! {
    f64, f64, |x| x, |x| x;
    f32, f64, f64::from, |x: f64| x as f32;
    c64, c64, |x| x, |x| x;
    c32, c64, |x: c32| c64::new(x.re.into(), x.im.into()), |x: c64| c32::new(x.re as f32, x.im as f32);
}

/// A number that systems are solved in.
pub(crate) trait OfSystems: Wide + Default + std::ops::AddAssign {
    /// What is set up for it, if that is for such numbers.
    fn prepared(any: &AnyPrepared) -> Option<&Prepared<Self>>;
    fn prepared_mut(any: &mut AnyPrepared) -> Option<&mut Prepared<Self>>;
    fn any(prepared: Prepared<Self>) -> AnyPrepared;
}

macro_rules! of_systems {
    ($($type:ty, $variant:ident;)*) => {$(
        impl OfSystems for $type {
            fn prepared(any: &AnyPrepared) -> Option<&Prepared<Self>> {
                match any {
                    AnyPrepared::$variant(prepared) => Some(prepared),
                    _ => None,
                }
            }
            fn prepared_mut(any: &mut AnyPrepared) -> Option<&mut Prepared<Self>> {
                match any {
                    AnyPrepared::$variant(prepared) => Some(prepared),
                    _ => None,
                }
            }
            fn any(prepared: Prepared<Self>) -> AnyPrepared {
                AnyPrepared::$variant(Box::new(prepared))
            }
        }
    )*};
}

of_systems! { f64, Real; c64, Complex; }

/// Calls a generic function for the type of numbers.
macro_rules! for_numbers {
    ($numbers:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $numbers {
            $crate::numbers::Numbers::F64 => $function::<f64>($($argument),*),
            $crate::numbers::Numbers::F32 => $function::<f32>($($argument),*),
            $crate::numbers::Numbers::C64 => $function::<vcycle::scalar::c64>($($argument),*),
            $crate::numbers::Numbers::C32 => $function::<vcycle::scalar::c32>($($argument),*),
        }
    };
}
pub(crate) use for_numbers;
