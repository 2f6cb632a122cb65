//! Set-ups of stencil matrices.

use std::ops::Range;

use vcycle_gpu::Argument;

use super::{Queue, number, read, write};
use crate::arrays::Csr;
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::gpu::{BLOCK, Define, File, kernel_file};
use crate::grid::Grid;
use crate::launch::stencil::extents;
use crate::scalar::{Kind, Scalar};

pub(super) const FILE: File = kernel_file!("stencil_setup.c", BLOCK, "stencil_box.h");
const NOWHERE: u32 = u32::MAX;
/// Numbers that a block counts.
const COUNTS: usize = 4;

/// The bits of the largest absolute value, all bits that some value has, how many values are not zero, and how many of
/// those are not small.
pub type Counts = [u64; COUNTS];

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

    fn arguments(&self) -> [Argument; 4] {
        let ([y, z], [ny, nz]) = (self.first, self.count);
        [y, z, ny, nz].map(|number| Argument::U32(number as u32))
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
    /// The cells that are counted.
    pub own: OwnCells,
}

/// What the diagonal of a stencil matrix is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagonalFacts {
    /// Whether an entry is small.
    pub is_small: bool,
    /// The first place, unknown by unknown, of a zero.
    pub zero: Option<usize>,
    /// The first place, unknown by unknown, of an entry without a root: not positive, or infinite.
    pub without_root: Option<usize>,
    /// The first row that has no pivot once the unknowns of its cell before it are eliminated.
    pub lost_pivot: Option<usize>,
}

impl StencilBox<'_> {
    fn rows(&self) -> usize {
        self.grid.cells() * self.unknowns
    }

    /// As the kernels take it.
    pub(super) fn arguments(&self) -> Vec<Argument> {
        let numbers = [self.unknowns as u32, steps(self.offsets)].map(Argument::U32);
        [&extents(self.grid)[..], &numbers].concat()
    }
}

/// A bit for every neighbour.
fn steps(offsets: &[[i8; 3]]) -> u32 {
    let place = |&[x, y, z]: &[i8; 3]| 13 + i32::from(x) + 3 * i32::from(y) + 9 * i32::from(z);
    offsets.iter().map(|offset| 1 << place(offset)).sum()
}

