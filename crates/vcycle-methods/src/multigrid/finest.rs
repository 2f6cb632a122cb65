//! The matrix of the finest level, and where each one is set up.

use std::any::Any;

use super::matrices::LevelMatrix;
use crate::linop::{check_square, entries};
use crate::prelude::*;

/// The matrix in double precision, checked: the given one itself if it is that already; on the host if ranks share it or
/// it has less than `host_rows`. `V` is real or complex as `T` is.
pub(super) fn finest<T: Scalar, V: Field + Mixes<V, V>>(
    host_rows: usize,
    a: &Arc<dyn LinOp<T>>,
) -> Result<LevelMatrix<V>> {
    if T::KIND.is_complex() != V::KIND.is_complex() {
        return Err(no_complex());
    }
    let finest = match a.executor().team() {
        None => LevelMatrix::Here(whole(host_rows, a)?),
        Some(_) => LevelMatrix::OfRanks(shared(a)?),
    };
    let local = finest.local();
    let checked = local
        .largest_entry()
        .and_then(|largest| match largest.is_finite() {
            true => Ok(largest),
            false => local.check_finite().map(|()| largest),
        });
    let largest = finest.agree(checked)?;
    let largest = match &finest {
        LevelMatrix::Here(_) => largest,
        LevelMatrix::OfRanks(a) => a.team().largest(largest)?,
    };
    if finest.rows() > 0 && largest == 0.0 {
        return Err(Error::Singular {
            component: "amg",
            reason: "all entries are zero".to_owned(),
        });
    }
    Ok(finest)
}

fn whole<T: Scalar, V: Scalar>(host_rows: usize, a: &Arc<dyn LinOp<T>>) -> Result<Arc<Csr<V>>> {
    check_square(a.as_ref(), "amg")?;
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(a) as _;
    let finest = match shared.downcast::<Csr<V>>() {
        Ok(same) => same,
        Err(_) => Arc::new(entries(a.as_ref(), "amg")?.convert()?),
    };
    match moves(&finest, host_rows) {
        true => Ok(Arc::new(finest.copy_to(&a.executor().on_host())?)),
        false => {
            check_room(&finest)?;
            Ok(finest)
        }
    }
}

/// Fails before anything is made where a device has no memory even for the first steps: a weight for every
/// entry and a few numbers for every row.
fn check_room<V: Scalar>(a: &Csr<V>) -> Result<()> {
    let (weights, rows) = (a.nonzeros() * size_of::<f32>(), a.size().rows);
    a.executor()
        .check_room(weights + rows * 4 * size_of::<f64>())
}

fn shared<T: Scalar, V: Scalar>(a: &Arc<dyn LinOp<T>>) -> Result<Arc<Distributed<V>>> {
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(a) as _;
    let finest = match shared.downcast::<Distributed<V>>() {
        Ok(same) => same,
        Err(_) => {
            let found = Distributed::behind(a.as_ref());
            let found = found.ok_or(Error::NeedsEntries { component: "amg" })?;
            Arc::new(found.into_owned())
        }
    };
    match finest.executor().is_device() {
        true => Ok(Arc::new(finest.on(&a.executor().on_host())?)),
        false => Ok(finest),
    }
}

/// Of what is for real levels only.
pub(super) fn no_complex() -> Error {
    Error::Unsupported {
        component: "amg".to_owned(),
        operation: "sharing, updating or mapping levels of complex matrices".to_owned(),
    }
}

/// Fails for what is made of a matrix as a whole alone.
pub(super) fn not_of_ranks<V: Scalar>(a: &LevelMatrix<V>, what: &str) -> Result<()> {
    match a {
        LevelMatrix::Here(_) => Ok(()),
        LevelMatrix::OfRanks(_) => Err(Error::Unsupported {
            component: "amg".to_owned(),
            operation: format!("{what} of matrices that several ranks share"),
        }),
    }
}

fn moves<V: Scalar>(a: &Csr<V>, host_rows: usize) -> bool {
    a.executor().is_device() && a.size().rows < host_rows
}

/// A coarse matrix where the next level is set up.
pub(super) fn placed<V: Field + Mixes<V, V>>(
    a: LevelMatrix<V>,
    host_rows: usize,
) -> Result<LevelMatrix<V>> {
    match &a {
        LevelMatrix::Here(whole) if moves(whole, host_rows) => {
            let host = whole.executor().on_host();
            Ok(LevelMatrix::Here(Arc::new(whole.copy_to(&host)?)))
        }
        LevelMatrix::Here(_) | LevelMatrix::OfRanks(_) => Ok(a),
    }
}
