//! Factorised sparse approximate inverse, damped so that it converges.

use std::sync::Arc;

use super::damped::Damped;
use super::registration::SmootherRegistration;
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{Factory, LinOp};
use crate::precond::Fsai;
use crate::registration::{Need, Symmetry};
use crate::scalar::Mixes;

/// [`Fsai`], damped so that it converges.
pub(super) const FSAI: SmootherRegistration<Fsai> = SmootherRegistration {
    names: &["fsai"],
    summary: "for ill-conditioned symmetric positive definite matrices on many threads; damped by itself",
    parameter: "steps:step-size:tolerance or any key=value of the preconditioner",
    default: Fsai::DEFAULT,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::DefiniteMatrix],
    over_ranks: true,
    on_host: &[],
    factory: |parameters, _| Arc::new(Damped(OfLevel(parameters))),
};

/// An [`Fsai`] of a level: its matrix is symmetric where the finest is, but for rounding and what was filtered.
#[derive(Clone, Debug)]
struct OfLevel(Fsai);

impl<T: Mixes<T, T>> Factory<T> for OfLevel {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        self.0.unchecked(a.as_ref(), ws)
    }
}

#[cfg(test)]
mod tests {
    use crate::multigrid::Smoother;
    use crate::precond::Fsai;

    #[test]
    fn every_parameter_of_the_preconditioner_is_taken() {
        let smoother: Smoother = "fsai:4:step-size=5:filter=0.1".parse().unwrap();
        let Smoother::Fsai { parameters } = smoother else {
            panic!("{smoother}")
        };
        let mut expected = Fsai::default();
        (expected.steps, expected.step_size, expected.filter) = (4, 5, 0.1);
        assert_eq!(parameters, expected);
        assert_eq!(smoother.to_string(), "fsai:4:step-size=5:filter=0.1");
        assert_eq!(Smoother::fsai(7, 1).to_string(), "fsai:7");
    }
}
