//! Bringing a matrix into the range of half precision.

use super::scaled::Scaled;
use super::survey::{Survey, range};
use super::{StencilMatrix, Storage};
use crate::error::{Error, Result};
use crate::executor::Buffer;
use crate::scalar::{Kind, bf16, convert, f16};

/// A matrix `S A S` with a constant diagonal `G`, in the range of a type.
pub(super) struct InRange<M: Storage> {
    pub(super) a: StencilMatrix<M>,
    /// The diagonal matrix `S`, unknown by unknown.
    pub(super) scales: Buffer<f64>,
    /// What its values were like before they were rounded to `M`.
    pub(super) survey: Survey,
}

/// Scales a matrix so that no entry overflows in the type `kind`: `G` is below
/// `G_max = F min sqrt(a_ii a_jj) / |a_ij|`, `F` the largest number of the type (Zong et al. 2024, theorem 4.1), by
/// the factor `room` at least.
pub(super) fn in_range<M: Storage>(
    a: &StencilMatrix<f64>,
    kind: Kind,
    room: f64,
    level: usize,
) -> Result<InRange<M>> {
    let limit = range(kind).0.min(f64::from(f32::MAX)) / room;
    let mut diagonal = below(limit);
    let mut scales = roots(a, diagonal.sqrt())?;
    let (mut stored, mut sizes) = Scaled::new(a, &scales, diagonal).stored()?;
    // No entry of a positive definite matrix is larger than the roots of its diagonal entries.
    if sizes.largest() > limit {
        let by = below(limit / sizes.largest());
        diagonal *= by;
        scales = roots(a, diagonal.sqrt())?;
        (stored, sizes) = Scaled::new(a, &scales, diagonal).stored()?;
    }
    let survey = Survey::of_scaled(sizes, M::KIND);
    let a = checked(stored, level, &survey)?;
    Ok(InRange { a, scales, survey })
}

/// The largest power of two below a number: not even the last digit changes by it.
fn below(limit: f64) -> f64 {
    2f64.powi(limit.log2().floor() as i32)
}

/// `factor` over the roots of the diagonal, unknown by unknown.
fn roots(a: &StencilMatrix<f64>, factor: f64) -> Result<Buffer<f64>> {
    let rooted = match without_root(a)? {
        None => Ok(()),
        Some(place) => Err(Error::BadPivot {
            component: "struct-mg (scaling)",
            row: a.row_of_field(place),
            problem: "not positive",
        }),
    };
    a.agree(rooted)?;
    if let Some(roots) = a.operand().roots(factor)? {
        return Ok(roots);
    }
    let mut roots = a.diagonal_fields();
    let root = |value: &mut f64| *value = factor * (1.0 / value.sqrt());
    roots.iter_mut().for_each(root);
    Ok(Buffer::from_vec(a.executor(), roots))
}

/// The first place, unknown by unknown, where the diagonal is not positive or infinite.
pub(super) fn without_root(a: &StencilMatrix<f64>) -> Result<Option<usize>> {
    if let Some(facts) = a.operand().diagonal_facts(0.0)? {
        return Ok(facts.without_root);
    }
    let has_none = |value: &f64| !(*value > 0.0 && value.is_finite());
    let mut lines = a.diagonal_lines();
    Ok(lines.find_map(|(first, line)| Some(first + line.iter().position(has_none)?)))
}

/// `S A S` in a type, rounded to nearest.
pub(super) fn scaled<M: Storage>(
    a: &StencilMatrix<f64>,
    scales: &Buffer<f64>,
    level: usize,
) -> Result<StencilMatrix<M>> {
    let (stored, sizes) = Scaled::new(a, scales, 0.0).stored()?;
    checked(stored, level, &Survey::of_scaled(sizes, M::KIND))
}

/// The matrix in another type; an error names the first entry that overflows there.
pub(super) fn stored<M: Storage>(
    a: &StencilMatrix<f64>,
    level: usize,
    survey: &Survey,
) -> Result<StencilMatrix<M>> {
    checked(a.convert::<M>()?, level, survey)
}

fn checked<M: Storage>(
    stored: StencilMatrix<M>,
    level: usize,
    survey: &Survey,
) -> Result<StencilMatrix<M>> {
    if !survey.may_overflow_in(M::KIND) {
        return Ok(stored);
    }
    let checked = stored.check_finite().map_err(|error| match error {
        Error::NonFiniteEntry { row, column } => Error::LevelOverflow {
            level,
            row,
            column,
            kind: M::KIND,
        },
        other => other,
    });
    stored.agree(checked)?;
    Ok(stored)
}

/// Rounds the values as a type would.
pub(super) fn round(a: &mut StencilMatrix<f64>, kind: Kind) {
    match kind {
        Kind::F16 => round_to::<f16>(a),
        Kind::Bf16 => round_to::<bf16>(a),
        Kind::F32 => round_to::<f32>(a),
        _ => {}
    }
}

fn round_to<M: Storage>(a: &mut StencilMatrix<f64>) {
    for value in a.values_mut() {
        *value = convert(convert::<f64, M>(*value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;

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
            assert!(Survey::new(&a, Kind::F16).unwrap().leaves_range);
            let made = in_range::<f64>(&a, Kind::F16, 2.0, 0).unwrap();
            let full = made.a;
            let half = in_range::<f16>(&a, Kind::F16, 2.0, 0).unwrap();
            assert!(made.survey.largest() > 1e4 && made.survey.largest() == full.largest());
            assert!(
                !Survey::new(&full, Kind::F16).unwrap().leaves_range && !half.survey.leaves_range
            );
            let nearest = scaled::<f16>(&a, &made.scales, 0).unwrap();
            let scales = made.scales.to_vec();
            assert_eq!(nearest.values(), full.convert::<f16>().unwrap().values());
            assert_eq!(half.a.to_csr().values(), nearest.to_csr().values());
            let (before, after) = (a.to_csr(), full.to_csr());
            for row in 0..60 {
                for (&column, &value) in before.row(row).0.iter().zip(before.row(row).1) {
                    let undone = after.entry(row, column as usize).unwrap()
                        / (scales[row] * scales[column as usize]);
                    assert!((undone - value).abs() < 1e-12 * value.abs());
                }
            }
        }
        assert!(!Survey::new(&matrix(1.0), Kind::F16).unwrap().leaves_range);
    }

    #[test]
    fn entries_that_are_larger_than_their_diagonals_are_in_range() {
        let mut a = matrix(1e8);
        let cells = a.grid().length();
        let beside = (a.stencil().centre() + 1) * cells;
        a.values_mut()[beside] *= 300.0;
        let made = in_range::<f16>(&a, Kind::F16, 2.0, 0).unwrap();
        let largest = made.survey.largest();
        assert!(
            (65504.0 / 4.0..=65504.0 / 2.0).contains(&largest),
            "{largest}"
        );
        assert!(made.a.check_finite().is_ok());
    }

    #[test]
    fn what_cannot_be_scaled_or_stored_is_named() {
        assert!(matches!(
            in_range::<f16>(&matrix(-1.0), Kind::F16, 2.0, 0),
            Err(Error::BadPivot { row: 0, .. })
        ));
        let large = matrix(1e8);
        let survey = Survey::new(&large, Kind::F16).unwrap();
        let refused = stored::<f16>(&large, 3, &survey);
        assert!(matches!(
            refused,
            Err(Error::LevelOverflow { level: 3, .. })
        ));
    }
}
