//! What is measured: solves by configurations, and what is no solve.

mod bandwidths;
mod cycles;
mod fractures;
mod products;
mod ranks;
mod solves;
mod stencils;

use super::experiment::{Experiment, Scope};
use super::record::Value;
use crate::prelude::*;

/// Measures an experiment.
type Measure = fn(&Experiment, &Scope) -> Result<Vec<Value>>;

/// Measures that are no solves by configurations, by the names that experiments have for them.
const MEASURES: [(&str, Measure); 18] = [
    ("combinations", products::combinations),
    ("cycles", cycles::cycles),
    ("formats", products::formats),
    ("fracture-cores", fractures::cores),
    ("fracture-degrees", fractures::degrees),
    ("half-beside-double", stencils::halves),
    ("half-products", products::halves),
    ("krylov-bandwidths", bandwidths::krylov),
    ("level-products", products::levels),
    ("overheads", bandwidths::overheads),
    ("precisions-over-ranks", ranks::precisions),
    ("scaling", ranks::series),
    ("shares-of-cycles", cycles::shares),
    ("stencil-kernels", stencils::kernels),
    ("strong-scaling", ranks::strong),
    ("triple-products", products::orders),
    ("vectors", bandwidths::vectors),
    ("vendor-products", products::vendors),
];

/// Runs an experiment.
pub(super) fn run(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let Some(name) = &experiment.measure else {
        let all = experiment.solve.iter();
        let values = all.map(|one| solves::run(one, experiment.paper(), scope));
        return Ok(values.collect::<Result<Vec<_>>>()?.concat());
    };
    let found = MEASURES.iter().find(|(known, _)| known == name);
    let (_, measure) = found.ok_or_else(|| format!("there is no measure `{name}`"))?;
    measure(experiment, scope)
}
