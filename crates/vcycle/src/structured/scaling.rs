//! Bringing a matrix into the range of half precision.

use super::matrix::largest_of;
use super::{StencilMatrix, Storage};
use crate::backend::cpu::simd::multiversion;
use crate::config::ConfigError;
use crate::error::{Error, Result};
use crate::multigrid::serde_text;
use crate::scalar::{Kind, convert};

/// Values that are counted at a time.
const PIECE: usize = 1024;

/// What keeps levels of structured multigrid in the range of half precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All levels are made in double precision first; then those that leave the range are scaled.
    #[default]
    SetupThenScale,
    /// The matrix is scaled and rounded first, and every level made of the rounded one above. Worse:
    /// rounding spoils the coarse levels.
    ScaleThenSetup,
    /// No scaling: an error where a level leaves the range.
    None,
}

impl Strategy {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::SetupThenScale, Self::ScaleThenSetup, Self::None];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::SetupThenScale => "setup-then-scale",
            Self::ScaleThenSetup => "scale-then-setup",
            Self::None => "none",
        }
    }
}

serde_text::named!(Strategy, "scaling");

/// The largest number of a type, and the smallest with all its digits.
fn range(kind: Kind) -> (f64, f64) {
    match kind {
        Kind::F16 => (65504.0, 2f64.powi(-14)),
        Kind::Bf16 | Kind::F32 => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
        _ => (f64::MAX, f64::MIN_POSITIVE),
    }
}

/// The values of a matrix beside the range of a type.
pub(super) struct Survey {
    /// Whether values overflow, or diagonal entries lose digits.
    pub(super) leaves_range: bool,
    /// Which part of the entries that are not zero lose digits because they are small.
    pub(super) underflow: f64,
}

impl Survey {
    pub(super) fn new(a: &StencilMatrix<f64>, kind: Kind) -> Self {
        let (most, least) = range(kind);
        let parts = a.map_values(|_, values| {
            let (mut largest, mut counts) = (0_f64, [0, 0]);
            for values in values.chunks(PIECE) {
                largest = largest.max(largest_of(values));
                counts[0] += count(values, 0.0);
                counts[1] += count(values, least);
            }
            (largest, counts)
        });
        let largest = parts.iter().map(|part| part.0).fold(0.0, f64::max);
        let [entries, whole] = [0, 1].map(|i| parts.iter().map(|part| part.1[i]).sum::<usize>());
        let is_small = |value: &f64| value.abs() < least;
        Self {
            leaves_range: largest > most || a.diagonal_fields().iter().any(is_small),
            underflow: (entries - whole) as f64 / entries.max(1) as f64,
        }
    }
}

multiversion! {
    /// How many values are not zero and at least as large as one.
    fn count[](values: &[f64], smallest: f64) -> usize {
        let large = |value: &f64| u32::from(value.abs() >= smallest && *value != 0.0);
        values.iter().map(large).sum::<u32>() as usize
    }
}

/// Makes `S A S` of `A` with the diagonal matrix `S` that is returned, unknown by unknown, so that the diagonal becomes
/// `G` and no entry overflows: `G` is below `G_max = F min sqrt(a_ii a_jj) / |a_ij|`, `F` the largest
/// number of the type (Zong et al. 2024, theorem 4.1), by the factor `room` at least.
///
/// # Errors
/// For a diagonal entry that is not positive: it has no root.
pub(super) fn scale(a: &mut StencilMatrix<f64>, kind: Kind, room: f64) -> Result<Vec<f64>> {
    let mut roots = a.diagonal_fields();
    if let Some(place) = roots
        .iter()
        .position(|value| !(*value > 0.0 && value.is_finite()))
    {
        return Err(Error::BadPivot {
            component: "struct-mg (scaling)",
            row: a.row_of_field(place),
            problem: "not positive",
        });
    }
    roots.iter_mut().for_each(|value| *value = value.sqrt());
    let relative = |value: &mut f64, root: f64, other: f64| (*value / root / other).abs();
    let ratio = each_entry(a, &roots, relative).max(1.0);
    let limit = range(kind).0.min(f64::from(f32::MAX)) / ratio;
    // A power of two: not even the last digit changes by it.
    let g = 2f64.powi((limit / room).log2().floor() as i32);
    let scales: Vec<f64> = roots.iter().map(|root| g.sqrt() / root).collect();
    each_entry(a, &scales, |value, scale, other| {
        *value *= scale * other;
        0.0
    });
    Ok(scales)
}

