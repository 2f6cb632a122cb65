//! What `auto` goes by where ranks share a matrix.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::linop::LinOp;
use crate::matrix::Distributed;
use crate::multigrid::amg::Known;
use crate::multigrid::finest::no_complex;
use crate::scalar::Scalar;

/// Whether ranks share an operator.
pub(in crate::multigrid) fn is_shared<T: Scalar>(a: &dyn LinOp<T>) -> bool {
    a.executor().team().is_some()
}

/// The matrix in double precision, real or complex as it is given, checked, on the host, where levels are set up.
pub(in crate::multigrid) fn finest<T: Scalar, V: Scalar>(
    a: &Arc<dyn LinOp<T>>,
) -> Result<Arc<Distributed<V>>> {
    if T::KIND.is_complex() != V::KIND.is_complex() {
        return Err(no_complex());
    }
    let host = a.executor().on_host();
    let shared: Arc<dyn std::any::Any + Send + Sync> = Arc::clone(a) as _;
    let finest = match shared.downcast::<Distributed<V>>() {
        Ok(same) => same,
        Err(_) => {
            let found = Distributed::behind(a.as_ref());
            let found = found.ok_or(Error::NeedsEntries { component: "amg" })?;
            Arc::new(found.into_owned())
        }
    };
    let finest = match finest.executor().is_device() {
        true => Arc::new(finest.on(&host)?),
        false => finest,
    };
    let (team, local) = (finest.team(), finest.local());
    team.agree(local.check_finite())?;
    let largest = local.norm_max();
    if finest.rows().total() > 0 && team.largest(largest)? == 0.0 {
        return Err(Error::Singular {
            component: "amg",
            reason: "all entries are zero".to_owned(),
        });
    }
    Ok(finest)
}

/// What is known of a matrix.
pub(super) fn known<V: Scalar>(a: &Distributed<V>) -> Result<Known> {
    Ok(Known {
        definite: a.symmetric_and_positive()? == [true; 2],
        in_rounds: true,
        jumps: false,
    })
}
