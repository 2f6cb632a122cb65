//! Whole hierarchies.
