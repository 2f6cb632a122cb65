//! The graph of strong couplings.

use crate::gpu::{Launch, kernels::strength as kernels};
use crate::launch::prelude::*;
use crate::launch::queue::shape;

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

/// Digits of the bits of a number, as in the kernels: how far from the end they are, and how many bits have them.
const DIGITS: [(u32, u32); 6] = [(53, 11), (42, 11), (31, 11), (20, 11), (9, 11), (0, 9)];
/// As in the kernels.
const MOST_DIGITS: usize = 2048;

/// A matrix whose couplings are measured.
struct Measured<'a> {
    queue: Queue<'a>,
    a: &'a Csr<f64>,
    measure: DeviceMeasure,
}

impl Measured<'_> {
    fn launch(&self, kernel: Launch) -> Result<()> {
        let defines = [("MEASURE", self.measure.name())];
        kernel
            .with(&defines)
            .rows(&self.queue, shape(self.a.pattern()))
    }

    /// What couplings depend on beside the entry, the smallest strong one of every row, and how many are strong.
    fn counted(&self, threshold: f64) -> Result<(Buffer<f64>, Buffer<f64>, Buffer<u32>)> {
        let (queue, measure, rows) = (self.queue, self.measure, self.a.size().rows);
        let mut scales = queue.uninit::<f64>(rows)?;
        if !matches!(
            measure,
            DeviceMeasure::Classical { .. } | DeviceMeasure::Absolute
        ) {
            self.launch(kernels::strength_scales(self.a, &mut scales)?)?;
        }
        let max_row_sum = match measure {
            DeviceMeasure::Classical { max_row_sum } => max_row_sum,
            _ => 1.0,
        };
        let (mut least, mut counts) = (queue.uninit::<f64>(rows)?, queue.uninit::<u32>(rows)?);
        self.launch(kernels::strength_count(
            self.a,
            threshold,
            max_row_sum,
            &mut scales,
            &mut least,
            &mut counts,
        )?)?;
        Ok((scales, least, counts))
    }
}

/// For every row the columns it strongly depends on; none on the host.
pub fn strong_couplings(
    a: &Csr<f64>,
    measure: DeviceMeasure,
    threshold: f64,
) -> Result<Option<Arc<Pattern>>> {
    let queue = queue_of!(a.executor());
    let measured = Measured { queue, a, measure };
    let (scales, least, counts) = measured.counted(threshold)?;
    let pattern = queue.new_pattern(a.size(), &counts, |out| {
        measured.launch(kernels::strength_fill(a, &scales, &least, out)?)
    })?;
    Ok(Some(Arc::new(pattern)))
}

/// The threshold that so many couplings reach, or as many more as are equal to the last of them; infinite for none.
/// Nothing on the host.
pub fn threshold_for(
    a: &Csr<f64>,
    measure: DeviceMeasure,
    mut wanted: usize,
) -> Result<Option<f64>> {
    let queue = queue_of!(a.executor());
    let measured = Measured { queue, a, measure };
    let (scales, references, _) = measured.counted(1.0)?;
    let mut prefix = 0_u64;
    for (shift, width) in DIGITS {
        let mut counts = queue.zeros::<u32>(MOST_DIGITS)?;
        measured.launch(kernels::strength_digits(
            a,
            &scales,
            &references,
            shift,
            width,
            prefix,
            &mut counts,
        )?)?;
        let counts = counts.host()?;
        if prefix == 0 && shift == DIGITS[0].0 {
            let all = counts.iter().map(|&count| count as usize).sum();
            wanted = wanted.min(all);
        }
        if wanted == 0 {
            return Ok(Some(f64::INFINITY));
        }
        let mut found = counts.len() - 1;
        while (counts[found] as usize) < wanted {
            wanted -= counts[found] as usize;
            found -= 1;
        }
        prefix = prefix << width | found as u64;
    }
    Ok(Some(f64::from_bits(prefix)))
}
