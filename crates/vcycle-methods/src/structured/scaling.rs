//! Brings a matrix into the range of half precision: scales rows and columns in double precision while it is converted to its
//! storage type.

use std::ops::Range;

use super::matrix::zeros;
use super::survey::{Sizes, Survey, range, sizes};
use super::{StencilMatrix, Storage};
use crate::multiversion;
use crate::prelude::*;
use crate::scalar::{convert, convert_slice};

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

/// Lines that one task does.
const LINES: usize = 32;

/// What a diagonal entry may change by, at most, for the sum of its row.
const MOST: f64 = 1.0 / 64.0;

/// A matrix `S A S`.
///
/// In 16 bits an entry loses some 1e-4 of itself. What is nearly in the null space, constants above all, is mapped to
/// what little is left of entries that cancel, and that is lost altogether. So the diagonal takes what rounding leaves
/// of the sum of a row, `A 1` is what it was, and symmetry is, too. There is room for that: after scaling the diagonal
/// is the same number everywhere, and only what is beside it is stored ([`StencilMatrix::base`]).
pub(super) struct Scaled<'a> {
    a: &'a StencilMatrix<f64>,
    /// `S`, unknown by unknown.
    by: &'a Buffer<f64>,
    /// The diagonal; zero where it is not the same number everywhere.
    diagonal: f64,
}

impl<'a> Scaled<'a> {
    pub(super) fn new(a: &'a StencilMatrix<f64>, by: &'a Buffer<f64>, diagonal: f64) -> Self {
        Self { a, by, diagonal }
    }

    /// The matrix in another type, and what its values are like before they are rounded. In 16 bits rows keep their
    /// sums, if the diagonal is known.
    pub(super) fn stored<M: Storage>(&self) -> Result<(StencilMatrix<M>, Sizes)> {
        if let Some(made) = self.on_device()? {
            return Ok(made);
        }
        let a = self.a;
        let share = a.grid().length() * a.stencil().points() * a.unknowns();
        let (host, base) = (a.executor().on_host(), self.base(M::KIND));
        let (by, ones) = (self.by.host()?, self.ones(base)?);
        let mut stored: Vec<M> = zeros(&host, a.entries())?;
        let lines = a.values().chunks(LINES * share);
        let tasks = lines.zip(stored.chunks_mut(LINES * share)).enumerate();
        let tasks = tasks.collect();
        let is_own = |line: usize| a.part().is_none_or(|part| part.is_own_line(line));
        let work = |(task, (values, out)): (usize, (&[f64], &mut [M]))| {
            let mut scratch = [(); 2].map(|()| vec![0.0; share]);
            let lines = values.chunks(share).zip(out.chunks_mut(share));
            let each = lines.enumerate().map(|(place, (values, out))| {
                let line = ScaledLine::new(self, task * LINES + place);
                let sizes = line.store(by, (base, &ones), values, out, &mut scratch);
                if is_own(line.line) {
                    sizes
                } else {
                    Sizes::default()
                }
            });
            each.fold(Sizes::default(), Sizes::join)
        };
        let sizes = a.executor().run(a.bytes(), tasks, work);
        let stored = a.with_buffer(Buffer::from_vec(&host, stored));
        let all = sizes.into_iter().fold(Sizes::default(), Sizes::join);
        Ok((stored.on_base(base), all.over_ranks(a)?))
    }

    /// The same, where a device has kernels for it.
    fn on_device<M: Storage>(&self) -> Result<Option<(StencilMatrix<M>, Sizes)>> {
        let (a, base) = (self.a, self.base(M::KIND));
        let made = a.operand().scaled(self.by, base, range(M::KIND).1)?;
        let made = made.map(|(values, counts)| {
            let sizes = Sizes::from(counts).over_ranks(a)?;
            Ok((a.with_buffer(values).on_base(base), sizes))
        });
        made.transpose()
    }

