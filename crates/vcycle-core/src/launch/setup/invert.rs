//! Inverses of small matrices.

use vcycle_gpu::Argument;

use super::groups::literal;
use super::tiles::{NOTHING, matrix, word};
use super::{Queue, number, read, write};
use crate::arrays::Csr;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, kernel_file};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernel_file!("invert.c");
/// Columns of a panel, and the rows of so many columns that local memory has room for.
const PANELS: [[usize; 2]; 3] = [[16, 256], [8, 512], [8, 0]];

/// When an entry becomes a pivot.
#[derive(Clone, Copy, Debug)]
pub struct Pivoting {
    /// Another entry of the column takes the place of the diagonal if it is larger by this factor.
    pub factor: f64,
    /// What is not larger than this, relative to the largest entry of its row, counts as zero.
    pub zero: f64,
}

/// The inverse, row by row; rows and columns of unknowns without a pivot are zero.
pub fn inverse<T: Scalar>(queue: Queue<'_>, a: &Csr<f64>, pivoting: Pivoting) -> Result<Buffer<T>> {
    let n = a.size().rows;
    let fits = |&&[_, rows]: &&[usize; 2]| n <= rows;
    let [panel, local] = *PANELS.iter().find(fits).unwrap_or(&PANELS[2]);
    let launch = InvertKernels {
        queue,
        n,
        panel,
        local,
        stored: queue.gpu.real(T::KIND)?,
    };
    let mut values = queue.zeros::<f64>(n * (n + 2))?;
    let known = [number(n), Argument::F64(pivoting.zero)];
    let arguments = [&known[..], &matrix(a)?, &[write(&mut values)?]].concat();
    launch.kernel("invert_start", n, &arguments)?;
    let values = launch.eliminate(values, pivoting.factor)?;
    let mut inverse = queue.room(n * n)?;
    let arguments = [number(n), read(&values)?, write(&mut inverse)?];
    launch.kernel("invert_end", n * n, &arguments)?;
    Ok(inverse)
}

/// Kernels for a matrix of `n` rows.
struct InvertKernels<'q> {
    queue: Queue<'q>,
    n: usize,
    /// Columns that are eliminated between two passes over the others.
    panel: usize,
    /// Rows of them in local memory, or none.
    local: usize,
    /// The type of the inverse.
    stored: &'static str,
}

impl InvertKernels<'_> {
    /// What the matrix becomes, its columns in the order of the pivots.
    fn eliminate(&self, mut values: Buffer<f64>, pivoting: f64) -> Result<Buffer<f64>> {
        let (queue, n) = (self.queue, self.n);
        let mut next = queue.room::<f64>(values.len())?;
        let mut panel = queue.room::<f64>(n * (self.panel + 1))?;
        let mut source = queue.room::<u32>(n)?;
        let [_, counter] = queue.gpu.reduction();
        for first in (0..n + self.panel).step_by(self.panel) {
            // There is nothing to update before the first panel.
            let (matrices, items) = match first {
                0 => ([NOTHING, write(&mut values)?], 1),
                _ => ([read(&values)?, write(&mut next)?], values.len()),
            };
            let known = [word(n), word(first), Argument::F64(pivoting)];
            let scratch = [write(&mut panel)?, write(&mut source)?, counter];
            let arguments = [&known[..], &matrices, &scratch].concat();
            self.kernel("invert_step", items, &arguments)?;
            if first > 0 {
                std::mem::swap(&mut values, &mut next);
            }
        }
        Ok(values)
    }

    fn kernel(&self, name: &'static str, items: usize, arguments: &[Argument]) -> Result<()> {
        let defines: [Define; 3] = [
            ("PANEL", literal(self.panel)),
            ("LOCAL_ROWS", literal(self.local)),
            ("T", self.stored),
        ];
        self.queue.items(FILE, name, &defines, items, arguments)
    }
}
