//! One set-up for real and complex matrices: stages that are for real numbers alone get the matrix where it is real.

use std::any::Any;
use std::borrow::Cow;

use crate::matrix::Bsr;
use crate::operations::entries;
use crate::prelude::*;

pub(super) fn as_real<V: Scalar>(a: &Csr<V>) -> Option<&Csr<f64>> {
    (a as &dyn Any).downcast_ref()
}

/// A real matrix where matrices are real.
pub(super) fn as_same<V: Scalar>(a: &Csr<f64>) -> Option<&Csr<V>> {
    (a as &dyn Any).downcast_ref()
}

/// A real matrix as one of the set-up.
pub(super) fn of_real<V: Scalar>(a: Csr<f64>) -> Result<Csr<V>> {
    let mut a = Some(a);
    match (&mut a as &mut dyn Any).downcast_mut::<Option<Csr<V>>>() {
        Some(same) => Ok(same.take().expect("given above")),
        None => a.expect("given above").convert(),
    }
}

/// What strength and coarsening look at: a real matrix itself; of a complex one `|a_ii|` on the diagonal and `-|a_ij|`
/// beside it (MacLachlan and Oosterlee 2008, "Algebraic multigrid solvers for complex-valued matrices").
pub(super) fn magnitudes<V: Scalar>(a: &Csr<V>) -> Result<Cow<'_, Csr<f64>>> {
    if let Some(real) = as_real(a) {
        return Ok(Cow::Borrowed(real));
    }
    let a: &Csr<c64> = (a as &dyn Any).downcast_ref().expect("real or complex");
    if let Some(found) = entries::magnitudes(a)? {
        return Ok(Cow::Owned(found));
    }
    let (columns, values) = (a.columns(), a.values());
    let found = Csr::from_places(a.pattern(), |row, place| {
        let size = values[place].norm();
        match columns[place] as usize == row {
            true => size,
            false => -size,
        }
    });
    found.map(Cow::Owned)
}

/// A matrix of nodes and a prolongation to them in blocks of nodes; none for blocks of one entry
/// or such that are nearly empty.
pub(super) fn in_blocks<V: Scalar>(
    a: &Csr<V>,
    prolongation: &Csr<V>,
    block: Size,
) -> Option<(Bsr<f64>, Bsr<f64>)> {
    if block == Size::square(1) {
        return None;
    }
    let a = Bsr::from_csr(as_real(a)?, Size::square(block.rows)).ok()?;
    Some((a, Bsr::from_csr(as_real(prolongation)?, block).ok()?))
}
