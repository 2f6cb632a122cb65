//! What islands of stencil matrices are found by, and made of.

use vcycle_gpu::Argument;

use super::stencil::{FILE, StencilBox};
use super::{Queue, number, read, write};
use crate::error::Result;
use crate::executor::Buffer;
use crate::scalar::Kind;

impl Queue<'_> {
    /// Which neighbours each cell is coupled with by more than a part `strong` of the larger of both diagonal entries, a bit for
    /// each; the highest bit says that all else comes to more than a part `weak` of its own diagonal entry.
    pub fn stencil_links(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        [strong, weak]: [f64; 2],
    ) -> Result<Vec<u32>> {
        let cells = shape.grid.cells();
        let mut links = self.room::<u32>(cells)?;
        let parts = [Argument::F64(strong), Argument::F64(weak)];
        let arrays = [read(values)?, write(&mut links)?];
        let arguments = [&shape.arguments()[..], &parts, &arrays].concat();
        let types = self.stencil_type(Kind::F64)?;
        self.items(FILE, "stencil_links", &types, cells, &arguments)?;
        links.first(cells)
    }

    /// The rows of some cells, all neighbours of a cell side by side.
    pub fn stencil_rows(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        cells: Vec<u32>,
    ) -> Result<Vec<f64>> {
        let (count, points) = (cells.len(), shape.offsets.len());
        let cells = Buffer::from_vec(self.executor, cells);
        let mut rows = self.room::<f64>(count * points)?;
        let arrays = [
            number(count),
            read(values)?,
            read(&cells)?,
            write(&mut rows)?,
        ];
        let arguments = [&shape.arguments()[..], &arrays].concat();
        let types = self.stencil_type(Kind::F64)?;
        self.items(FILE, "stencil_rows", &types, count, &arguments)?;
        rows.first(count * points)
    }
}
