//! The step from a level that ranks share to the next.

use std::sync::Arc;

use super::choice::Choice;
use super::fitted::FittedLevel;
use super::matching::Groups;
use super::transfer::{Prolongation, Stages};
use super::{SharedLevel, SharedWay};
use crate::error::{Error, Result};
use crate::linop::Size;
use crate::matrix::Distributed;
use crate::multigrid::amg::Amg;
use crate::multigrid::clock::Clock;
use crate::multigrid::coarsen::{Coarsening, Nearby};
use crate::multigrid::coarsened::Coarsened;
use crate::multigrid::interpolate::Interpolation;
use crate::multigrid::steps::{STALLED, STALLED_GROUP, matching_stalled};
use crate::multigrid::strength::Strength;
use crate::multigrid::systems::{Unknowns, View};

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
    let block = unknowns.node_rows(&amg, number);
    let near = {
        let _stage = stage("overlap");
        a.surrounded(rings(&amg, interpolation), block)?
    };
    let mut here = unknowns.near(&near.halo)?;
    let view = {
        let _stage = stage("strength");
        let rows = (&near.matrix, &Nearby::of(&near.halo));
        let view = View::of_ranks(amg.systems, amg.coarsening, strength, rows, &here);
        team.agree(view)?
    };
    let nodes = match view.is_of_nodes() {
        true => Arc::new(near.halo.nodes(block)?),
        false => Arc::clone(&near.halo),
    };
    let stalls = |count: usize| count as f64 > STALLED * rows as f64;
    let coarse_rows = |choice: &Choice, here: &Unknowns| {
        let count = choice.next.partition.total() as usize;
        view.coarse_rows(count, here)
    };
    let mut choice = {
        let _stage = stage("coarsening");
        Choice::new(a.executor(), &amg, &view, &nodes)?
    };
    if amg.coarsening == Coarsening::Pgm && stalls(coarse_rows(&choice, &here)) {
        choice = Choice::grouped(Groups::uniform(&nodes, STALLED_GROUP)?, &nodes)?;
        clock.note(matching_stalled(number));
    }
    let fits = interpolation.fits_vectors() && !matches!(choice.coarsened, Coarsened::Grouped(_));
    if fits {
        let _stage = stage("interpolation");
        let level = FittedLevel {
            a,
            near: &near,
            view: &view,
            amg: &amg,
        };
        choice = level.fitted(choice, interpolation, &mut here)?;
    }
    let count = coarse_rows(&choice, &here);
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
    let stages = Stages {
        amg: &amg,
        stages: (strength, interpolation),
        next: &next,
        first: first.as_ref(),
    };
    let (own, made) = {
        let _stage = stage("interpolation");
        (
            stages.own_restriction((a, &near), &choice.coarsened, &here)?,
            stages.prolongation((a, &near), choice.coarsened, view, &mut here)?,
        )
    };
    let Prolongation {
        matrix: prolongation,
        numbers,
        block,
        radius,
    } = made;
    *unknowns = here.own(numbers.own(), grouped || fits);
    let _stage = stage("galerkin");
    // Those of their own are not made of the same blocks.
    let block = own.as_ref().map_or(block, |_| Size::square(1));
    let restriction = match own {
        Some(own) => own,
        None => prolongation.transpose()?,
    };
    let restriction = match amg.restriction_scaling {
        1.0 => restriction,
        factor => restriction.scale(factor)?,
    };
    let way = SharedWay {
        restriction: Arc::new(restriction),
        filter: (amg.coarse_filter < 1.0).then(|| {
            let own = prolongation.columns().own_count();
            (unknowns.test_vectors(own), amg.coarse_filter)
        }),
        prolongation: Arc::new(prolongation),
        block,
    };
    Ok(Ok((way.level(a, radius)?, way.coarse(a)?)))
}

/// Rings of rows around the own ones that stages look at; of the next ring they know the unknowns. That is for interpolation
/// over distance two, and for the roots of groups; interpolation of vectors goes as far as it is told. It asks what the rows
/// of these rings strongly depend on, and some measures of that look at the rows on both sides of a coupling.
pub(super) fn rings(amg: &Amg, interpolation: Interpolation) -> usize {
    if amg.coarsening.aggregates() {
        return 1;
    }
    let both_sides = matches!(
        amg.strength,
        Strength::Symmetric(_) | Strength::Mutual(_) | Strength::Affinity(_)
    );
    let distance = match interpolation.fits_vectors() {
        true => amg.bamg.max_distance.saturating_sub(1),
        false => 1,
    };
    distance.max(1) + usize::from(both_sides)
}

/// Fails, naming what to use, for stages that are not made for ranks.
pub(super) fn check(amg: &Amg, interpolation: Interpolation) -> Result<()> {
    let refuse = |component: String, instead: &str| {
        Err(Error::Unsupported {
            component,
            operation: format!("matrices that several ranks share; use {instead}"),
        })
    };
    if let Coarsening::Greedy | Coarsening::RugeStueben | Coarsening::Own(_) = amg.coarsening {
        let component = format!("the coarsening `{}`", amg.coarsening);
        return refuse(component, "`pmis` or `mis2`");
    }
    if let Interpolation::Own(_) = interpolation {
        let component = format!("the interpolation `{interpolation}`");
        return refuse(component, "`extended+i` or `smoothed`");
    }
    Ok(())
}
