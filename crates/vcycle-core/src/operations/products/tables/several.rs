//! Teams that have entries of several rows of `B` at a time.

use super::Product;
use crate::gpu::Define;
use crate::launch::groups::Group;

/// Threads of such a team.
const THREADS: usize = 32;
/// The part of a team that rows of `B` fill, in the mean, up to which it has several of them.
const PART: usize = 4;

impl Product<'_> {
    /// The group with teams that have several rows of `B` at a time, where one would leave most of their threads idle.
    pub(super) fn with_several_rows(&self, group: Group) -> Group {
        match self.several(&group) {
            [] => group,
            _ => Group {
                threads: THREADS,
                ..group
            },
        }
    }

    /// The definition for such teams; none for others, and for whole blocks, which make rows of many entries.
    pub(super) fn several(&self, group: &Group) -> &'static [Define] {
        let is_idle = PART * self.width() <= group.threads;
        match is_idle && group.threads <= THREADS && self.p.is_none() {
            true => &[("SEVERAL", "1")],
            false => &[],
        }
    }
}
