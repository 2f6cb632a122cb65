//! The step from a level that ranks share to the next.

use std::cell::OnceCell;
use std::sync::Arc;

use super::choice::Choice;
use super::groups::SharedGroups;
use super::matching::Groups;
use super::{SharedLevel, SharedWay};
use crate::error::{Error, Result};
use crate::linop::Size;
use crate::matrix::{Bsr, Csr, Distributed, galerkin, galerkin_in_blocks, galerkin_shared};
use crate::multigrid::amg::Amg;
use crate::multigrid::clock::Clock;
use crate::multigrid::coarsen::Coarsening;
use crate::multigrid::coarsened::Coarsened;
use crate::multigrid::interpolate::Interpolation;
use crate::multigrid::restriction::Restriction;
use crate::multigrid::steps::{STALLED, STALLED_GROUP, matching_stalled};
use crate::multigrid::strength::Strength;
use crate::multigrid::systems::{Unknowns, View, in_blocks};

/// A level with its ways, and the matrix of the next; or why there is none.
pub(super) fn step(
    amg: &Amg,
    number: usize,
    a: &Arc<Distributed<f64>>,
    unknowns: &mut Unknowns,
    clock: &Clock<'_>,
) -> Result<Result<(SharedLevel, Distributed<f64>), String>> {
    let stage = |name| clock.stage(number, name);
    let (team, rows) = (a.team(), a.rows().total() as usize);
    let mut amg = amg.for_level(number, rows);
    amg.strength = amg.strength_at(number);
    let interpolation = amg.interpolation.after(amg.coarsening)?;
    team.agree(check(&amg, interpolation))?;
    let is_used = !amg.coarsening.weighs() || interpolation != Interpolation::Tentative;
    let strength = is_used.then_some(amg.strength);
    let block = unknowns.node_rows();
    let near = {
        let _stage = stage("overlap");
        a.surrounded(rings(&amg), block)?
    };
    let mut here = unknowns.near(&near.halo)?;
    let view = {
        let _stage = stage("strength");
        let view = View::new(amg.systems, amg.coarsening, strength, &near.matrix, &here);
        team.agree(view)?
    };
    let nodes = match view.is_of_nodes() {
        true => Arc::new(near.halo.nodes(block)?),
        false => Arc::clone(&near.halo),
    };
    let stalls = |count: usize| count as f64 > STALLED * rows as f64;
    let coarse_rows = |choice: &Choice| {
        let count = choice.next.partition.total() as usize;
        view.coarse_rows(count, &here)
    };
    let mut choice = {
        let _stage = stage("coarsening");
        Choice::new(a.executor(), &amg, &view, &nodes)?
    };
    if amg.coarsening == Coarsening::Pgm && stalls(coarse_rows(&choice)) {
        choice = Choice::grouped(Groups::uniform(&nodes, STALLED_GROUP)?, &nodes)?;
        clock.note(matching_stalled(number));
    }
    let count = coarse_rows(&choice);
    if count == 0 || stalls(count) {
        return Ok(Err(format!(
            "coarsening stalled on level {number}: {count} of {rows} unknowns are coarse"
        )));
    }
    let grouped = matches!(choice.coarsened, Coarsened::Grouped(_));
    let width = match (grouped, view.is_of_nodes()) {
        (true, _) => view.coarse_rows(1, &here),
        (false, true) => block,
        (false, false) => 1,
    };
    let next = choice.next.multiplied(width);
    let first = choice.first.map(|first| first.multiplied(width));
    let (prolongation, numbers, (block, radius)) = {
        let _stage = stage("interpolation");
        let by = SharedGroups {
            a,
            near: &near,
            next: &next,
            first: first.as_ref(),
            wider: OnceCell::new(),
        };
        let coarsened = choice.coarsened;
        let made = coarsened.prolongation_by(&by, interpolation, view, &amg, &mut here);
        let (own, block, radius) = team.agree(made)?;
        let numbers = by.wider.into_inner().unwrap_or(next.numbers);
        let executor = a.executor();
        let p = Distributed::of_numbered(executor, a.rows(), &next.partition, &numbers, own)?;
        (Arc::new(p), numbers, (block, radius))
    };
    *unknowns = here.own(numbers.own(), grouped);
    let _stage = stage("galerkin");
    let restriction = match (prolongation.transpose()?, amg.restriction_scaling) {
        (r, 1.0) => r,
        (r, factor) => r.scale(factor)?,
    };
    let way = SharedWay {
        restriction: Arc::new(restriction),
        prolongation,
        block,
    };
    Ok(Ok((way.level(a, radius)?, way.coarse(a)?)))
}

