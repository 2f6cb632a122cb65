//! Whole hierarchies.

mod coarsest;
mod complex;
mod cycles;
mod mechanics;
mod precision;
mod ranks;
mod report;
mod stages;

use super::testing::*;
use super::*;
use crate::gallery;
use crate::prelude::*;
use crate::solver::{Cg, Method, Solver};
use crate::stop::Outcome;

fn rows(report: &Report) -> Vec<usize> {
    report.levels.iter().map(|level| level.rows).collect()
}

fn solve_with(method: impl Method<f64> + 'static, amg: &Amg, a: &Matrix) -> Outcome {
    solved(method, a, Arc::new(hierarchy(amg, a).unwrap()))
}
