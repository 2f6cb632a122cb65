//! Algebraic multigrid, in stages that combine freely.
//!
//! A level is made of the one above in four steps, each a folder of this module with one method a
//! file: [`strength`] tells which couplings matter, [`coarsen`] chooses the unknowns of the next
//! level or groups them, [`interpolate`] makes the prolongation `P`, and the Galerkin product
//! `R A P` gives the next matrix. The set-up is done in double precision.

pub mod coarsen;
pub mod interpolate;
pub mod strength;
