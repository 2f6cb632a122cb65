//! Along which axes the cells of a grid are coupled strongly.

use super::StencilMatrix;
use super::lines::add;
use crate::error::Result;

/// Lines that tell how strongly the cells of a grid are coupled along each axis, about.
const SAMPLE: usize = 1024;

/// The axes to halve, z first: those along which cells are coupled at least `share` times as strongly as
/// along the strongest.
pub(super) fn strong_axes(a: &StencilMatrix<f64>, share: f64) -> Result<Vec<usize>> {
    let strengths = couplings(a)?;
    let strongest = strengths.iter().copied().fold(0.0, f64::max);
    let size = a.grid_of_all().size();
    let strong = |axis: &usize| size[*axis] > 1 && strengths[*axis] >= share * strongest;
    let axes: Vec<usize> = (0..3).rev().filter(strong).collect();
    Ok(match axes.is_empty() {
        false => axes,
        // Only axes of one cell are strong: the others are all there is.
        true => (0..3).rev().filter(|&axis| size[axis] > 1).collect(),
    })
}

/// How strongly cells are coupled with those beside them along each axis, relative to the diagonal, on
/// average.
fn couplings(a: &StencilMatrix<f64>) -> Result<[f64; 3]> {
    let grid = a.grid();
    // An odd step does not come back to the same place of every plane.
    let every = a.grid_of_all().lines().div_ceil(SAMPLE) | 1;
    let sample: Vec<usize> = match a.part() {
        None => (0..grid.lines()).step_by(every).collect(),
        Some(part) => {
            let own = part.own_lines().flatten();
            own.filter(|&line| part.line_of_all(line).is_multiple_of(every))
                .collect()
        }
    };
    let mut strengths = match a.operand().couplings(&sample)? {
        Some(strengths) => strengths,
        None => couplings_on_host(a, sample),
    };
    if let Some(part) = a.part() {
        part.team().sum(&mut strengths)?;
    }
    Ok(strengths)
}

/// The same of some lines on the host, in sum.
fn couplings_on_host(a: &StencilMatrix<f64>, sample: Vec<usize>) -> [f64; 3] {
    let (grid, stencil) = (a.grid(), a.stencil());
    let (mut strengths, mut sides) = ([0.0; 3], [(); 2].map(|()| vec![0.0; grid.length()]));
    let unknowns = |line| (0..a.unknowns()).map(move |unknown| (line, unknown));
    for (line, unknown) in sample.into_iter().flat_map(unknowns) {
        let diagonal = a.line_of([unknown; 2], line, stencil.centre());
        for (axis, strength) in strengths.iter_mut().enumerate() {
            sides.iter_mut().for_each(|side| side.fill(0.0));
            for (point, offset) in stencil.offsets().iter().enumerate() {
                let Some(side) = [-1, 1].iter().position(|&step| offset[axis] == step) else {
                    continue;
                };
                add(a.line_of([unknown; 2], line, point), &mut sides[side]);
            }
            let [before, after] = &sides;
            let both = before.iter().zip(after).zip(diagonal);
            let cells = both.filter(|(_, diagonal)| **diagonal != 0.0);
            *strength += cells
                .map(|((before, after), diagonal)| (before.abs() + after.abs()) / diagonal.abs())
                .sum::<f64>();
        }
    }
    strengths
}
