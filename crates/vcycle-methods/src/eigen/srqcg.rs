//! Simultaneous minimisation of Rayleigh quotients.

use super::block::{Block, dot, subtract};
use super::{Eigenpairs, orthonormalise};
use crate::prelude::*;
use crate::registration::parameters;

parameters! {
    /// Conjugate gradients for the smallest Rayleigh quotients of a symmetric matrix, those of all
    /// vectors side by side (SRQCG; Longsine and McCormick 1980, as Franceschini et al. 2019 use it
    /// for test spaces).
    ///
    /// One after another the vectors take the exact step along their direction, a preconditioned
    /// gradient that is made conjugate to the one before and orthogonal to the vectors that have moved
    /// already. In the end they are combined to Ritz vectors.
    ///
    /// **Choose it** for a rough near-kernel in few steps, each as cheap as a sweep of the smoother
    /// that preconditions it.
    ///
    /// ```
    /// use vcycle::{eigen::Srqcg, executor::{Executor, Workspace}, gallery, linop::Identity,
    ///              vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = gallery::build("poisson5:20x1", &cpu)?.matrix;
    /// let start = (0..2).map(|k| {
    ///     Vector::from_column(&cpu, (0..20).map(|i| ((i * i + k) as f64).sin()).collect())
    /// });
    /// let mut srqcg = Srqcg::default();
    /// srqcg.iterations = 40;
    /// let none = Identity::new(&cpu, 20);
    /// let pairs = srqcg.smallest(&a, &none, start.collect(), &Workspace::new())?;
    /// let exact = 4.0 - 2.0 * (std::f64::consts::PI / 21.0).cos();
    /// assert!((pairs.values[0] - exact).abs() < 1e-6);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct Srqcg {
        /// Steps of every vector.
        pub iterations: usize = 10,
    }
}

/// A direction and the gradients it was made of.
struct SearchDirection {
    p: Vector<f64>,
    gradient: Vector<f64>,
    /// Gradient times preconditioned gradient.
    slope: f64,
}

impl Srqcg {
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
        let _stage = ws.stage("srqcg", 0);
        orthonormalise("start of srqcg", &mut start)?;
        let mut directions: Vec<Option<SearchDirection>> = start.iter().map(|_| None).collect();
        let mut block = Block::new(a, start, ws)?;
        for _ in 0..self.iterations {
            let before = std::mem::take(&mut block);
            let pairs = before.x.into_iter().zip(before.ax);
            for ((x, ax), last) in pairs.zip(&mut directions) {
                block.push(x, ax)?;
                step(a, m, &mut block, last, ws)?;
            }
        }
        block.ritz()
    }
}

/// Moves the last vector, of norm one, to the smallest quotient along its direction, which is
/// orthogonal to all vectors before it.
fn step(
    a: &dyn LinOp<f64>,
    m: &dyn LinOp<f64>,
    block: &mut Block,
    last: &mut Option<SearchDirection>,
    ws: &Workspace,
) -> Result<()> {
    let vector = block.len() - 1;
    let quotient = dot(&block.x[vector], &block.ax[vector])?;
    let gradient = block.residual(vector, quotient)?;
    let mut p = Vector::zeros_like(&gradient)?;
    m.apply(&gradient, &mut p, ws)?;
    let slope = dot(&p, &gradient)?;
    if let Some(last) = last {
        // Polak and Ribière; never backwards.
        let beta = (slope - dot(&p, &last.gradient)?) / last.slope;
        if beta > 0.0 && beta.is_finite() {
            p.axpy(Coefficient::real(beta), &last.p)?;
        }
    }
    subtract(&block.x[..vector], &mut p)?;
    let mut ap = Vector::zeros_like(&p)?;
    a.apply(&p, &mut ap, ws)?;
    let length = best_length(block, vector, quotient, &p, &ap)?;
    block.x[vector].axpy(Coefficient::real(length), &p)?;
    block.ax[vector].axpy(Coefficient::real(length), &ap)?;
    block.normalise(vector)?;
    *last = Some(SearchDirection { p, gradient, slope });
    Ok(())
}

/// The `t` that minimises the quotient of `x + t p`: a root of
/// `(c e - b f) t² + (c - q f) t + (b - q e)` with `b = x A p`, `c = p A p`, `e = x p`, `f = p p`
/// and the quotient `q` of `x`; zero where `p` leads nowhere.
fn best_length(
    block: &Block,
    vector: usize,
    quotient: f64,
    p: &Vector<f64>,
    ap: &Vector<f64>,
) -> Result<f64> {
    let x = &block.x[vector];
    let (b, c, e, f) = (dot(x, ap)?, dot(p, ap)?, dot(x, p)?, dot(p, p)?);
    let (square, linear, constant) = (c * e - b * f, c - quotient * f, b - quotient * e);
    let root = (linear * linear - 4.0 * square * constant).max(0.0).sqrt();
    let length = -2.0 * constant / (linear + root);
    Ok(if length.is_finite() { length } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
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
        let solve = |start| Srqcg::default().smallest(a.as_ref(), m.as_ref(), start, &ws);
        assert_refused!(solve(start.clone()), DependentVectors { vector: 2, .. });
        start[1].host_mut().unwrap()[7] = f64::NAN;
        assert_refused!(
            solve(start),
            NonFiniteVector {
                row: 7,
                column: 1,
                ..
            }
        );
        let short = vec![Vector::from_column(a.executor(), vec![1.0; 3])];
        assert_refused!(solve(short), SizeMismatch { .. });
    }
}
