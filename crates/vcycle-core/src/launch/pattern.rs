//! What devices find out about a pattern, once.

use std::any::Any;
use std::sync::OnceLock;

use super::Queue;
use super::groups::Groups;
use super::layout::{Layout, Layouts, Purpose};
use crate::arrays::Derived;
use crate::gpu::kernels::entries as kernels;
use crate::prelude::*;

/// What is kept at a place, which holds one type.
fn derived<T: Any + Send + Sync>(
    place: &OnceLock<Derived>,
    make: impl FnOnce() -> Result<T>,
) -> Result<&T> {
    let found = kept(place, || Ok(Arc::new(make()?) as Derived))?;
    Ok(found.downcast_ref().expect("every place holds one type"))
}

impl Pattern {
    /// How a device stores matrices of this pattern for a purpose.
    pub(crate) fn layout(&self, purpose: Purpose) -> Result<&Layout> {
        let queue = Queue::of(self.executor()).expect("only devices need a layout");
        self.layouts(&queue)?.layout(&queue, self, purpose)
    }

    /// What serves a purpose, as [`Layouts::served`].
    pub(crate) fn served(&self, purpose: Purpose) -> Result<Purpose> {
        let queue = Queue::of(self.executor()).expect("only devices need a layout");
        Ok(self.layouts(&queue)?.served(self.size, purpose))
    }

    fn layouts(&self, queue: &Queue<'_>) -> Result<&Layouts> {
        derived(&self.layouts, || Layouts::new(queue, self))
    }

    /// The one that is made already for the longest values.
    pub(crate) fn known_layout(&self) -> Option<&Layout> {
        let kept = self.layouts.get()?.downcast_ref::<Layouts>();
        let layout = kept.expect("every place holds one type").known().next()?;
        Some(layout.as_ref())
    }

    /// The same pattern, of which a device stores matrices in blocks of a size, or in rows.
    pub(crate) fn laid_out(&self, queue: &Queue<'_>, block: Option<Size>) -> Result<Self> {
        let layouts: Derived = Arc::new(Layouts::of(Layout::asked_for(queue, self, block)?));
        Ok(Self {
            layouts: OnceLock::from(layouts),
            ..self.clone()
        })
    }

    /// Whether every row has one entry; looked for on the device that has the pattern.
    pub(crate) fn has_single_entries(&self, queue: &Queue<'_>) -> Result<bool> {
        let rows = self.size.rows;
        let find = || {
            Ok(self.nonzeros() == rows && {
                let mut first = queue.filled(2, u32::MAX)?;
                kernels::check_single(rows, &self.offsets, &mut first)?.items(queue, rows + 1)?;
                first.get(0)? == u32::MAX
            })
        };
        kept(&self.single_entries, find).copied()
    }

    /// Whether that is known already, and true.
    pub(crate) fn is_known_single(&self) -> bool {
        self.single_entries.get() == Some(&true)
    }

    /// Notes that every row has one entry.
    pub(crate) fn note_single_entries(&self) {
        let _ = self.single_entries.set(true);
    }

    /// Whether any row is empty; looked for on the device that has the pattern.
    pub(crate) fn has_empty_rows(&self, queue: &Queue<'_>) -> Result<bool> {
        let find = || {
            let (rows, mut empty) = (self.size.rows, queue.zeros::<u32>(1)?);
            kernels::check_empty(rows, &self.offsets, &mut empty)?.items(queue, rows)?;
            Ok(empty.get(0)? != 0)
        };
        kept(&self.empty_rows, find).copied()
    }

    /// Notes whether any row is empty.
    pub(crate) fn note_empty_rows(&self, are_there: bool) {
        let _ = self.empty_rows.set(are_there);
    }

    /// The rows grouped by their lengths, on a device.
    pub(crate) fn groups(&self, queue: &Queue<'_>) -> Result<&Groups> {
        derived(&self.groups, || Groups::of_offsets(queue, &self.offsets))
    }
}
