//! Locally optimal block preconditioned conjugate gradients.

use super::block::Block;
use super::{Eigenpairs, orthonormalise};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::registration::parameters;
use crate::vector::Vector;

parameters! {
    /// LOBPCG for the smallest eigenpairs of a symmetric matrix (Knyazev 2001): every step takes the
    /// best combinations of all vectors, their preconditioned residuals and the steps before. The
    /// basis of all of these is kept orthonormal, so that it never breaks down.
    ///
    /// **Choose it** for eigenpairs to a tolerance; each step costs a product and an application of
    /// the preconditioner a vector, and products of all of them with each other.
    ///
    /// ```
    /// use vcycle::{eigen::Lobpcg, executor::{Executor, Workspace}, gallery, linop::Identity,
    ///              vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = gallery::build("poisson5:20x1", &cpu)?.matrix;
    /// let start = (0..2).map(|k| {
    ///     Vector::from_column(&cpu, (0..20).map(|i| ((i * i + k) as f64).sin()).collect())
    /// });
    /// let none = Identity::new(&cpu, 20);
    /// let pairs = Lobpcg::default().smallest(&a, &none, start.collect(), &Workspace::new())?;
    /// let exact = |k: f64| 4.0 - 2.0 * (k * std::f64::consts::PI / 21.0).cos();
    /// assert!((pairs.values[0] - exact(1.0)).abs() < 1e-12);
    /// assert!((pairs.values[1] - exact(2.0)).abs() < 1e-12);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct Lobpcg {
        /// Steps, at most.
        pub max_iterations: usize = 200,
        /// The residuals wanted, relative to the largest eigenvalue found.
        pub tolerance: f64 = 1e-8,
    }
}

impl Lobpcg {
    /// Approximates as many of the smallest eigenpairs of `a` as vectors are given to start from,
    /// with an approximate inverse `m`.
    ///
    /// # Errors
    /// Vectors of wrong size, not finite or dependent on each other; when an operator fails.
    pub fn smallest(
        &self,
        a: &dyn LinOp<f64>,
        m: &dyn LinOp<f64>,
        mut start: Vec<Vector<f64>>,
        ws: &Workspace,
    ) -> Result<Eigenpairs> {
        let _stage = ws.stage("lobpcg", 0);
        orthonormalise("start of lobpcg", &mut start)?;
        let count = start.len();
        let (mut values, mut block, _) = Block::new(a, start, ws)?.ritz(count)?;
        let mut steps = Block::default();
        for iteration in 0..self.max_iterations {
            let Some(found) = self.directions(a, m, &block, &values, ws)? else {
                return block.into_pairs(values, iteration);
            };
            let mut basis = block;
            basis.extend(found)?;
            basis.extend(steps)?;
            let (next, combined, factors) = basis.ritz(count)?;
            let without_start = |factors: &Vec<f64>| {
                let mut factors = factors.clone();
                factors[..count].fill(0.0);
                factors
            };
            let factors: Vec<_> = factors.iter().map(without_start).collect();
            steps = basis.combined(&factors)?;
            (values, block) = (next, combined);
        }
        block.into_pairs(values, self.max_iterations)
    }

    /// The preconditioned residuals of what has not converged; none where all have.
    fn directions(
        &self,
        a: &dyn LinOp<f64>,
        m: &dyn LinOp<f64>,
        block: &Block,
        values: &[f64],
        ws: &Workspace,
    ) -> Result<Option<Block>> {
        let scale = values
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let mut directions = Vec::new();
        for (vector, &value) in values.iter().enumerate() {
            let r = block.residual(vector, value)?;
            if r.norms()?[0] > self.tolerance * scale {
                let mut direction = Vector::zeros_like(&r)?;
                m.apply(&r, &mut direction, ws)?;
                directions.push(direction);
            }
        }
        match directions.is_empty() {
            true => Ok(None),
            false => Block::new(a, directions, ws).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::eigen::Srqcg;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::linop::Factory;
    use crate::precond::Fsai;

    type Operator = Arc<dyn LinOp<f64>>;

    fn problem(threads: usize) -> (Operator, Operator, Vec<Vector<f64>>) {
        let cpu = Executor::cpu_with_threads(threads).unwrap();
        let a: Operator = Arc::new(gallery::build("poisson5:30x20", &cpu).unwrap().matrix);
        let m = Fsai::default().generate(&a, &Workspace::new()).unwrap();
        let wave = |k: usize| {
            (0..600)
                .map(move |i| ((i * i + k * i) as f64).sin())
                .collect()
        };
        let start = (0..4).map(|k| Vector::from_column(&cpu, wave(k)));
        let start = start.collect();
        (a, m, start)
    }

    /// The smallest eigenvalues of the five-point stencil on 30 x 20 points.
    fn exact() -> Vec<f64> {
        let half_angle =
            |k: usize, n: usize| 0.5 * std::f64::consts::PI * k as f64 / (n + 1) as f64;
        let part = |k, n| 4.0 * half_angle(k, n).sin().powi(2);
        let pairs = (1..6).flat_map(|i| (1..6).map(move |j| (i, j)));
        let mut values: Vec<f64> = pairs.map(|(i, j)| part(i, 30) + part(j, 20)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn the_smallest_eigenpairs_are_found() {
        let (a, m, start) = problem(1);
        let pairs = Lobpcg::default().smallest(a.as_ref(), m.as_ref(), start, &Workspace::new());
        let pairs = pairs.unwrap();
        assert!(pairs.iterations < 60, "{}", pairs.iterations);
        for (found, expected) in pairs.values.iter().zip(exact()) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let worst = pairs.residuals.iter().copied().fold(0.0, f64::max);
        assert!(worst <= 1e-8 * pairs.values[3]);
    }

    #[test]
    fn more_steps_of_srqcg_give_smaller_quotients() {
        let (a, m, start) = problem(1);
        let ws = Workspace::new();
        let smallest = |iterations: usize| {
            let srqcg = Srqcg { iterations };
            let pairs = srqcg
                .smallest(a.as_ref(), m.as_ref(), start.clone(), &ws)
                .unwrap();
            pairs.values
        };
        let found = [0, 5, 10, 40].map(smallest);
        for k in 0..4 {
            assert!(
                found.is_sorted_by(|before, after| before[k] > after[k]),
                "{found:?}"
            );
        }
        let (last, exact) = (&found[3], exact());
        assert!(last[0] - exact[0] < 1e-3 * exact[0], "{last:?} {exact:?}");
        assert!(last[3] - exact[3] < 0.2 * exact[3], "{last:?} {exact:?}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let found = [1, 3].map(|threads| {
            let (a, m, start) = problem(threads);
            let pairs = Srqcg::default().smallest(a.as_ref(), m.as_ref(), start, &Workspace::new());
            pairs.unwrap().vectors[3].to_vec()
        });
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn bad_starts_are_named() {
        let (a, m, mut start) = problem(1);
        let ws = Workspace::new();
        start[2] = start[0].clone();
        let solve = |start| Lobpcg::default().smallest(a.as_ref(), m.as_ref(), start, &ws);
        let dependent = solve(start.clone());
        assert!(matches!(
            dependent,
            Err(Error::DependentVectors { vector: 2, .. })
        ));
        start[1].host_mut().unwrap()[7] = f64::NAN;
        let nan = solve(start);
        assert!(matches!(
            nan,
            Err(Error::NonFiniteVector {
                row: 7,
                column: 1,
                ..
            })
        ));
        let short = vec![Vector::from_column(a.executor(), vec![1.0; 3])];
        assert!(matches!(solve(short), Err(Error::SizeMismatch { .. })));
    }
}
