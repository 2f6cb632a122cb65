//! The sparse factorisation, where the library is built with it.

use crate::prelude::*;

/// What factorisations of the coarsest level share, as long as its pattern stays the same: set-ups keep it for updates.
#[derive(Clone, Debug, Default)]
pub(in crate::multigrid) struct KeptFactors {
    #[cfg(feature = "direct")]
    kept: Arc<std::sync::Mutex<Option<crate::solver::DirectSetup>>>,
}

#[cfg(feature = "direct")]
impl KeptFactors {
    /// Factorises with what is known of the pattern, or finds and keeps that.
    pub fn factorised<T: Mixes<T, T>>(
        &self,
        a: Arc<Csr<T>>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        let kept = || {
            let kept = self.kept.lock();
            kept.unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        let known = kept().clone().filter(|known| known.fits(&a));
        let a: Arc<dyn LinOp<T>> = a;
        let (setup, inverse) = match known {
            Some(mut known) => {
                let inverse = known.update_values(&a, ws)?;
                (known, inverse)
            }
            None => crate::solver::Direct::default().setup(&a, ws)?,
        };
        *kept() = Some(setup);
        Ok(inverse)
    }
}

#[cfg(not(feature = "direct"))]
impl KeptFactors {
    /// Fails: there is no such factorisation.
    pub fn factorised<T: Mixes<T, T>>(
        &self,
        _a: Arc<Csr<T>>,
        _ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<T>>> {
        Err(crate::error::Error::Unsupported {
            component: "this build".to_owned(),
            operation: "the sparse direct solver on the coarsest level".to_owned(),
        })
    }
}

#[cfg(all(test, feature = "direct"))]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::gallery;
    use crate::log::{Log, Observer};
    use crate::multigrid::{Amg, Hierarchy};

    #[derive(Default)]
    struct Stages(Vec<String>);

    impl Observer for Stages {
        fn stage_begins(&mut self, name: &str) {
            if name.starts_with("direct") {
                self.0.push(name.to_owned());
            }
        }
    }

    /// What a cycle leaves of a residual, relative to it.
    fn left(a: &Arc<dyn LinOp<f64>>, cycle: &Hierarchy<f64>) -> f64 {
        let ws = Workspace::new();
        let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
        let (mut x, mut r) = (b.clone(), b.clone());
        cycle.apply(&b, &mut x, &ws).unwrap();
        a.apply(&x, &mut r, &ws).unwrap();
        r.axpy(Coefficient::real(-1.0), &b).unwrap();
        r.norms().unwrap()[0] / b.norms().unwrap()[0]
    }

    fn updates_keep_order_and_fill_on(executor: &Executor) {
        let a = gallery::build("poisson5:40", executor).unwrap().matrix;
        let twice: Arc<dyn LinOp<f64>> = Arc::new(a.scale(2.0).unwrap());
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let two_levels = |coarsest: &str| Amg {
            coarsest: coarsest.parse().unwrap(),
            precision: "dp".parse().unwrap(),
            max_levels: 2,
            ..Amg::default()
        };
        let dense = two_levels("dense").hierarchy(&a, &Workspace::new());
        let expected = left(&a, &dense.unwrap());
        // One level is solved exactly.
        for (max_levels, expected) in [(1, 0.0), (2, expected)] {
            let amg = Amg {
                max_levels,
                ..two_levels("direct")
            };
            let stages = Rc::new(RefCell::new(Stages::default()));
            let ws = Workspace::with_log(Log::new().with(Rc::clone(&stages)));
            let (setup, first) = amg.setup(&a, &ws).unwrap();
            let second = setup.update_values(&twice, &ws).unwrap();
            assert_eq!(stages.borrow().0, ["direct set-up", "direct update"]);
            let found = [left(&a, &first), left(&twice, &second)];
            let is_alike = |found: &f64| (found - expected).abs() < 1e-9;
            assert!(found.iter().all(is_alike), "{expected}: {found:?}");
        }
    }

    #[test]
    fn updates_keep_order_and_fill() {
        updates_keep_order_and_fill_on(&Executor::cpu());
        if let Some(device) = device() {
            updates_keep_order_and_fill_on(&device);
        }
    }
}
