//! The layout in which `kernels/sliced.c` multiplies: rows side by side, columns in few bytes.

use std::ops::Range;

use crate::executor::{Executor, cut};
use crate::scalar::Scalar;

/// Lanes of a slice.
pub(super) const LANES: usize = 32;
/// Entries in a part of a row too long for a slice.
pub(super) const CHUNK: usize = 2048;
/// Rows that change places so that those of a slice are of similar length.
const WINDOW: usize = 256;
/// Bytes of codes that slices count in.
const UNIT: usize = 32;
/// Most steps of an aligned slice: the bits of a mask.
const ALIGNED: usize = 32;

/// Where the entries of a CSR matrix stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Slices {
    /// Lanes for each row.
    pub(super) threads: usize,
    /// The rows in slices, in the order they stand there.
    pub(super) rows: Vec<u32>,
    /// Whether these are all rows in their own order.
    pub(super) in_order: bool,
    /// First step and first unit of codes of every slice; at the end their numbers.
    pub(super) starts: Vec<[usize; 2]>,
    /// For every one of `rows` the steps it has in an aligned slice, as bits; elsewhere its length.
    pub(super) marks: Vec<u32>,
    /// What is subtracted from the columns of a step.
    pub(super) bases: Vec<u32>,
    pub(super) codes: Vec<u8>,
    /// Parts of rows too long for a slice.
    pub(super) parts: Vec<Part>,
}

/// How the entries of a slice stand.
struct Form {
    /// One for every step.
    bases: Vec<u32>,
    /// Bytes of a code; none where the slice is aligned.
    size: usize,
    marks: Vec<u32>,
}

/// A part of a long row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) row: usize,
    /// Its entries.
    pub(super) entries: Range<usize>,
    /// Which part of how many.
    pub(super) number: (usize, usize),
}

/// A CSR pattern on the host.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    pub(super) offsets: &'a [usize],
    pub(super) columns: &'a [u32],
}

impl Entries<'_> {
    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    fn length(&self, row: usize) -> usize {
        self.offsets[row + 1] - self.offsets[row]
    }
}

impl Slices {
    /// With at most `width` lanes for a row.
    pub(super) fn new(executor: &Executor, a: Entries<'_>, width: usize) -> Self {
        let mean = a.columns.len() / a.rows().max(1);
        let threads = lanes_for(a.rows(), mean, width, &longer(a));
        let long = longest_in_slices(threads, mean);
        let (rows, long): (Vec<u32>, Vec<u32>) =
            (0..a.rows() as u32).partition(|&row| a.length(row as usize) <= long);
        let mut slices = Self {
            threads,
            in_order: long.is_empty(),
            rows,
            parts: long
                .iter()
                .flat_map(|&row| parts(a, row as usize))
                .collect(),
            ..Self::default()
        };
        slices.sort(a);
        slices.encode(executor, a);
        slices
    }

    /// How many slices there are.
    pub(super) fn count(&self) -> usize {
        self.rows.len().div_ceil(self.height())
    }

    /// Steps of all slices.
    pub(super) fn steps(&self) -> usize {
        self.starts[self.count()][0]
    }

    /// Rows of a slice.
    fn height(&self) -> usize {
        LANES / self.threads
    }

    fn rows_of(&self, slice: usize) -> &[u32] {
        let first = slice * self.height();
        &self.rows[first..self.rows.len().min(first + self.height())]
    }

    /// Steps of a slice of these rows, unless it is aligned.
    fn width(&self, a: Entries<'_>, rows: &[u32]) -> usize {
        let lengths = rows.iter().map(|&row| a.length(row as usize));
        lengths.max().unwrap_or(0).div_ceil(self.threads)
    }

    /// Steps of a slice and bytes of its codes.
    fn extent(&self, slice: usize) -> (usize, usize) {
        let ([first, code], [next, end]) = (self.starts[slice], self.starts[slice + 1]);
        let width = next - first;
        (width, (end - code) / width.max(1))
    }

