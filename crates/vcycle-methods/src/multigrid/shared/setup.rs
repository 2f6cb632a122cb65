//! Runs the stages level by level over ranks.

use std::sync::Arc;

use super::analysis::{finest, known};
use super::step::step;
use super::{SharedLevel, SharedLevels};
use crate::error::Result;
use crate::executor::Executor;
use crate::linop::LinOp;
use crate::matrix::{Csr, Distributed};
use crate::multigrid::amg::Amg;
use crate::multigrid::clock::Clock;
use crate::multigrid::matrices::Matrices;
use crate::multigrid::near_nullspace::NearNullspace;
use crate::multigrid::steps::coarsen;
use crate::multigrid::strength::Strength;
use crate::multigrid::systems::Unknowns;
use crate::scalar::Scalar;

/// Devices gather levels of so many times more rows: what they compute takes less time there, messages take more.
const ON_DEVICES: usize = 20;
/// Where all ranks use the same device, nothing is gained by sharing levels: one of them has all that anybody would call
/// small, and sets them up there.
const ON_ONE_DEVICE: usize = 1_000_000;

/// What a set-up over ranks makes.
pub(in crate::multigrid) struct Made<V: Scalar = f64> {
    /// The parameters, every `auto` decided.
    pub amg: Amg,
    pub finest: Arc<Distributed<V>>,
    pub shared: SharedLevels<V>,
    /// Those of rank 0; none on the others.
    pub levels: Vec<Matrices<V>>,
    /// Of the level that is gathered.
    pub unknowns: Unknowns,
    /// Why ranks share no more levels, and why there are no more at all, if that is not for being small.
    pub stalled_above: Option<String>,
    pub stalled: Option<String>,
}

/// Sets up all levels of a matrix that ranks share.
pub(in crate::multigrid) fn set_up<T: Scalar>(
    amg: &Amg,
    given: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    clock: &Clock<'_>,
) -> Result<Made> {
    let (amg, mut a, mut unknowns) = analysed(amg, given, near_nullspace, clock)?;
    let finest = Arc::clone(&a);
    let mut levels: Vec<SharedLevel> = Vec::new();
    let mut stalled = None;
    let gathered_rows = amg.gathered_rows(given.executor())?;
    while levels.len() + 1 < amg.max_levels && a.rows().total() > gathered_rows {
        a = placed(&amg, levels.len(), a, given.executor(), clock)?;
        match step(&amg, levels.len(), &a, &mut unknowns, clock)? {
            Err(reason) => {
                stalled = Some(reason);
                break;
            }
            Ok((level, coarse)) => {
                levels.push(level);
                a = Arc::new(coarse);
            }
        }
    }
    let place = given.executor().gathering();
    gathered(
        (amg, finest, levels),
        &a,
        unknowns,
        stalled,
        (&place, clock),
    )
}

/// A level where it is set up: on the devices of ranks that have some, or on their hosts.
pub(super) fn placed(
    amg: &Amg,
    number: usize,
    a: Arc<Distributed<f64>>,
    rank: &Executor,
    clock: &Clock<'_>,
) -> Result<Arc<Distributed<f64>>> {
    let rows = a.rows().total() as usize;
    let is_there = rank.is_device() && rows >= amg.for_level(number, rows).shared_host_rows();
    if is_there == a.local().executor().is_device() {
        return Ok(a);
    }
    let _stage = clock.stage(number, "copy");
    let moved = match is_there {
        true => a.on(rank)?.with_rows_there(),
        false => a.on(&rank.on_host()),
    };
    a.team().agree(moved).map(Arc::new)
}

