//! `L D L^H` of a front, with pivots of one or two rows.

use faer::{Conj, Par};

use crate::dense::{largest, part, part_mut, subtract, subtract_lower, subtract_multiple};
use crate::number::Number;

/// Columns that are eliminated before others are changed.
const WINDOW: usize = 48;

/// The columns of a front that may be eliminated; only the lower half is looked at.
pub(crate) struct Panel<'p, F> {
    /// Column after column.
    pub values: &'p mut [F],
    /// Rows of the front.
    pub rows: usize,
    /// Columns that may be eliminated.
    pub columns: usize,
    /// The unknown of each of these columns, which changes with them.
    pub unknowns: &'p mut [u32],
}

/// What was eliminated: the block diagonal `D`.
#[derive(Debug)]
pub(crate) struct Diagonal<F> {
    pub values: Vec<F>,
    /// The entry below, for the first row of a pivot of two rows, and zero for all others.
    pub below: Vec<F>,
}

impl<F: Number> Diagonal<F> {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self {
            values: Vec::new(),
            below: Vec::new(),
        }
    }

    /// Columns of `L D`, column after column, for so many rows of `L`.
    pub fn products(
        &self,
        columns: std::ops::Range<usize>,
        hermitian: bool,
        l: impl Fn(usize, usize) -> F,
        rows: usize,
    ) -> Vec<F> {
        let mut products = Vec::with_capacity(rows * columns.len());
        for column in columns {
            let own = self.values[column];
            let after = self.below[column];
            let before = match column.checked_sub(1).map(|before| self.below[before]) {
                Some(below) if hermitian => below.conjugate(),
                Some(below) => below,
                None => F::ZERO,
            };
            let value = |row| {
                let mut sum = l(row, column) * own;
                if after != F::ZERO {
                    sum += l(row, column + 1) * after;
                }
                if before != F::ZERO {
                    sum += l(row, column - 1) * before;
                }
                sum
            };
            products.extend((0..rows).map(value));
        }
        products
    }
}

/// Limits that pivots have to hold.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// A pivot is at least so large a part of the largest entry of its column.
    pub threshold: f64,
    /// A pivot is larger than that.
    pub zero: f64,
    /// Whether the matrix is Hermitian rather than complex symmetric.
    pub hermitian: bool,
}

impl Limits {
    fn conjugate(self) -> Conj {
        if self.hermitian { Conj::Yes } else { Conj::No }
    }

    pub fn accept<F: Number>(self, pivot: F, others: f64) -> bool {
        pivot.magnitude() > (self.threshold * others).max(self.zero)
    }

    fn mirrored<F: Number>(self, value: F) -> F {
        if self.hermitian {
            value.conjugate()
        } else {
            value
        }
    }
}

/// Eliminates the columns that have good pivots, which come first then. Other columns have all updates.
/// What `diagonal` holds was eliminated before.
pub(crate) fn eliminate<F: Number>(
    panel: &mut Panel<'_, F>,
    limits: Limits,
    diagonal: &mut Diagonal<F>,
    parallel: Par,
) {
    let mut width = WINDOW;
    loop {
        let start = diagonal.values.len();
        let end = panel.columns.min(start + width);
        if start == end {
            return;
        }
        let mut window = Window::new(panel, limits, start, end);
        window.eliminate(diagonal);
        let products = window.products;
        let done = diagonal.values.len();
        if done > start {
            update(panel, limits, start..done, &products, parallel);
            // Those left over are tried again beside new ones.
            width = WINDOW + (end - done);
        } else if end == panel.columns {
            return;
        } else {
            width *= 2;
        }
    }
}

/// Subtracts what was eliminated from the columns that are left. `products` is `L D` of that, with all rows.
fn update<F: Number>(
    panel: &mut Panel<'_, F>,
    limits: Limits,
    done: std::ops::Range<usize>,
    products: &[F],
    parallel: Par,
) {
    let (rows, end, count) = (panel.rows, done.end, done.len());
    let left = panel.columns - end;
    if left == 0 {
        return;
    }
    let (eliminated, others) = panel.values.split_at_mut(end * rows);
    let l = part(
        &eliminated[done.start * rows + end..],
        rows,
        rows - end,
        count,
    );
    let w = part(&products[end..], rows, left, count);
    let c = part_mut(&mut others[end..], rows, rows - end, left);
    let (upper, lower) = c.split_at_row_mut(left);
    let (l_upper, l_lower) = l.split_at_row(left);
    let conjugate = limits.conjugate();
    subtract_lower(upper, l_upper, w.transpose(), conjugate, parallel);
    subtract(lower, l_lower, w.transpose(), conjugate, parallel);
}

