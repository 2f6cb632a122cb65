//! Coarse matrices with the neighbours of fine ones.
//!
//! A Galerkin product of a stencil with 7 points has 27. The entries that the finer stencil has not are moved to neighbours along the axes: a coupling
//! `w` of two cells that differ along several axes becomes couplings along the edges of the box between them, `w` along every axis in
//! equal shares. Row sums and second moments are kept, so that what is smooth is seen as by the Galerkin product, and symmetric
//! matrices stay so (Falgout and Schroder, Non-Galerkin coarse grids for algebraic multigrid, 2014, with a fixed pattern). A coupling of the sign of the
//! diagonal, as a mass has, is added to it instead: it would leave less than nothing there.

use super::lines::{add, made_of_lines};
use super::{Offset, Stencil, StencilMatrix};
use crate::prelude::*;
use crate::text;

/// Which neighbours the cells of coarse grids are coupled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoarseStencil {
    /// Those of Galerkin products: up to all 27.
    #[default]
    Galerkin,
    /// Those of the finest grid, and always the ones beside along the axes.
    Same,
}

impl CoarseStencil {
    /// A Galerkin product of a matrix with some stencil, as it is to be.
    pub(super) fn of(
        self,
        product: StencilMatrix<f64>,
        fine: &Stencil,
    ) -> Result<StencilMatrix<f64>> {
        match self {
            Self::Galerkin => Ok(product),
            Self::Same => collapsed(product, fine),
        }
    }
}

text::named!(CoarseStencil, "coarse-stencil": Galerkin = "galerkin", Same = "same");

/// The matrix with the entries of a stencil and those along the axes; the others are moved to the latter.
fn collapsed(wide: StencilMatrix<f64>, fine: &Stencil) -> Result<StencilMatrix<f64>> {
    let moved = MovedEntries::new(wide.stencil(), fine);
    if moved.dropped.is_empty() {
        return Ok(wide);
    }
    let (executor, grid, r) = (wide.executor(), wide.grid(), wide.unknowns());
    let per_cell = moved.kept.points() * r * r;
    let mut values = made_of_lines(executor, grid, per_cell, |line, out| {
        moved.line(&wide, line, out);
    })?;
    if let Some(part) = wide.part() {
        // Cells at the end of what is near have neighbours that are not.
        part.refresh([1, per_cell], &mut values)?;
    }
    let made = StencilMatrix::with_unknowns(executor, grid, moved.kept, r, values)?;
    Ok(made.with_part(wide.part()))
}

/// Where the entries of a wide stencil go.
struct MovedEntries {
    kept: Stencil,
    /// Places of the entries that are not kept.
    dropped: Vec<usize>,
    /// Where every kept entry is in the wide stencil.
    from: Vec<usize>,
    /// What comes to every kept entry.
    sources: Vec<Vec<EntrySource>>,
}

/// A share of an entry of a wide stencil, in the row of the cell some steps away.
struct EntrySource {
    point: usize,
    away: Offset,
    share: f64,
}

impl EntrySource {
    /// Adds the share along a line.
    fn come(&self, wide: &StencilMatrix<f64>, pair: [usize; 2], line: usize, out: &mut [f64]) {
        let Some(line) = wide.grid().neighbour(line, self.away) else {
            return;
        };
        let from = wide.line_of(pair, line, self.point);
        let centre = wide.line_of(pair, line, wide.stencil().centre());
        let (from, centre, out) = match self.away[0] {
            -1 => (from, centre, &mut out[1..]),
            1 => (&from[1..], &centre[1..], out),
            _ => (from, centre, out),
        };
        for ((out, from), centre) in out.iter_mut().zip(from).zip(centre) {
            if from * centre < 0.0 {
                *out += self.share * from;
            }
        }
    }
}

impl MovedEntries {
    fn new(wide: &Stencil, fine: &Stencil) -> Self {
        let is_kept = |offset: Offset| {
            let is_there = wide.position(offset).is_some();
            is_there && (fine.position(offset).is_some() || axes(offset).count() <= 1)
        };
        let kept = Stencil::of(&is_kept);
        let places = 0..wide.points();
        let is_dropped = |place: &usize| kept.position(wide.offsets()[*place]).is_none();
        let dropped: Vec<usize> = places.filter(is_dropped).collect();
        let sources = |&offset: &Offset| {
            let mut sources = Vec::new();
            if let (Some(axis), 1) = (axes(offset).next(), axes(offset).count()) {
                let moved = dropped.iter().copied();
                let moved = moved.filter(|&point| wide.offsets()[point][axis] == offset[axis]);
                sources.extend(moved.flat_map(|point| shares(wide, point, axis)));
            }
            sources
        };
        let from = |&offset: &Offset| wide.position(offset).expect("an offset that is kept");
        Self {
            from: kept.offsets().iter().map(from).collect(),
            sources: kept.offsets().iter().map(sources).collect(),
            dropped,
            kept,
        }
    }

