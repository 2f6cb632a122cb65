//! The recurrence of pipelined GMRES: the next vector of a basis from one that is not orthogonal to it yet.

use num_traits::{Float, Zero};

use crate::dense::LeastSquares;
use crate::prelude::*;

/// What one right-hand side knows of `h_(k+1) v_(k+1) = z - V taken` with `z = B v_k - V guess`.
///
/// With `B V = V H` follows `h_(k+1) B v_(k+1) = B z - V H taken`. An error of `B V` is handed on with the factor `taken / h_(k+1)`,
/// which is small where the guess is good; one of the orthogonality of `V` likewise. The sum of what is handed on and of what rounding
/// adds is a bound of both.
#[derive(Default)]
pub(super) struct Recurrence<A: Field> {
    /// Columns of `H`, one behind the other, `k + 2` entries in column `k`.
    hessenberg: Vec<A>,
    /// For the last vector but one, and for the last one; zero for all others.
    guess: [A; 2],
    /// Products of `z` with the basis.
    taken: Vec<A>,
    /// `H taken`.
    ahead: Vec<A>,
    /// The norm of what is left of `z`.
    left: A::Real,
    /// The bound of each vector.
    errors: Vec<f64>,
    /// Whether the next vector may be made of the products.
    is_trusted: bool,
}

/// Where column `k` of `H` begins.
fn place(k: usize) -> usize {
    k * (k + 3) / 2
}

impl<A: Field> Recurrence<A> {
    /// Reserves memory for a number of columns, so that the steps allocate nothing.
    pub(super) fn reserve(&mut self, columns: usize) {
        self.hessenberg.resize(place(columns), A::zero());
        self.taken.resize(columns, A::zero());
        self.ahead.resize(columns + 1, A::zero());
        self.errors.resize(columns + 1, 0.0);
    }

    /// Begins with an empty matrix, and a guess of its first entry.
    pub(super) fn start(&mut self, guess: f64) {
        self.guess = [A::zero(), A::from_f64(guess)];
        self.errors[0] = Self::rounding();
    }

    fn rounding() -> f64 {
        <A::Real as Float>::epsilon().to_f64()
    }

    /// The guess for the last vector.
    pub(super) fn guess(&self) -> A {
        self.guess[1]
    }

    /// The guess for any of `count` vectors.
    fn guessed(&self, count: usize, vector: usize) -> A {
        match count - vector {
            1 => self.guess[1],
            2 => self.guess[0],
            _ => A::zero(),
        }
    }

    /// Entry `row` of the column of `H` that `count` products and what they leave make.
    fn entry(&self, count: usize, row: usize) -> A {
        match row == count {
            true => A::from_real(self.left),
            false => self.taken[row] + self.guessed(count, row),
        }
    }

    /// Takes the products of `z` with `count` vectors, and its norm. They are trusted where the bound of the next vector is below the square
    /// root of rounding: not where a number is not finite, nor where next to nothing is left.
    pub(super) fn receive(&mut self, count: usize, mut numbers: impl Iterator<Item = A>) {
        let mut next = || numbers.next().unwrap_or_default();
        self.taken[..count].fill_with(&mut next);
        let all = next().modulus_squared();
        let taken = &self.taken[..count];
        let square = all - taken.iter().map(|taken| taken.modulus_squared()).sum();
        self.left = Float::sqrt(square);
        let handed_on = taken.iter().zip(&self.errors);
        let handed_on = handed_on.map(|(taken, error)| taken.modulus().to_f64() * error);
        let handed_on: f64 = handed_on.sum();
        let column = (0..=count).map(|row| self.entry(count, row).modulus_squared());
        let column = Float::sqrt(column.sum::<A::Real>()).to_f64();
        let rounding = Self::rounding();
        // Of the square of the norm as many digits are lost as the squares have in common.
        let error = (handed_on + rounding * column) / self.left.to_f64()
            + rounding * (all / square).to_f64();
        self.errors[count] = error;
        self.is_trusted = error < rounding.sqrt();
    }

    /// Nothing is taken and nothing is left: for a right-hand side that has ended.
    pub(super) fn rest(&mut self, count: usize) {
        self.taken[..count].fill(A::zero());
        self.guess = [A::zero(); 2];
        self.left = A::zero().modulus();
        self.is_trusted = true;
    }