/// Columns that are eliminated one after the other. Each has the updates of those before it when its turn comes.
struct Window<'w, 'p, F> {
    panel: &'w mut Panel<'p, F>,
    limits: Limits,
    start: usize,
    end: usize,
    /// `L D` of the columns of the window.
    products: Vec<F>,
}

impl<'w, 'p, F: Number> Window<'w, 'p, F> {
    fn new(panel: &'w mut Panel<'p, F>, limits: Limits, start: usize, end: usize) -> Self {
        let products = vec![F::ZERO; panel.rows * (end - start)];
        Self {
            panel,
            limits,
            start,
            end,
            products,
        }
    }

    fn eliminate(&mut self, diagonal: &mut Diagonal<F>) {
        let (mut at, mut end) = (self.start, self.end);
        let mut column = Vec::with_capacity(self.panel.rows);
        let mut other = Vec::with_capacity(self.panel.rows);
        while at < end {
            self.updated(at, at, &mut column);
            let (_, below) = largest(&column[1..]);
            if self.limits.accept(column[0], below) {
                self.take_one(at, &column, diagonal);
                at += 1;
                continue;
            }
            let (partner, size) = largest(&column[1..self.end - at]);
            if size > 0.0 {
                let place = at + 1 + partner;
                self.updated(at, place, &mut other);
                let (_, above) = largest(&other[..place - at]);
                let (_, below) = largest(&other[place - at + 1..]);
                if self.limits.accept(other[place - at], above.max(below)) {
                    self.swap(at, place);
                    other.swap(0, place - at);
                    self.take_one(at, &other, diagonal);
                    at += 1;
                    continue;
                }
                if self.is_good_pair(&column, &other, place - at) {
                    self.swap(at + 1, place);
                    column.swap(1, place - at);
                    other.swap(1, place - at);
                    self.take_two(at, &column, &other, diagonal);
                    // The partner may have been one of those put back.
                    at += 2;
                    end = end.max(at);
                    continue;
                }
            }
            end -= 1;
            self.swap(at, end);
        }
    }

    /// The rows from `at` on of a column with the updates of all that was eliminated.
    fn updated(&self, at: usize, column: usize, to: &mut Vec<F>) {
        let (rows, count) = (self.panel.rows, at - self.start);
        let values = &self.panel.values;
        to.clear();
        for place in at..column {
            to.push(self.limits.mirrored(values[place * rows + column]));
        }
        to.extend_from_slice(&values[column * rows + column..(column + 1) * rows]);
        for step in 0..count {
            let factor = self.limits.mirrored(self.products[step * rows + column]);
            if factor != F::ZERO {
                let l = &values[(self.start + step) * rows + at..(self.start + step + 1) * rows];
                subtract_multiple(to, factor, l);
            }
        }
    }

    /// Whether the inverse of the pivot of two rows times other entries is bounded (Duff and Reid 1983).
    fn is_good_pair(&self, column: &[F], other: &[F], partner: usize) -> bool {
        let sizes = |values: &[F]| {
            let (_, between) = largest(&values[1..partner]);
            let (_, after) = largest(&values[partner + 1..]);
            between.max(after)
        };
        let [a, b, c] = [column[0], column[partner], other[partner]].map(F::magnitude);
        let determinant = self.determinant(column[0], column[partner], other[partner]);
        let (size, threshold) = (determinant.magnitude(), self.limits.threshold);
        // A difference of products that are nearly equal is rounding.
        let is_exact = size > 1e-10 * (a * c).max(b * b) && b > self.limits.zero;
        let (one, two) = (sizes(column), sizes(other));
        is_exact
            && threshold * (c * one + b * two) <= size
            && threshold * (b * one + a * two) <= size
    }

    fn determinant(&self, a: F, b: F, c: F) -> F {
        a * c - b * self.limits.mirrored(b)
    }

    fn take_one(&mut self, at: usize, column: &[F], diagonal: &mut Diagonal<F>) {
        let pivot = match self.limits.hermitian {
            true => F::real(column[0].re()),
            false => column[0],
        };
        let inverse = F::ONE / pivot;
        self.write(at, at, column, |place| column[place] * inverse);
        diagonal.values.push(pivot);
        diagonal.below.push(F::ZERO);
    }