    /// Long rows first in every window, where slices would otherwise be a tenth empty.
    fn sort(&mut self, a: Entries<'_>) {
        let slices = self.rows.chunks(self.height());
        let lanes = LANES * slices.map(|rows| self.width(a, rows)).sum::<usize>();
        if 10 * lanes <= 11 * a.columns.len() {
            return;
        }
        for window in self.rows.chunks_mut(WINDOW) {
            window.sort_by_key(|&row| std::cmp::Reverse(a.length(row as usize)));
        }
        self.in_order &= self.rows.is_sorted();
    }

    /// The entries of a slice: step, lane and place.
    fn entries<'s>(
        &'s self,
        a: Entries<'s>,
        slice: usize,
    ) -> impl Iterator<Item = (usize, usize, usize)> + 's {
        let aligned = self.threads == 1 && self.extent(slice).1 == 0;
        let slots = self.rows_of(slice).iter().enumerate();
        slots.flat_map(move |(at, &row)| {
            let first = a.offsets[row as usize];
            let mut steps = self.marks[slice * self.height() + at];
            (0..a.length(row as usize)).map(move |k| {
                if !aligned {
                    let lane = at * self.threads + k % self.threads;
                    return (k / self.threads, lane, first + k);
                }
                let step = steps.trailing_zeros();
                steps &= steps - 1;
                (step as usize, at, first + k)
            })
        })
    }

    /// Finds bases, marks and codes.
    fn encode(&mut self, executor: &Executor, a: Entries<'_>) {
        let bytes = size_of_val(a.columns);
        let ranges = ranges(self.count());
        let forms = executor.run(bytes, ranges, |slices| {
            slices
                .map(|slice| self.form(a, slice))
                .collect::<Vec<Form>>()
        });
        self.starts = vec![[0, 0]];
        let (mut units, mut sum) = (Vec::new(), [0, 0]);
        for form in forms.into_iter().flatten() {
            let width = form.bases.len();
            units.push(width * form.size);
            sum = [sum[0] + width, sum[1] + width * form.size];
            self.starts.push(sum);
            self.bases.extend(form.bases);
            self.marks.extend(form.marks);
        }
        let mut codes = vec![0_u8; sum[1] * UNIT];
        let work = self.tasks(&units, &mut codes, UNIT);
        executor.run(bytes, work, |(slices, mut codes)| {
            for slice in slices {
                let (mine, rest) = codes.split_at_mut(units[slice] * UNIT);
                self.write_codes(a, slice, mine);
                codes = rest;
            }
        });
        self.codes = codes;
    }

    /// Aligned, where that needs no more bytes for values of four.
    fn form(&self, a: Entries<'_>, slice: usize) -> Form {
        let coded = self.coded(a, slice);
        if self.threads > 1 {
            return coded;
        }
        let most = (coded.bases.len() * (4 + coded.size) / 4).min(ALIGNED);
        match self.aligned(a, slice, most) {
            Some(aligned) => aligned,
            // No codes at all would mean aligned.
            None => Form {
                size: coded.size.max(1),
                ..coded
            },
        }
    }

    /// The columns of a row, less its place in its slice.
    fn shifted<'s>(
        &self,
        a: Entries<'s>,
        row: u32,
        at: usize,
    ) -> impl Iterator<Item = i64> + use<'s> {
        let places = a.offsets[row as usize]..a.offsets[row as usize + 1];
        let columns = a.columns[places].iter();
        columns.map(move |&column| i64::from(column) - at as i64)
    }

    /// A step for every difference between column and row that the slice has, if those are not more
    /// than `most`.
    fn aligned(&self, a: Entries<'_>, slice: usize, most: usize) -> Option<Form> {
        let mut steps: Vec<i64> = Vec::new();
        for (at, &row) in self.rows_of(slice).iter().enumerate() {
            let mut from = 0;
            for column in self.shifted(a, row, at) {
                from += steps[from..].partition_point(|&step| step < column);
                if steps.get(from) != Some(&column) {
                    steps.insert(from, column);
                }
                from += 1;
            }
            if steps.len() > most {
                return None;
            }
        }
        let mark = |(at, &row): (usize, &u32)| {
            let mut from = 0;
            let bits = self.shifted(a, row, at).map(|column| {
                from += steps[from..].partition_point(|&step| step < column);
                1_u32 << from
            });
            bits.sum()
        };
        let marks = self.rows_of(slice).iter().enumerate().map(mark).collect();
        Some(Form {
            bases: steps.iter().map(|&step| step as u32).collect(),
            size: 0,
            marks,
        })
    }

    /// Entry after entry of every row: the least columns of the steps, and the bytes that what is
    /// above them needs.
    fn coded(&self, a: Entries<'_>, slice: usize) -> Form {
        let rows = self.rows_of(slice);
        let width = self.width(a, rows);
        let (mut least, mut most) = (vec![i64::MAX; width], vec![i64::MIN; width]);
        for (at, &row) in rows.iter().enumerate() {
            for (k, column) in self.shifted(a, row, at).enumerate() {
                let step = k / self.threads;
                least[step] = least[step].min(column);
                most[step] = most[step].max(column);
            }
        }
        let spreads = most.iter().zip(&least).map(|(most, least)| most - least);
        Form {
            size: match spreads.max().unwrap_or(0) {
                0 => 0,
                1..0x100 => 1,
                0x100..0x1_0000 => 2,
                _ => 4,
            },
            bases: least.iter().map(|&least| least as u32).collect(),
            marks: rows
                .iter()
                .map(|&row| a.length(row as usize) as u32)
                .collect(),
        }
    }

    /// Ranges of slices, with their parts of an array of `unit` values for every one of `counts`.
    fn tasks<'v, V>(
        &self,
        counts: &[usize],
        values: &'v mut [V],
        unit: usize,
    ) -> Vec<(Range<usize>, &'v mut [V])> {
        let ranges = ranges(counts.len());
        let lengths = ranges
            .iter()
            .map(|range| unit * counts[range.clone()].iter().sum::<usize>());
        let parts = cut(values, lengths.collect::<Vec<_>>());
        ranges.into_iter().zip(parts).collect()
    }

    fn write_codes(&self, a: Entries<'_>, slice: usize, codes: &mut [u8]) {
        let (_, size) = self.extent(slice);
        if size == 0 {
            return;
        }
        let first = self.starts[slice][0];
        for (step, lane, place) in self.entries(a, slice) {
            let place_of_row = (lane / self.threads) as u32;
            let above = place_of_row.wrapping_add(self.bases[first + step]);
            let code = a.columns[place].wrapping_sub(above);
            let at = (step * LANES + lane) * size;
            codes[at..at + size].copy_from_slice(&code.to_le_bytes()[..size]);
        }
    }

    /// Values of a matrix in this layout; those of parts behind all others.
    pub(super) fn place<T: Scalar>(
        &self,
        executor: &Executor,
        a: Entries<'_>,
        values: &[T],
    ) -> Vec<T> {
        let mut placed = vec![T::default(); self.steps() * LANES + self.parts.len() * CHUNK];
        let widths: Vec<usize> = (0..self.count())
            .map(|slice| self.extent(slice).0)
            .collect();
        let work = self.tasks(&widths, &mut placed, LANES);
        executor.run(size_of_val(values), work, |(slices, mut placed)| {
            for slice in slices {
                let (mine, rest) = placed.split_at_mut(widths[slice] * LANES);
                for (step, lane, place) in self.entries(a, slice) {
                    mine[step * LANES + lane] = values[place];
                }
                placed = rest;
            }
        });
        self.place_parts(values, &mut placed[self.steps() * LANES..]);
        placed
    }

    /// What the entries of parts have, part after part.
    pub(super) fn place_parts<V: Copy>(&self, values: &[V], placed: &mut [V]) {
        for (part, placed) in self.parts.iter().zip(placed.chunks_mut(CHUNK)) {
            placed[..part.entries.len()].copy_from_slice(&values[part.entries.clone()]);
        }
    }
}

