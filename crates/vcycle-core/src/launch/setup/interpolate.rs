//! Prolongations for a choice of coarse unknowns.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::binned::{Alone, Binned, Maker, NO_TABLE, Rooms};
use super::tiles::{NOTHING, graph, matrix, number_of, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File};
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = tile_file!("interpolate.c", "tables.h");

/// The mark of strong couplings in the columns of `near`.
const STRONG: usize = 1 << 31;

/// Which points a row interpolates from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightMethod {
    /// Strong coarse neighbours, with weights of the row alone.
    Direct,
    /// Strong coarse neighbours; strong fine ones are distributed among these.
    Classical,
    /// Those and the coarse neighbours of strong fine neighbours.
    Extended,
    /// The same, with what strong fine neighbours give back to the point itself.
    ExtendedI,
}

impl WeightMethod {
    fn defines(self) -> [Define; 3] {
        let [distant, own, direct] = match self {
            Self::Direct => ["0", "0", "1"],
            Self::Classical => ["0", "0", "0"],
            Self::Extended => ["1", "0", "0"],
            Self::ExtendedI => ["1", "1", "0"],
        };
        [("DISTANT", distant), ("OWN", own), ("DIRECT", direct)]
    }
}

/// A matrix, its strong couplings and a choice of coarse unknowns.
#[derive(Clone, Copy)]
pub struct StrongMatrix<'a, V = f64> {
    /// The device.
    pub queue: Queue<'a>,
    /// The matrix of the level.
    pub a: &'a Csr<V>,
    /// For every unknown those it strongly depends on.
    pub strength: &'a Pattern,
    /// For every unknown its number on the next level or `NONE`.
    pub coarse: &'a Buffer<u32>,
    /// Number of coarse unknowns.
    pub coarse_count: usize,
}

impl<V: Scalar> StrongMatrix<'_, V> {
    /// The rows for `points`, or for all unknowns; each keeps the `max_elements` largest entries (0
    /// for all) that are not smaller than `factor` times the largest.
    pub fn prolongation(
        &self,
        method: WeightMethod,
        points: Option<&Buffer<u32>>,
        (max_elements, factor): (usize, f64),
    ) -> Result<Csr<V>> {
        let queue = self.queue;
        if self.a.size().cols >= STRONG {
            return Err(queue.gpu.lacks("csr", "interpolation for so many unknowns"));
        }
        let defines = method.defines();
        let looked_at = [&defines[..], &[NO_TABLE], number_of::<V>()].concat();
        let diagonal = queue.diagonal(self.a)?;
        let (near, degrees) = self.near(&diagonal, &looked_at)?;
        let rows = points.map_or(self.a.size().rows, Buffer::len);
        let mut binned = Binned::new(queue, Size::new(rows, self.coarse_count))?;
        let mut rooms = Rooms::new(queue, rows, max_elements)?;
        let points_argument = points.map_or(Ok(NOTHING), read)?;
        let (strong, coarse) = (graph(self.strength)?, read(self.coarse)?);
        let known = [coarse, read(&degrees)?, word(max_elements)];
        let room = [rooms.argument()?];
        let arguments = [&[number(rows), points_argument], &strong[..], &known].concat();
        let arguments = [&arguments[..], &room, &binned.arguments()?].concat();
        let shape = (rows, shape(self.strength).1);
        queue.rows(FILE, "interpolate_bounds", &looked_at, shape, &arguments)?;
        let operands = [&[points_argument], &matrix(self.a)?[..], &strong].concat();
        let known = [read(&diagonal)?, coarse];
        let limits = [word(max_elements), Argument::F64(factor)];
        let maker = Maker {
            file: FILE,
            kernel: "interpolate_rows",
            defines: &defines,
            arguments: &[&operands[..], &matrix(&near)?, &known, &limits].concat(),
        };
        let alone = Alone {
            points,
            coarse: self.coarse,
        };
        binned.gathered(&rooms, Some(alone), &maker)
    }

    /// The couplings of fine unknowns with coarse ones that are strong, which the columns are marked
    /// with, or have the other sign than the diagonal; how many of every row are strong.
    fn near(&self, diagonal: &Buffer<V>, defines: &[Define]) -> Result<(Csr<V>, Buffer<u32>)> {
        let (queue, shape) = (self.queue, shape(self.a.pattern()));
        let known = [read(diagonal)?, read(self.coarse)?];
        let given = [&[number(shape.0)], &matrix(self.a)?[..]].concat();
        let given = [&given[..], &graph(self.strength)?, &known].concat();
        let (mut counts, mut degrees) = (queue.room(shape.0)?, queue.room(shape.0)?);
        let found = [write(&mut counts)?, write(&mut degrees)?];
        let arguments = [&given[..], &found].concat();
        queue.rows(FILE, "near_count", defines, shape, &arguments)?;
        let (offsets, entries) = queue.offsets(&counts)?;
        let (mut columns, mut values) = (queue.room(entries)?, queue.room(entries)?);
        let results = [read(&offsets)?, write(&mut columns)?, write(&mut values)?];
        let arguments = [&given[..], &results].concat();
        queue.rows(FILE, "near_fill", defines, shape, &arguments)?;
        let pattern = Arc::new(Pattern::of_buffers(self.a.size(), offsets, columns));
        Ok((Csr::of_buffers(&pattern, values), degrees))
    }
}

/// A prolongation with shorter rows.
pub fn truncated(
    queue: Queue<'_>,
    p: &Csr<f64>,
    (max_elements, factor): (usize, f64),
) -> Result<Csr<f64>> {
    let rows = p.size().rows;
    let defines = WeightMethod::Direct.defines();
    let mut binned = Binned::new(queue, p.size())?;
    let mut rooms = Rooms::new(queue, rows, max_elements)?;
    let known = [number(rows), graph(p.pattern())?[0], word(max_elements)];
    let room = [rooms.argument()?];
    let arguments = [&known[..], &room, &binned.arguments()?].concat();
    let looked_at = [&defines[..], &[NO_TABLE]].concat();
    queue.rows(FILE, "truncate_bounds", &looked_at, (rows, 1), &arguments)?;
    let limits = [word(max_elements), Argument::F64(factor)];
    let maker = Maker {
        file: FILE,
        kernel: "truncate_rows",
        defines: &defines,
        arguments: &[&matrix(p)?[..], &limits].concat(),
    };
    binned.gathered(&rooms, None, &maker)
}
