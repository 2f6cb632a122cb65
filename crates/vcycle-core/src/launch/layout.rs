//! How a device stores matrices of a pattern for products: here it is chosen.

use std::sync::OnceLock;

use super::Queue;
use super::sliced::SlicedRows;
use super::slices::Survey;
use super::strips::{Strips, vector_of};
use crate::prelude::*;

/// Entries below which a product takes as long as its launch, whatever the layout.
const WORTH_BLOCKS: usize = 1 << 16;

/// Of a hundred values in blocks that are asked for, so many have to be entries: what [`Bsr`](crate::matrix::Bsr) allows.
const LEAST_ASKED_FOR: usize = 12;

/// Columns of vectors from which a matrix may be stored in another way: values are read once for all, and what counts is the input.
const WIDE: usize = 8;

/// What a layout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// Bytes of a value.
    pub bytes: usize,
    /// Whether vectors have many columns.
    pub is_wide: bool,
}

impl Purpose {
    /// For values of so many bytes and vectors of so many columns.
    pub(crate) fn new(bytes: usize, cols: usize) -> Self {
        let is_wide = cols >= WIDE;
        Self { bytes, is_wide }
    }

    /// For values of so many bytes and one column, or few.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Self::new(bytes, 1)
    }

    /// Where layouts for it are kept.
    fn place(self) -> usize {
        let wide = if self.is_wide { 3 } else { 0 };
        wide + match self.bytes {
            2 => 2,
            4 => 1,
            _ => 0,
        }
    }

    /// Of a hundred values in blocks so many have to be entries: fewer, and rows are read sooner. An H200 took as long in 2 by
    /// 2 blocks as in rows where 79 of 100 are entries in f64 (elasticity) and about 65 in f32 (`beam:o3,l3`), where f16 was 1.24 times as fast; with 50 f16
    /// was slower (`poisson27:128`). With 8, 16 and 32 columns the blocks of the beam were 1.04 to 1.48 times as fast in f64 and f32, and 0.87 to 1.03 times in
    /// f16.
    fn least_filled(self) -> usize {
        [85, 75, 60, 60, 60, 75][self.place()]
    }

    /// Whether blocks may reach beyond the matrix, for which kernels have checks.
    fn may_be_ragged(self) -> bool {
        self.bytes == 2 || self.is_wide
    }
}

/// How a device stores the matrices of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    /// Rows side by side.
    Rows(Box<SlicedRows>),
    /// Blocks side by side.
    Blocks(Box<Strips>),
}

/// The layouts of a pattern: one for each purpose, made when it is first needed.
#[derive(Clone, Debug)]
pub(crate) struct Layouts {
    /// What is known of the pattern, where the layout is chosen.
    survey: Option<Survey>,
    /// For values of 8, 4 and 2 bytes, then the same for many columns.
    made: [OnceLock<Arc<Layout>>; 6],
}

/// The blocks in which the rows of a survey take the fewest bytes, for a matrix of that size; none if it is not made of blocks.
fn chosen_block(survey: &Survey, size: Size, purpose: Purpose) -> Option<Size> {
    let (bytes, ragged) = (purpose.bytes, purpose.may_be_ragged());
    let found = survey.shapes().filter_map(|(block, [blocks, entries])| {
        let slots = blocks * block.rows * block.cols;
        let whole = size.rows.is_multiple_of(block.rows) && size.cols.is_multiple_of(block.cols);
        let filled = slots > 0 && 100 * entries >= purpose.least_filled() * slots;
        ((whole || ragged) && filled).then(|| {
            // Bytes a value: its own, those of doubles counted as singles for one choice of both, two of an index for the block, and of the input two
            // for the row. Halves beside whole vectors, which are loaded one by one, count twice.
            let area = block.rows * block.cols;
            let alone = if bytes == 2 {
                area % vector_of(bytes, block)
            } else {
                0
            };
            let more = (2 + 2 * alone) as f64 / area as f64 + 2.0 / block.rows as f64;
            let each = bytes.min(4) as f64 + more;
            (each * slots as f64 / entries as f64, block)
        })
    });
    let best = found.min_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, block)| block)
}

