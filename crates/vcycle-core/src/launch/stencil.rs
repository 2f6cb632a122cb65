//! Launches of products and sweeps with stencil matrices.

use vcycle_gpu::{Address, Argument};

use super::rows::{Finish, Operand, multiply_in, product_file};
use crate::arrays::Vector;
use crate::error::Result;
use crate::gpu::{Define, File, Gpu, kernel_file};
use crate::grid::Grid;
use crate::reference::stencil::{Order, Start};
use crate::scalar::{Kind, Real};

/// Threads of a block.
const BLOCK: u32 = 128;
pub(super) const PRODUCT: File = product_file!(BLOCK, "stencil.h", "stencil.c");
pub(super) const SWEEP: File = kernel_file!("stencil_sweep.c", BLOCK, "stencil.h");
/// Blocks for cells of several unknowns, each of which has a thread for every pair of them.
pub(super) const SYSTEMS: File = kernel_file!("stencil_systems.c", 512, "stencil.h");

const LINES: [&str; 9] = [
    "LINE_0", "LINE_1", "LINE_2", "LINE_3", "LINE_4", "LINE_5", "LINE_6", "LINE_7", "LINE_8",
];
const DIGITS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// A stencil matrix on the device; vectors are unknown by unknown.
#[derive(Clone, Copy, Debug)]
pub struct StencilOperand<'a> {
    /// The grid of cells.
    pub grid: Grid,
    /// The neighbours of a cell, as steps along x, y and z.
    pub offsets: &'a [[i8; 3]],
    /// Unknowns of a cell.
    pub unknowns: usize,
    /// What diagonal entries are beside what is stored of them.
    pub base: f32,
    /// The type of the entries.
    pub kind: Kind,
    /// The entries, in the order of `StencilArrays`.
    pub values: Address,
}

/// Which neighbours of a cell a product is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    All,
    /// Those that a sweep forward changes after the cell.
    Later,
}

impl StencilOperand<'_> {
    /// What `kernels/stencil.h` wants to know, but for the types of numbers.
    fn defines(&self) -> Vec<Define> {
        let mut lines = [0; 9];
        for &[x, y, z] in self.offsets {
            lines[(3 * (z + 1) + y + 1) as usize] |= 1_usize << (x + 1);
        }
        let aligned = self.grid.length().is_multiple_of(self.cells());
        let mut defines = vec![
            ("UNKNOWNS", DIGITS[self.unknowns]),
            ("CELLS", DIGITS[self.cells()]),
            ("ALIGNED", flag(aligned)),
        ];
        let lines = lines.iter().map(|&neighbours| DIGITS[neighbours]);
        defines.extend(LINES.into_iter().zip(lines));
        defines
    }

    /// Neighbours along x that a thread has: 8 bytes of the matrix, or more.
    fn cells(&self) -> usize {
        match self.kind {
            Kind::F64 => 2,
            _ if self.grid.length().is_multiple_of(4) => 4,
            _ => 2,
        }
    }

    /// Threads of a line.
    fn threads(&self) -> usize {
        self.grid.length().div_ceil(self.cells())
    }

    /// The first arguments of kernels.
    fn arguments(&self) -> Vec<Argument> {
        let extents = extents(self.grid).into_iter();
        extents.chain([Argument::F32(self.base)]).collect()
    }
}

fn flag(set: bool) -> &'static str {
    DIGITS[usize::from(set)]
}

/// The cells along each axis.
pub(crate) fn extents(grid: Grid) -> [Argument; 3] {
    grid.size().map(|extent| Argument::U32(extent as u32))
}

/// Queues a product and what becomes of it.
pub fn product<V: Real>(
    gpu: &Gpu,
    a: StencilOperand<'_>,
    part: Part,
    finish: &Finish<'_, V>,
    x: &Vector<V>,
    y: &mut Vector<V>,
) -> Result<()> {
    let mut defines = a.defines();
    defines.push(("LATER", flag(part == Part::Later)));
    let threads = a.threads() * a.grid.lines() * a.unknowns;
    let operand = Operand {
        file: PRODUCT,
        kernel: "stencil_product",
        defines,
        blocks: threads.div_ceil(BLOCK as usize),
        arguments: a.arguments(),
        values: a.values,
    };
    multiply_in(gpu, operand, [a.kind, V::KIND], x, finish, y)
}

/// Queues a sweep of Gauss-Seidel: lines by the parities of z and y, both colours of a line together.
pub fn gauss_seidel<V: Real>(
    gpu: &Gpu,
    a: StencilOperand<'_>,
    (order, start): (Order, Start),
    b: &Vector<V>,
    x: &mut Vector<V>,
) -> Result<()> {
    let (file, name) = match a.unknowns {
        1 => (SWEEP, "stencil_sweep"),
        _ => (systems(gpu), "stencil_systems"),
    };
    let lanes = file.block as usize / (a.unknowns * a.unknowns);
    let vectors = gpu.real(V::KIND)?;
    let mut defines = a.defines();
    defines.extend([
        ("M", gpu.real(a.kind)?),
        ("X", vectors),
        ("ACC", vectors),
        ("FROM_ZERO", flag(start == Start::Zero)),
        ("BACKWARD", flag(order == Order::Backward)),
        ("LONG", flag(a.threads() > lanes)),
    ]);
    let kernel = gpu.kernel(file, name, &defines)?;
    let lines_per_block = (lanes / a.threads()).max(1);
    let [_, ny, nz] = a.grid.size();
    let operands = [a.values, b.device()?, x.device_mut()?].map(Argument::Address);
    for [odd_z, odd_y] in order
        .parities()
        .map(|z| order.parities().map(|y| [z, y]))
        .concat()
    {
        let lines = (ny + 1 - odd_y) / 2 * ((nz + 1 - odd_z) / 2);
        if lines == 0 {
            continue;
        }
        let colour = [odd_y, odd_z].map(|number| Argument::U32(number as u32));
        let arguments = [&a.arguments()[..], &colour, &operands].concat();
        let blocks = lines.div_ceil(lines_per_block) as u32;
        gpu.launch_blocks(&kernel, blocks, file.block, &arguments)?;
    }
    Ok(())
}

/// Sweeps over cells of several unknowns, in blocks that the device can have.
fn systems(gpu: &Gpu) -> File {
    let fits = gpu.device().properties().max_block >= SYSTEMS.block as usize;
    let block = if fits { SYSTEMS.block } else { BLOCK };
    File { block, ..SYSTEMS }
}
