//! Least squares: with a Hessenberg matrix, the projected problem of GMRES, and of several right-hand sides.

use num_traits::{Float, One, Zero};

use super::norm;
use crate::prelude::*;

/// Minimises `|beta e_1 - H y|` for a Hessenberg matrix `H` that grows by a column a step, with
/// Givens rotations (Saad and Schultz 1986, section 3.2).
#[derive(Default)]
pub(crate) struct LeastSquares<A: Field> {
    /// Columns of the triangular factor, one behind the other, `k + 1` entries in column `k`.
    triangle: Vec<A>,
    rotations: Vec<Rotation<A>>,
    /// The rotated right-hand side.
    rhs: Vec<A>,
    solution: Vec<A>,
    /// The column being made.
    column: Vec<A>,
    /// Columns that count; less than were given once the problem became singular or the
    /// right-hand side was given up.
    dimension: usize,
}

#[derive(Clone, Copy)]
struct Rotation<A: Field> {
    cosine: A::Real,
    sine: A,
}

impl<A: Field> Rotation<A> {
    /// The rotation that takes `(a, b)` to `(r, 0)` for a real `b`.
    fn new(a: A, b: A) -> Self {
        let size = Float::hypot(a.modulus(), b.modulus());
        if a.is_zero() || size.is_zero() {
            return Self {
                cosine: Zero::zero(),
                sine: A::one(),
            };
        }
        let cosine = a.modulus() / size;
        let sine = a * b / A::from_real(a.modulus() * size);
        Self { cosine, sine }
    }

    fn apply(self, a: A, b: A) -> (A, A) {
        let cosine = A::from_real(self.cosine);
        (
            cosine * a + self.sine * b,
            cosine * b - self.sine.conj() * a,
        )
    }
}

/// Where column `k` of the triangle begins.
fn place(k: usize) -> usize {
    k * (k + 1) / 2
}

impl<A: Field> LeastSquares<A> {
    /// Reserves memory for a number of columns, so that the steps allocate nothing.
    pub(crate) fn reserve(&mut self, columns: usize) {
        self.triangle.resize(place(columns), A::zero());
        let none = Rotation {
            cosine: One::one(),
            sine: A::zero(),
        };
        self.rotations.resize(columns, none);
        self.rhs.resize(columns + 1, A::zero());
        self.solution.resize(columns, A::zero());
        self.column.resize(columns + 1, A::zero());
    }

    /// Begins with an empty matrix.
    pub(crate) fn start(&mut self, beta: A) {
        self.rhs[0] = beta;
        self.dimension = 0;
    }

    /// Entry `row` of the next column of `H`.
    pub(crate) fn set(&mut self, row: usize, value: A) {
        self.column[row] = value;
    }

    /// Adds to entry `row` of the next column what a second orthogonalisation has found.
    pub(crate) fn add(&mut self, row: usize, value: A) {
        self.column[row] += value;
    }

    /// Entry `row` of the next column, as it was set.
    pub(crate) fn entry(&self, row: usize) -> A {
        self.column[row]
    }

    /// The last of `rows + 1` entries that were set over the length of them all: what orthogonalisation has left of a vector.
    pub(crate) fn part_left(&self, rows: usize) -> f64 {
        let column = &self.column[..=rows];
        let sum: A::Real = column.iter().map(|h| h.modulus_squared()).sum();
        (column[rows].modulus() / Float::sqrt(sum)).to_f64()
    }

    /// Takes the entries that were set as column `step` of `H`. It counts only if it `is_wanted`,
    /// finite and not singular.
    pub(crate) fn eliminate(&mut self, step: usize, is_wanted: bool) {
        let column = &mut self.column[..step + 2];
        let sum: A::Real = column.iter().map(|h| h.modulus_squared()).sum();
        let negligible = <A::Real as Float>::epsilon() * Float::sqrt(sum);
        // The space is invariant: what is left is rounding.
        if column[step + 1].modulus() <= negligible {
            column[step + 1] = A::zero();
        }
        for row in 0..step {
            (column[row], column[row + 1]) =
                self.rotations[row].apply(column[row], column[row + 1]);
        }
        let rotation = Rotation::new(column[step], column[step + 1]);
        let (diagonal, _) = rotation.apply(column[step], column[step + 1]);
        column[step] = diagonal;
        self.triangle[place(step)..][..=step].copy_from_slice(&column[..=step]);
        self.rotations[step] = rotation;
        let usable = Field::is_finite(diagonal) && diagonal.modulus() > negligible;
        if is_wanted && usable && self.dimension == step {
            self.dimension = step + 1;
        }
        (self.rhs[step], self.rhs[step + 1]) = if usable || !Field::is_finite(sum) {
            rotation.apply(self.rhs[step], A::zero())
        } else {
            (A::zero(), self.rhs[step])
        };
    }

    /// The norm of the residual with `steps` columns.
    pub(crate) fn residual(&self, steps: usize) -> A::Real {
        self.rhs[steps].modulus()
    }

    /// How many columns count.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Solves the triangular system of the columns that count.
    pub(crate) fn solve(&mut self) {
        self.solution.fill(A::zero());
        for row in (0..self.dimension).rev() {
            let known: A = (row + 1..self.dimension)
                .map(|k| self.triangle[place(k) + row] * self.solution[k])
                .sum();
            self.solution[row] = (self.rhs[row] - known) / self.triangle[place(row) + row];
        }
    }

    /// Entry `step` of the solution; zero for a column that does not count.
    pub(crate) fn solution(&self, step: usize) -> A {
        self.solution[step]
    }
}

