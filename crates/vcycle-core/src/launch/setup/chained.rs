//! Products of two prolongations with short rows.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::binned;
use super::tiles::{NOTHING, matrix, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::gpu::File;
use crate::size::Size;

pub(super) const FILE: File = tile_file!("chained.c");
/// Entries of a row of both, as in the kernel.
const MOST: usize = 4;

/// `near far`, of whose rows the `max_elements` largest entries are kept that are not smaller than `factor` times the largest. None where rows
/// were not cut to so few before.
pub fn product(
    queue: Queue<'_>,
    near: &Csr<f64>,
    far: &Csr<f64>,
    (max_elements, factor): (usize, f64),
) -> Result<Option<Csr<f64>>> {
    if !(1..=MOST).contains(&max_elements) {
        return Ok(None);
    }
    let rows = near.size().rows;
    let mut lengths = queue.room::<u32>(rows)?;
    let mut loose = queue.room::<u32>(rows * max_elements)?;
    let mut weights = queue.room::<f64>(rows * max_elements)?;
    let factors = [matrix(near)?, matrix(far)?].concat();
    let limits = [word(max_elements), Argument::F64(factor)];
    let made = [
        write(&mut lengths)?,
        write(&mut loose)?,
        write(&mut weights)?,
    ];
    let arguments = [&[number(rows)], &factors[..], &limits, &made].concat();
    queue.rows(FILE, "chained_rows", &[], (rows, 1), &arguments)?;
    let (offsets, entries) = queue.offsets(&lengths)?;
    let (mut columns, mut values) = (queue.room(entries)?, queue.room(entries)?);
    let apart = [NOTHING, NOTHING, word(max_elements), NOTHING];
    let given = [read(&loose)?, read(&weights)?, read(&offsets)?];
    let results = [write(&mut columns)?, write(&mut values)?];
    let arguments = [&[number(rows)], &apart[..], &given, &results].concat();
    let defines = [binned::NO_TABLE];
    queue.rows(
        binned::FILE,
        "binned_gather",
        &defines,
        (rows, 1),
        &arguments,
    )?;
    let size = Size::new(rows, far.size().cols);
    let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
    Ok(Some(Csr::of_buffers(&pattern, values)))
}
