//! Rows and columns exchanged.

use crate::executor::Element;
use crate::gpu::kernels::{entries, transpose as kernels};
use crate::gpu::{Bits, Null, word};
use crate::launch::groups::{Group, Groups};
use crate::launch::prelude::*;

/// Lengths of rows that are sorted in local memory.
const LOCAL: usize = 2048;
/// Entries for every thread of a team, and most threads, measured on an H200.
const TEAMS: (usize, usize) = (2, 32);
/// Entries of a row in the mean, up to which most rows are expected to be short.
const MEAN_SHORT: usize = 4;
/// Blocks for those that are not.
const LONGER: usize = 256;
impl Queue<'_> {
    /// The transpose of a matrix.
    pub(crate) fn transpose<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>> {
        let (pattern, values) = self.transposed(a.pattern(), Some(a.values_buffer()))?;
        let transposed = Csr::of_buffers(&Arc::new(pattern), values);
        Ok(match a.has_ones() {
            true => transposed.of_ones(),
            false => transposed,
        })
    }

    /// The conjugate transpose of a matrix.
    pub(crate) fn adjoint<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>> {
        let (pattern, values) = self.transposed(a.pattern(), Some(a.values_buffer()))?;
        let (mut values, entries) = (values, a.nonzeros());
        entries::conjugate(entries, &mut values)?.items(self, entries)?;
        Ok(Csr::of_buffers(&Arc::new(pattern), values))
    }

    /// The transpose of a pattern.
    pub(crate) fn transpose_pattern(&self, a: &Pattern) -> Result<Pattern> {
        Ok(self.transposed::<u32>(a, None)?.0)
    }

    fn transposed<T: Element>(
        &self,
        a: &Pattern,
        values: Option<&Buffer<T>>,
    ) -> Result<(Pattern, Buffer<T>)> {
        let (size, entries) = (a.size().transposed(), a.nonzeros());
        let (offsets, columns) = a.buffers();
        let mut counts = self.zeros::<u32>(size.rows)?;
        kernels::count_columns(entries, columns, &mut counts)?.items(self, entries)?;
        let mut total = self.uninit::<u64>(1)?;
        let t_offsets = self.scan(&counts, &mut total)?;
        // Of short rows nobody has to know which are longer.
        let groups = match entries <= MEAN_SHORT * size.rows {
            true => None,
            false => Some(Groups::new(self, &counts)?),
        };
        let mut t_columns = self.uninit(entries)?;
        kernels::put_down(
            size.cols,
            offsets,
            columns,
            &t_offsets,
            &mut counts,
            &mut t_columns,
        )?
        .items(self, size.cols)?;
        let mut t_values = self.uninit::<T>(values.map_or(0, Buffer::len))?;
        let transpose = (
            offsets.pointer()?.cast(),
            columns.pointer()?,
            values
                .map(Buffer::pointer)
                .transpose()?
                .unwrap_or_default()
                .bits(),
            t_offsets.pointer()?.cast(),
            t_columns.pointer_mut()?,
            t_values.pointer_mut()?.bits(),
        );
        match groups {
            Some(groups) => self.finish::<T>(&groups, transpose)?,
            None => self.finish_short::<T>(size.rows, counts, transpose)?,
        }
        Ok((Pattern::of_buffers(size, t_offsets, t_columns), t_values))
    }

    /// Sorts the rows of all groups.
    fn finish<T>(&self, groups: &Groups, transpose: TransposeParts) -> Result<()> {
        for group in groups.each(LOCAL, TEAMS)? {
            kernels::finish_rows(group.count, Null, group.rows, transpose)?
                .with(&group.defines(group.size))
                .with(&[word::<T>()])
                .run(self.gpu, group.blocks(self, 0))?;
        }
        Ok(())
    }

    /// Sorts rows most of which are short, without waiting for how many are not; `longer` is room for
    /// their list.
    fn finish_short<T>(
        &self,
        rows: usize,
        mut longer: Buffer<u32>,
        transpose: TransposeParts,
    ) -> Result<()> {
        let mut count = self.zeros::<u32>(1)?;
        kernels::finish_short(rows, transpose, &mut longer, &mut count)?
            .with(&[word::<T>()])
            .items(self, rows)?;
        let group = Group::long(rows.min(LONGER), &longer, LOCAL)?;
        kernels::finish_rows(0_usize, &count, &longer, transpose)?
            .with(&group.defines(0))
            .with(&[word::<T>()])
            .run(self.gpu, group.count)
    }
}

/// What `TRANSPOSE` of the kernels stands for.
type TransposeParts = (
    Read<u64>,
    Read<u32>,
    Read<Bits>,
    Read<u64>,
    Write<u32>,
    Write<Bits>,
);
