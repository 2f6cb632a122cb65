//! Launches of corrections by functions on boxes of cells.

use vcycle_gpu::Argument;

use super::setup::{Queue, read};
use crate::arrays::{IslandFunctions, Vector};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{File, kernel_file};

pub(crate) const FILE: File = kernel_file!("islands.c", 512, "stencil_box.h");
/// Blocks of an island where cells are by themselves, as in the kernels.
pub(crate) const PARTS: usize = 16;

impl Queue<'_> {
    /// `D^-1 Z^T b`, or, after sums that were made before, those and `D^-1 (Z^T b - (A Z)^T x)`.
    pub fn island_sums(
        &self,
        islands: &IslandFunctions,
        b: &Vector<f64>,
        before: Option<[&Vector<f64>; 2]>,
        sums: &mut Vector<f64>,
    ) -> Result<()> {
        let (x, before) = match before {
            Some([before, x]) => (x.device()?, before.device()?),
            None => (0, 0),
        };
        let arrays = [
            read(&islands.table)?,
            read(&islands.weights)?,
            read(&islands.z)?,
            Argument::Address(b.device()?),
            read(&islands.az)?,
            Argument::Address(x),
            Argument::Address(before),
            Argument::Address(sums.device_mut()?),
        ];
        let arguments = [&extents(islands, b.cols())[..], &arrays].concat();
        let blocks = islands.count() * b.cols();
        self.blocks(FILE, "island_sums", &[], blocks, &arguments)
    }

    /// `y += sign F sums` for functions that are `z` or `A z`.
    pub fn island_add(
        &self,
        islands: &IslandFunctions,
        functions: &Buffer<f64>,
        (sign, sums): (f64, &Vector<f64>),
        y: &mut Vector<f64>,
    ) -> Result<()> {
        let arrays = [
            Argument::F64(sign),
            read(&islands.table)?,
            read(functions)?,
            Argument::Address(sums.device()?),
            Argument::Address(y.device_mut()?),
        ];
        let arguments = [&extents(islands, y.cols())[..], &arrays].concat();
        let blocks = islands.count() * PARTS;
        self.blocks(FILE, "island_add", &[], blocks, &arguments)
    }
}

/// Cells of the grid along x and y, and columns of vectors.
fn extents(islands: &IslandFunctions, cols: usize) -> [Argument; 3] {
    let [nx, ny, _] = islands.boxes.grid.size();
    [nx, ny, cols].map(|number| Argument::U32(number as u32))
}
