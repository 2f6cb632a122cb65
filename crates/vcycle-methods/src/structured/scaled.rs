//! Scales rows and columns of a matrix in double precision while it is converted to its storage type.

use std::ops::Range;

use super::survey::{Sizes, range, sizes};
use super::values::zeros;
use super::{StencilMatrix, Storage};
use crate::error::Result;
use crate::executor::Buffer;
use crate::multiversion;
use crate::scalar::{Kind, convert_slice};

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
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::linop::LinOp;
    use crate::scalar::{bf16, f16};
    use crate::structured::scaling::in_range;
    use crate::vector::Vector;

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