impl Queue<'_> {
    /// What values of own cells are like that are stored in `M`; those are small that are below `least`.
    pub fn stencil_counts<M: Scalar>(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<M>,
        least: f64,
    ) -> Result<Counts> {
        let of_line = values.len() / shape.grid.lines();
        let mut all = Counts::default();
        for lines in shape.own.lines(shape.grid) {
            let places = lines.start * of_line..lines.end * of_line;
            let [largest, bits, entries, whole] =
                self.stencil_some_counts(values, places, least)?;
            all[0] = all[0].max(largest);
            all[1] |= bits;
            all[2] += entries;
            all[3] += whole;
        }
        Ok(all)
    }

    /// The same of some values.
    fn stencil_some_counts<M: Scalar>(
        &self,
        values: &Buffer<M>,
        places: Range<usize>,
        least: f64,
    ) -> Result<Counts> {
        let mut partials = self.stencil_partials(places.len())?;
        let first = values.device()? + (places.start * size_of::<M>()) as u64;
        let arguments = [
            number(places.len()),
            Argument::F64(least),
            Argument::Address(first),
            write(&mut partials)?,
            self.gpu.reduction()[1],
        ];
        let types = self.stencil_type(M::KIND)?;
        self.items(FILE, "stencil_survey", &types, places.len(), &arguments)?;
        of_all(&partials)
    }

    /// What the diagonal is like, stored less `base`.
    pub fn stencil_diagonal<M: Scalar>(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<M>,
        [base, least]: [f64; 2],
    ) -> Result<DiagonalFacts> {
        let mut found = Buffer::from_vec(self.executor, vec![0, NOWHERE, NOWHERE, NOWHERE]);
        let numbers = [Argument::F64(base), Argument::F64(least)];
        let arrays = [read(values)?, write(&mut found)?];
        let arguments = [&shape.arguments()[..], &numbers, &arrays].concat();
        let types = self.stencil_type(M::KIND)?;
        let cells = shape.grid.cells();
        self.items(FILE, "stencil_diagonal", &types, cells, &arguments)?;
        let found = found.host()?;
        let place = |k: usize| Some(found[k] as usize).filter(|_| found[k] != NOWHERE);
        Ok(DiagonalFacts {
            is_small: found[0] != 0,
            zero: place(1),
            without_root: place(2),
            lost_pivot: place(3),
        })
    }

    /// Whether all entries are those opposite, to a relative `tolerance`, and the diagonal is positive.
    pub fn stencil_symmetry(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        tolerance: f64,
    ) -> Result<bool> {
        let mut found = Buffer::from_vec(self.executor, vec![0_u32]);
        let arrays = [Argument::F64(tolerance), read(values)?, write(&mut found)?];
        let arguments = [&shape.arguments()[..], &arrays].concat();
        let types = self.stencil_type(Kind::F64)?;
        let cells = shape.grid.cells();
        self.items(FILE, "stencil_symmetry", &types, cells, &arguments)?;
        Ok(found.host()?[0] == 0)
    }

    /// How many own cells have a diagonal entry `ratio` times as large or as small as that of the next cell along each axis.
    pub fn stencil_jumps(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        ratio: f64,
    ) -> Result<[usize; 3]> {
        let mut found = Buffer::from_vec(self.executor, vec![0_u32; 3]);
        let arrays = [Argument::F64(ratio), read(values)?, write(&mut found)?];
        let arguments = [&shape.arguments()[..], &shape.own.arguments(), &arrays].concat();
        let types = self.stencil_type(Kind::F64)?;
        let cells = shape.grid.cells();
        self.items(FILE, "stencil_jumps", &types, cells, &arguments)?;
        let found = found.host()?;
        Ok([0, 1, 2].map(|axis| found[axis] as usize))
    }

    /// How strongly the cells of some lines are coupled along each axis, relative to the diagonal, in sum.
    pub fn stencil_couplings(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        lines: Vec<u32>,
    ) -> Result<[f64; 3]> {
        if lines.is_empty() {
            return Ok([0.0; 3]);
        }
        let blocks = lines.len() * shape.unknowns;
        let mut strengths = self.room::<f64>(3 * blocks)?;
        let lines = Buffer::from_vec(self.executor, lines);
        let mut arguments = shape.arguments();
        arguments.extend([
            read(&lines)?,
            read(values)?,
            write(&mut strengths)?,
            self.gpu.reduction()[1],
        ]);
        let types = self.stencil_type(Kind::F64)?;
        self.blocks(FILE, "stencil_couplings", &types, blocks, &arguments)?;
        of_all(&strengths)
    }

    /// The weights of interpolation along an axis and the product with them, a matrix with other neighbours.
    pub fn stencil_halved(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        axis: usize,
        widened: &[[i8; 3]],
    ) -> Result<[Buffer<f64>; 2]> {
        let rows = shape.grid.halved(axis).cells() * shape.unknowns;
        let mut weights = self.room(2 * rows)?;
        let types = self.stencil_type(Kind::F64)?;
        let shared = [shape.arguments(), vec![Argument::U32(axis as u32)]].concat();
        let arrays = [read(values)?, write(&mut weights)?];
        let arguments = [&shared[..], &arrays].concat();
        self.items(FILE, "stencil_weights", &types, rows, &arguments)?;
        let mut product = self.room(rows * widened.len() * shape.unknowns)?;
        let arrays = [
            Argument::U32(steps(widened)),
            read(values)?,
            read(&weights)?,
            write(&mut product)?,
        ];
        let arguments = [&shared[..], &arrays].concat();
        self.items(FILE, "stencil_galerkin", &types, rows, &arguments)?;
        Ok([weights, product])
    }

    /// `factor` over the roots of the diagonal, unknown by unknown.
    pub fn stencil_roots(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        factor: f64,
    ) -> Result<Buffer<f64>> {
        let mut roots = self.room(shape.rows())?;
        let mut arguments = shape.arguments();
        arguments.extend([Argument::F64(factor), read(values)?, write(&mut roots)?]);
        let types = self.stencil_type(Kind::F64)?;
        self.items(FILE, "stencil_roots", &types, shape.rows(), &arguments)?;
        Ok(roots)
    }

    /// `S A S` in a type, its diagonal less `base`, and what values of own cells are like before they are rounded.
    pub fn stencil_stored<M: Scalar>(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        scales: &Buffer<f64>,
        [base, least]: [f64; 2],
    ) -> Result<(Buffer<M>, Counts)> {
        let mut stored = self.room(values.len())?;
        let mut partials = self.stencil_partials(shape.rows())?;
        let numbers = [Argument::F64(base), Argument::F64(least)];
        let arrays = [
            read(values)?,
            read(scales)?,
            write(&mut stored)?,
            write(&mut partials)?,
            self.gpu.reduction()[1],
        ];
        let own = shape.own.arguments();
        let arguments = [&shape.arguments()[..], &own, &numbers, &arrays].concat();
        let types = self.stencil_type(M::KIND)?;
        self.items(FILE, "stencil_store", &types, shape.rows(), &arguments)?;
        Ok((stored, of_all(&partials)?))
    }

    /// One over every number.
    pub fn stencil_inverses(&self, numbers: &Buffer<f64>) -> Result<Buffer<f64>> {
        let mut inverses = self.room(numbers.len())?;
        let arguments = [number(numbers.len()), read(numbers)?, write(&mut inverses)?];
        let types = self.stencil_type(Kind::F64)?;
        let items = numbers.len();
        self.items(FILE, "stencil_inverses", &types, items, &arguments)?;
        Ok(inverses)
    }

    /// Weights of transfers, on lines of so many cells, in 16 bits: both weights of a cell keep their sum.
    pub fn stencil_weights<M: Scalar>(
        &self,
        weights: &Buffer<f64>,
        length: usize,
    ) -> Result<Buffer<M>> {
        let (cells, mut out) = (weights.len() / 2, self.room(weights.len())?);
        let arguments = [
            number(cells),
            Argument::U32(length as u32),
            read(weights)?,
            write(&mut out)?,
        ];
        let types = self.stencil_type(M::KIND)?;
        self.items(FILE, "stencil_store_weights", &types, cells, &arguments)?;
        Ok(out)
    }

    /// The values of a CSR matrix as those of a stencil matrix; none if some of them are elsewhere.
    pub fn stencil_of_rows(
        &self,
        shape: StencilBox<'_>,
        a: &Csr<f64>,
    ) -> Result<Option<Buffer<f64>>> {
        let entries = shape.rows() * shape.offsets.len() * shape.unknowns;
        let (mut values, mut found) = (self.room(entries)?, self.zeros::<u32>(1)?);
        let (offsets, columns) = a.pattern().buffers();
        let mut arguments = shape.arguments();
        arguments.extend([
            read(offsets)?,
            read(columns)?,
            read(a.values_buffer())?,
            write(&mut values)?,
            write(&mut found)?,
        ]);
        let types = self.stencil_type(Kind::F64)?;
        self.items(FILE, "stencil_of_rows", &types, shape.rows(), &arguments)?;
        Ok((found.get(0)? == 0).then_some(values))
    }

    pub(super) fn stencil_type(&self, kind: Kind) -> Result<[Define; 1]> {
        Ok([("M", self.gpu.real(kind)?)])
    }

    /// Room for what each block counts, of so many items.
    fn stencil_partials(&self, items: usize) -> Result<Buffer<u64>> {
        let blocks = items.div_ceil(FILE.block as usize).min(self.most_blocks());
        self.room(COUNTS * blocks)
    }
}

/// What the last block made of what all blocks found, which is in the place of the first; zeros of no blocks.
fn of_all<T: Element, const N: usize>(partials: &Buffer<T>) -> Result<[T; N]> {
    let mut all = [T::default(); N];
    if !partials.is_empty() {
        all.copy_from_slice(&partials.first(N)?);
    }
    Ok(all)
}
