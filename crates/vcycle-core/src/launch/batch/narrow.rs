//! LU factorisations of small systems in narrow bands: a thread each.

use super::arrays::Diagonals;
use super::{BatchArrays, BatchEnded, BatchPattern, BatchRun, Launch, Room, blocks, local_bytes};
use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{File, Gpu, kernel_file};
use crate::launch::setup::{read, write};
use crate::scalar::Scalar;

pub(in crate::launch) const NARROW: File = kernel_file!("batch_narrow.c", 128, "batch.h");

/// `SYSTEMS` of the kernel: those of a block.
const SYSTEMS: usize = 32;
/// Rows of a system that may be in local memory at once.
const CHUNKS: [Room; 5] = [(32, "32"), (16, "16"), (8, "8"), (4, "4"), (2, "2")];
/// How definitions write entries on either side of the diagonal.
const HALVES: [&str; 5] = ["0", "1", "2", "3", "4"];

/// A band for which the kernel is compiled.
pub(super) struct Narrow<'p> {
    diagonals: &'p Diagonals,
    chunk: Room,
    /// Values that the kernel stores of a row.
    stored: usize,
}

impl<'p> Narrow<'p> {
    /// None where the band is not narrow, or a device has too little local memory.
    pub(super) fn new<T: Scalar>(gpu: &Gpu, pattern: &'p BatchPattern) -> Option<Self> {
        let diagonals = pattern.diagonals.as_ref()?;
        let wide = 2 * diagonals.half + 1;
        let bytes = local_bytes(gpu);
        let used = |chunk: usize| {
            let of_system = (wide + 1) * (chunk + 1) + chunk + wide + chunk * (wide + 1);
            SYSTEMS * of_system * size_of::<T::Arith>() + 64
        };
        let chunk = CHUNKS.into_iter().find(|chunk| used(chunk.0) <= bytes)?;
        Some(Self {
            diagonals,
            chunk,
            stored: wide + 1,
        })
    }

    /// How each system ended.
    pub(super) fn solve<T: Scalar>(
        &self,
        gpu: &Gpu,
        run: &BatchRun,
        a: &BatchArrays<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<Vec<BatchEnded>> {
        let of_block = SYSTEMS * a.pattern.rows * self.stored;
        let groups = a.systems.div_ceil(SYSTEMS);
        let blocks = blocks(gpu, groups, of_block * size_of::<T::Arith>());
        let mut rooms = Buffer::<T::Arith>::room(x.executor(), blocks * of_block)?;
        let types = [
            ("T", T::KIND.name()),
            ("HALF", HALVES[self.diagonals.half]),
            ("CHUNK", self.chunk.1),
        ];
        let own = [read(&self.diagonals.places)?, write(&mut rooms)?];
        let launch = Launch {
            file: NARROW,
            name: "batch_narrow",
            types: &types,
            blocks,
            own: &own,
        };
        launch.run(gpu, run, a, b, x)
    }
}
