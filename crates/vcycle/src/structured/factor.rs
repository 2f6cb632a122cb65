//! Incomplete factorisations on the stencil, as smoothers.
//!
//! Rows are eliminated in the order of the eight colours, so that triangular solves are sweeps of
//! Gauss-Seidel from zero: what comes later in the order is still zero then. A factorisation is one stencil
//! matrix `F`: with `L`, `D` and `U` its parts below, on and above the diagonal in that order, the
//! preconditioner is `(L + D) D^-1 (D + U)`.

use super::stencil::opposite;
use super::{Direction, Offset, StencilMatrix, Storage};
use crate::backend::cpu::stencil::Vectors;
use crate::backend::reference::stencil::Start;
use crate::config::ConfigError;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::multigrid::serde_text;
use crate::scalar::{Mixes, convert};
use crate::vector::{Coefficient, Vector};

/// Smallest part of a diagonal entry that its pivot may be.
const PIVOT: f64 = 1e-6;

/// What smooths on the levels of structured multigrid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Smoother {
    /// Gauss-Seidel, forward before the correction and backward after it.
    #[default]
    GaussSeidel,
    /// Incomplete factorisation that changes the diagonal only.
    Dilu,
    /// Incomplete factorisation without fill-in. Twice the memory.
    Ilu0,
}

impl Smoother {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::GaussSeidel, Self::Dilu, Self::Ilu0];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::GaussSeidel => "gs",
            Self::Dilu => "dilu",
            Self::Ilu0 => "ilu0",
        }
    }
}

serde_text::named!(Smoother, "smoother");

/// The colour of a cell, from its parities: those of planes count most.
fn colour([x, y, z]: [usize; 3]) -> usize {
    4 * (z % 2) + 2 * (y % 2) + x % 2
}

/// What a step does to colours.
fn turn(offset: Offset) -> usize {
    let [x, y, z] = offset.map(|step| step.unsigned_abs() as usize);
    4 * z + 2 * y + x
}

/// The factorisation of a matrix with one unknown a cell; `full` changes all entries, else the diagonal
/// only.
///
/// # Errors
/// For several unknowns a cell, and for a pivot that is lost, naming its row.
pub(super) fn factorised(a: &StencilMatrix<f64>, full: bool) -> Result<StencilMatrix<f64>> {
    if a.unknowns() > 1 {
        return Err(Error::Unsupported {
            component: "incomplete factorisation on a stencil".to_owned(),
            operation: "several unknowns a cell".to_owned(),
        });
    }
    let mut factor = a.clone();
    let rows = (0..8).flat_map(|wanted| {
        let of_colour = move |row: &usize| colour(a.grid().cell(*row)) == wanted;
        (0..a.grid().cells()).filter(of_colour)
    });
    for row in rows {
        eliminate(&mut factor, row, full);
        let place = factor.place(row, a.stencil().centre());
        let (pivot, before) = (factor.values()[place], a.values()[place]);
        let safe = pivot.abs() > PIVOT * before.abs();
        if !safe {
            return Err(Error::BadPivot {
                component: "struct-mg (incomplete factorisation)",
                row,
                problem: "lost",
            });
        }
    }
    Ok(factor)
}

/// Takes the rows of neighbours with earlier colours out of a row.
fn eliminate(factor: &mut StencilMatrix<f64>, row: usize, full: bool) {
    let (grid, stencil) = (factor.grid(), factor.stencil().clone());
    let own = colour(grid.cell(row));
    let mut earlier: Vec<(usize, usize)> = (0..stencil.points())
        .map(|point| (own ^ turn(stencil.offsets()[point]), point))
        .filter(|&(colour, _)| colour < own)
        .collect();
    earlier.sort_unstable();
    for (of_pivot, point) in earlier {
        let entry = factor.values()[factor.place(row, point)];
        // Entries of neighbours outside are zero.
        if entry == 0.0 {
            continue;
        }
        let offset = stencil.offsets()[point];
        let pivot = row.wrapping_add_signed(grid.distance(offset));
        let share = entry / factor.values()[factor.place(pivot, stencil.centre())];
        for (later, &step) in stencil.offsets().iter().enumerate() {
            let wanted = match full {
                true => of_pivot ^ turn(step) > of_pivot,
                false => step == opposite(offset),
            };
            let sum = [0, 1, 2].map(|axis| offset[axis] + step[axis]);
            let target = stencil.position(sum).filter(|_| wanted);
            if let Some(target) = target {
                let change = share * factor.values()[factor.place(pivot, later)];
                let place = factor.place(row, target);
                factor.values_mut()[place] -= change;
            }
        }
    }
}