/// Slices in at most 256 ranges.
fn ranges(count: usize) -> Vec<Range<usize>> {
    let step = count.div_ceil(256).max(1);
    let firsts = (0..count).step_by(step);
    firsts.map(|first| first..count.min(first + step)).collect()
}

/// How many rows are longer than 8, 16, 32, 64, 128 and 256.
pub(super) type Longer = [usize; 6];

/// The longest row that is not cut into parts.
pub(super) fn longest_in_slices(threads: usize, mean: usize) -> usize {
    (64 * threads).max(4 * mean)
}

/// Lanes for a row: few steps where rows are long, and enough lanes to keep a device busy; where
/// there is little to do, few steps also for the longer rows, which all wait for. Measured on an
/// H200.
pub(super) fn lanes_for(rows: usize, mean: usize, width: usize, longer: &Longer) -> usize {
    let too_few = |threads: usize| {
        let (steps, lanes) = (mean / threads, rows * threads);
        let waits = || steps > 4 || 64 * longer[threads.trailing_zeros() as usize] > rows;
        steps > 64 || steps > 12 && lanes < 1 << 20 || lanes < 1 << 17 && waits()
    };
    let mut threads = 1;
    while threads < width.min(LANES) && too_few(threads) {
        threads *= 2;
    }
    threads
}

