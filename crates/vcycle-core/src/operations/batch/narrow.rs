//! LU factorisations of small systems in narrow bands: a thread each.

use super::arrays::Diagonals;
use super::{BatchArrays, BatchEndings, BatchPattern, BatchRun, blocks};
use crate::gpu::kernels::batch_narrow as kernels;
use crate::launch::prelude::*;

/// Rows that a thread may load at once.
const GROUPS: [usize; 4] = [8, 4, 2, 1];
/// Bytes of registers for them: four rows with three or five diagonals in double precision.
const GROUP_BYTES: usize = 768;

/// A band for which the kernel is compiled.
pub(super) struct Narrow<'p> {
    diagonals: &'p Diagonals,
    group: usize,
    /// Values that the kernel stores of a row.
    stored: usize,
}

impl<'p> Narrow<'p> {
    /// None where the band is not narrow.
    pub(super) fn new<T: Scalar>(pattern: &'p BatchPattern) -> Option<Self> {
        let diagonals = pattern.diagonals.as_ref()?;
        let wide = 2 * diagonals.half + 1;
        // Of every row the matrix, U, the right-hand side and a guess, now and of the next ones.
        let bytes = |group: usize| 2 * group * 2 * (wide + 1) * size_of::<T::Arith>();
        let fits = |&group: &usize| bytes(group) <= GROUP_BYTES;
        let group = GROUPS.into_iter().find(fits).unwrap_or(GROUPS[3]);
        Some(Self {
            diagonals,
            group,
            stored: wide,
        })
    }

    /// Queues the solves of all systems.
    pub(super) fn solve<T: Scalar>(
        &self,
        gpu: &Gpu,
        run: &BatchRun,
        a: &BatchArrays<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<BatchEndings> {
        let threads = kernels::FILE.block as usize;
        let of_block = threads * a.pattern.rows * self.stored;
        let groups = a.systems.div_ceil(threads);
        let blocks = blocks(gpu, groups, of_block * size_of::<T::Arith>());
        let mut rooms = Buffer::<T::Arith>::room(x.executor(), blocks * of_block)?;
        let mut endings = BatchEndings::new(a, &x.executor().clone())?;
        let (bands, several) = (a.side_by_side(self.diagonals)?, x.cols() > 1);
        kernels::batch_narrow::<T>(endings.parts(run, a, b, x)?, bands, &mut rooms, several)?
            .with(&[
                ("HALF", literal(self.diagonals.half)),
                ("AT_ONCE", literal(self.group)),
            ])
            .run(gpu, blocks)?;
        Ok(endings)
    }
}
