//! Richardson's iteration: the identity over the largest absolute row sum.

use super::registration::SmootherRegistration;
use crate::linop::{Identity, Sum, entries};
use crate::prelude::*;
use crate::registration::{Need, Symmetry};

/// [`Richardson`].
pub(super) const RICHARDSON: SmootherRegistration<f64> = SmootherRegistration {
    names: &["richardson"],
    summary: "as an example of how smoothers are added",
    parameter: "weight",
    default: 1.5,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: true,
    needs: &[Need::Entries],
    over_ranks: false,
    on_host: &[],
    factory: |weight, _| Arc::new(Richardson { weight }),
};

/// `M = omega / s`, with the largest absolute row sum `s`.
#[derive(Clone, Copy, Debug)]
struct Richardson {
    weight: f64,
}

impl<T: Mixes<T, T>> Factory<T> for Richardson {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, _: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let matrix = entries(a.as_ref(), "richardson")?;
        let rows = a.size().rows;
        let sum = |row: usize| -> f64 {
            let values = matrix.row(row).1.iter();
            values.map(|value| value.load().modulus().to_f64()).sum()
        };
        let factor = self.weight / (0..rows).map(sum).fold(0.0, f64::max);
        let identity = Arc::new(Identity::new(a.executor(), rows));
        Ok(Arc::new(Sum::scaled(T::Arith::from_f64(factor), identity)))
    }
}
