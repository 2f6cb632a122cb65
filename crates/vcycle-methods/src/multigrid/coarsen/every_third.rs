//! Every third unknown of the numbering.

use super::Splitting;
use super::choice::Choice;
use super::registration::CoarseningRegistration;

/// Every third unknown, whichever rank has it.
pub(super) const EVERY_THIRD: CoarseningRegistration = CoarseningRegistration {
    name: "every-third",
    summary: "Every third unknown, as an example of how coarsenings are added.",
    // Chooses unknowns; `true` where it groups them.
    groups: false,
    // The options of multigrid that it reads.
    reads: &[],
    // Whether interpolation of complex matrices can go by it.
    complex: true,
    // What the host does of it for devices.
    on_host: &[],
    // Refused over ranks where this is `false`.
    over_ranks: true,
    coarsen: |graph| {
        let is_coarse = |row: usize| graph.near.global(row) % 3 == 0;
        let found = Splitting::of(graph.a.size().rows, is_coarse);
        Choice::chosen(graph.near, found)
    },
};
