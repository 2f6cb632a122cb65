//! Incomplete factorisations multiplied out.

use std::ops::Range;

use super::*;
use crate::gallery;

impl StencilMatrix<f64> {
    /// The entries between the unknowns of a cell and those of a neighbour.
    fn block(&self, cell: usize, point: usize) -> Vec<Vec<f64>> {
        let (r, places) = (self.unknowns(), Places::of(self));
        let places: Vec<usize> = places.block(places.first(cell), point).collect();
        let rows = places
            .chunks_exact(r)
            .map(|row| row.iter().map(|&place| self.values()[place]).collect());
        rows.collect()
    }
}

/// `a b^-1`.
fn divided(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let (mut quotient, r) = (a.concat(), a.len());
    divide(&mut quotient, &mut b.concat(), r);
    quotient.chunks_exact(r).map(<[f64]>::to_vec).collect()
}

/// The product of the factors, in blocks, at a cell and a neighbour.
fn product(f: &StencilMatrix<f64>, cell: usize, offset: Offset, entry: [usize; 2]) -> f64 {
    let (grid, stencil) = (f.grid(), f.stencil());
    let rank = |cell: usize| colour(grid.cell(cell));
    let beside = |cell: usize, offset| cell.wrapping_add_signed(grid.distance(offset));
    let other = beside(cell, offset);
    let mut sum = 0.0;
    for (point, &step) in stencil.offsets().iter().enumerate() {
        let rest = [0, 1, 2].map(|axis| offset[axis] - step[axis]);
        let block = f.block(cell, point);
        let between = beside(cell, step);
        let Some(to_other) = stencil.position(rest) else {
            continue;
        };
        let inside = block.iter().flatten().any(|value| *value != 0.0);
        let lower = between == cell || inside && rank(between) < rank(cell);
        let upper = between == other || inside && rank(between) < rank(other);
        if lower && upper {
            let share = divided(&block, &f.block(between, stencil.centre()));
            let last = f.block(between, to_other);
            let row = share[entry[0]].iter().zip(&last);
            sum += row.map(|(a, b)| a * b[entry[1]]).sum::<f64>();
        }
    }
    sum
}

/// Fails where the product of the factors is not the matrix.
fn check(spec: &str, a: &StencilMatrix<f64>, f: &StencilMatrix<f64>, points: Range<usize>) {
    for cell in 0..a.grid().cells() {
        for point in points.clone() {
            let (offset, block) = (a.stencil().offsets()[point], a.block(cell, point));
            for i in 0..a.unknowns() {
                for j in (0..a.unknowns()).filter(|&j| block[i][j] != 0.0) {
                    let found = product(f, cell, offset, [i, j]);
                    let error = (found - block[i][j]).abs();
                    assert!(
                        error < 1e-10 * a.largest(),
                        "{spec}: {cell} {offset:?} {i} {j}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_factors_multiply_to_the_matrix_on_its_pattern() {
    for spec in [
        "jump7:4x3x3,10",
        "laplace27:3x4x3",
        "convdiff7:3x3x4,5",
        "oil-4C:3x4x3",
        "elasticity:3x3x3",
    ] {
        let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
        let (all, centre) = (0..a.stencil().points(), a.stencil().centre());
        for (full, points) in [(true, all), (false, centre..centre + 1)] {
            let factor = factorised_leaving(1e-6, &a, full, 0).unwrap();
            check(spec, &a, &factor, points);
        }
    }
}

#[test]
fn a_pivot_that_would_vanish_stays_as_it_was() {
    let host = Executor::reference();
    let mut a = gallery::build_stencil("poisson5:2x1", &host).unwrap();
    a.values_mut()
        .iter_mut()
        .for_each(|value| *value = value.clamp(-1.0, 1.0));
    for full in [true, false] {
        let factor = factorised(&a, full, 0).unwrap();
        let centre = a.stencil().centre();
        assert_eq!(factor.block(1, centre), a.block(1, centre));
    }
}

#[test]
fn a_singular_block_is_named_with_its_level() {
    let mut a = gallery::build_stencil("oil-4C:2", &Executor::reference()).unwrap();
    let (places, centre) = (Places::of(&a), a.stencil().centre());
    for place in places.block(places.first(3), centre) {
        a.values_mut()[place] = 1.0;
    }
    let refused = factorised(&a, true, 2).unwrap_err().to_string();
    assert!(
        refused.contains("level 2: the pivot of row 13"),
        "{refused}"
    );
}
