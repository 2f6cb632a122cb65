//! Products and sweeps with stencil matrices, and their cells as kernels take them.

use std::ops::Range;

use crate::cpu::stencil::Vectors;
use crate::gpu::kernels::{stencil, stencil_sweep, stencil_systems};
use crate::gpu::{Given, flag};
use crate::grid::Grid;
use crate::launch::prelude::*;
use crate::launch::rows::{DeviceProduct, Finish};
use crate::reference::stencil::{Direction, Form, Start, StencilArrays};
use crate::{cpu, reference};

/// The cells that count, of those of a grid: the ones that a rank has. Lines along x are whole.
#[derive(Clone, Copy, Debug)]
pub struct OwnCells {
    /// The first of their places along y and z.
    pub first: [usize; 2],
    /// How many there are along y and z.
    pub count: [usize; 2],
}

impl OwnCells {
    /// All of a grid.
    pub fn all(grid: Grid) -> Self {
        let [_, ny, nz] = grid.size();
        Self {
            first: [0; 2],
            count: [ny, nz],
        }
    }

    /// Their lines in a grid, as few ranges as there can be.
    pub fn lines(&self, grid: Grid) -> Vec<Range<usize>> {
        let ([_, ny, _], [y, z], [lines, planes]) = (grid.size(), self.first, self.count);
        let plane = |z: usize| y + ny * z..y + ny * z + lines;
        match lines == ny {
            true => std::iter::once(ny * z..ny * (z + planes)).collect(),
            false => (z..z + planes).map(plane).collect(),
        }
    }

    /// As the kernels take it.
    pub(crate) fn parts(&self) -> (usize, usize, usize, usize) {
        let ([y, z], [ny, nz]) = (self.first, self.count);
        (y, z, ny, nz)
    }
}

/// The cells of a stencil matrix, and which of their neighbours it has entries for.
#[derive(Clone, Copy, Debug)]
pub struct StencilBox<'a> {
    /// The cells.
    pub grid: Grid,
    /// The neighbours of a cell.
    pub offsets: &'a [[i8; 3]],
    /// Numbers of a cell.
    pub unknowns: usize,
}

impl StencilBox<'_> {
    /// Rows of the matrix.
    pub(crate) fn rows(&self) -> usize {
        self.grid.cells() * self.unknowns
    }

    /// As the kernels take it.
    pub(crate) fn parts(&self) -> (usize, usize, usize, usize, u32) {
        let [nx, ny, nz] = self.grid.size();
        (nx, ny, nz, self.unknowns, steps(self.offsets))
    }
}

/// A bit for every neighbour.
pub(crate) fn steps(offsets: &[[i8; 3]]) -> u32 {
    let place = |&[x, y, z]: &[i8; 3]| 13 + i32::from(x) + 3 * i32::from(y) + 9 * i32::from(z);
    offsets.iter().map(|offset| 1 << place(offset)).sum()
}

const LINES: [&str; 9] = [
    "LINE_0", "LINE_1", "LINE_2", "LINE_3", "LINE_4", "LINE_5", "LINE_6", "LINE_7", "LINE_8",
];

/// Which neighbours of a cell a product is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All of them.
    All,
    /// Those that a sweep forward changes after the cell.
    Later,
}

/// A stencil matrix wherever it is; vectors are unknown by unknown.
#[derive(Clone, Copy)]
pub struct StencilEntries<'a, M> {
    /// The cells.
    pub grid: Grid,
    /// The neighbours of a cell.
    pub offsets: &'a [[i8; 3]],
    /// Numbers of a cell.
    pub unknowns: usize,
    /// What diagonal entries are beside what is stored of them.
    pub base: f64,
    /// Line by line the entries of one offset.
    pub values: &'a Buffer<M>,
    /// The cells that are counted.
    pub own: OwnCells,
}

