//! Linear operators and the factories that make them.
//!
//! A matrix, a preconditioner, a multigrid cycle, a whole solver and a closure are all a
//! [`LinOp`]: `y = A x` on one or many columns. A [`Factory`] holds parameters and turns a matrix
//! into an operator, so that any solver can be a preconditioner, a smoother or a coarsest solver.
//!
//! Operators compose: [`Sum`], [`Product`], [`Transposed`] and [`Converted`] are made
//! of others, [`MatrixFree`] of a closure. An operator of your own implements three methods:
//!
//! ```
//! use std::sync::Arc;
//! use vcycle::{Result, executor::{Executor, Workspace}, linop::{LinOp, Size, check_apply},
//!              solver::{Cg, Solver}, vector::Vector};
//!
//! /// `-u''` on a line of `n` points, without a matrix.
//! #[derive(Debug)]
//! struct Laplacian {
//!     executor: Executor,
//!     n: usize,
//! }
//!
//! impl LinOp<f64> for Laplacian {
//!     fn size(&self) -> Size {
//!         Size::square(self.n)
//!     }
//!     fn executor(&self) -> &Executor {
//!         &self.executor
//!     }
//!     fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, _ws: &Workspace) -> Result<()> {
//!         check_apply("laplacian", Size::square(self.n), &self.executor, x, y)?;
//!         let (cols, x) = (x.cols(), x.host()?);
//!         for (place, y) in y.host_mut()?.iter_mut().enumerate() {
//!             let left = place.checked_sub(cols).map_or(0.0, |left| x[left]);
//!             let right = x.get(place + cols).unwrap_or(&0.0);
//!             *y = 2.0 * x[place] - left - right;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let cpu = Executor::cpu();
//! let a = Arc::new(Laplacian { executor: cpu.clone(), n: 5 });
//! let b = Vector::filled(&cpu, 5, 1, 1.0)?;
//! let mut x = Vector::zeros_like(&b)?;
//! let outcome = Solver::new(Cg::default(), a)?.solve(&b, &mut x)?;
//! assert!(outcome.converged());
//! assert!((x.to_vec()[2] - 4.5).abs() < 1e-6);
//! # Ok::<(), vcycle::Error>(())
//! ```

#[doc(inline)]
pub use vcycle_core::linop::{
    AnyFactory, Converted, Factory, Footprint, Identity, InPrecision, LevelScalar, LinOp,
    MatrixFree, Product, Size, Sum, Sweep, Transpose, Transposed, check_apply, check_size,
    check_square, entries,
};
