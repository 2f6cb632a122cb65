//! Whole hierarchies.

mod coarsest;
mod complex;
mod cycles;
mod mechanics;
mod precision;
mod ranks;
mod report;
mod stages;

use std::sync::Arc;

use super::testing::*;
use super::*;
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::linop::LinOp;
use crate::solver::{Cg, Method, Solver};
use crate::stop::Outcome;
use crate::vector::Vector;

fn rows(report: &Report) -> Vec<usize> {
    report.levels.iter().map(|level| level.rows).collect()
}

fn solve_with(method: impl Method<f64> + 'static, amg: &Amg, a: &Matrix) -> Outcome {
    solved(method, a, Arc::new(hierarchy(amg, a).unwrap()))
}
