//! Flow of oil, water and gas through rock: the pressure alone, and four components.

use super::super::entry::Given;
use super::permeability::{Model, Permeability, SECTOR, SPE10};
use super::{axis_of, beside, harmonic, noise, others};
use crate::prelude::*;
use crate::structured::{Grid, Stencil, StencilMatrix};

/// Area over distance of the faces along the axes: cells of 20 by 10 by 2 feet.
const SHAPE: [f64; 3] = [1.0, 4.0, 100.0];
/// What a flow through one of these faces is in barrels a day, roughly.
const BARRELS: f64 = 10.0;
/// The diagonal that pressure equations are scaled to.
const DIAGONAL: f64 = 1000.0;

/// A reservoir with a flow.
struct Reservoir {
    grid: Grid,
    rock: Permeability,
}

impl Reservoir {
    fn new(given: &Given<'_>, grid: Grid, model: &Model) -> Result<Self> {
        let rock = match given.folder {
            None => Permeability::Made,
            Some(folder) => Permeability::read(folder, model)?,
        };
        Ok(Self { grid, rock })
    }

    /// How easily fluid passes to the neighbour.
    fn transmissibility(&self, cell: [usize; 3], offset: [i8; 3]) -> f64 {
        let axis = axis_of(offset);
        let there = beside(self.grid, cell, offset);
        SHAPE[axis] * harmonic(self.rock.at(cell)[axis], self.rock.at(there)[axis])
    }

    /// Mobility of the fluids in the cell that the flow between two comes from: towards the far corner.
    fn mobility(&self, cell: [usize; 3], offset: [i8; 3]) -> f64 {
        let upstream = match comes_in(offset) {
            true => beside(self.grid, cell, offset),
            false => cell,
        };
        0.2 + 0.8 * noise(upstream, 8)
    }
}

/// Whether the flow goes from the neighbour to the cell.
fn comes_in(offset: [i8; 3]) -> bool {
    offset.iter().any(|&step| step < 0)
}

pub fn pressure(
    given: &Given<'_>,
    (grid, stencil): (Grid, Stencil),
    executor: &Executor,
) -> Result<StencilMatrix<f64>> {
    let reservoir = Reservoir::new(given, grid, &SPE10)?;
    let others = others(&stencil);
    StencilMatrix::from_cells(executor, grid, stencil, 1, |cell, entries| {
        let centre = entries.len() / 2;
        for &(point, offset) in &others {
            let flow = reservoir.transmissibility(cell, offset) * reservoir.mobility(cell, offset);
            entries[point] = -flow;
            entries[centre] += flow;
        }
        // Compressibility of rock and fluids.
        entries[centre] *= 1.0 + 1e-3;
        entries[centre] += 1e-3;
        let factor = DIAGONAL / entries[centre];
        entries.iter_mut().for_each(|entry| *entry *= factor);
    })
}

/// Rows: all fluids, then water, gas and dissolved gas; columns: pressure and their amounts.
pub fn components(
    given: &Given<'_>,
    (grid, stencil): (Grid, Stencil),
    executor: &Executor,
) -> Result<StencilMatrix<f64>> {
    let reservoir = Reservoir::new(given, grid, &SECTOR)?;
    let (others, points, centre) = (others(&stencil), stencil.points(), stencil.centre());
    StencilMatrix::from_cells(executor, grid, stencil, 4, |cell, entries| {
        let at = |i: usize, point: usize, j: usize| (i * points + point) * 4 + j;
        for &(point, offset) in &others {
            let flow = BARRELS
                * reservoir.transmissibility(cell, offset)
                * reservoir.mobility(cell, offset);
            for i in 0..4 {
                let part = if i == 0 { 1.0 } else { 0.2 * share(cell, i) };
                entries[at(i, point, 0)] -= part * flow;
                entries[at(i, centre, 0)] += part * flow;
                for j in 1..4 {
                    // A fall of pressure of some hundredths carries the amounts upstream of a face.
                    let carried = 0.02 * flow * if i == j { 1.0 } else { 0.1 * share(cell, j) };
                    let (place, sign) = if comes_in(offset) {
                        (point, -1.0)
                    } else {
                        (centre, 1.0)
                    };
                    entries[at(i, place, j)] += sign * carried;
                }
            }
        }
        let stored = 1.0 + 0.02 * entries[at(0, centre, 0)];
        entries[at(0, centre, 0)] *= 1.0 + 1e-3;
        for i in 0..4 {
            entries[at(i, centre, i)] += stored;
        }
    })
}

/// Of the fluids of a cell, from 0 to 1.
fn share(cell: [usize; 3], component: usize) -> f64 {
    noise(cell, 8 + component as u64)
}