    /// The entries of a line, all pairs of unknowns.
    fn line(&self, wide: &StencilMatrix<f64>, line: usize, out: &mut [f64]) {
        let (r, points, length) = (wide.unknowns(), self.kept.points(), wide.grid().length());
        let place = |[i, j]: [usize; 2], point: usize| ((i * points + point) * r + j) * length;
        let pairs = (0..r).flat_map(|i| (0..r).map(move |j| [i, j]));
        for pair in pairs {
            let mut centre = wide.line_of(pair, line, wide.stencil().centre()).to_vec();
            for &point in &self.dropped {
                add(wide.line_of(pair, line, point), &mut centre);
            }
            for (point, sources) in self.sources.iter().enumerate() {
                if point == self.kept.centre() {
                    continue;
                }
                let first = place(pair, point);
                let entries = &mut out[first..first + length];
                for source in sources {
                    source.come(wide, pair, line, entries);
                }
                // What has come is taken from the centre: rows keep their sums.
                let both = centre.iter_mut().zip(&*entries);
                both.for_each(|(centre, come)| *centre -= come);
                add(wide.line_of(pair, line, self.from[point]), entries);
            }
            let first = place(pair, self.kept.centre());
            out[first..first + length].copy_from_slice(&centre);
        }
    }
}

/// The shares that the edges of a box along an axis have of the coupling of two of its corners. The first end of an edge
/// is some of the other steps away from the first corner.
fn shares(wide: &Stencil, point: usize, axis: usize) -> Vec<EntrySource> {
    let offset = wide.offsets()[point];
    let mut ends = vec![[0; 3]];
    for other in axes(offset).filter(|&other| other != axis) {
        let further = ends.clone().into_iter().map(|mut end: Offset| {
            end[other] = -offset[other];
            end
        });
        ends.extend(further);
    }
    let share = 1.0 / ends.len() as f64;
    let source = |away| EntrySource { point, away, share };
    ends.into_iter().map(source).collect()
}

/// The axes along which an offset leads.
fn axes(offset: Offset) -> impl Iterator<Item = usize> {
    (0..3).filter(move |&axis| offset[axis] != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::structured::coarsen::coarsened;

    fn made(spec: &str) -> [StencilMatrix<f64>; 2] {
        let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
        let (_, product) = coarsened(&a, &[2, 1, 0]).unwrap();
        [product.clone(), collapsed(product, a.stencil()).unwrap()]
    }

    #[test]
    fn seven_points_stay_seven_and_rows_keep_their_sums() {
        for spec in ["jump7:9x8x7,1e3", "oil:9x6x5", "rhd-3T:7x5x6"] {
            let [product, same] = made(spec);
            assert_eq!(same.stencil(), &Stencil::star(3), "{spec}");
            let (product, same) = (product.to_csr(), same.to_csr());
            for row in 0..product.size().rows {
                let sum = |a: &crate::matrix::Csr<f64>| -> f64 { a.row(row).1.iter().sum() };
                let scale: f64 = product.row(row).1.iter().map(|value| value.abs()).sum();
                assert!(
                    (sum(&product) - sum(&same)).abs() <= 1e-13 * scale,
                    "{spec}"
                );
            }
        }
    }

    #[test]
    fn a_symmetric_matrix_stays_so_and_second_moments_are_kept() {
        let [_, same] = made("jump7:9x8x7,1e3");
        let same = same.to_csr();
        let transposed = same.transpose().unwrap();
        let both = same.values().iter().zip(transposed.values());
        let largest = same
            .values()
            .iter()
            .fold(0.0_f64, |all, one| all.max(one.abs()));
        for (value, other) in both {
            assert!((value - other).abs() <= 1e-14 * largest);
        }
        // Away from boundaries a Galerkin product of Laplace's equation is that of the grid twice as wide.
        let [_, same] = made("poisson7:17");
        let middle = same.line_of([0; 2], 4 + 9 * 4, 0)[4];
        let centre = same.line_of([0; 2], 4 + 9 * 4, 3)[4];
        assert!((middle + 2.0).abs() < 1e-12 && (centre - 12.0).abs() < 1e-12);
    }

    #[test]
    fn a_stencil_that_has_all_entries_stays_as_it_is() {
        let [product, same] = made("laplace27:6");
        assert_eq!(product.values(), same.values());
    }
}