    /// What the diagonal is stored beside in a type.
    fn base(&self, kind: Kind) -> f64 {
        match kind {
            Kind::F16 | Kind::Bf16 => self.diagonal,
            _ => 0.0,
        }
    }

    /// Ones in the unknowns of the scaled matrix, where rows are to keep their sums.
    fn ones(&self, base: f64) -> Result<Vec<f64>> {
        Ok(match base == 0.0 {
            true => Vec::new(),
            false => self.by.host()?.iter().map(|by| 1.0 / by).collect(),
        })
    }
}

/// The rows of an unknown on a line.
struct ScaledLine<'a> {
    a: &'a StencilMatrix<f64>,
    line: usize,
    unknown: usize,
}

impl<'a> ScaledLine<'a> {
    /// The `place`th of the matrix.
    fn new(matrix: &Scaled<'a>, place: usize) -> Self {
        let a = matrix.a;
        Self {
            a,
            line: place / a.unknowns(),
            unknown: place % a.unknowns(),
        }
    }

    /// The numbers of an unknown on a line.
    fn numbers<'n>(&self, all: &'n [f64], unknown: usize, line: usize) -> &'n [f64] {
        let (cells, length) = (self.a.grid().cells(), self.a.grid().length());
        &all[unknown * cells + line * length..][..length]
    }

    /// Of a stream of entries the cells that have a neighbour, and the numbers `all` of these; none if all are outside.
    fn columns<'n>(&self, all: &'n [f64], stream: usize) -> Option<(Range<usize>, &'n [f64])> {
        let (r, length) = (self.a.unknowns(), self.a.grid().length());
        let offset = self.a.stencil().offsets()[stream / r];
        let other = self.a.grid().neighbour(self.line, offset)?;
        let (skipped, dropped) = (usize::from(offset[0] < 0), usize::from(offset[0] > 0));
        let numbers = self.numbers(all, stream % r, other);
        Some((
            skipped..length - dropped,
            &numbers[dropped..length - skipped],
        ))
    }

    /// Where the diagonal is among the values.
    fn diagonal(&self) -> Range<usize> {
        let length = self.a.grid().length();
        let stream = self.a.stencil().centre() * self.a.unknowns() + self.unknown;
        stream * length..(stream + 1) * length
    }

    /// Multiplies, rounds and, with a base, lets rows keep their sums; what values are like before they are rounded.
    fn store<M: Storage>(
        &self,
        by: &[f64],
        (base, ones): (f64, &[f64]),
        values: &[f64],
        out: &mut [M],
        [product, rounded]: &mut [Vec<f64>; 2],
    ) -> Sizes {
        self.multiply(by, values, product);
        convert_slice(&*product, out);
        if base != 0.0 {
            convert_slice(&*out, rounded);
            self.keep_sums(base, ones, product, rounded);
            let diagonal = self.diagonal();
            convert_slice(&rounded[diagonal.clone()], &mut out[diagonal]);
        }
        sizes(product, range(M::KIND).1)
    }

    /// The values multiplied by the numbers of rows and columns; zeros where the neighbour is outside.
    fn multiply(&self, by: &[f64], values: &[f64], product: &mut [f64]) {
        let length = self.a.grid().length();
        let rows = self.numbers(by, self.unknown, self.line);
        let streams = values.chunks(length).zip(product.chunks_mut(length));
        for (stream, (values, product)) in streams.enumerate() {
            let Some((cells, columns)) = self.columns(by, stream) else {
                product.fill(0.0);
                continue;
            };
            product[..cells.start].fill(0.0);
            product[cells.end..].fill(0.0);
            let (values, rows) = (&values[cells.clone()], &rows[cells.clone()]);
            multiply_all(values, rows, columns, &mut product[cells]);
        }
    }

    /// Puts into the diagonal of what values were rounded to what their rows need to have the sums they had, less
    /// `base`. `ones` is the vector of ones in the unknowns of the scaled matrix.
    fn keep_sums(&self, base: f64, ones: &[f64], values: &[f64], rounded: &mut [f64]) {
        let (length, diagonal) = (self.a.grid().length(), self.diagonal());
        let mut lost = vec![0.0; length];
        let streams = values.chunks(length).zip(rounded.chunks(length));
        for (stream, (values, rounded)) in streams.enumerate() {
            let Some((cells, ones)) = self.columns(ones, stream) else {
                continue;
            };
            if stream * length == diagonal.start {
                continue;
            }
            let (values, rounded) = (&values[cells.clone()], &rounded[cells.clone()]);
            add_lost(values, rounded, ones, &mut lost[cells]);
        }
        let ones = self.numbers(ones, self.unknown, self.line);
        let cells = rounded[diagonal.clone()].iter_mut().zip(&values[diagonal]);
        for ((rounded, value), (lost, one)) in cells.zip(lost.iter().zip(ones)) {
            let lost = Some(lost / one).filter(|lost| lost.abs() <= MOST * base);
            *rounded = value - base + lost.unwrap_or(0.0);
        }
    }
}

