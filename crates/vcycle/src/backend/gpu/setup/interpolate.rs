//! Prolongations for a choice of coarse unknowns.

use vcycle_gpu::Argument;

use super::binned::{Alone, Maker, NO_TABLE, Rooms};
use super::radius::diagonal;
use super::tiles::{NOTHING, graph, matrix, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::backend::gpu::{Define, File};
use crate::error::Result;
use crate::executor::Buffer;
use crate::linop::Size;
use crate::matrix::{Csr, Pattern};

const FILE: File = tile_file!("interpolate.c", "tables.h");

/// Which points a row interpolates from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Direct,
    Classical,
    Extended,
    ExtendedI,
}

impl Method {
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
pub(crate) struct Level<'a> {
    pub(crate) queue: Queue<'a>,
    pub(crate) a: &'a Csr<f64>,
    pub(crate) strength: &'a Pattern,
    /// For every unknown its number on the next level or `NONE`.
    pub(crate) coarse: &'a Buffer<u32>,
    pub(crate) coarse_count: usize,
}

impl Level<'_> {
    /// The rows for `points`, or for all unknowns; each keeps the `max_elements` largest entries (0
    /// for all) that are not smaller than `factor` times the largest.
    pub(crate) fn prolongation(
        &self,
        method: Method,
        points: Option<&Buffer<u32>>,
        (max_elements, factor): (usize, f64),
    ) -> Result<Csr<f64>> {
        let queue = self.queue;
        let defines = method.defines();
        let degrees = self.degrees(&defines)?;
        let rows = points.map_or(self.a.size().rows, Buffer::len);
        let mut rooms = Rooms::new(queue, rows)?;
        let points_argument = points.map_or(Ok(NOTHING), read)?;
        let strong = graph(self.strength)?;
        let coarse = read(self.coarse)?;
        let known = [coarse, read(&degrees)?, word(max_elements)];
        let arguments = [&[number(rows), points_argument], &strong[..], &known].concat();
        let arguments = [&arguments[..], &rooms.arguments()?].concat();
        let looked_at = [&defines[..], &[NO_TABLE]].concat();
        let shape = (rows, shape(self.strength).1);
        queue.rows(FILE, "interpolate_bounds", &looked_at, shape, &arguments)?;
        let (diagonal, _) = diagonal(queue, self.a)?;
        let operands = [&[points_argument], &matrix(self.a)?[..], &strong].concat();
        let limits = [word(max_elements), Argument::F64(factor)];
        let maker = Maker {
            file: FILE,
            kernel: "interpolate_rows",
            defines: &defines,
            arguments: &[&operands[..], &[read(&diagonal)?, coarse], &limits].concat(),
        };
        let alone = Alone {
            points,
            coarse: Some(self.coarse),
        };
        rooms.fill(queue, Size::new(rows, self.coarse_count), alone, &maker)
    }

    /// How many coarse unknowns every fine one strongly depends on.
    fn degrees(&self, defines: &[Define]) -> Result<Buffer<u32>> {
        let shape = shape(self.strength);
        let mut degrees = self.queue.room(shape.0)?;
        let [offsets, columns] = graph(self.strength)?;
        let arguments = [
            number(shape.0),
            offsets,
            columns,
            read(self.coarse)?,
            write(&mut degrees)?,
        ];
        let defines = [defines, &[NO_TABLE]].concat();
        self.queue
            .rows(FILE, "interpolate_degrees", &defines, shape, &arguments)?;
        Ok(degrees)
    }
}
