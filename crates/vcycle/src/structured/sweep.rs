//! Gauss-Seidel.

use super::{StencilMatrix, Storage};
use crate::backend::cpu::stencil::Vectors;
use crate::backend::reference::stencil::Order;
use crate::backend::{cpu, reference};
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::check_apply;
use crate::vector::Vector;

/// The order of colours in a sweep. A sweep backward is the adjoint of one forward, so both together
/// are symmetric where the matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Even cells first.
    Forward,
    /// Odd cells first.
    Backward,
}

impl<M: Storage> StencilMatrix<M> {
    /// A sweep of Gauss-Seidel towards `A x = b`, in eight colours: planes, lines and cells by parity.
    ///
    /// Results do not depend on the number of threads. No diagonal entry may be zero; see
    /// [`check_diagonal`](Self::check_diagonal).
    ///
    /// ```
    /// use vcycle::{executor::{Executor, Workspace}, gallery, structured::{Direction, StencilMatrix},
    ///              vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = StencilMatrix::from_csr(&gallery::build("poisson5:3", &cpu)?.matrix)?;
    /// let b = Vector::filled(&cpu, 9, 1, 1.0)?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// a.gauss_seidel(Direction::Forward, &b, &mut x, &Workspace::new())?;
    /// assert_eq!(x.to_vec()[..3], [0.25, 0.375, 0.25]);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For vectors that do not fit or have several columns.
    #[allow(private_bounds)]
    pub fn gauss_seidel<V: Vectors>(
        &self,
        direction: Direction,
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        check_apply("gauss-seidel", self.size(), self.executor(), b, x)?;
        if b.cols() != 1 {
            return Err(Error::Unsupported {
                component: "gauss-seidel on a stencil".to_owned(),
                operation: "several columns at once".to_owned(),
            });
        }
        let order = match direction {
            Direction::Forward => Order::Forward,
            Direction::Backward => Order::Backward,
        };
        let Executor::Cpu(threads) = self.executor() else {
            reference::stencil::gauss_seidel(self.arrays(), order, b.host()?, x.host_mut()?);
            return Ok(());
        };
        let length = cpu::stencil::scratch_length(self.grid());
        let mut scratch = ws.vector::<V>(self.executor(), length, 1)?;
        cpu::stencil::gauss_seidel(
            threads,
            self.arrays(),
            order,
            b.host()?,
            x.host_mut()?,
            scratch.host_mut()?,
        );
        Ok(())
    }

    /// Fails, naming the row, if a diagonal entry is zero.
    ///
    /// # Errors
    /// [`ZeroDiagonal`](Error::ZeroDiagonal).
    pub fn check_diagonal(&self, component: &'static str) -> Result<()> {
        let zero = M::default();
        match self.diagonal().iter().position(|value| *value == zero) {
            Some(row) => Err(Error::ZeroDiagonal { component, row }),
            None => Ok(()),
        }
    }
}
