//! What hierarchies over ranks share where only values differ.

use std::sync::Arc;

use super::analysis::finest;
use super::groups::radius;
use super::setup::{Made, gathered, placed};
use super::{SharedLevel, SharedWay};
use crate::error::{Error, Result};
use crate::linop::LinOp;
use crate::matrix::{Distributed, Halo, Pattern};
use crate::multigrid::amg::Amg;
use crate::multigrid::clock::Clock;
use crate::multigrid::systems::Unknowns;
use crate::scalar::Scalar;

/// The transfer operators of the levels that ranks share. Those that are gathered, which are small, are coarsened anew.
#[derive(Clone, Debug)]
pub(in crate::multigrid) struct SharedSetup {
    /// Of own rows of the finest matrix.
    pattern: Arc<Pattern>,
    columns: Arc<Halo>,
    /// With each whether the spectral radius of the matrix was found on the way.
    ways: Vec<(SharedWay, bool)>,
    /// Of the level that is gathered.
    unknowns: Unknowns,
    /// Why there are no more levels that ranks share, if that is not for being small.
    stalled: Option<String>,
}

impl SharedSetup {
    pub fn of(made: &Made) -> Self {
        let way = |level: &SharedLevel| (level.way.clone(), level.radius.is_some());
        Self {
            pattern: Arc::clone(made.finest.local().pattern()),
            columns: Arc::clone(made.finest.columns()),
            ways: made.shared.levels.iter().map(way).collect(),
            unknowns: made.unknowns.clone(),
            stalled: made.stalled_above.clone(),
        }
    }

    /// The pattern of own rows.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// All levels for other values. All ranks call it together.
    pub fn updated<T: Scalar>(
        &self,
        amg: &Amg,
        given: &Arc<dyn LinOp<T>>,
        clock: &Clock<'_>,
    ) -> Result<Made> {
        let mut a = {
            let _stage = clock.stage(0, "analysis");
            let a = finest(given)?;
            a.team().agree(self.check(&a))?;
            a
        };
        let finest = Arc::clone(&a);
        let mut levels = Vec::new();
        for (number, (way, measured)) in self.ways.iter().enumerate() {
            a = placed(amg, number, a, given.executor(), clock)?;
            let _stage = clock.stage(number, "galerkin");
            let radius = measured.then(|| radius(&a)).transpose()?;
            levels.push(way.level(&a, radius)?);
            a = Arc::new(way.coarse(&a)?);
        }
        let unknowns = self.unknowns.clone();
        let of = (amg.clone(), finest, levels);
        let place = given.executor().gathering();
        gathered(of, &a, unknowns, self.stalled.clone(), (&place, clock))
    }

    fn check(&self, found: &Distributed<f64>) -> Result<()> {
        let is_same = self.pattern.same_as(found.local().pattern())
            && self.columns.own_rows() == found.columns().own_rows()
            && self.columns.others() == found.columns().others();
        if is_same {
            return Ok(());
        }
        Err(Error::InvalidStructure {
            format: "update of values",
            reason: "own rows have not the pattern of the matrix that was set up".to_owned(),
        })
    }
}
