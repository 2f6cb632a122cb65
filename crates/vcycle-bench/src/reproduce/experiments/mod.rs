//! The tables and figures that are reproduced, a file for each paper.

mod amgt;
mod chronos;
mod ginkgo;
mod product;
mod ranks;
mod solving;
mod tsai;
mod zong;

use super::experiment::Experiment;

/// All of them, in the order of the papers.
pub(super) fn all() -> Vec<&'static Experiment> {
    let papers: [&'static [Experiment]; 5] = [
        &tsai::EXPERIMENTS,
        &zong::EXPERIMENTS,
        &chronos::EXPERIMENTS,
        &amgt::EXPERIMENTS,
        &ginkgo::EXPERIMENTS,
    ];
    papers.into_iter().flatten().collect()
}
