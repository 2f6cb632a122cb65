//! Unions of patterns.

use crate::arrays::Pattern;
use crate::error::Result;
use crate::gpu::kernels::union as kernels;
use crate::launch::Queue;

impl Queue<'_> {
    /// The positions of either of two patterns of equal size.
    pub(crate) fn union(&self, a: &Pattern, b: &Pattern) -> Result<Pattern> {
        let rows = a.size().rows;
        let mut counts = self.room(rows)?;
        kernels::union_count(rows, a, b, &mut counts)?.items(self, rows)?;
        self.new_pattern(a.size(), &counts, |out| {
            kernels::union_fill(rows, a, b, out)?.items(self, rows)
        })
    }
}
