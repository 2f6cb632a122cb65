//! Any preconditioner, applied by every rank to the rows it has.

use crate::linop::check_apply;
use crate::matrix::Halo;
use crate::prelude::*;

/// The largest overlap.
const MOST_OVERLAP: usize = 8;

/// Additive Schwarz: every rank of a team applies a preconditioner of its own to own rows and some rings of rows around them,
/// and what ranks find for the same rows is added (Dryja and Widlund 1987). Without overlap it is block Jacobi with a block a rank.
///
/// **Choose it** over ranks for what looks at all rows in their order: incomplete factorisations, Gauss-Seidel, a sparse
/// factorisation. More ranks make it weaker; it has no coarse level. Without ranks it is what it is made of.
///
/// With `restricted` a rank keeps what it finds for own rows and nothing is added (Cai and Sarkis 1999): half of the messages and
/// fewer iterations as a rule, but it is not symmetric.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{communicator::threads, executor::{Executor, Workspace}, gallery, linop::{Factory, LinOp}};
/// use vcycle::{precond::{AdditiveSchwarz, Ic0}, solver::{Cg, Solver}, vector::Vector};
/// threads::run(2, |team| {
///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
///     let (a, b) = gallery::build_part("poisson5:20", &rank)?.expect("it is made in parts");
///     let schwarz = AdditiveSchwarz { inner: Arc::new(Ic0::default()), overlap: 1, restricted: false };
///     let solver = Solver::<f64>::new(Cg::default(), Arc::new(a))?.preconditioned_by(&schwarz)?;
///     let b = Vector::from_column(&rank, b);
///     assert!(solver.solve(&b, &mut Vector::zeros_like(&b)?)?.converged());
///     Ok(())
/// })?;
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AdditiveSchwarz<T: Scalar> {
    /// What every rank applies.
    pub inner: Arc<dyn Factory<T>>,
    /// Rings of rows around own ones.
    pub overlap: usize,
    /// Whether ranks keep what they find for own rows alone.
    pub restricted: bool,
}

impl<T: Mixes<T, T>> Factory<T> for AdditiveSchwarz<T> {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("schwarz set-up", 0);
        if self.overlap > MOST_OVERLAP {
            return Err(Error::bad_parameter(
                "overlap",
                format!("must be 0 to {MOST_OVERLAP}, not {}", self.overlap),
            ));
        }
        let Some(shared) = Distributed::<T>::behind(a.as_ref()) else {
            return self.inner.generate(a, ws);
        };
        let near = shared.overlapped(self.overlap, 1)?;
        let host = a.executor().alone();
        let matrix: Arc<dyn LinOp<T>> = Arc::new(near.matrix.into_executor(&host)?);
        let made = self.inner.generate(&matrix, ws);
        Ok(Arc::new(Blocks {
            executor: a.executor().clone(),
            inner: shared.team().agree(made)?,
            halo: near.halo,
            restricted: self.restricted,
        }))
    }
}

/// The preconditioner of own rows and those around them.
#[derive(Debug)]
struct Blocks<T: Scalar> {
    executor: Executor,
    /// On the executor without its team, that of the host.
    inner: Arc<dyn LinOp<T>>,
    halo: Arc<Halo>,
    restricted: bool,
}

impl<T: Scalar> Blocks<T> {
    /// The values of own rows and of those around them.
    fn gather(&self, x: &Vector<T>, all: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let (halo, cols) = (&self.halo, x.cols());
        let (before, own) = (halo.own().start * cols, halo.own().end * cols);
        x.read(&mut all.host_mut()?[before..own])?;
        let alone = self.inner.executor();
        let mut others = ws.vector::<T>(alone, halo.others().len(), cols)?;
        let values = all.host_mut()?;
        let mine = &values[before..own];
        halo.exchange(cols, mine, others.host_mut()?, &mut || Ok(()))?;
        let (first, last) = others.host()?.split_at(before);
        values[..before].copy_from_slice(first);
        values[own..].copy_from_slice(last);
        Ok(())
    }

    /// What was found for own rows, and what other ranks have found for them.
    fn collect(&self, found: &mut Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let (halo, cols) = (&self.halo, found.cols());
        let (before, own) = (halo.own().start * cols, halo.own().end * cols);
        let values = found.host_mut()?;
        if !self.restricted {
            let others = [&values[..before], &values[own..]].concat();
            let mine = &mut values[before..own];
            halo.collect(cols, &others, &mut |row, more: &[T]| {
                for (sum, &value) in mine[row * cols..].iter_mut().zip(more) {
                    *sum = T::store(sum.load() + value.load());
                }
            })?;
        }
        y.write(&values[before..own])
    }
}

impl<T: Scalar> LinOp<T> for Blocks<T> {
    fn size(&self) -> Size {
        Size::square(self.halo.own_count())
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply("schwarz", self.size(), &self.executor, x, y)?;
        let (alone, rows) = (self.inner.executor(), self.halo.len());
        let mut all = ws.vector::<T>(alone, rows, x.cols())?;
        let mut found = ws.vector::<T>(alone, rows, x.cols())?;
        self.gather(x, &mut all, ws)?;
        self.inner.apply(&all, &mut found, ws)?;
        self.collect(&mut found, y)
    }

    fn label(&self) -> &'static str {
        "schwarz"
    }

    fn footprint(&self) -> Footprint {
        self.inner.footprint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::precond::testing::{applied, iterations_with, laplacian, made};
    use crate::precond::{Ic0, Ilu0};
    use crate::solver::{Bicgstab, Cg, Method};

    fn of(inner: impl Factory<f64> + 'static, overlap: usize) -> AdditiveSchwarz<f64> {
        AdditiveSchwarz {
            inner: Arc::new(inner),
            overlap,
            restricted: false,
        }
    }

    fn iterations<M: Method<f64> + Clone + 'static>(
        ranks: usize,
        method: &M,
        schwarz: &AdditiveSchwarz<f64>,
    ) -> usize {
        let found = on_ranks(ranks, |rank, _| {
            let a = gallery::build_part("poisson5:20", rank)?.unwrap().0;
            Ok(iterations_with(method.clone(), Arc::new(a), schwarz))
        });
        found[0]
    }

    #[test]
    fn overlap_makes_up_for_what_ranks_cut() {
        let cg = |ranks, overlap| iterations(ranks, &Cg::default(), &of(Ic0::default(), overlap));
        let found = [cg(4, 2), cg(4, 1), cg(4, 0)];
        assert!(found.is_sorted() && found[2] > cg(1, 2), "{found:?}");
        let mut ilu = of(Ilu0::default(), 1);
        ilu.restricted = true;
        assert!(iterations(3, &Bicgstab::default(), &ilu) <= found[2]);
    }

    #[test]
    fn too_many_rings_are_refused_and_without_ranks_it_is_the_preconditioner() {
        let a = laplacian(&Executor::cpu(), 5);
        let schwarz = made(&of(Ilu0::default(), 2), &a).unwrap();
        let plain = made(&Ilu0::default(), &a).unwrap();
        assert_eq!(applied(schwarz.as_ref(), 1), applied(plain.as_ref(), 1));
        assert!(made(&of(Ilu0::default(), 9), &a).is_err());
    }
}
