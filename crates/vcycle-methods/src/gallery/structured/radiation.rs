//! Radiation diffusion around a hot sphere: one temperature, and three that exchange energy.
//!
//! A front of heat crosses a shell of opaque material. Conductivities follow powers of the temperature:
//! they span seven orders and are far beyond half precision.

use super::super::entry::Given;
use super::{axis_of, beside, harmonic, noise, others, position};
use crate::prelude::*;
use crate::structured::{Grid, Stencil, StencilMatrix};

/// Conductivity of radiation where it is hottest.
const RADIATION: f64 = 1e12;
/// Heat that the matter of a cell holds, per step in time, and what radiation adds where it is hottest.
const CAPACITY: f64 = 1e4;
const HOT_CAPACITY: f64 = 1e6;
/// The same of three temperatures: the first is that of radiation.
const CAPACITIES: [f64; 3] = [1.0, 100.0, 100.0];
const HOT_CAPACITIES: [f64; 3] = [1e7, 0.0, 0.0];
/// How much better electrons conduct than ions.
const LIGHTER: f64 = 100.0;

/// The state that coefficients are made of.
struct RadiationState {
    grid: Grid,
}

impl RadiationState {
    /// From 0.03 outside to 1 in the sphere.
    fn temperature(&self, cell: [usize; 3]) -> f64 {
        0.03 + 0.97 * 0.5 * (1.0 - ((self.radius(cell) - 0.35) / 0.05).tanh())
    }

    fn radius(&self, cell: [usize; 3]) -> f64 {
        let from_middle = position(self.grid, cell).map(|place| (place - 0.5).powi(2));
        from_middle.iter().sum::<f64>().sqrt()
    }

    /// Of radiation: `T^3` over the opacity, which is a hundredfold in the shell.
    fn radiation(&self, cell: [usize; 3]) -> f64 {
        let shell = (0.25..0.3).contains(&self.radius(cell));
        let opacity = if shell { 100.0 } else { 1.0 } * 10_f64.powf(0.5 * noise(cell, 1));
        RADIATION * self.temperature(cell).powi(3) / opacity
    }

    /// Of electrons: `T^(5/2)`.
    fn electrons(&self, cell: [usize; 3]) -> f64 {
        1e6 * self.temperature(cell).powf(2.5) * 10_f64.powf(noise(cell, 2))
    }
}

pub fn one_temperature(
    _: &Given<'_>,
    (grid, stencil): (Grid, Stencil),
    executor: &Executor,
) -> Result<StencilMatrix<f64>> {
    let (state, others) = (RadiationState { grid }, others(&stencil));
    StencilMatrix::from_cells(executor, grid, stencil, 1, |cell, entries| {
        let own = state.radiation(cell);
        let centre = entries.len() / 2;
        entries[centre] = CAPACITY + HOT_CAPACITY * state.temperature(cell).powi(3);
        for &(point, offset) in &others {
            let flow = harmonic(own, state.radiation(beside(grid, cell, offset)));
            entries[point] = -flow;
            entries[centre] += flow;
        }
    })
}

/// How much further apart cells are along x and y than along z, squared: layers are thin in the middle.
fn stretched(grid: Grid, cell: [usize; 3], offset: [i8; 3]) -> f64 {
    if axis_of(offset) != 2 {
        return 1.0;
    }
    let height = |cell| position(grid, cell)[2];
    let middle = 0.5 * (height(cell) + height(beside(grid, cell, offset)));
    3.0 + 30.0 * (-((middle - 0.5) / 0.2).powi(2)).exp()
}

pub fn three_temperatures(
    _: &Given<'_>,
    (grid, stencil): (Grid, Stencil),
    executor: &Executor,
) -> Result<StencilMatrix<f64>> {
    let (state, others) = (RadiationState { grid }, others(&stencil));
    let (points, centre) = (stencil.points(), stencil.centre());
    StencilMatrix::from_cells(executor, grid, stencil, 3, |cell, entries| {
        let at = |i: usize, point: usize, j: usize| (i * points + point) * 3 + j;
        let conductivities = |cell| {
            let electrons = state.electrons(cell);
            [state.radiation(cell), electrons, electrons / LIGHTER]
        };
        let own = conductivities(cell);
        for &(point, offset) in &others {
            let (other, factor) = (
                conductivities(beside(grid, cell, offset)),
                stretched(grid, cell, offset),
            );
            for i in 0..3 {
                let flow = factor * harmonic(own[i], other[i]);
                entries[at(i, point, i)] = -flow;
                entries[at(i, centre, i)] += flow;
            }
        }
        let exchanged = [
            (0, 1, own[1] * noise(cell, 3)),
            (1, 2, 20.0 * own[1] * noise(cell, 4)),
        ];
        for (i, j, rate) in exchanged {
            entries[at(i, centre, i)] += rate;
            entries[at(j, centre, j)] += rate;
            entries[at(i, centre, j)] -= rate;
            entries[at(j, centre, i)] -= rate;
        }
        let heat = state.temperature(cell).powi(3);
        for i in 0..3 {
            entries[at(i, centre, i)] += CAPACITIES[i] + HOT_CAPACITIES[i] * heat;
        }
    })
}