/// Least squares `min |S - H Y|` of several right-hand sides, column by column of `H`, by Householder's reflections. Rows are added
/// together with columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockLeastSquares<A> {
    /// Those of the triangle.
    columns: Vec<Vec<A>>,
    /// Of column `k`: a vector that begins in row `k`, and 2 over the square of its norm.
    reflections: Vec<(Vec<A>, A)>,
    sides: Vec<Vec<A>>,
}

impl<A: Field> BlockLeastSquares<A> {
    /// Begins with right-hand sides.
    pub(crate) fn new(sides: Vec<Vec<A>>) -> Self {
        Self {
            columns: Vec::new(),
            reflections: Vec::new(),
            sides,
        }
    }

    /// Adds a column; what it has more rows than the sides is zero in these.
    pub(crate) fn push(&mut self, mut column: Vec<A>) {
        let place = self.columns.len();
        for (first, (v, factor)) in self.reflections.iter().enumerate() {
            reflect(v, *factor, &mut column[first..]);
        }
        let (v, factor) = reflection(&column[place..]);
        reflect(&v, factor, &mut column[place..]);
        for side in &mut self.sides {
            side.resize(side.len().max(column.len()), A::zero());
            reflect(&v, factor, &mut side[place..]);
        }
        self.columns.push(column);
        self.reflections.push((v, factor));
    }

    /// The norm of what is left of a right-hand side by the [`solution`](Self::solve).
    pub(crate) fn residual(&self, side: usize) -> f64 {
        norm(&self.sides[side][self.dimension()..])
    }

    fn pivot(&self, row: usize) -> f64 {
        self.columns[row][row].modulus().to_f64()
    }

    /// The columns that count: those before the first that depends on others, up to rounding.
    fn dimension(&self) -> usize {
        let n = self.columns.len();
        let largest = (0..n).map(|row| self.pivot(row)).fold(0.0, f64::max);
        let least = largest * 8.0 * A::Real::epsilon().to_f64();
        let dependent = (0..n).find(|&row| self.pivot(row) <= least);
        dependent.unwrap_or(n)
    }

    /// The solution, row after row with one number a side. For columns that do not count it is zero.
    pub(crate) fn solve(&self) -> Vec<A> {
        let (n, count) = (self.dimension(), self.sides.len());
        let mut x = vec![A::zero(); self.columns.len() * count];
        for row in (0..n).rev() {
            for side in 0..count {
                let known: A = (row + 1..n)
                    .map(|k| self.columns[k][row] * x[k * count + side])
                    .sum();
                x[row * count + side] = (self.sides[side][row] - known) / self.columns[row][row];
            }
        }
        x
    }
}

/// The reflection that makes all but the first entry zero.
fn reflection<A: Field>(x: &[A]) -> (Vec<A>, A) {
    let (mut v, length) = (x.to_vec(), norm(x));
    if length == 0.0 {
        return (v, A::zero());
    }
    let size = x[0].modulus().to_f64();
    let phase = match size > 0.0 {
        true => x[0] / A::from_f64(size),
        false => A::one(),
    };
    v[0] += phase * A::from_f64(length);
    let square = norm(&v).powi(2);
    (v, A::from_f64(2.0 / square))
}

fn reflect<A: Field>(v: &[A], factor: A, x: &mut [A]) {
    let product: A = v.iter().zip(&*x).map(|(v, x)| v.conj() * *x).sum();
    for (x, v) in x.iter_mut().zip(v) {
        *x -= factor * product * *v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_complex_columns_are_minimised() {
        let i = c64::new(0.0, 1.0);
        let mut problem = LeastSquares::<c64>::default();
        problem.reserve(2);
        problem.start(c64::new(2.0, 0.0));
        // H = [[i, 1], [1, i], [0, 0]]: square and regular, so the residual vanishes.
        for (step, column) in [
            [i, c64::new(1.0, 0.0), i],
            [c64::new(1.0, 0.0), i, c64::zero()],
        ]
        .into_iter()
        .enumerate()
        {
            for (row, value) in column.into_iter().enumerate().take(step + 2) {
                problem.set(row, value);
            }
            problem.eliminate(step, true);
        }
        assert!(problem.residual(2) < 1e-15);
        problem.solve();
        let (x, y) = (problem.solution(0), problem.solution(1));
        assert!((i * x + y - 2.0).norm() < 1e-15);
        assert!((x + i * y).norm() < 1e-15);
    }

    #[test]
    fn a_zero_column_does_not_count() {
        let mut problem = LeastSquares::<f64>::default();
        problem.reserve(1);
        problem.start(3.0);
        problem.set(0, 0.0);
        problem.set(1, 0.0);
        problem.eliminate(0, true);
        assert_eq!((problem.dimension(), problem.residual(1)), (0, 3.0));
    }

    #[test]
    fn least_squares_of_two_sides() {
        let i = c64::new(0.0, 1.0);
        let one = c64::new(1.0, 0.0);
        let mut squares = BlockLeastSquares::new(vec![vec![one * 2.0], vec![i]]);
        squares.push(vec![one, i]);
        // The residual of (2, 0) is what (1, i) leaves of it.
        assert!((squares.residual(0) - 2.0_f64.sqrt()).abs() < 1e-14);
        let solution = squares.solve();
        assert!((solution[0] - one).norm() < 1e-14);
        assert!((solution[1] - i * 0.5).norm() < 1e-14);
    }
}
