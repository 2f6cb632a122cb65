//! The stages that devices have no kernels for. Each calls `on_host` with its name from here
//! where its algorithm of the host begins.

use crate::operations::HostStage;

/// Names stages, and lists those of multigrid and all.
macro_rules! host_stages {
    (multigrid { $($stage:ident = $name:literal;)* } others { $($other:ident = $other_name:literal;)* }) => {
        $(pub(crate) const $stage: HostStage = HostStage { name: $name };)*
        $(pub(crate) const $other: HostStage = HostStage { name: $other_name };)*

        /// What may run within algebraic multigrid.
        pub(crate) const MULTIGRID: &[HostStage] = &[$($stage),*];

        /// What the host does for matrices of a device, copying them back and forth: the rest of a set-up, and every
        /// solve, stays on the device.
        pub const HOST_STAGES: &[HostStage] = &[$($stage,)* $($other,)*];
    };
}

host_stages! {
    multigrid {
        COMPONENTS = "systems by unknowns";
        LARGE_NODES = "systems by nodes of more than six unknowns";
        ENERGY = "energy minimisation that keeps more than 16 vectors";
        FILTER = "filters that keep more than 16 vectors";
        HMIS = "hmis coarsening";
        RUGE_STUEBEN = "rs coarsening";
        MATCHING = "matching that rounds do not end";
        GREEDY = "greedy aggregation";
        HYBRID = "hybrid interpolation";
        BAMG = "bamg interpolation from more than 16 vectors or beyond distance 3";
        TRIANGLES = "set-up of triangular sweeps";
        COLOURS = "colours of rows that wait for each other";
        ILU0 = "ilu0 of rows that wait for each other";
        COMPLEX_INVERSE = "inverse of the coarsest complex matrix";
        PIVOTS = "direct solver with a search for pivots";
    }
    others {
        IC0 = "ic0 set-up";
        ILUT = "ilut set-up";
        PARICT = "parict set-up";
        ISAI = "isai set-up with rows of more than 64 entries";
        PREPROCESSING = "matching, scaling and reordering before a set-up";
        STENCILS = "struct-mg set-up for other smoothers than gs, the same stencil on all levels, or scaling before it";
    }
}