impl<'a, M: Scalar> StencilEntries<'a, M> {
    fn executor(&self) -> &'a Executor {
        self.values.executor()
    }

    /// For kernels of the host.
    pub fn arrays(&self) -> StencilArrays<'a, M> {
        StencilArrays {
            grid: self.grid,
            offsets: self.offsets,
            unknowns: self.unknowns,
            base: self.base,
            values: self.values.on_host(),
        }
    }

    /// What `kernels/stencil.h` wants to know, but for the types of numbers.
    fn defines(&self) -> Vec<Define> {
        let mut lines = [0; 9];
        for &[x, y, z] in self.offsets {
            lines[(3 * (z + 1) + y + 1) as usize] |= 1_usize << (x + 1);
        }
        let aligned = self.grid.length().is_multiple_of(self.cells());
        let mut defines = vec![
            ("UNKNOWNS", literal(self.unknowns)),
            ("CELLS", literal(self.cells())),
            ("ALIGNED", flag(aligned)),
        ];
        let lines = lines.iter().map(|&neighbours| literal(neighbours));
        defines.extend(LINES.into_iter().zip(lines));
        defines
    }

    /// Neighbours along x that a thread has: 8 bytes of the matrix, or more.
    fn cells(&self) -> usize {
        match M::KIND {
            Kind::F64 => 2,
            _ if self.grid.length().is_multiple_of(4) => 4,
            _ => 2,
        }
    }

    /// Threads of a line.
    fn threads(&self) -> usize {
        self.grid.length().div_ceil(self.cells())
    }

    /// What `GRID` of the kernels stands for.
    fn extents(&self) -> (usize, usize, usize, f32) {
        let [nx, ny, nz] = self.grid.size();
        (nx, ny, nz, self.base as f32)
    }

    /// Queues a product and what becomes of it.
    fn product_on<V: Real>(
        &self,
        gpu: &Gpu,
        part: Part,
        finish: &Finish<'_, V>,
        x: &Vector<V>,
        y: &mut Vector<V>,
    ) -> Result<()> {
        let product = DeviceProduct::new(gpu, [M::NAME, V::NAME], x, finish, y)?;
        let threads = self.threads() * self.grid.lines() * self.unknowns;
        let blocks = threads.div_ceil(stencil::FILE.block as usize);
        let (values, to) = (self.values.pointer()?.bits(), Given(product.to));
        stencil::stencil_product(self.extents(), values, product.x, to)?
            .with(&product.defines)
            .with(&self.defines())
            .with(&[("LATER", flag(part == Part::Later))])
            .run(gpu, blocks)
    }

    /// Queues a sweep of Gauss-Seidel: lines by the parities of z and y, both colours of a line together.
    fn sweep_on<V: Real>(
        &self,
        gpu: &Gpu,
        (order, start): (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
    ) -> Result<()> {
        gpu.real(M::KIND)?;
        let largest = gpu.device().properties().max_block >= stencil_systems::FILE.block as usize;
        let block = match (self.unknowns, largest) {
            (1, _) => stencil_sweep::FILE.block,
            (_, true) => stencil_systems::FILE.block,
            (_, false) => stencil::FILE.block,
        };
        let lanes = block as usize / (self.unknowns * self.unknowns);
        let mut defines = self.defines();
        defines.extend([
            ("ACC", V::NAME),
            ("FROM_ZERO", flag(start == Start::Zero)),
            ("BACKWARD", flag(order == Direction::Backward)),
            ("LONG", flag(self.threads() > lanes)),
        ]);
        let lines_per_block = (lanes / self.threads()).max(1);
        let (grid, [_, ny, nz]) = (self.extents(), self.grid.size());
        for [odd_z, odd_y] in order
            .parities()
            .map(|z| order.parities().map(|y| [z, y]))
            .concat()
        {
            let lines = (ny + 1 - odd_y) / 2 * ((nz + 1 - odd_z) / 2);
            let blocks = lines.div_ceil(lines_per_block);
            let kernel = match self.unknowns {
                1 => stencil_sweep::stencil_sweep(grid, odd_y, odd_z, self.values, b, &mut *x)?,
                _ => stencil_systems::stencil_systems(grid, odd_y, odd_z, self.values, b, &mut *x)?,
            };
            kernel.block(block).with(&defines).run(gpu, blocks)?;
        }
        Ok(())
    }

    /// The product with one column, and what becomes of it.
    pub fn product<V: Vectors>(
        &self,
        finish: &Finish<'_, V>,
        x: &Vector<V>,
        y: &mut Vector<V>,
    ) -> Result<()> {
        if let Executor::Gpu(gpu) = self.executor() {
            return self.product_on(gpu, Part::All, finish, x, y);
        }
        let (a, form, x, y) = (self.arrays(), form(finish)?, x.host()?, y.host_mut()?);
        dispatch!(self.executor(), stencil::product(a, form, x, y));
        Ok(())
    }

    /// The product of one column with the numbers of each cell side by side, and its dot product with the column
    /// if that is wanted, in one pass; none where the executor cannot.
    pub fn product_of_rows<V: Vectors>(
        &self,
        wants_dot: bool,
        x: &Vector<V>,
        y: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<Option<V>> {
        let has_kernels = cpu::stencil::has_kernels::<M, V>();
        let (Executor::Cpu(threads), 1, true) = (self.executor(), x.cols(), has_kernels) else {
            return Ok(None);
        };
        let length = cpu::stencil::rows_scratch(self.grid, self.unknowns);
        let mut scratch = ws.vector::<V>(self.executor(), length, 1)?;
        let (x, y, scratch) = (x.host()?, y.host_mut()?, scratch.host_mut()?);
        let a = self.arrays();
        let dot = cpu::stencil::product_of_rows(threads, a, wants_dot, x, y, scratch);
        Ok(Some(dot))
    }

    /// A sweep of Gauss-Seidel.
    pub fn gauss_seidel<V: Vectors>(
        &self,
        (order, start): (Direction, Start),
        b: &Vector<V>,
        x: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        match self.executor() {
            Executor::Gpu(gpu) => {
                self.sweep_on(gpu, (order, start), b, x)?;
            }
            Executor::Reference => {
                let (b, x) = (b.host()?, x.host_mut()?);
                reference::stencil::gauss_seidel(self.arrays(), (order, start), b, x);
            }
            Executor::Cpu(threads) => {
                let length = cpu::stencil::scratch_length(self.grid, self.unknowns);
                let mut scratch = ws.vector::<V>(self.executor(), length, 1)?;
                let (a, scratch) = (self.arrays(), scratch.host_mut()?);
                let (b, x) = (b.host()?, x.host_mut()?);
                cpu::stencil::gauss_seidel(threads, a, (order, start), b, x, scratch);
            }
        }
        Ok(())
    }

    /// The residual of what one sweep forward makes of zeros: a row is right when its turn comes, so what is left
    /// are the changes of neighbours after that. Says whether the executor makes use of it.
    pub fn residual_after_sweep<V: Vectors>(
        &self,
        x: &Vector<V>,
        r: &mut Vector<V>,
    ) -> Result<bool> {
        let Executor::Gpu(gpu) = self.executor() else {
            return Ok(false);
        };
        let less = Finish::Combine {
            alpha: Coefficient::real(-1.0),
            beta: Coefficient::zero(),
            z: None,
        };
        self.product_on(gpu, Part::Later, &less, x, r)?;
        Ok(true)
    }
}

/// For the kernels of the host.
fn form<'a, V: Real>(finish: &Finish<'a, V>) -> Result<Form<'a, V>> {
    Ok(match finish {
        Finish::Apply => Form::Product,
        Finish::Combine { alpha, beta, z } => match z {
            None => Form::Advanced {
                alpha: alpha.evaluate(0)?,
                beta: beta.evaluate(0)?,
            },
            Some(b) => Form::Residual { b: b.host()? },
        },
        Finish::Relax(sweep) => Form::Relaxed {
            b: sweep.b.host()?,
            d: sweep.d.host()?,
            alpha: V::from_f64(sweep.alpha),
            beta: V::from_f64(sweep.beta),
            gamma: V::from_f64(sweep.gamma),
        },
    })
}
