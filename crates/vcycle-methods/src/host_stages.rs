//! The stages of all methods that devices have no kernels for. Each calls `on_host` with its name from here where
//! its algorithm of the host begins.

use crate::operations::HostStage;

/// Names stages, and lists all that have a name.
macro_rules! host_stages {
    ($($stage:ident = $name:literal;)*) => {
        $(pub(crate) const $stage: HostStage = HostStage { name: $name };)*

        /// What the host does for matrices of a device, copying them back and forth: the rest of a set-up, and every
        /// solve, stays on the device.
        pub const HOST_STAGES: &[HostStage] = &[$($stage),*];
    };
}

/// Those of algebraic multigrid: of its stages, and of smoothers.
pub(crate) const MULTIGRID: &[HostStage] = &[
    UNKNOWN_SYSTEMS,
    NODE_SYSTEMS,
    HMIS,
    RUGE_STUEBEN,
    GREEDY,
    MATCHING,
    HYBRID,
    BAMG,
    ENERGY,
    FILTER,
    TRIANGLES,
    COLOURS,
    ILU0,
    COMPLEX_INVERSE,
    PIVOTS,
];

host_stages! {
    UNKNOWN_SYSTEMS = "systems by unknowns";
    NODE_SYSTEMS = "systems by nodes of more than six unknowns";
    HMIS = "hmis coarsening";
    RUGE_STUEBEN = "rs coarsening";
    GREEDY = "greedy aggregation";
    MATCHING = "matching that rounds do not end";
    HYBRID = "hybrid interpolation";
    BAMG = "bamg interpolation from more than 16 vectors or beyond distance 3";
    ENERGY = "energy minimisation that keeps more than 16 vectors";
    FILTER = "filters that keep more than 16 vectors";
    TRIANGLES = "set-up of triangular sweeps";
    COLOURS = "colours of rows that wait for each other";
    ILU0 = "ilu0 of rows that wait for each other";
    IC0 = "ic0 set-up";
    ILUT = "ilut set-up";
    PARICT = "parict set-up";
    ISAI = "isai set-up with rows of more than 64 entries";
    PREPROCESSING = "matching, scaling and reordering before a set-up";
    COMPLEX_INVERSE = "inverse of the coarsest complex matrix";
    STRUCTURED = "struct-mg set-up for other smoothers than gs, the same stencil on all levels, or scaling before it";
    PIVOTS = "direct solver with a search for pivots";
}