impl SharedWay {
    /// A level that it leads from.
    pub(super) fn level(
        &self,
        a: &Arc<Distributed<f64>>,
        radius: Option<f64>,
    ) -> Result<SharedLevel> {
        Ok(SharedLevel {
            a: Arc::clone(a),
            way: self.clone(),
            radius,
            nonzeros: [a.total_nonzeros()?, self.prolongation.total_nonzeros()?],
        })
    }

    /// The matrix of the next level.
    pub(super) fn coarse(&self, a: &Distributed<f64>) -> Result<Distributed<f64>> {
        let (r, p) = (&self.restriction, &self.prolongation);
        let product = |r: &Csr<f64>, a: &Csr<f64>, p: &Csr<f64>| product(r, a, p, self.block);
        let coarse = match self.block == Size::square(1) {
            true => galerkin_shared(r, a, p)?,
            false => galerkin_in_blocks(r, a, p, self.block, product)?,
        };
        coarse.without_empty_rows()
    }
}

/// Rings of rows around the own ones that stages look at; of the next ring they know the unknowns. That is for interpolation
/// over distance two, and for the roots of groups. Interpolation asks what the rows of the first ring strongly depend on,
/// and some measures of that look at the rows on both sides of a coupling.
fn rings(amg: &Amg) -> usize {
    let both_sides = matches!(amg.strength, Strength::Symmetric(_) | Strength::Mutual(_));
    match both_sides && !amg.coarsening.aggregates() {
        true => 2,
        false => 1,
    }
}

/// `R A P` of rows nearby, by blocks where the whole product would be.
fn product(r: &Csr<f64>, a: &Csr<f64>, p: &Csr<f64>, block: Size) -> Result<Csr<f64>> {
    if let Some((a, p)) = in_blocks(a, p, block)
        && let Ok(r) = Bsr::from_csr(r, block.transposed())
    {
        return r.multiply(&a.multiply(&p)?)?.rows();
    }
    galerkin(r, a, p)
}

/// Fails, naming what to use, for stages that are not made for ranks.
fn check(amg: &Amg, interpolation: Interpolation) -> Result<()> {
    let refuse = |component: String, instead: &str| {
        Err(Error::Unsupported {
            component,
            operation: format!("matrices that several ranks share; use {instead}"),
        })
    };
    if let Coarsening::Greedy | Coarsening::RugeStueben | Coarsening::Own(_) = amg.coarsening {
        let component = format!("the coarsening `{}`", amg.coarsening);
        return refuse(component, "`pmis`, `hmis` or `mis2`");
    }
    if interpolation.fits_vectors() || matches!(interpolation, Interpolation::Own(_)) {
        let component = format!("the interpolation `{interpolation}`");
        return refuse(component, "`extended+i` or `smoothed`");
    }
    if amg.strength.is_of_all_rows() {
        return refuse("this measure of strength".to_owned(), "a threshold");
    }
    if amg.restriction != Restriction::Transposed {
        return refuse("restriction = own".to_owned(), "`transposed`");
    }
    if amg.energy_steps > 0 || amg.coarse_filter < 1.0 {
        let component = "minimising energy and filtering coarse matrices".to_owned();
        return refuse(component, "neither");
    }
    Ok(())
}

impl Strength {
    /// Whether it looks at more than rows nearby.
    fn is_of_all_rows(&self) -> bool {
        match self {
            Strength::Affinity(_) => true,
            Strength::Auto => false,
            Strength::Classical(measure) => measure.connections.is_some(),
            Strength::Symmetric(measure) => measure.connections.is_some(),
            Strength::Absolute(measure) => measure.connections.is_some(),
            Strength::Mutual(measure) => measure.connections.is_some(),
        }
    }
}
