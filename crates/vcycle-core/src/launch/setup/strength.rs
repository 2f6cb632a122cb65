//! The graph of strong couplings.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::tiles::{matrix, shape, tile_file};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::gpu::File;

pub(super) const FILE: File = tile_file!("strength.c");

/// A measure of strength that has kernels.
#[derive(Clone, Copy, Debug)]
pub enum DeviceMeasure {
    /// Negative couplings against the largest of the row.
    Classical {
        /// Rows with a larger sum, relative to the diagonal, have no strong couplings; 1 for none.
        max_row_sum: f64,
    },
    /// Couplings against the diagonal entries of both unknowns.
    Symmetric,
    /// Couplings of either sign against the largest of the row.
    Absolute,
    /// Couplings of either sign against the largest of both rows.
    Mutual,
    /// Closenesses against the smaller one of the largest of both rows.
    Closeness,
}

impl DeviceMeasure {
    /// The name in `kernels/strength.c`.
    fn name(self) -> &'static str {
        match self {
            Self::Classical { .. } => "CLASSICAL",
            Self::Symmetric => "SYMMETRIC",
            Self::Absolute => "ABSOLUTE",
            Self::Mutual => "MUTUAL",
            Self::Closeness => "CLOSENESS",
        }
    }
}

/// For every row the columns it strongly depends on.
pub fn graph(
    queue: Queue<'_>,
    a: &Csr<f64>,
    measure: DeviceMeasure,
    threshold: f64,
) -> Result<Arc<Pattern>> {
    let shape = shape(a.pattern());
    let rows = shape.0;
    let defines = [("MEASURE", measure.name())];
    let launch = |name, arguments: &[Argument]| {
        let arguments = [&[number(rows)], &matrix(a)?[..], arguments].concat();
        queue.rows(FILE, name, &defines, shape, &arguments)
    };
    let mut scales = queue.room::<f64>(rows)?;
    if !matches!(
        measure,
        DeviceMeasure::Classical { .. } | DeviceMeasure::Absolute
    ) {
        launch("strength_scales", &[write(&mut scales)?])?;
    }
    let max_row_sum = match measure {
        DeviceMeasure::Classical { max_row_sum } => max_row_sum,
        _ => 1.0,
    };
    let (mut least, mut counts) = (queue.room::<f64>(rows)?, queue.room::<u32>(rows)?);
    let [threshold, max_row_sum] = [threshold, max_row_sum].map(Argument::F64);
    let results = [write(&mut scales)?, write(&mut least)?, write(&mut counts)?];
    let arguments = [&[threshold, max_row_sum], &results[..]].concat();
    launch("strength_count", &arguments)?;
    let (offsets, entries) = queue.offsets(&counts)?;
    let mut columns = queue.room(entries)?;
    let known = [read(&scales)?, read(&least)?, read(&offsets)?];
    launch(
        "strength_fill",
        &[&known[..], &[write(&mut columns)?]].concat(),
    )?;
    Ok(Arc::new(Pattern::of_buffers(a.size(), offsets, columns)))
}
