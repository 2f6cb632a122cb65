//! What a stencil matrix is like: islands of its coefficient, symmetry, and axes of strong coupling.

use std::ops::Range;

use super::StencilMatrix;
use super::lines::add;
use super::stencil::opposite;
use crate::multiversion;
use crate::prelude::*;

/// Diagonal entries of neighbours that differ by this factor are far apart.
const RATIO: f64 = 300.0;
/// So many cells have, on average, one that is far from its next one.
const CELLS: f64 = 200.0;
/// One step along each axis.
const STEPS: [[i8; 3]; 3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

impl StencilMatrix<f64> {
    /// Whether the diagonal jumps along all axes, as that of a diffusion does whose coefficient is large in some blocks
    /// of cells and small in others. Every such block has an error of its own that smoothing leaves, and cells that hold
    /// several of them cannot correct it: cycles alone converge slowly on large grids. Layers, which jump along one axis, are
    /// no islands, and matrices with several unknowns a cell are not looked at.
    #[doc(hidden)]
    pub fn has_islands(&self) -> Result<bool> {
        if self.unknowns() > 1 {
            return Ok(false);
        }
        let jumps = self.operand().jumps(RATIO)?;
        let jumps = jumps.unwrap_or_else(|| self.jumps_on_host());
        let mut jumps = jumps.map(|count| count as f64);
        if let Some(part) = self.part() {
            part.team().sum(&mut jumps)?;
        }
        let (cells, size) = (self.grid_of_all().cells(), self.grid_of_all().size());
        let mut axes = (0..3).filter(|&axis| size[axis] > 1);
        Ok(cells > 1 && axes.all(|axis| CELLS * jumps[axis] > cells as f64))
    }

    /// How many own cells are far from the next one along each axis.
    fn jumps_on_host(&self) -> [usize; 3] {
        let found = self.map_own_lines(|lines| {
            let of_line = |line| STEPS.map(|step| self.jumps_of_line(line, step));
            lines.map(of_line).fold([0; 3], sums)
        });
        found.into_iter().fold([0; 3], sums)
    }

    /// How many cells of a line are far from the one a step away.
    fn jumps_of_line(&self, line: usize, step: [i8; 3]) -> usize {
        let Some(other) = self.grid().neighbour(line, step) else {
            return 0;
        };
        let (length, along) = (self.grid().length(), usize::from(step[0] != 0));
        let centre = self.stencil().centre();
        let [here, there] = [line, other].map(|line| self.line_of([0, 0], line, centre));
        let is_far = |x: usize| {
            let (here, there) = (here[x].abs(), there[x + along].abs());
            here > RATIO * there || there > RATIO * here
        };
        (0..length - along).filter(|&x| is_far(x)).count()
    }
}

fn sums(one: [usize; 3], other: [usize; 3]) -> [usize; 3] {
    [0, 1, 2].map(|axis| one[axis] + other[axis])
}

/// Entries that differ by less than this, relatively, count as equal: assembly rounds.
const TOLERANCE: f64 = 1e-10;

impl StencilMatrix<f64> {
    /// Whether all entries are those opposite, to rounding, and the diagonal is positive. One pass over the matrix,
    /// without indices a fraction of what it takes to say so of a CSR matrix.
    #[doc(hidden)]
    pub fn is_symmetric_and_positive(&self) -> Result<bool> {
        let found = self.operand().is_symmetric_and_positive(TOLERANCE)?;
        let here = found.unwrap_or_else(|| self.is_so_on_host());
        Ok(!self.any(!here)?)
    }

    fn is_so_on_host(&self) -> bool {
        let positive = |line: &[f64]| line.iter().all(|value| *value > 0.0);
        if !self.diagonal_lines().all(|(_, line)| positive(line)) {
            return false;
        }
        let is_symmetric = |mut lines: Range<usize>| lines.all(|line| self.is_line_symmetric(line));
        self.map_own_lines(is_symmetric)
            .into_iter()
            .all(|symmetric| symmetric)
    }

    /// Whether the entries of a line with cells behind its own are those opposite.
    fn is_line_symmetric(&self, line: usize) -> bool {
        let (stencil, r, length) = (self.stencil(), self.unknowns(), self.grid().length());
        let behind = stencil.offsets().iter().enumerate().skip(stencil.centre());
        let mut there = behind.filter_map(|(point, &offset)| {
            let (other, back) = (self.grid().neighbour(line, offset)?, opposite(offset));
            Some((point, offset[0], other, stencil.position(back)?))
        });
        there.all(|(point, step, other, back)| {
            let (skipped, dropped) = (usize::from(step < 0), usize::from(step > 0));
            (0..r * r)
                .map(|block| [block / r, block % r])
                .all(|[i, j]| {
                    let here = self.line_of([i, j], line, point);
                    let there = self.line_of([j, i], other, back);
                    are_equal(
                        &here[skipped..length - dropped],
                        &there[dropped..length - skipped],
                    )
                })
        })
    }
}

multiversion! {
    fn are_equal[](here: &[f64], there: &[f64]) -> bool {
        let mut equal = true;
        for (here, there) in here.iter().zip(there) {
            equal &= (here - there).abs() <= TOLERANCE * (here.abs() + there.abs());
        }
        equal
    }
}

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
    let own = a.own_cells().lines(grid).into_iter().flatten();
    let of_all = |line| a.part().map_or(line, |part| part.line_of_all(line));
    let sample = own.filter(|&line| of_all(line).is_multiple_of(every));
    let sample: Vec<usize> = sample.collect();
    let strengths = a.operand().couplings(&sample)?;
    let mut strengths = strengths.unwrap_or_else(|| couplings_on_host(a, sample));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    #[test]
    fn blocks_are_islands_and_layers_are_not() {
        let mut places = vec![Executor::reference(), Executor::cpu()];
        places.extend(device());
        for (spec, expected) in [
            ("jump7:32,1e6", true),
            ("jump7:32,1e3", true),
            ("jump7:32,100", false),
            ("poisson7:8", false),
            ("rhd:16", false),
            ("rhd-3T:8", false),
        ] {
            for executor in &places {
                let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
                let a = a.copy_to(executor).unwrap();
                assert_eq!(a.has_islands().unwrap(), expected, "{spec} {executor:?}");
            }
        }
        let mut layers = gallery::build_stencil("poisson7:8", &Executor::reference()).unwrap();
        let half = layers.values().len() / 2;
        layers.values_mut()[half..]
            .iter_mut()
            .for_each(|value| *value *= 1e6);
        assert!(!layers.has_islands().unwrap());
    }

    #[test]
    fn symmetry_is_that_of_the_csr_matrix() {
        let host = Executor::reference();
        for spec in [
            "laplace27:5x4x3",
            "solid-3D:3",
            "oil:4",
            "oil-4C:3",
            "weather:4",
            "rhd-3T:4",
        ] {
            let a = gallery::build_stencil(spec, &host).unwrap();
            let facts = a.to_csr().facts();
            let expected = facts.symmetric && facts.positive_diagonal();
            assert_eq!(a.is_symmetric_and_positive().unwrap(), expected, "{spec}");
        }
    }

    #[test]
    fn one_entry_is_enough() {
        let places = std::iter::once(Executor::reference()).chain(device());
        for place in places {
            let mut a = gallery::build_stencil("rhd-3T:5x4x6", &Executor::reference()).unwrap();
            let is_so = |a: &StencilMatrix<f64>| {
                let there = a.copy_to(&place).unwrap();
                there.is_symmetric_and_positive().unwrap()
            };
            assert!(is_so(&a));
            let last = a.values().iter().rposition(|value| *value < 0.0).unwrap();
            let centre = a.stencil().centre() * a.unknowns() * a.grid().length();
            for (changed, factor) in [(last, 1.001), (centre, -1.0)] {
                let before = a.values()[changed];
                a.values_mut()[changed] *= factor;
                assert!(!is_so(&a));
                a.values_mut()[changed] = before;
            }
        }
    }
}