fn longer(a: Entries<'_>) -> Longer {
    let mut longer = Longer::default();
    for row in 0..a.rows() {
        for (k, count) in longer.iter_mut().enumerate() {
            *count += usize::from(a.length(row) > 8 << k);
        }
    }
    longer
}

/// The parts of a long row.
fn parts(a: Entries<'_>, row: usize) -> impl Iterator<Item = Part> {
    let (first, end) = (a.offsets[row], a.offsets[row + 1]);
    let count = (end - first).div_ceil(CHUNK);
    (0..count).map(move |part| Part {
        row,
        entries: first + part * CHUNK..end.min(first + (part + 1) * CHUNK),
        number: (part, count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets_of(lengths: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut offsets = vec![0];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        offsets
    }

    /// The row, column and value of every entry, as the kernel finds them.
    fn found(slices: &Slices, a: Entries<'_>, values: &[f64]) -> Vec<(u32, u32, f64)> {
        let mut found = Vec::new();
        for slice in 0..slices.count() {
            let ([first, code], size) = (slices.starts[slice], slices.extent(slice).1);
            for (step, lane, _) in slices.entries(a, slice) {
                let at = code * UNIT + (step * LANES + lane) * size;
                let mut bytes = [0; 4];
                bytes[..size].copy_from_slice(&slices.codes[at..at + size]);
                let place = lane / slices.threads;
                let column = slices.bases[first + step].wrapping_add(place as u32);
                let column = column.wrapping_add(u32::from_le_bytes(bytes));
                let row = slices.rows_of(slice)[place];
                found.push((row, column, values[(first + step) * LANES + lane]));
            }
        }
        for (part, own) in slices.parts.iter().enumerate() {
            let first = slices.steps() * LANES + part * CHUNK;
            let columns = &a.columns[own.entries.clone()];
            let values = &values[first..];
            found.extend(
                columns
                    .iter()
                    .zip(values)
                    .map(|(&c, &v)| (own.row as u32, c, v)),
            );
        }
        found.sort_by_key(|entry| (entry.0, entry.1));
        found
    }

    fn check(lengths: &[usize], columns: &[u32]) -> Slices {
        let (executor, offsets) = (Executor::reference(), offsets_of(lengths.iter().copied()));
        let a = Entries {
            offsets: &offsets,
            columns,
        };
        let slices = Slices::new(&executor, a, 32);
        let values: Vec<f64> = (0..columns.len()).map(|place| place as f64).collect();
        let rows = (0..lengths.len()).flat_map(|row| vec![row as u32; lengths[row]]);
        let expected = rows
            .zip(columns)
            .zip(&values)
            .map(|((r, &c), &v)| (r, c, v));
        let placed = slices.place(&executor, a, &values);
        assert_eq!(found(&slices, a, &placed), expected.collect::<Vec<_>>());
        slices
    }

    #[test]
    fn a_band_needs_no_columns() {
        let columns: Vec<u32> = (1..641).flat_map(|row| [row - 1, row + 69_999]).collect();
        let slices = check(&[2; 640], &columns);
        assert_eq!((slices.threads, slices.in_order), (1, true));
        assert_eq!((slices.codes.len(), slices.bases.len()), (0, 40));
    }

    #[test]
    fn a_grid_with_boundaries_needs_no_columns() {
        let (n, mut lengths, mut columns) = (96_i64, Vec::new(), Vec::new());
        for row in 0..n * n {
            let (x, y) = (row % n, row / n);
            let all = [(0, -1), (-1, 0), (0, 0), (1, 0), (0, 1)].map(|(i, j)| (x + i, y + j));
            let inside = all
                .iter()
                .filter(|(x, y)| (0..n).contains(x) && (0..n).contains(y));
            let before = columns.len();
            columns.extend(inside.map(|(x, y)| (y * n + x) as u32));
            lengths.push(columns.len() - before);
        }
        let slices = check(&lengths, &columns);
        assert_eq!((slices.codes.len(), slices.marks[0]), (0, 0b1110));
        assert_eq!(slices.marks[n as usize + 1], 0b11111);
    }

    #[test]
    fn columns_have_as_many_bytes_as_a_slice_needs() {
        let near = |row: u32| 7 * row;
        let far = |row: u32| 1000 * row;
        let wild = |row: u32| row.wrapping_mul(0x9e37_79b9);
        let columns = (0..32)
            .map(near)
            .chain((0..32).map(far))
            .chain((0..32).map(wild));
        let slices = check(&[1; 96], &columns.collect::<Vec<_>>());
        assert_eq!(slices.starts, [[0, 0], [1, 1], [2, 3], [3, 7]]);
    }

    #[test]
    fn rows_of_a_slice_are_of_similar_length() {
        let lengths: Vec<usize> = (0..600).map(|row| 1 + 20 * (row % 2)).collect();
        let columns: Vec<u32> = lengths.iter().flat_map(|&n| 0..n as u32).collect();
        let slices = check(&lengths, &columns);
        assert!(!slices.in_order);
        assert!(slices.steps() * LANES < 4 * columns.len() / 3);
    }

    #[test]
    fn long_rows_have_parts() {
        let lengths = [3, 5000, 0, 3];
        let columns: Vec<u32> = lengths.iter().flat_map(|&n| 0..n).collect();
        let mut all = vec![1; 5000];
        all[..4].copy_from_slice(&lengths.map(|n| n as usize));
        let slices = check(&all, &[columns, vec![0; 4996]].concat());
        assert_eq!(slices.rows[..3], [0, 2, 3]);
        let numbers: Vec<_> = slices.parts.iter().map(|part| part.number).collect();
        assert_eq!(numbers, [(0, 3), (1, 3), (2, 3)]);
    }

    #[test]
    fn long_rows_share_lanes() {
        let columns: Vec<u32> = (0..300).flat_map(|row| row..row + 100).collect();
        assert_eq!(check(&[100; 300], &columns).threads, 32);
        assert_eq!(check(&[], &[]).count(), 0);
    }
}