/// The largest of `visit(value, number of its row, number of its column)` over all entries inside the
/// grid.
fn each_entry(
    a: &mut StencilMatrix<f64>,
    by: &[f64],
    visit: impl Fn(&mut f64, f64, f64) -> f64 + Sync + Send,
) -> f64 {
    let (grid, stencil, executor) = (a.grid(), a.stencil().clone(), a.executor().clone());
    let (length, bytes, r) = (grid.length(), a.bytes(), a.unknowns());
    let lines = a.values_mut().chunks_mut(length * stencil.points() * r);
    let largest = executor.run(bytes, lines.enumerate().collect(), |(place, values)| {
        let (line, unknown) = (place / r, place % r);
        let of =
            |unknown: usize, line: usize| &by[unknown * grid.cells() + line * length..][..length];
        let rows = of(unknown, line);
        let mut largest = 0_f64;
        for (stream, values) in values.chunks_mut(length).enumerate() {
            let offset = stencil.offsets()[stream / r];
            let Some(other) = grid.neighbour(line, offset) else {
                continue;
            };
            let columns = of(stream % r, other);
            let (skipped, dropped) = (usize::from(offset[0] < 0), usize::from(offset[0] > 0));
            for x in skipped..length - dropped {
                let column = columns[x.wrapping_add_signed(offset[0].into())];
                largest = largest.max(visit(&mut values[x], rows[x], column));
            }
        }
        largest
    });
    largest.into_iter().fold(0.0, f64::max)
}

/// The matrix in another type; an error names the first entry that overflows there.
pub(super) fn stored<M: Storage>(a: &StencilMatrix<f64>, level: usize) -> Result<StencilMatrix<M>> {
    let stored = a.convert::<M>()?;
    stored.check_finite().map_err(|error| match error {
        Error::NonFiniteEntry { row, column } => Error::LevelOverflow {
            level,
            row,
            column,
            kind: M::KIND,
        },
        other => other,
    })?;
    Ok(stored)
}

/// Rounds the values as a type would.
pub(super) fn round<M: Storage>(a: &mut StencilMatrix<f64>) {
    for value in a.values_mut() {
        *value = convert(convert::<f64, M>(*value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::scalar::f16;

    fn matrix(factor: f64) -> StencilMatrix<f64> {
        let a = gallery::build("jump7:5x4x3,1000", &Executor::reference())
            .unwrap()
            .matrix;
        let mut a = StencilMatrix::from_csr(&a).unwrap();
        a.values_mut().iter_mut().for_each(|value| *value *= factor);
        a
    }

    #[test]
    fn scaled_values_are_in_range_and_the_scaling_can_be_undone() {
        for factor in [1e8, 1e-12] {
            let a = matrix(factor);
            assert!(Survey::new(&a, Kind::F16).leaves_range);
            let mut scaled = a.clone();
            let scales = scale(&mut scaled, Kind::F16, 2.0).unwrap();
            assert!(!Survey::new(&scaled, Kind::F16).leaves_range);
            assert!(scaled.largest() > 1e4);
            stored::<f16>(&scaled, 0).unwrap();
            let (before, after) = (a.to_csr(), scaled.to_csr());
            for row in 0..60 {
                for (&column, &value) in before.row(row).0.iter().zip(before.row(row).1) {
                    let undone = after.entry(row, column as usize).unwrap()
                        / (scales[row] * scales[column as usize]);
                    assert!((undone - value).abs() < 1e-12 * value.abs());
                }
            }
        }
        assert!(!Survey::new(&matrix(1.0), Kind::F16).leaves_range);
    }

    #[test]
    fn what_cannot_be_scaled_or_stored_is_named() {
        let mut a = matrix(-1.0);
        assert!(matches!(
            scale(&mut a, Kind::F16, 2.0),
            Err(Error::BadPivot { row: 0, .. })
        ));
        let refused = stored::<f16>(&matrix(1e8), 3);
        assert!(matches!(
            refused,
            Err(Error::LevelOverflow { level: 3, .. })
        ));
    }

    #[test]
    fn small_entries_are_counted() {
        assert_eq!(Survey::new(&matrix(1.0), Kind::F16).underflow, 0.0);
        assert_eq!(Survey::new(&matrix(1e-9), Kind::F16).underflow, 1.0);
    }
}