/// Gathers a level on rank 0, which sets up all below it at its place: there it is set up as alone.
pub(super) fn gathered(
    (amg, finest, levels): (Amg, Arc<Distributed<f64>>, Vec<SharedLevel>),
    a: &Distributed<f64>,
    unknowns: Unknowns,
    stalled_above: Option<String>,
    (place, clock): (&Executor, &Clock<'_>),
) -> Result<Made> {
    let above = levels.len();
    let (whole, of_all) = {
        let _stage = clock.stage(above, "gathering");
        let host = a.executor().alone();
        let whole = a.gathered()?.map(|whole| whole.into_executor(&host));
        (a.team().agree(whole.transpose())?, unknowns.gathered(a)?)
    };
    let stalled = stalled_above.clone();
    let led = match whole {
        Some(matrix) => led(&amg, above, (matrix, of_all), stalled, (place, clock)),
        None => Ok((Vec::new(), stalled)),
    };
    Made::joined((amg, finest, levels), a, unknowns, stalled_above, led)
}

/// Levels of one rank, and why there are no more.
type Led<V> = (Vec<Matrices<V>>, Option<String>);

impl<V: Scalar> Made<V> {
    /// Levels that ranks share, and those that one of them has made of the next matrix, unless it has failed.
    pub(super) fn joined(
        (amg, finest, levels): (Amg, Arc<Distributed<V>>, Vec<SharedLevel<V>>),
        a: &Distributed<V>,
        unknowns: Unknowns,
        stalled_above: Option<String>,
        led: Result<Led<V>>,
    ) -> Result<Self> {
        let (own, stalled) = a.team().agree(led)?;
        Ok(Self {
            shared: SharedLevels {
                executor: a.executor().clone(),
                levels,
                gathered: Arc::clone(a.rows()),
                leads: a.team().rank() == 0,
            },
            amg,
            finest,
            levels: own,
            unknowns,
            stalled_above,
            stalled,
        })
    }
}

/// The levels that one rank has gathered the first of, and why there are no more, if that is not for being small.
fn led(
    amg: &Amg,
    above: usize,
    (matrix, unknowns): (Csr<f64>, Unknowns),
    stalled: Option<String>,
    (place, clock): (&Executor, &Clock<'_>),
) -> Result<Led<f64>> {
    let is_there = place.is_device() && matrix.size().rows >= amg.host_rows_needed();
    let matrix = match is_there {
        true => matrix.copy_to(place)?,
        false => matrix,
    };
    let mut levels = vec![Matrices::new(Arc::new(matrix))];
    let stalled = match stalled {
        None => coarsen(amg, above, &mut levels, unknowns, clock, None)?,
        known => known,
    };
    Ok((levels, stalled))
}

/// The parameters, every `auto` decided, the finest level, and what is known of its unknowns.
fn analysed<T: Scalar>(
    amg: &Amg,
    given: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    clock: &Clock<'_>,
) -> Result<(Amg, Arc<Distributed<f64>>, Unknowns)> {
    let _stage = clock.stage(0, "analysis");
    let amg = amg.searching(near_nullspace);
    let a = finest(given)?;
    let amg = amg.decided_by(|| known(&a))?;
    amg.check_levels(near_nullspace)?;
    let team = a.team();
    team.agree(near_nullspace.check(a.size().rows))?;
    let unknowns = match &amg.test_space {
        None => Unknowns::new(near_nullspace),
        Some(search) => Unknowns::new(&search.near_nullspace(given, near_nullspace, clock.ws)?),
    };
    Ok((amg, a, unknowns))
}

impl Amg {
    /// Levels of fewer rows that ranks share are set up by their hosts: all of them, where a stage looks at rows of the host.
    fn shared_host_rows(&self) -> usize {
        let by_host = self.interpolation.fits_vectors()
            || self.energy_steps > 0
            || self.coarse_filter < 1.0
            || matches!(self.strength, Strength::Affinity(_));
        match by_host {
            true => usize::MAX,
            false => self.host_rows_needed(),
        }
    }

    /// Levels of at most so many rows are those of one rank.
    pub(super) fn gathered_rows(&self, executor: &Executor) -> Result<u64> {
        let times = match executor.is_device_of_all()? {
            true => ON_ONE_DEVICE,
            false if executor.is_device() => ON_DEVICES,
            false => 1,
        };
        let gathered = self.gather_rows.saturating_mul(times);
        Ok(gathered.max(self.coarsest_rows) as u64)
    }
}
