//! Pipelined generalised minimal residuals.

use super::gmres::Space;
use super::per_column::PerColumn;
use super::recurrence::Recurrence;
use super::{Run, check_restart, example, solver};
use crate::prelude::*;
use crate::vector::Storage;

solver! {
    /// Pipelined generalised minimal residuals (Ghysels, Ashby, Meerbergen and Vanroose 2013, depth one), restarted and preconditioned
    /// from the right.
    ///
    /// [`Gmres`](super::Gmres) with one reduction an iteration: the products of a vector with the whole basis and its norm together. They
    /// are under way while the preconditioner and the matrix are applied to that vector, before it is orthogonal to the others: what
    /// they make of the new vector of the basis follows from what they made of this one. Two vectors more are kept.
    ///
    /// Two things differ from the paper. What the matrix makes of the basis is not stored: it is the basis times the Hessenberg
    /// matrix. And of the products with a vector two are taken out before they are known, as large as in the iteration before: the shift
    /// of the paper, chosen anew in each. Rounding errors grow by what is taken out later, over what is left; so they hardly grow.
    /// A bound of them is kept. Where it exceeds the square root of rounding, or the square of the norm that is left has lost its digits, an
    /// iteration is made as GMRES makes it, with two products.
    ///
    /// **Choose it** for nonsymmetric or indefinite matrices where reductions are slow: many processes, or a device with little to do.
    ///
    #[doc = example!("PipeGmres")]
    pub struct PipeGmres {
        /// Vectors kept before the method starts afresh.
        pub restart: usize = 50,
    }
    name: "pipegmres", summary: "Pipelined generalised minimal residuals.",
    after_colon: &["restart"], needs: &[FixedPreconditioner], symmetry: Varying,
    memory: Memory::vectors(6);
    more memory: |own, _| Memory::vectors(own.restart);
}

impl PipeGmres {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let restart = check_restart(self.restart, run)?;
        let mut space = Space::take(run, restart, Storage::Working, false)?;
        let mut ahead = Ahead::take(run, restart)?;
        space.restarted(run, |space, run| ahead.cycle(space, run, restart))
    }
}

/// What is ahead of the basis.
struct Ahead<'w, T: Scalar> {
    /// `A M v` of the last vector `v` of the basis, without the products that were guessed.
    z: Scratch<'w, Vector<T>>,
    /// `A M z`.
    product: Scratch<'w, Vector<T>>,
    columns: Scratch<'w, PerColumn<T, Recurrence<T::Arith>>>,
}

impl<'w, T: Scalar> Ahead<'w, T> {
    fn take(run: &Run<'w, T>, restart: usize) -> Result<Self> {
        let [z, product] = run.vectors()?;
        let mut columns = PerColumn::<T, Recurrence<T::Arith>>::take(run.ws, run.b)?;
        columns
            .iter_mut()
            .for_each(|column| column.reserve(restart));
        Ok(Self {
            z,
            product,
            columns,
        })
    }

    /// Grows the space until all columns have ended or it is full; returns its dimension.
    fn cycle(
        &mut self,
        space: &mut Space<'w, T>,
        run: &mut Run<'_, T>,
        restart: usize,
    ) -> Result<usize> {
        space.start()?;
        // A preconditioned matrix is near the identity.
        let guess = if run.preconditioner.is_identity() {
            0.0
        } else {
            1.0
        };
        self.columns
            .iter_mut()
            .for_each(|column| column.start(guess));
        self.begin(space, run)?;
        for step in 0..restart {
            let is_last = step + 1 == restart;
            self.orthogonalise(space, run, step, is_last)?;
            if space.judge(run, step)? {
                return Ok(step + 1);
            }
            if !is_last {
                self.advance(space, run, step + 1)?;
            }
        }
        Ok(restart)
    }

    /// `z` from the last vector of the basis itself.
    fn begin(&mut self, space: &mut Space<'w, T>, run: &Run<'_, T>) -> Result<()> {
        let preconditioned = run.preconditioned(&space.w, &mut space.preconditioned)?;
        run.multiply(preconditioned, &mut self.z)?;
        self.columns
            .send(&mut space.norm, |column| -column.guess())?;
        self.z.axpy(Coefficient::of(&space.norm), &space.w)
    }

