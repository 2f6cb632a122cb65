//! Products with compressed sparse rows on devices.

use super::Queue;
use super::layout::{Layout, Purpose};
use super::rows::{Finish, by_rows};
use crate::arrays::{Csr, Vector};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Given, Gpu, kernels};
use crate::scalar::{Mixes, Scalar};

impl<T: Scalar> Csr<T> {
    /// How a device stores the matrix for vectors of so many columns, and its values in that order.
    pub(crate) fn placed(&self, cols: usize) -> Result<(&Layout, &Buffer<T>)> {
        let purpose = self.pattern.served(Purpose::new(size_of::<T>(), cols))?;
        let layout = self.pattern.layout(purpose)?;
        let known = match purpose.is_wide {
            true => self.copies.placed_wide.get().map(Box::as_ref),
            false => self.copies.placed.get(),
        };
        if let Some(values) = known {
            return Ok((layout, values));
        }
        let queue = Queue::of(self.executor()).expect("only devices have a layout");
        let values = layout.values(&queue, &self.pattern, &self.values)?;
        // Where two threads come here at once both have made the same.
        let placed = match purpose.is_wide {
            true => &**self.copies.placed_wide.get_or_init(|| Box::new(values)),
            false => self.copies.placed.get_or_init(|| values),
        };
        Ok((layout, placed))
    }

    /// A product on the device that has the matrix, or its conjugate.
    pub(crate) fn multiply_on<X: Scalar, Y: Scalar>(
        &self,
        gpu: &Gpu,
        conjugate: bool,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        // Complex numbers are multiplied row by row: the layouts are for real ones.
        if self.copies.plain || X::KIND.is_complex() {
            let (rows, cols) = (self.size().rows, x.cols());
            let shape = (rows, self.nonzeros() / rows.max(1));
            let (defines, blocks) = by_rows::<T, X, Y>(gpu, shape, cols, finish);
            let mut defines = defines.to_vec();
            defines.extend((conjugate && T::KIND.is_complex()).then_some(("CONJUGATED", "1")));
            let (offsets, columns) = self.pattern.buffers();
            let (a, to) = ((1_u32, 1_u32, offsets, columns), Given(finish.parts(y)?));
            return kernels::bsr::by_rows(rows, cols, a, &self.values, x, to)?
                .with(&defines)
                .run(gpu, blocks);
        }
        match self.placed(x.cols())? {
            (Layout::Rows(rows), values) => rows.multiply(gpu, values, x, finish, y),
            (Layout::Blocks(blocks), values) => blocks.multiply(gpu, values, x, finish, y),
        }
    }
}
