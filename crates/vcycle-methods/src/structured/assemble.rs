//! Stencil matrices assembled cell by cell.

use super::decode::inside;
use super::lines::made_of_lines;
use super::{Grid, Stencil, StencilMatrix};
use crate::error::Result;
use crate::executor::Executor;

impl StencilMatrix<f64> {
    /// A matrix made cell by cell: `make(cell, entries)` fills in the entries of the cell's rows, which
    /// are zeros before, at `(i * points + point) * unknowns + j`. Those of neighbours outside the grid
    /// are left out.
    ///
    /// ```
    /// use vcycle::{executor::Executor, structured::{Grid, Stencil, StencilMatrix}};
    /// let grid = Grid::new([4, 1, 1])?;
    /// let a = StencilMatrix::from_cells(&Executor::cpu(), grid, Stencil::full(1), 1, |_, entries| {
    ///     entries.copy_from_slice(&[-1.0, 2.0, -1.0]);
    /// })?;
    /// assert_eq!(a.to_csr().row(3), (&[2, 3][..], &[-1.0, 2.0][..]));
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn from_cells(
        executor: &Executor,
        grid: Grid,
        stencil: Stencil,
        unknowns: usize,
        make: impl Fn([usize; 3], &mut [f64]) + Sync + Send,
    ) -> Result<Self> {
        let (points, [nx, ny, _]) = (stencil.points(), grid.size());
        let numbers = points * unknowns * unknowns;
        let values = made_of_lines(executor, grid, numbers, |line, out| {
            let mut entries = vec![0.0; numbers];
            for x in 0..nx {
                entries.fill(0.0);
                make([x, line % ny, line / ny], &mut entries);
                for (stream, &entry) in entries.iter().enumerate() {
                    let offset = stencil.offsets()[stream / unknowns % points];
                    if inside(grid, [x, line % ny, line / ny], offset) {
                        out[stream * nx + x] = entry;
                    }
                }
            }
        })?;
        Self::with_unknowns(executor, grid, stencil, unknowns, values)
    }
}
