//! The matrix of the finest level, and where each one is set up.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::linop::{LinOp, check_square, entries};
use crate::matrix::Csr;
use crate::precision::Unit;
use crate::scalar::{Kind, Scalar};

/// The matrix in double precision, checked: the given one itself if it is that already; on the host if
/// it has less than `host_rows`. `V` is real or complex as `T` is.
pub(super) fn finest<T: Scalar, V: Scalar>(
    host_rows: usize,
    a: &Arc<dyn LinOp<T>>,
) -> Result<Arc<Csr<V>>> {
    if T::KIND.is_complex() != V::KIND.is_complex() {
        return Err(no_complex());
    }
    check_square(a.as_ref(), "amg")?;
    let shared: Arc<dyn std::any::Any + Send + Sync> = Arc::clone(a) as _;
    let finest = match shared.downcast::<Csr<V>>() {
        Ok(same) => same,
        Err(_) => Arc::new(entries(a.as_ref(), "amg")?.convert()?),
    };
    let finest = match moves(&finest, host_rows) {
        true => Arc::new(finest.copy_to(&a.executor().on_host())?),
        false => finest,
    };
    let largest = finest.largest_entry()?;
    if !largest.is_finite() {
        finest.check_finite()?;
    }
    if finest.size().rows > 0 && largest == 0.0 {
        return Err(Error::Singular {
            component: "amg",
            reason: "all entries are zero".to_owned(),
        });
    }
    Ok(finest)
}

/// The storage types, as precisions.
pub(super) fn unit_of(kind: Kind) -> Unit {
    match kind {
        Kind::F64 | Kind::C64 => Unit::Double,
        Kind::F32 | Kind::C32 => Unit::Single,
        Kind::F16 => Unit::Half,
        Kind::Bf16 => Unit::Bfloat,
    }
}

/// Of what is for real levels only.
pub(super) fn no_complex() -> Error {
    Error::Unsupported {
        component: "amg".to_owned(),
        operation: "sharing, updating or mapping levels of complex matrices".to_owned(),
    }
}

/// Whether a matrix is on a device and too small for it.
fn moves<V: Scalar>(a: &Csr<V>, host_rows: usize) -> bool {
    a.executor().is_device() && a.size().rows < host_rows
}

/// A coarse matrix where the next level is set up.
pub(super) fn placed<V: Scalar>(a: Csr<V>, host_rows: usize) -> Result<Csr<V>> {
    match moves(&a, host_rows) {
        true => a.copy_to(&a.executor().on_host()),
        false => Ok(a),
    }
}
