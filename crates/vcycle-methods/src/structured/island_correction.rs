//! Corrections by a number on each island.

use super::StencilMatrix;
use super::island_search::Island;
use crate::cpu::stencil::Vectors;
use crate::error::{ConfigError, Result};
use crate::executor::{Buffer, Executor, Workspace};
use crate::linop::{LinOp, Size};
use crate::matrix::Csr;
use crate::scalar::{Mixes, Real};
use crate::text;
use crate::vector::{Coefficient, Vector};

/// Whether the levels of structured multigrid are corrected by constants on islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IslandCorrections {
    /// Where the diagonal of the matrix jumps along all axes.
    #[default]
    Auto,
    /// Nowhere.
    Off,
}

impl IslandCorrections {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Auto, Self::Off];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
        }
    }
}

text::named!(IslandCorrections, "island correction");

/// `x += Z D^-1 Z^T (b - A x)`: the columns of `Z` are one on an island each, and `D` is the diagonal of `Z^T A Z`, with
/// what couples islands added to it.
///
/// An error that is constant on an island stays there when a level is smoothed, and cells of the next grid that hold
/// more than the island cannot correct it.
#[derive(Debug)]
pub(super) struct IslandCorrection<V> {
    /// `Z^T`.
    sums: Csr<V>,
    /// `Z^T A`, of sums in double precision: what cancels within an island is as large as a jump.
    couplings: Csr<V>,
    /// `Z D^-1`.
    spread: Csr<V>,
}

impl<V: Vectors + Mixes<V, V>> IslandCorrection<V> {
    /// That of a matrix, which may be scaled: in the unknowns of `S A S`.
    pub(super) fn of(
        a: &StencilMatrix<f64>,
        scales: Option<&Buffer<f64>>,
        executor: &Executor,
    ) -> Result<Option<Self>> {
        let islands = a.islands()?;
        if islands.is_empty() {
            return Ok(None);
        }
        let scales = scales.map(Buffer::host).transpose()?;
        let scale = |cell: u32| scales.map_or(1.0, |scales| scales[cell as usize]);
        let diagonal = diagonals(&islands, a.grid().cells());
        let ones = |island: &Island| -> Vec<(u32, f64)> {
            let cells = island.cells.iter();
            cells.map(|&cell| (cell, 1.0 / scale(cell))).collect()
        };
        let couplings = |island: &Island| -> Vec<(u32, f64)> {
            let couplings = island.couplings.iter();
            couplings
                .map(|(&cell, value)| (cell, value * scale(cell)))
                .collect()
        };
        let columns = a.grid().cells();
        let sums = of_rows(executor, columns, islands.iter().map(ones));
        let couplings = of_rows(executor, columns, islands.iter().map(couplings));
        let shares = islands.iter().zip(&diagonal).map(|(island, diagonal)| {
            let ones = ones(island).into_iter();
            ones.map(|(cell, one)| (cell, one / diagonal)).collect()
        });
        let spread = of_rows::<V>(&executor.on_host(), columns, shares).transpose()?;
        Ok(Some(Self {
            sums,
            couplings,
            spread: spread.into_executor(executor)?,
        }))
    }

    /// Adds the correction.
    pub(super) fn correct(&self, b: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let rows = self.sums.size().rows;
        let mut sums = ws.vector::<V>(b.executor(), rows, 1)?;
        let mut rest = ws.vector::<V>(b.executor(), rows, 1)?;
        LinOp::<V>::apply(&self.sums, b, &mut sums, ws)?;
        LinOp::<V>::residual(&self.couplings, &sums, x, &mut rest, ws)?;
        let one = Coefficient::one();
        LinOp::<V>::apply_advanced(&self.spread, one, &rest, one, x, ws)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let all = [&self.sums, &self.couplings, &self.spread];
        all.map(|one| LinOp::<V>::footprint(one).held).iter().sum()
    }
}

/// The diagonal of `Z^T A Z` and, so that no correction goes too far, the absolute values of all else in its rows.
fn diagonals(islands: &[Island], cells: usize) -> Vec<f64> {
    let mut is_in = vec![false; cells];
    let all = islands.iter().flat_map(|island| &island.cells);
    all.for_each(|&cell| is_in[cell as usize] = true);
    let with_others = |island: &Island| {
        let is_other = |cell: &u32| is_in[*cell as usize] && !island.cells.contains(cell);
        let others = island.couplings.iter().filter(|(cell, _)| is_other(cell));
        others.map(|(_, value)| value.abs()).sum::<f64>()
    };
    let islands = islands.iter();
    islands
        .map(|island| island.own_coupling() + with_others(island))
        .collect()
}

/// A matrix of rows whose columns ascend.
fn of_rows<V: Real>(
    executor: &Executor,
    columns: usize,
    rows: impl Iterator<Item = Vec<(u32, f64)>>,
) -> Csr<V> {
    let (mut offsets, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (column, value) in row {
            places.push(column);
            values.push(V::from_f64(value));
        }
        offsets.push(places.len());
    }
    let size = Size::new(offsets.len() - 1, columns);
    Csr::from_canonical(executor, size, offsets, places, values)
}

#[cfg(test)]
mod tests {
    use super::super::island_search::pair;
    use super::*;

    #[test]
    fn residuals_have_no_sum_on_an_island_that_is_corrected() {
        let a = pair(1e4);
        let (cpu, ws, cells) = (a.executor(), Workspace::new(), a.grid().cells());
        let numbers = |modulus: usize| -> Vec<f64> {
            let cells = 0..cells;
            cells.map(|cell| (cell % modulus) as f64 + 1.0).collect()
        };
        let b = numbers(7);
        for scales in [vec![1.0; cells], numbers(4)] {
            let by = Buffer::from_vec(cpu, scales.clone());
            let islands = IslandCorrection::<f64>::of(&a, Some(&by), cpu).unwrap();
            let islands = islands.unwrap();
            let scaled = b.iter().zip(&scales).map(|(b, scale)| b * scale);
            let right = Vector::from_column(cpu, scaled.collect());
            let mut x = Vector::from_column(cpu, numbers(5));
            islands.correct(&right, &mut x, &ws).unwrap();
            let solution = x.host().unwrap().iter().zip(&scales);
            let x = Vector::from_column(cpu, solution.map(|(x, scale)| x * scale).collect());
            let mut r = Vector::from_column(cpu, b.clone());
            LinOp::<f64>::residual(&a, &Vector::from_column(cpu, b.clone()), &x, &mut r, &ws)
                .unwrap();
            let r = r.host().unwrap();
            assert!((r[37] + r[38]).abs() < 1e-9, "{}", r[37] + r[38]);
            assert!(islands.bytes() > 0);
        }
    }
}
