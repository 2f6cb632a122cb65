//! Products with compressed sparse rows on devices.

use super::Queue;
use super::layout::{Layout, Purpose};
use super::rows::DeviceProduct;
use crate::gpu::{Given, kernels};
use crate::prelude::*;

impl<T: Scalar> Csr<T> {
    /// How a device stores the matrix for vectors of so many columns, and its values in that order.
    pub(crate) fn placed(&self, cols: usize) -> Result<(&Layout, &Buffer<T>)> {
        let purpose = self.pattern.served(Purpose::new(size_of::<T>(), cols))?;
        let layout = self.pattern.layout(purpose)?;
        let place = || {
            let queue = Queue::of(self.executor()).expect("only devices have a layout");
            layout.values(&queue, &self.pattern, &self.values)
        };
        let placed = match purpose.is_wide {
            true => &**kept(&self.copies.placed_wide, || Ok(Box::new(place()?)))?,
            false => kept(&self.copies.placed, place)?,
        };
        Ok((layout, placed))
    }

    /// A product on the device that has the matrix, or its conjugate.
    pub(crate) fn multiply_on(&self, product: &DeviceProduct<'_>, conjugate: bool) -> Result<()> {
        // Complex numbers are multiplied row by row: the layouts are for real ones.
        if self.copies.plain || product.is_complex {
            let rows = self.size().rows;
            let (offsets, columns) = self.pattern.buffers();
            let a = (1_u32, 1_u32, offsets, columns);
            let values = self.values.pointer()?.bits();
            let (cols, to) = (product.cols, Given(product.to));
            let conjugated = (conjugate && T::KIND.is_complex()).then_some(("CONJUGATED", "1"));
            let launch = kernels::bsr::by_rows(rows, cols, a, values, product.x, to)?
                .with(conjugated.as_slice());
            return product.by_rows(launch, (rows, self.nonzeros() / rows.max(1)));
        }
        let (layout, values) = self.placed(product.cols)?;
        let values = values.pointer()?;
        match layout {
            Layout::Rows(rows) => {
                let behind = values.at(rows.values_in_slices());
                rows.multiply(product, [values.bits(), behind.bits()], size_of::<T>())
            }
            Layout::Blocks(blocks) => blocks.multiply(product, values.bits(), size_of::<T>()),
        }
    }
}
