//! The steps between the two stages of aggressive coarsening and of its interpolation.

use std::sync::Arc;

use super::binned::{Binned, Maker, NO_TABLE};
use super::tiles::{graph, shape, tile_file};
use super::{Queue, number, read, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::File;
use crate::size::Size;

pub(super) const FILE: File = tile_file!("aggressive.c", "tables.h");

/// The `count` unknowns that have a number, by their numbers.
pub fn points(queue: Queue<'_>, coarse: &Buffer<u32>, count: usize) -> Result<Buffer<u32>> {
    let (rows, mut points) = (coarse.len(), queue.room(count)?);
    let arguments = [number(rows), read(coarse)?, write(&mut points)?];
    queue.rows(
        FILE,
        "aggressive_points",
        &[NO_TABLE],
        (rows, 1),
        &arguments,
    )?;
    Ok(points)
}

/// The coarse unknowns that are reached over one or two strong couplings.
pub fn distance_two(
    queue: Queue<'_>,
    strength: &Pattern,
    (coarse, count): (&Buffer<u32>, usize),
) -> Result<Arc<Pattern>> {
    let points = points(queue, coarse, count)?;
    let shape = shape(strength);
    let graph = graph(strength)?;
    let mut degrees = queue.room::<u32>(shape.0)?;
    let known = [number(shape.0), graph[0], graph[1], read(coarse)?];
    let arguments = [&known[..], &[write(&mut degrees)?]].concat();
    queue.rows(FILE, "aggressive_degrees", &[NO_TABLE], shape, &arguments)?;
    let rows = points.len();
    let mut binned = Binned::new(queue, Size::square(rows))?;
    let points_argument = read(&points)?;
    let known = [
        number(rows),
        points_argument,
        graph[0],
        graph[1],
        read(&degrees)?,
    ];
    let arguments = [&known[..], &binned.arguments()?].concat();
    let shape = (rows, shape.1);
    queue.rows(FILE, "aggressive_bounds", &[NO_TABLE], shape, &arguments)?;
    let maker = Maker {
        file: FILE,
        kernel: "aggressive_rows",
        defines: &[],
        arguments: &[points_argument, graph[0], graph[1], read(coarse)?],
    };
    let made = binned.counted::<f64>(&maker)?;
    Ok(Arc::clone(made.pattern()))
}