    /// Sets the next column of the Hessenberg matrix by the products of `z`, or by a step of GMRES where they are in doubt. Meanwhile the
    /// next product is formed, unless this step is the last one.
    fn orthogonalise(
        &mut self,
        space: &mut Space<'w, T>,
        run: &mut Run<'_, T>,
        step: usize,
        is_last: bool,
    ) -> Result<()> {
        let (count, cols) = (step + 1, run.b.cols());
        let (z, product, preconditioned) = (&self.z, &mut self.product, &mut space.preconditioned);
        let mut stop_requests = run.monitor.stop_requests(run.ws.log());
        let mut meanwhile = || match is_last {
            true => Ok(()),
            false => run.multiply(run.preconditioned(z, preconditioned)?, product),
        };
        let numbers = space
            .v
            .multiply_while(count, z, &mut stop_requests, &mut meanwhile)?;
        for (index, column) in self.columns.iter_mut().enumerate() {
            let numbers = numbers.iter().skip(index).step_by(cols);
            match run.monitor.is_active(index) {
                true => column.receive(count, numbers.copied()),
                false => column.rest(count),
            }
        }
        run.monitor.take_stop_requests(stop_requests);
        if !self.columns.iter().all(Recurrence::is_trusted) {
            space.expand(run, step)?;
        }
        for (column, problem) in self.columns.iter_mut().zip(space.projected.iter_mut()) {
            column.keep(count, problem);
        }
        Ok(())
    }

    /// The next vector of the basis and the next `z`, from `z` and `A M z`; from the vector of a step of GMRES in the columns that were
    /// in doubt.
    fn advance(&mut self, space: &mut Space<'w, T>, run: &Run<'_, T>, count: usize) -> Result<()> {
        let is_doubted = !self.columns.iter().all(Recurrence::is_trusted);
        if is_doubted && !self.columns.iter().any(Recurrence::goes_on) {
            return self.begin(space, run);
        }
        let columns = &self.columns;
        let coefficients = |vector, column: usize| columns[column].coefficients(count, vector);
        let (z, product) = (&mut self.z, &mut self.product);
        space.v.advance(count, coefficients, z, product)?;
        match is_doubted {
            false => std::mem::swap(&mut space.w, &mut self.z),
            true => self.join(space, run, count)?,
        }
        std::mem::swap(&mut self.z, &mut self.product);
        Ok(())
    }

