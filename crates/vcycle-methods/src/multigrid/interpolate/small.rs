//! Rows of a few numbers.

pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

pub(super) fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// `x` without so many times `direction`.
pub(super) fn take(x: &mut [f64], part: f64, direction: &[f64]) {
    x.iter_mut()
        .zip(direction)
        .for_each(|(x, d)| *x -= part * d);
}

/// Makes `x` orthogonal to a direction of norm one; what it had of that is returned.
pub(super) fn subtract(direction: &[f64], x: &mut [f64]) -> f64 {
    let part = dot(x, direction);
    take(x, part, direction);
    part
}

/// The largest of some numbers, the first of equal ones, and its place; zero for none.
pub(super) fn largest(numbers: impl Iterator<Item = f64>) -> (usize, f64) {
    let larger = |best: (usize, f64), one: (usize, f64)| if one.1 > best.1 { one } else { best };
    numbers.enumerate().fold((0, 0.0), larger)
}
