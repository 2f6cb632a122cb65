//! The Helmholtz equation of a regional weather forecast, on a grid that follows the ground.

use std::f64::consts::PI;

use super::super::entry::Given;
use super::{noise, position};
use crate::prelude::*;
use crate::structured::{Grid, Stencil, StencilMatrix};

/// Coefficients of a cell: second derivatives along the axes, and mixed ones of x, y with z.
struct Metric {
    along: [f64; 3],
    mixed: [f64; 2],
}

/// Latitudes from 15 to 60 degrees; layers three times as thin at the ground as at the top; slopes that
/// fade with height.
fn metric(grid: Grid, cell: [usize; 3]) -> Metric {
    let [x, y, z] = position(grid, cell);
    let latitude = (15.0 + 45.0 * y) * PI / 180.0;
    let thickness = 0.3 + 0.7 * z;
    let along = [
        1000.0 / latitude.cos().powi(2),
        1000.0,
        50.0 * 1000.0 / thickness.powi(2),
    ];
    let slope = 0.35 * (1.0 - z) * (0.8 + 0.4 * noise([cell[0], cell[1], 0], 5));
    let slopes = [
        slope * (6.0 * PI * x).cos() * (4.0 * PI * y).sin(),
        slope * (6.0 * PI * x).sin() * (4.0 * PI * y).cos(),
    ];
    let mixed = [0, 1].map(|axis| slopes[axis] * (along[axis] * along[2]).sqrt() / 2.0);
    Metric { along, mixed }
}

pub fn helmholtz(
    _: &Given<'_>,
    (grid, stencil): (Grid, Stencil),
    executor: &Executor,
) -> Result<StencilMatrix<f64>> {
    let offsets = stencil.offsets().to_vec();
    StencilMatrix::from_cells(executor, grid, stencil, 1, |cell, entries| {
        let here = metric(grid, cell);
        for (entry, &offset) in entries.iter_mut().zip(&offsets) {
            *entry = coefficient(grid, cell, &here, offset);
        }
    })
}

fn coefficient(grid: Grid, cell: [usize; 3], here: &Metric, offset: [i8; 3]) -> f64 {
    let [x, y, z] = offset.map(f64::from);
    match offset.map(i8::abs) {
        // Axes of one cell have no derivatives.
        [0, 0, 0] => {
            let used = |axis: &usize| grid.size()[*axis] > 1;
            let sum: f64 = (0..3).filter(used).map(|axis| 2.0 * here.along[axis]).sum();
            sum + 10.0
        }
        [1, 0, 0] => -here.along[0] * (1.0 + 0.05 * x),
        [0, 1, 0] => -here.along[1] * (1.0 - 0.05 * y),
        // Gravity: density falls with height.
        [0, 0, 1] => -here.along[2] * (1.0 + 0.02 * z),
        [1, 0, 1] => -here.mixed[0] * x * z / 2.0,
        [0, 1, 1] => -here.mixed[1] * y * z / 2.0,
        _ => -0.01 * here.along[1] * x * y * (0.5 - noise(cell, 6)),
    }
}
