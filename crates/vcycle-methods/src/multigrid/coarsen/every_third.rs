//! Every third unknown of the numbering.

use super::Splitting;
use super::choice::Choice;
use super::registration::CoarseningRegistration;

/// Every third unknown, in the numbering of all ranks.
pub(super) const EVERY_THIRD: CoarseningRegistration = CoarseningRegistration {
    name: "every-third",
    summary: "Every third unknown, as an example of how coarsenings are added.",
    // `false`: it chooses unknowns. `true`: it forms groups.
    groups: false,
    // Options of multigrid that it reads.
    reads: &[],
    // Whether interpolation of complex matrices can use it.
    complex: true,
    // Stages that run on the host for a device.
    on_host: &[],
    // Whether it works over ranks; else it is refused.
    over_ranks: true,
    coarsen: |graph| {
        let is_coarse = |row: usize| graph.near.global(row) % 3 == 0;
        let found = Splitting::of(graph.a.size().rows, is_coarse);
        Choice::chosen(graph.near, found)
    },
};