multiversion! {
    fn multiply_all[](values: &[f64], rows: &[f64], columns: &[f64], product: &mut [f64]) {
        for (((product, value), row), column) in product.iter_mut().zip(values).zip(rows).zip(columns) {
            *product = value * (row * column);
        }
    }
}

multiversion! {
    fn add_lost[](values: &[f64], rounded: &[f64], ones: &[f64], lost: &mut [f64]) {
        for (((lost, value), rounded), one) in lost.iter_mut().zip(values).zip(rounded).zip(ones) {
            *lost += (value - rounded) * one;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    fn matrix(factor: f64) -> StencilMatrix<f64> {
        let spec = "jump7:5x4x3,1000";
        let mut a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
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
        assert_refused!(
            in_range::<f16>(&matrix(-1.0), Kind::F16, 2.0, 0),
            BadPivot { row: 0, .. }
        );
        let large = matrix(1e8);
        let survey = Survey::new(&large, Kind::F16).unwrap();
        let refused = stored::<f16>(&large, 3, &survey);
        assert_refused!(refused, LevelOverflow { level: 3, .. });
    }

    /// How far the sums of the rows of a scaled matrix are from what they should be, beside the diagonal.
    fn lost<M: Storage>(spec: &str) -> f64 {
        let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
        let made = in_range::<M>(&a, M::KIND, 2.0, 0).unwrap();
        let exact = in_range::<f64>(&a, M::KIND, 2.0, 0).unwrap();
        let ones = exact
            .scales
            .to_vec()
            .iter()
            .map(|scale| 1.0 / scale)
            .collect();
        let ones = Vector::from_column(&Executor::reference(), ones);
        let sums = |a: &dyn LinOp<f64>| {
            let mut sums = Vector::zeros_like(&ones).unwrap();
            a.apply(&ones, &mut sums, &Workspace::new()).unwrap();
            sums.to_vec()
        };
        let sums = sums(&made.a).into_iter().zip(sums(&exact.a));
        let lost = sums
            .zip(ones.to_vec())
            .map(|((a, b), one)| (a - b).abs() / one);
        lost.fold(0.0, f64::max) / made.a.base()
    }

    #[test]
    fn rows_keep_their_sums_in_16_bits() {
        for spec in ["laplace27e8:6", "rhd:7"] {
            let (half, bfloat) = (lost::<f16>(spec), lost::<bf16>(spec));
            assert!(half < 1e-6 && bfloat < 1e-4, "{spec}: {half}, {bfloat}");
        }
    }

    #[test]
    fn symmetric_matrices_stay_so() {
        let a = gallery::build_stencil("rhd:6", &Executor::reference()).unwrap();
        let made = in_range::<f16>(&a, Kind::F16, 2.0, 0).unwrap();
        let a = made.a.to_csr();
        assert_eq!(a.transpose().unwrap().values(), a.values());
    }
}