/// A factorisation as it is stored, and its diagonal.
#[derive(Debug)]
pub(super) struct Factor<M, V> {
    matrix: StencilMatrix<M>,
    diagonal: Vector<V>,
}

impl<M: Storage, V: Vectors + Mixes<V, V>> Factor<M, V> {
    pub(super) fn new(matrix: StencilMatrix<M>) -> Self {
        let diagonal = matrix.diagonal().into_iter().map(convert).collect();
        Self {
            diagonal: Vector::from_column(matrix.executor(), diagonal),
            matrix,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.matrix.bytes() + self.diagonal.bytes()
    }

    /// `x += (D + U)^-1 D (L + D)^-1 r`.
    pub(super) fn correct(&self, r: &Vector<V>, x: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let mut half = ws.vector_like::<V, V>(r)?;
        let mut whole = ws.vector_like::<V, V>(r)?;
        let [forward, backward] =
            [Direction::Forward, Direction::Backward].map(|direction| (direction, Start::Zero));
        self.matrix.sweep(forward, r, &mut half, ws)?;
        whole.scale_rows(&self.diagonal, false, &half)?;
        self.matrix.sweep(backward, &whole, &mut half, ws)?;
        x.axpy(Coefficient::one(), &half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;

    /// The product of the factors at a row and column.
    fn product(f: &StencilMatrix<f64>, row: usize, column: usize) -> f64 {
        let csr = f.to_csr();
        let rank = |row: usize| colour(f.grid().cell(row));
        let entry = |row: usize, column: usize| csr.entry(row, column).unwrap_or(0.0);
        let through = |k: usize| entry(row, k) * entry(k, column) / entry(k, k);
        let lower = |k: &usize| *k == row || rank(*k) < rank(row);
        let upper = |k: &usize| *k == column || rank(*k) < rank(column);
        (0..csr.size().rows)
            .filter(lower)
            .filter(upper)
            .map(through)
            .sum()
    }

    #[test]
    fn the_factors_multiply_to_the_matrix_on_its_pattern() {
        for spec in ["jump7:4x3x3,10", "laplace27:3x4x3", "convdiff7:3x3x4,5"] {
            let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
            let (full, diagonal) = (
                factorised(&a, true).unwrap(),
                factorised(&a, false).unwrap(),
            );
            let csr = a.to_csr();
            for row in 0..csr.size().rows {
                for (&column, &value) in csr.row(row).0.iter().zip(csr.row(row).1) {
                    let column = column as usize;
                    let found = product(&full, row, column);
                    assert!((found - value).abs() < 1e-10, "{spec}: {row} {column}");
                }
                let found = product(&diagonal, row, row);
                assert!(
                    (found - csr.entry(row, row).unwrap()).abs() < 1e-10,
                    "{spec}: {row}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_factorised_is_named() {
        let host = Executor::reference();
        let several = gallery::build_stencil("solid-3D:3", &host).unwrap();
        let refused = factorised(&several, true);
        assert!(matches!(refused, Err(Error::Unsupported { .. })));
        let mut a = gallery::build_stencil("poisson5:2x1", &host).unwrap();
        a.values_mut()
            .iter_mut()
            .for_each(|value| *value = value.clamp(-1.0, 1.0));
        let refused = factorised(&a, true);
        assert!(
            matches!(refused, Err(Error::BadPivot { row: 1, .. })),
            "{refused:?}"
        );
    }
}
