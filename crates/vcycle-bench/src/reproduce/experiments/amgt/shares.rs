//! What takes the time of set-up and solve.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::log::{Log, Profile};
use vcycle::multigrid::Hierarchy;
use vcycle::vector::Vector;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::Ready;
use super::PROBLEMS;
use super::cycles::stages;
use crate::common::Result;

/// Galerkin products in the set-up.
pub(super) fn of_setup(scope: &Scope) -> Result<Vec<Value>> {
    shares(scope, "products in the set-up", |_, hierarchy| {
        let by_stage = hierarchy.report().setup_by_stage();
        let all: f64 = by_stage.iter().map(|stage| stage.seconds).sum();
        let products = by_stage.iter().filter(|stage| stage.name == "galerkin");
        Ok(products.map(|stage| stage.seconds).sum::<f64>() / all)
    })
}

/// Everything but the coarsest level in the cycles.
pub(super) fn of_solve(scope: &Scope) -> Result<Vec<Value>> {
    shares(scope, "products in the solve", |ready, hierarchy| {
        let profile = Rc::new(RefCell::new(Profile::default()));
        let ws = Workspace::with_log(Log::new().with(Rc::clone(&profile)));
        let mut x = Vector::zeros_like(ready.rhs())?;
        for _ in 0..scope.size([1, 5, 20]) {
            hierarchy.apply(ready.rhs(), &mut x, &ws)?;
        }
        let share = products(&profile.borrow());
        Ok(share)
    })
}

/// A share of every problem, in per cent, and their mean.
fn shares(
    scope: &Scope,
    what: &str,
    share: impl Fn(&Ready, &Hierarchy<f64>) -> Result<f64>,
) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut sum) = (Vec::new(), 0.0);
    for (name, sizes) in PROBLEMS {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let a: Arc<dyn LinOp<f64>> = ready.matrix().clone();
        // The first set-up on a device brings the matrix and compiles kernels.
        if executor.is_device() {
            stages("dp")?.setup(&a, &Workspace::new())?;
        }
        let (_, hierarchy) = stages("dp")?.setup(&a, &Workspace::new())?;
        let share = 100.0 * share(&ready, &hierarchy)?;
        values.push(Value::new(name, what, "%", share));
        sum += share;
    }
    let mean = sum / PROBLEMS.len() as f64;
    values.push(Value::new("mean", what, "%", mean));
    Ok(values)
}

/// The share of stages without others in them that are not the solve of the coarsest level.
fn products(profile: &Profile) -> f64 {
    let all: f64 = profile.stages().iter().map(|stage| stage.seconds).sum();
    let rows = profile.rows();
    let leaves = rows.iter().filter(|(_, stage)| stage.children.is_empty());
    let products = leaves.filter(|(_, stage)| !stage.name.contains("coarsest"));
    products.map(|(_, stage)| stage.seconds).sum::<f64>() / all
}