    /// Puts the columns in doubt beside those that are not, whose next vector is in `z` and whose next `z` in the product.
    fn join(&mut self, space: &mut Space<'w, T>, run: &Run<'_, T>, count: usize) -> Result<()> {
        let [mut doubted] = run.scalars()?;
        self.columns.send(&mut doubted, |column| {
            T::Arith::from_f64(if column.is_trusted() { 0.0 } else { 1.0 })
        })?;
        let (doubted, one) = (Coefficient::of(&doubted), Coefficient::one());
        space.w.scale(doubted)?;
        space.w.axpy(one, &self.z)?;
        space.v.keep(count, &mut space.w)?;
        self.begin(space, run)?;
        self.product.axpy(doubted, &self.z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::Jacobi;
    use crate::solver::{Gmres, Method, Solver, testing};
    use crate::stop::{Status, Stop};

    /// Solves for two right-hand sides, with Jacobi's method and without.
    fn compare<T: Mixes<T, T>>(a: &Arc<Csr<T>>, restart: usize, tolerance: f64) {
        let values = testing::values::<T>(2 * a.size().rows, 3);
        let b = Vector::from_rows(a.executor(), 2, values).unwrap();
        let pipelined: Arc<dyn Method<T>> = Arc::new(PipeGmres { restart });
        let plain: Arc<dyn Method<T>> = Arc::new(testing::gmres(restart));
        for preconditioned in [true, false] {
            let [pipelined, plain] = [&pipelined, &plain].map(|method| {
                let solver = testing::solver(method, a.clone());
                let solver = match preconditioned {
                    true => solver.preconditioned_by(&Jacobi::default()).unwrap(),
                    false => solver,
                };
                let solver = solver.stopping(Stop::relative(tolerance));
                let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
                outcome.unwrap()
            });
            assert!(pipelined.converged(), "{pipelined}");
            for (own, other) in pipelined.columns.iter().zip(&plain.columns) {
                let apart = own.iterations.abs_diff(other.iterations);
                assert!(apart <= 1, "{pipelined} and {plain} with {restart}");
            }
        }
    }

    #[test]
    fn takes_the_iterations_of_gmres() {
        for executor in [Executor::reference(), Executor::cpu()] {
            for restart in [1, 5, 40] {
                let grid = if restart == 1 { 3 } else { 9 };
                compare::<f64>(&testing::laplacian_2d(&executor, grid), restart, 1e-10);
                let wind = testing::convection_diffusion::<f64>(&executor, grid);
                compare(&wind, restart, 1e-10);
            }
            compare::<c64>(&testing::shifted_laplacian(&executor, 6), 40, 1e-10);
            compare::<c32>(&testing::shifted_laplacian(&executor, 5), 40, 1e-4);
            compare::<f32>(&testing::convection_diffusion(&executor, 9), 10, 1e-5);
        }
    }

    #[test]
    fn an_invariant_space_and_a_singular_matrix_end_it_as_they_end_gmres() {
        let host = Executor::reference();
        let same = |diagonal: Vec<f64>, restart: usize| {
            let a = Arc::new(Csr::diagonal_matrix(&host, diagonal));
            let pipelined = testing::solve_with(Arc::new(PipeGmres { restart }), &a, None);
            let plain = testing::solve_with(Arc::new(testing::gmres(restart)), &a, None);
            assert_eq!(pipelined.status, plain.status, "{pipelined} and {plain}");
            assert_eq!(pipelined.iterations, plain.iterations);
            pipelined
        };
        assert_eq!(same(vec![2.0; 5], 10).iterations, 1);
        for restart in [3, 4, 10] {
            assert_eq!(same(vec![1.0, 2.0, 4.0, 2.0, 1.0], restart).iterations, 3);
        }
        let singular = same(vec![1.0, 2.0, 0.0], 10);
        assert_eq!(singular.status, Status::Breakdown);
        assert!(singular.relative_residual < 0.6);
        let a = testing::rotation(&host, 6);
        let outcome = testing::solve_with(Arc::new(PipeGmres::default()), &a, None);
        assert!(outcome.converged() && outcome.iterations <= 6, "{outcome}");
    }

    #[test]
    fn vectors_of_which_nothing_is_left_are_made_as_gmres_makes_them() {
        let host = Executor::reference();
        let near = (0..40).map(|i| 1.0 + 1e-9 * f64::from(i)).collect();
        let graded = (0..40).map(|i| 10_f64.powi(i % 9)).collect();
        for diagonal in [near, graded] {
            let a = Arc::new(Csr::diagonal_matrix(&host, diagonal));
            let pipelined = testing::solve_with(Arc::new(PipeGmres { restart: 30 }), &a, None);
            let plain = testing::solve_with(Arc::new(testing::gmres(30)), &a, None);
            assert!(pipelined.converged(), "{pipelined}");
            assert!(pipelined.iterations.abs_diff(plain.iterations) <= 1);
        }
    }

    /// Sums over all ranks that ten more iterations take.
    fn sums_of_ten<M: Method<f64> + Clone + 'static>(method: &M) -> u64 {
        let sums = on_ranks(2, |rank, team| {
            let a = testing::convection_diffusion::<f64>(rank, 8);
            let b = Vector::<f64>::filled(rank, 64, 1, 1.0)?;
            let sums = |iterations| -> Result<u64> {
                let solver = Solver::<f64>::new(method.clone(), a.clone())?
                    .preconditioned_by(&Jacobi::default())?
                    .stopping(Stop::fixed(iterations));
                let before = team.traffic().sums;
                let outcome = solver.solve(&b, &mut Vector::zeros_like(&b)?)?;
                assert_eq!(outcome.iterations, iterations);
                Ok(team.traffic().sums - before)
            };
            let few = sums(10)?;
            Ok(sums(20)? - few)
        });
        sums[0]
    }

    #[test]
    fn an_iteration_has_one_sum_over_all_ranks() {
        assert_eq!(sums_of_ten(&PipeGmres::default()), 10);
        assert!(sums_of_ten(&Gmres::default()) >= 20);
    }

    #[test]
    fn devices_take_the_same_iterations() {
        let Some(device) = device() else { return };
        let a = testing::convection_diffusion::<f64>(&device, 8);
        compare::<f64>(&a, 20, 1e-10);
    }
}