    /// Whether the products were trusted, of a right-hand side that has not ended.
    pub(super) fn goes_on(&self) -> bool {
        self.is_trusted && !self.left.is_zero()
    }

    pub(super) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Keeps the column of `H` that the products make, for the problem too, where they are trusted; else the one that the problem was given
    /// by a step of GMRES.
    pub(super) fn keep(&mut self, count: usize, problem: &mut LeastSquares<A>) {
        match self.is_trusted {
            true => (0..=count).for_each(|row| problem.set(row, self.entry(count, row))),
            false => self.errors[count] = Self::rounding(),
        }
        let column = &mut self.hessenberg[place(count - 1)..place(count)];
        for (row, entry) in column.iter_mut().enumerate() {
            *entry = problem.entry(row);
        }
        // After a step of GMRES the last vector alone is at hand.
        let above = if self.is_trusted && count > 1 {
            column[count - 2]
        } else {
            A::zero()
        };
        self.guess = [above, column[count - 1]];
        self.ahead[..=count].fill(A::zero());
        for (step, &taken) in self.taken[..count].iter().enumerate() {
            let column = &self.hessenberg[place(step)..place(step + 1)];
            for (ahead, &entry) in self.ahead.iter_mut().zip(column) {
                *ahead += entry * taken;
            }
        }
    }

    /// What of a vector is added to `z` and to `B z`; behind the `count` vectors what then makes the next vector of `z`, and the
    /// next `z` of both.
    pub(super) fn coefficients(&self, count: usize, vector: usize) -> [A; 2] {
        if !self.goes_on() {
            return [A::zero(); 2];
        }
        let (left, ahead) = (A::from_real(self.left), self.ahead[vector]);
        let guess = self.guessed(count + 1, vector);
        match vector == count {
            true => [A::one() / left, -(ahead / left) - guess],
            false => [-self.taken[vector], -ahead - left * guess],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The basis is that of unit vectors, and `B` is a tridiagonal matrix, whose products are thus known.
    #[test]
    fn a_tridiagonal_matrix_is_continued() {
        let (mut recurrence, mut problem) = (Recurrence::<f64>::default(), LeastSquares::default());
        recurrence.reserve(3);
        problem.reserve(3);
        recurrence.start(0.0);
        problem.start(1.0);
        // B e_0 = 2 e_0 + 3 e_1.
        recurrence.receive(1, [2.0, 13.0_f64.sqrt()].into_iter());
        assert!(recurrence.goes_on());
        recurrence.keep(1, &mut problem);
        assert!((problem.entry(1) - 3.0).abs() < 1e-14 && problem.entry(0) == 2.0);
        // Less 2 (B e_0), then over 3; the guess takes 2 e_1.
        let [factor, multiple] = recurrence.coefficients(1, 1);
        assert!((factor - 1.0 / 3.0).abs() < 1e-15 && (multiple + 4.0).abs() < 1e-14);
        assert_eq!(recurrence.coefficients(1, 0), [-2.0, -4.0]);
        // B e_1 = 5 e_0 + 2 e_1 + e_2, of which 2 e_1 is guessed.
        recurrence.receive(2, [5.0, 0.0, 26.0_f64.sqrt()].into_iter());
        recurrence.keep(2, &mut problem);
        let column = [0, 1, 2].map(|row| problem.entry(row));
        assert!((column[2] - 1.0).abs() < 1e-13 && column[..2] == [5.0, 2.0]);
    }

    #[test]
    fn what_leaves_nothing_or_is_no_number_is_not_trusted() {
        let mut recurrence = Recurrence::<f64>::default();
        recurrence.reserve(2);
        recurrence.start(0.0);
        let mut is_trusted = |product: f64, norm: f64| {
            recurrence.receive(1, [product, norm].into_iter());
            recurrence.is_trusted()
        };
        for norm in [2.0, 2.0 - 1e-15, 2.0 + 1e-9, f64::NAN, f64::INFINITY] {
            assert!(!is_trusted(2.0, norm), "{norm}");
        }
        assert!(!is_trusted(f64::NAN, 2.0));
        assert!(is_trusted(0.0, 2.0));
        recurrence.rest(1);
        assert_eq!(recurrence.coefficients(1, 0), [0.0; 2]);
    }
}
