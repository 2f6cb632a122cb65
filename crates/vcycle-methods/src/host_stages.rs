//! The stages of preconditioners and direct solvers that devices have no kernels for; those of multigrid are in the files of its stages. Each calls `on_host` with its name from here where
//! its algorithm of the host begins.

use crate::operations::HostStage;

/// Names stages, and lists all that have a name.
macro_rules! host_stages {
    ($($stage:ident = $name:literal;)*) => {
        $(pub(crate) const $stage: HostStage = HostStage { name: $name };)*

        /// All of them.
        pub(crate) const ALL: &[HostStage] = &[$($stage),*];
    };
}

host_stages! {
    TRIANGLES = "set-up of triangular sweeps";
    COLOURS = "colours of rows that wait for each other";
    ILU0 = "ilu0 of rows that wait for each other";
    IC0 = "ic0 set-up";
    ILUT = "ilut set-up";
    PARICT = "parict set-up";
    ISAI = "isai set-up with rows of more than 64 entries";
    PREPROCESSING = "matching, scaling and reordering before a set-up";
    PIVOTS = "direct solver with a search for pivots";
}
