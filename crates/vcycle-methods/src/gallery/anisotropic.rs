//! Diffusion that is stronger along some directions.

use super::grid::Grid;
use super::spec::check_range;
use super::stencil::stencil_matrix;
use super::{Entry, Problem};
use crate::error::Result;
use crate::executor::Executor;

pub(super) const ANISO5: Entry = Entry {
    name: "aniso5",
    usage: "aniso5:N,eps[,theta] or aniso5:NxM,eps[,theta]",
    description: "2-D diffusion, 1 along the direction theta (degrees from x), eps across it",
    example: "aniso5:6x5,0.01,30",
    build: |spec, executor| {
        spec.at_most(3)?;
        let theta = spec.number_or(2, "theta", 0.0)?;
        aniso5(spec.size()?, spec.number(1, "eps")?, theta, executor)
    },
};

pub(super) const ANISO7: Entry = Entry {
    name: "aniso7",
    usage: "aniso7:N,eps or aniso7:NxMxK,eps",
    description: "3-D diffusion, 1 along x and y, eps along z",
    example: "aniso7:5x4x3,0.01",
    build: |spec, executor| {
        spec.at_most(2)?;
        aniso7(spec.size()?, spec.number(1, "eps")?, executor)
    },
};

/// The 7-point stencil with -1 along x and y, `-eps` along z (the slowest index) and `4 + 2 eps`
/// on the diagonal.
///
/// # Errors
/// As for [`poisson5`](super::poisson5), or `eps` not between 1e-100 and 1e100.
pub fn aniso7(size: [usize; 3], eps: f64, executor: &Executor) -> Result<Problem> {
    check_range("eps", eps, 1e-100..=1e100)?;
    let grid = Grid::on(executor, size)?;
    let matrix = stencil_matrix(executor, grid, |shift| match shift {
        [0, 0, 0] => 4.0 + 2.0 * eps,
        [_, 0, 0] | [0, _, 0] => -1.0,
        [0, 0, _] => -eps,
        _ => 0.0,
    })?;
    let name = format!("aniso7:{},{eps}", grid.label(3));
    Ok(Problem::on_grid(name, grid, matrix))
}

/// Rotated anisotropic diffusion `-div(D grad u)` in 2-D, times the square of the mesh width.
///
/// `D` has the eigenvalue 1 along the direction at `theta` degrees from the x axis and `eps`
/// across it:
/// `Dxx = c² + eps s²`, `Dyy = s² + eps c²`, `Dxy = (1 - eps) c s` with `c = cos theta`,
/// `s = sin theta`. Centred differences give
///
/// ```text
///    Dxy/2    -Dyy    -Dxy/2
///    -Dxx   2 + 2eps   -Dxx
///   -Dxy/2    -Dyy     Dxy/2
/// ```
///
/// which is symmetric positive definite, but an M-matrix only where `Dxy` vanishes: at multiples
/// of 90 degrees it is the plain 5-point stencil, at 0 with 1 along x and `eps` along y.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// let a = gallery::aniso5([3, 3], 0.5, 0.0, &Executor::cpu())?.matrix;
/// assert_eq!(a.row(4), (&[1, 3, 4, 5, 7][..], &[-0.5, -1.0, 3.0, -1.0, -0.5][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// As for [`aniso7`], or `theta` not between -360 and 360.
pub fn aniso5([nx, ny]: [usize; 2], eps: f64, theta: f64, executor: &Executor) -> Result<Problem> {
    check_range("eps", eps, 1e-100..=1e100)?;
    check_range("theta", theta, -360.0..=360.0)?;
    let grid = Grid::on(executor, [nx, ny, 1])?;
    let (s, c) = sin_cos_degrees(theta);
    let (dxx, dyy) = (c * c + eps * s * s, s * s + eps * c * c);
    let dxy = (1.0 - eps) * c * s;
    let matrix = stencil_matrix(executor, grid, |[x, y, _]| match [x, y] {
        [0, 0] => 2.0 + 2.0 * eps,
        [_, 0] => -dxx,
        [0, _] => -dyy,
        [x, y] => -0.5 * dxy * (x * y) as f64,
    })?;
    let name = format!("aniso5:{},{eps},{theta}", grid.label(2));
    Ok(Problem::on_grid(name, grid, matrix))
}

/// Exact where a cosine or sine is zero, so that the corners of the stencil vanish there.
fn sin_cos_degrees(theta: f64) -> (f64, f64) {
    match theta.rem_euclid(180.0) {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        reduced => reduced.to_radians().sin_cos(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn middle_row(eps: f64, theta: f64) -> Vec<f64> {
        let problem = aniso5([3, 3], eps, theta, &Executor::reference()).unwrap();
        problem.matrix.row(4).1.to_vec()
    }

    #[test]
    fn a_quarter_turn_swaps_the_axes() {
        assert_eq!(middle_row(0.5, 0.0), [-0.5, -1.0, 3.0, -1.0, -0.5]);
        assert_eq!(middle_row(0.5, 90.0), [-1.0, -0.5, 3.0, -0.5, -1.0]);
        assert_eq!(middle_row(0.5, -180.0), middle_row(0.5, 0.0));
    }

    #[test]
    fn along_the_diagonal_the_strong_corners_are_negative() {
        let row = middle_row(0.0625, 45.0);
        assert!(row[0] < 0.0 && row[8] < 0.0 && row[2] > 0.0 && row[6] > 0.0);
        assert!(row.iter().sum::<f64>().abs() < 1e-15);
    }
}