impl Layouts {
    /// For a pattern of the device: blocks where a sample of rows is made of them, as those of several unknowns a node are, else rows.
    pub(crate) fn new(queue: &Queue<'_>, pattern: &Pattern) -> Result<Self> {
        let is_large = pattern.nonzeros() >= WORTH_BLOCKS && !pattern.is_known_single();
        let survey = match is_large {
            true => Survey::new(queue, pattern)?,
            false => Survey::of_lengths(queue, pattern)?,
        };
        Ok(Self {
            survey: Some(survey),
            made: Default::default(),
        })
    }

    /// One layout for all values.
    pub(crate) fn of(layout: Layout) -> Self {
        let layout = Arc::new(layout);
        Self {
            survey: None,
            made: std::array::from_fn(|_| OnceLock::from(Arc::clone(&layout))),
        }
    }

    /// The layout for a purpose.
    pub(crate) fn layout(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        purpose: Purpose,
    ) -> Result<&Layout> {
        let make = || {
            let survey = self
                .survey
                .as_ref()
                .expect("all are made where none is chosen");
            let block = self.block_for(pattern.size(), purpose);
            Ok(match self.known().find(|other| other.block() == block) {
                Some(other) => Arc::clone(other),
                None => {
                    let block = block.map(|block| (block, purpose.least_filled()));
                    Arc::new(Layout::new(queue, pattern, block, Some(survey))?)
                }
            })
        };
        Ok(kept(&self.made[purpose.place()], make)?)
    }

    /// The blocks that are chosen for a purpose; none where nothing is chosen, or rows are.
    fn block_for(&self, size: Size, purpose: Purpose) -> Option<Size> {
        chosen_block(self.survey.as_ref()?, size, purpose)
    }

    /// What serves a purpose: its own layout, or that for few columns if both would be the same.
    pub(crate) fn served(&self, size: Size, purpose: Purpose) -> Purpose {
        let few = Purpose::of_bytes(purpose.bytes);
        match purpose != few && self.block_for(size, purpose) != self.block_for(size, few) {
            true => purpose,
            false => few,
        }
    }

    /// Those that are made, for the longest values first.
    pub(crate) fn known(&self) -> impl Iterator<Item = &Arc<Layout>> {
        self.made.iter().filter_map(OnceLock::get)
    }
}

impl Layout {
    /// In blocks of a size, of which of a hundred values so many have to be entries; in rows where nothing is asked for, or the matrix is not made of such blocks: the
    /// sample of rows may have been better than others.
    fn new(
        queue: &Queue<'_>,
        pattern: &Pattern,
        block: Option<(Size, usize)>,
        survey: Option<&Survey>,
    ) -> Result<Self> {
        if let Some((block, least_filled)) = block
            && let Some(blocks) = Strips::new(queue, pattern, block, least_filled)?
        {
            return Ok(Self::Blocks(Box::new(blocks)));
        }
        let rows = match survey {
            Some(survey) => SlicedRows::new(queue, pattern, survey)?,
            None => SlicedRows::new(queue, pattern, &Survey::of_lengths(queue, pattern)?)?,
        };
        Ok(Self::Rows(Box::new(rows)))
    }

    /// The layout that is asked for, of blocks of up to six rows and columns; rows where the matrix is not made of such.
    pub(crate) fn asked_for(
        queue: &Queue<'_>,
        pattern: &Pattern,
        block: Option<Size>,
    ) -> Result<Self> {
        let block = block.map(|block| (block, LEAST_ASKED_FOR));
        Self::new(queue, pattern, block, None)
    }

    /// Rows and columns of the blocks; of rows that are stored as such there is none.
    pub(crate) fn block(&self) -> Option<Size> {
        match self {
            Self::Rows(_) => None,
            Self::Blocks(blocks) => Some(blocks.block),
        }
    }

    /// What it is called in reports.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Rows(_) => "csr".to_owned(),
            Self::Blocks(blocks) => format!("bsr {}x{}", blocks.block.rows, blocks.block.cols),
        }
    }

    /// The values of a matrix, in the order of the layout.
    pub(crate) fn values<T: Scalar>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        match self {
            Self::Rows(rows) => rows.slices.place(queue, pattern, values),
            Self::Blocks(blocks) => blocks.place(queue, pattern, values),
        }
    }
}
