//! Large diagonal blocks of the matrix, factorised.

use super::square_entries;
use crate::host_stages::PIVOTS;
use crate::prelude::*;
use crate::registration::preconditioner;

preconditioner! {
    /// `M = B^-1` with blocks `B` of consecutive rows on the diagonal of the matrix, solved exactly by a
    /// sparse factorisation.
    ///
    /// **Choose it** where parts of a problem that hardly know of each other are numbered one after the
    /// other: bodies in contact, fractures, layers. It is symmetric positive definite where the matrix
    /// is. For blocks of a few rows [`BlockJacobi`](super::BlockJacobi) is quicker. It needs the feature
    /// `direct`.
    ///
    /// ```
    /// # #[cfg(feature = "direct")] {
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, gallery, precond::BlockDirect, solver::{Cg, Solver}, vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = Arc::new(gallery::build("aniso5:20,1e-6", &cpu)?.matrix);
    /// let mut lines = BlockDirect::default();
    /// lines.block_rows = 20;
    /// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&lines)?;
    /// let b = Vector::filled(&cpu, 400, 1, 1.0)?;
    /// assert!(solver.solve(&b, &mut Vector::zeros_like(&b)?)?.iterations <= 3);
    /// # }
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct BlockDirect {
        /// Rows of a block.
        pub block_rows: usize = 1000,
    }
    // The size of factors shows when the unknowns are ordered, and is compared with what is free then.
    name: "block-direct", summary: "Large blocks on the diagonal, factorised.",
    after_colon: &["block-rows"], needs: &[Entries], support: Support::own_rows(&[PIVOTS]),
    symmetry: Symmetric, memory: Memory::per(0, 0),
}

impl<T: Mixes<T, T>> Factory<T> for BlockDirect {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("block-direct set-up", 0);
        if self.block_rows == 0 {
            return Err(Error::bad_parameter("block-rows", "must be at least 1"));
        }
        let block = |row: usize| row / self.block_rows;
        let entries = square_entries(a.as_ref(), "block-direct")?;
        let blocks = entries.filter(|row, column, _| block(row) == block(column))?;
        factorised(Arc::new(blocks), ws)
    }
}

#[cfg(feature = "direct")]
fn factorised<T: Mixes<T, T>>(
    blocks: Arc<dyn LinOp<T>>,
    ws: &Workspace,
) -> Result<Arc<dyn LinOp<T>>> {
    crate::solver::Direct::default().generate(&blocks, ws)
}

#[cfg(not(feature = "direct"))]
fn factorised<T: Mixes<T, T>>(
    _blocks: Arc<dyn LinOp<T>>,
    _ws: &Workspace,
) -> Result<Arc<dyn LinOp<T>>> {
    Err(Error::unsupported(
        "this build",
        "the sparse factorisation of blocks",
    ))
}

#[cfg(all(test, feature = "direct"))]
mod tests {
    use super::*;
    use crate::precond::testing::{iterations_of, laplacian};
    use crate::solver::Cg;

    #[test]
    fn larger_blocks_take_fewer_iterations_and_one_is_the_solution() {
        let a = laplacian(&Executor::reference(), 12);
        let with = |block_rows| iterations_of(Cg::default(), &a, &BlockDirect { block_rows });
        let found = [1, 72, 144, 500].map(with);
        assert!(found[0] > 2 * found[1] && found[1] > 2, "{found:?}");
        assert_eq!(found[2..], [1, 1]);
    }
}
