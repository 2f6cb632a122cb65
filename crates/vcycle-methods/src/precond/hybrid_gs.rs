//! Gauss-Seidel within blocks of rows, Jacobi between them.

use std::sync::Arc;

use num_traits::{One, Zero};

use super::example;
use super::order::Rows;
use super::sor::Relaxation;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::host_stages::TRIANGLES;
use crate::linop::{Factory, LinOp};
use crate::matrix::Csr;
use crate::registration::preconditioner;
use crate::scalar::{Field, Mixes, RealOf, Scalar};

preconditioner! {
    /// Gauss-Seidel within blocks of consecutive rows, Jacobi between them, from a zero guess: l1
    /// hybrid Gauss-Seidel (Baker, Falgout, Kolev and Yang 2011).
    ///
    /// Half the absolute sum of a row's entries outside its block is added to its diagonal. With that
    /// `M^-1 + M^-T - A` is positive definite where `A` is, so the iteration converges whatever the
    /// matrix: it is `D + S - A_o` with the diagonal `D`, the couplings `A_o` between blocks and their
    /// absolute row sums `S`. The blocks are cut by the matrix alone, not by the number of threads:
    /// nor is the result.
    ///
    /// **Choose it** as a smoother in place of [`Sor`](super::Sor): nearly the same, and the blocks
    /// are relaxed by all threads at once.
    ///
    #[doc = example!("HybridGs", "Gmres", "poisson5:16", 40)]
    pub struct HybridGs {
        /// Rows of a block.
        pub block_rows: usize = 4096,
        /// How many sweeps an application makes.
        pub sweeps: usize = 1,
        /// Whether a sweep through the rows of a block is followed by one back.
        pub symmetric: bool = false,
    }
    name: "hybrid-gs", summary: "Gauss-Seidel within blocks of rows.",
    after_colon: &["block-rows", "sweeps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[TRIANGLES]), symmetry: OneSided, memory: Memory::per(12, 24);
    symmetric if: |own| own.symmetric;
}

impl<T: Mixes<T, T>> Factory<T> for HybridGs {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let block_rows = self.block_rows;
        if block_rows == 0 {
            return Err(Error::bad_parameter("block-rows", "must be at least 1"));
        }
        let relaxation = Relaxation {
            component: "hybrid-gs",
            omega: 1.0,
            sweeps: self.sweeps,
            symmetric: self.symmetric,
        };
        let enlarge = |a: &Csr<T>, diagonal: Vec<T::Arith>| enlarged(a, &diagonal, block_rows);
        relaxation.operator(a, ws, |_| Ok(Rows::Blocks(block_rows)), enlarge)
    }
}

/// The diagonal, its modulus larger by half of what is outside the block of its row.
fn enlarged<T: Scalar>(a: &Csr<T>, diagonal: &[T::Arith], block_rows: usize) -> Vec<T::Arith> {
    let of_row = |row: usize| {
        let (columns, values) = a.row(row);
        let entries = columns.iter().zip(values);
        let outside =
            entries.filter(|(column, _)| **column as usize / block_rows != row / block_rows);
        let moduli = outside.map(|(_, value)| value.load().modulus());
        let sum = moduli.fold(RealOf::<T>::zero(), |sum, modulus| sum + modulus);
        let half = T::Arith::from_f64(0.5) * T::Arith::from_real(sum);
        diagonal[row] * (T::Arith::one() + half / T::Arith::from_real(diagonal[row].modulus()))
    };
    let parts = a.map_pieces(|rows| rows.map(of_row).collect::<Vec<_>>());
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::Sor;
    use crate::precond::testing::{
        convection, far_from_dominant, from_dense, iterations_of, laplacian, matrix_of,
    };
    use crate::solver::Ir;

    fn of_blocks(block_rows: usize, symmetric: bool) -> HybridGs {
        HybridGs {
            block_rows,
            symmetric,
            ..HybridGs::default()
        }
    }

    #[test]
    fn one_block_is_gauss_seidel_and_what_is_between_blocks_is_on_the_diagonal() {
        let host = Executor::reference();
        let a = convection::<f64>(&host, 5);
        let hybrid = matrix_of(&HybridGs::default(), &a);
        assert_eq!(hybrid, matrix_of(&Sor::default(), &a));
        let a = [2.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, -2.0];
        let m = matrix_of::<f64>(&of_blocks(2, false), &from_dense(&host, 3, &a));
        let expected = [0.5, 0.0, 0.0, 0.2, 0.4, 0.0, 0.0, 0.0, -0.4];
        for (m, expected) in m.iter().zip(expected) {
            assert!((m - expected).abs() < 1e-15, "{m} {expected}");
        }
    }

    /// Strong couplings of one sign between all rows: plain Jacobi between blocks diverges.
    #[test]
    fn the_iteration_converges_whatever_the_matrix() {
        let host = Executor::reference();
        for a in [far_from_dominant(&host, 40), laplacian(&host, 8)] {
            for symmetric in [false, true] {
                iterations_of(Ir::default(), &a, &of_blocks(5, symmetric));
            }
        }
    }
}