    fn take_two(&mut self, at: usize, one: &[F], two: &[F], diagonal: &mut Diagonal<F>) {
        let (a, b, c) = (one[0], one[1], two[1]);
        let mirrored = self.limits.mirrored(b);
        let determinant = self.determinant(a, b, c);
        // `[one two] D^-1` with `D = [a b^H; b c]`.
        let [a_inverse, b_inverse] = [c / determinant, -b / determinant];
        let [mirrored, c_inverse] = [-mirrored / determinant, a / determinant];
        self.write(at, at, one, |place| {
            one[place] * a_inverse + two[place] * b_inverse
        });
        self.write(at, at + 1, two, |place| {
            one[place] * mirrored + two[place] * c_inverse
        });
        // `D` stands beside.
        let rows = self.panel.rows;
        self.panel.values[at * rows + at + 1] = F::ZERO;
        diagonal.values.extend([a, c]);
        diagonal.below.extend([b, F::ZERO]);
    }

    /// Writes a column of `L`, of which `value` tells the rows from `at` on, and of `L D`.
    fn write(&mut self, at: usize, column: usize, product: &[F], value: impl Fn(usize) -> F) {
        let rows = self.panel.rows;
        let to = &mut self.panel.values[column * rows + at..(column + 1) * rows];
        for (place, to) in to.iter_mut().enumerate() {
            *to = value(place);
        }
        let step = column - self.start;
        self.products[step * rows + at..(step + 1) * rows].copy_from_slice(product);
    }

    /// Swaps two unknowns.
    fn swap(&mut self, one: usize, other: usize) {
        if one == other {
            return;
        }
        let (p, q, rows) = (one.min(other), one.max(other), self.panel.rows);
        let values = &mut self.panel.values;
        for column in 0..p {
            values.swap(column * rows + p, column * rows + q);
        }
        for column in self.products.chunks_exact_mut(rows).take(p - self.start) {
            column.swap(p, q);
        }
        values.swap(p * rows + p, q * rows + q);
        for between in p + 1..q {
            let [a, b] = [p * rows + between, between * rows + q];
            let (in_column, in_row) = (values[a], values[b]);
            values[a] = self.limits.mirrored(in_row);
            values[b] = self.limits.mirrored(in_column);
        }
        values[p * rows + q] = self.limits.mirrored(values[p * rows + q]);
        for row in q + 1..rows {
            values.swap(p * rows + row, q * rows + row);
        }
        self.panel.unknowns.swap(p, q);
    }
}

impl<F: Number> Diagonal<F> {
    /// How many eigenvalues are negative.
    pub fn negative(&self) -> usize {
        let mut found = 0;
        for (place, below) in self.below.iter().enumerate() {
            let own = self.values[place].re();
            // Of a pivot of two rows one is negative where the determinant is, and both or none otherwise.
            if *below != F::ZERO {
                let other = self.values[place + 1].re();
                let size = (*below * below.conjugate()).re();
                found += match own * other < size {
                    true => 1,
                    false => 2 * usize::from(own < 0.0),
                };
            } else if place == 0 || self.below[place - 1] == F::ZERO {
                found += usize::from(own < 0.0);
            }
        }
        found
    }

    /// Replaces rows, with columns side by side, by what `D` or its conjugate makes of them.
    pub fn divide(&self, rows: &mut [F], cols: usize, hermitian: bool, conjugate: bool) {
        let as_meant = |value: F| if conjugate { value.conjugate() } else { value };
        let mut place = 0;
        while place < self.values.len() {
            let (a, b) = (as_meant(self.values[place]), as_meant(self.below[place]));
            if b == F::ZERO {
                for value in &mut rows[place * cols..(place + 1) * cols] {
                    *value /= a;
                }
                place += 1;
                continue;
            }
            let c = as_meant(self.values[place + 1]);
            let above = if hermitian { b.conjugate() } else { b };
            // Over `b`, so that no product overflows.
            let (over_a, over_c) = (a / b, c / above);
            let determinant = over_a * over_c - F::ONE;
            let (one, two) = rows[place * cols..(place + 2) * cols].split_at_mut(cols);
            for (one, two) in one.iter_mut().zip(two) {
                let (f, g) = (*one, *two);
                *one = (over_c * f - g) / (b * determinant);
                *two = (over_a * g - f) / (above * determinant);
            }
            place += 2;
        }
    }
}
