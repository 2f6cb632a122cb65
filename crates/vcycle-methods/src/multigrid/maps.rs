//! Which unknown, or group, of each coarser level an unknown belongs to.

use super::amg::Amg;
use super::clock::Clock;
use super::coarsen::NONE;
use super::finest::not_of_ranks;
use super::near_nullspace::NearNullspace;
use super::setup::{Levels, analysed, coarsen};
use crate::prelude::*;

/// Which unknowns of a level become which of the next, from the finest level down.
///
/// A hierarchy does not keep this: it is for pictures, made by [`Amg::coarse_maps`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoarseMaps {
    /// Whether unknowns of the finest level are grouped; else some are chosen.
    pub grouped: bool,
    /// Of every level but the coarsest: for each unknown its number, or that of its group, on the
    /// next level; [`NONE`] where it has none.
    pub maps: Vec<Vec<u32>>,
}

impl CoarseMaps {
    /// For every unknown of the finest level the number it, or its group, has on `level`.
    pub fn numbers(&self, level: usize) -> Vec<u32> {
        let rows = self.maps.first().map_or(0, Vec::len);
        let down = |number: u32, map: &Vec<u32>| match number {
            NONE => NONE,
            number => map[number as usize],
        };
        let number = |row: usize| self.maps.iter().take(level).fold(row as u32, down);
        (0..rows).map(number).collect()
    }

    /// For every unknown of the finest level the coarsest one it has a number on.
    pub fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.maps.first().map_or(0, Vec::len)];
        for level in 1..=self.maps.len() {
            for (depth, number) in depths.iter_mut().zip(self.numbers(level)) {
                if number != NONE {
                    *depth = level;
                }
            }
        }
        depths
    }
}

impl Amg {
    /// Coarsens as [`hierarchy`](Amg::hierarchy) does, to see which unknowns are chosen or
    /// grouped.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, multigrid::Amg};
    /// let a = gallery::build("poisson5:32", &Executor::cpu())?.matrix;
    /// let a: Arc<dyn LinOp<f64>> = Arc::new(a);
    /// let mut amg = Amg::default();
    /// amg.coarsening = "pmis".parse()?;
    /// let maps = amg.coarse_maps(&a, &Workspace::new())?;
    /// let coarse = maps.depths().iter().filter(|depth| **depth > 0).count();
    /// assert!(coarse < 512);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// As those of [`hierarchy`](Amg::hierarchy) up to the smoothers.
    pub fn coarse_maps<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<CoarseMaps> {
        let near = NearNullspace::components(self.block_size)?;
        let clock = Clock::new(ws, a.executor());
        let (amg, finest, unknowns) = analysed::<T, f64>(self, a, &near, &clock)?;
        not_of_ranks(&finest, "maps of levels")?;
        let finest_amg = amg.for_level(0, finest.rows());
        let (mut records, place) = (Vec::new(), (a.executor(), &clock));
        let mut set = Levels::new(finest);
        coarsen(&amg, &mut set, unknowns, place, Some(&mut records))?;
        Ok(CoarseMaps {
            grouped: finest_amg.coarsening.aggregates(),
            maps: records
                .into_iter()
                .map(|record| record.map.to_vec())
                .collect(),
        })
    }
}
