//! Where levels that ranks share are set up, and which of them one rank gathers.

use super::amg::Amg;
use super::clock::Clock;
use super::coarsen::Coarsening;
use super::interpolate::Interpolation;
use super::level_options::LevelOptions;
use super::matrices::LevelMatrix;
use super::wide::Wide;
use crate::prelude::*;

/// Devices gather levels of so many times more rows: what they compute takes less time there, messages take more.
const ON_DEVICES: usize = 20;
/// Where all ranks use the same device, nothing is gained by sharing levels: one of them has all that anybody would call
/// small, and sets them up there.
const ON_ONE_DEVICE: usize = 1_000_000;

impl Amg {
    /// Levels of fewer rows are set up by the host: all of them, where a stage is not for devices.
    pub(super) fn host_rows_needed(&self) -> usize {
        // Those of users look at arrays of the host.
        let by_host = |coarsening, interpolation: Interpolation| {
            let own = matches!(coarsening, Coarsening::Own(_));
            own || matches!(interpolation, Interpolation::Own(_))
        };
        let of_level = |level: &LevelOptions| by_host(level.coarsening, level.interpolation);
        let on_host =
            by_host(self.coarsening, self.interpolation) || self.levels.iter().any(of_level);
        match on_host {
            true => usize::MAX,
            false => self.host_rows,
        }
    }

    /// A level that ranks share where it is set up: on their devices if they have some, or on their hosts. Real ones of
    /// stages that look at rows of the host, and complex ones, are set up there.
    pub(super) fn shared_there<V: Wide>(
        &self,
        number: usize,
        a: LevelMatrix<V>,
        rank: &Executor,
        clock: &Clock<'_>,
    ) -> Result<LevelMatrix<V>> {
        let LevelMatrix::OfRanks(shared) = &a else {
            return Ok(a);
        };
        let amg = self.for_level(number, a.rows());
        let by_host = V::KIND.is_complex()
            || amg.interpolation.fits_vectors()
            || amg.energy_steps > 0
            || amg.coarse_filter < 1.0
            || !amg.strength.is_by_entries();
        let is_there = rank.is_device() && !by_host && a.rows() >= amg.host_rows_needed();
        if is_there == a.local().executor().is_device() {
            return Ok(a);
        }
        let _stage = clock.stage(number, "copy")?;
        let moved = match is_there {
            true => shared.on(rank).and_then(|shared| shared.with_rows_there()),
            false => shared.on(&rank.on_host()),
        };
        Ok(LevelMatrix::OfRanks(Arc::new(a.agree(moved)?)))
    }

    /// A level that was gathered where it is set up.
    pub(super) fn gathered_there<V: Wide>(&self, a: Csr<V>, rank: &Executor) -> Result<Csr<V>> {
        let place = rank.gathering();
        let is_there = place.is_device() && a.size().rows >= self.host_rows_needed();
        match is_there && !V::KIND.is_complex() {
            true => a.copy_to(&place),
            false => Ok(a),
        }
    }

    /// Levels of at most so many rows are those of one rank.
    pub(super) fn gathered_rows(&self, executor: &Executor) -> Result<usize> {
        let times = match executor.is_device_of_all()? {
            true => ON_ONE_DEVICE,
            false if executor.is_device() => ON_DEVICES,
            false => 1,
        };
        let gathered = self.gather_rows.saturating_mul(times);
        Ok(gathered.max(self.coarsest_rows))
    }
}
