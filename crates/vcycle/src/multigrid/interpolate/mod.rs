//! The prolongation from the next level.
