//! Whether a stencil matrix is symmetric.

use super::StencilMatrix;
use super::lines::map_lines;
use super::stencil::opposite;
use crate::error::Result;
use crate::multiversion;

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
        let all = std::iter::once(0..self.grid().lines());
        let found = map_lines(self.executor(), self.bytes(), all, |mut lines| {
            lines.all(|line| self.is_line_symmetric(line))
        });
        found.into_iter().all(|symmetric| symmetric)
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

#[cfg(test)]
mod tests {
    use vcycle_core::testing::device;

    use super::*;
    use crate::executor::Executor;
    use crate::gallery;

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
