//! The problems of the gallery: names, parameters, neighbours, and the entries of their rows.

use super::complex;
use super::elasticity::elasticity;
use super::entry::{Entry, Make, Parameter};
use super::finite_element::{BEAM, LSHAPE};
use super::stencil::laplacian;
use super::structured::{laplace27, radiation, reservoir, solid, weather};
use super::tetrahedra::tet;
use crate::structured::Offset;

const STAR: fn(Offset) -> bool = |offset| steps(offset) <= 1;
const EDGES: fn(Offset) -> bool = |offset| steps(offset) <= 2;
const BOX: fn(Offset) -> bool = |_| true;
/// Corners of the tetrahedra of a cube: all steps go up, or all go down.
const TETRAHEDRA: fn(Offset) -> bool =
    |offset| offset.iter().all(|&step| step >= 0) || offset.iter().all(|&step| step <= 0);

fn steps(offset: Offset) -> usize {
    offset.iter().map(|step| step.unsigned_abs() as usize).sum()
}

const fn number(name: &'static str, low: f64, high: f64, usual: Option<f64>) -> Parameter {
    let range = [low, high];
    Parameter { name, range, usual }
}

const CONTRAST: Parameter = number("contrast", 1e-100, 1e100, None);
const EPS: Parameter = number("eps", 1e-100, 1e100, None);

/// What most entries have in common.
const SPACE: Entry = Entry {
    name: "",
    usage: "",
    description: "",
    example: "",
    dimension: 3,
    parameters: &[],
    texts: 0,
    unknowns: 1,
    neighbours: STAR,
    make: Make::Jump,
};
const PLANE: Entry = Entry {
    dimension: 2,
    ..SPACE
};

pub(super) static REAL: [Entry; 20] = [
    Entry {
        name: "poisson5",
        usage: "poisson5:N or poisson5:NxM",
        description: "Laplace in 2-D, 5 points: 4 on the diagonal, -1 beside it",
        example: "poisson5:6x5",
        make: Make::Weights(|_, shift| laplacian(4.0, 1, shift)),
        ..PLANE
    },
    Entry {
        name: "poisson9",
        usage: "poisson9:N or poisson9:NxM",
        description: "Laplace in 2-D, 9 points: 8 on the diagonal, -1 beside it",
        example: "poisson9:6x5",
        make: Make::Weights(|_, shift| laplacian(8.0, 2, shift)),
        ..PLANE
    },
    Entry {
        name: "poisson7",
        usage: "poisson7:N or poisson7:NxMxK",
        description: "Laplace in 3-D, 7 points: 6 on the diagonal, -1 beside it",
        example: "poisson7:5x4x3",
        make: Make::Weights(|_, shift| laplacian(6.0, 1, shift)),
        ..SPACE
    },
    Entry {
        name: "poisson27",
        usage: "poisson27:N or poisson27:NxMxK",
        description: "Laplace in 3-D, 27 points: 26 on the diagonal, -1 beside it",
        example: "poisson27:5x4x3",
        make: Make::Weights(|_, shift| laplacian(26.0, 3, shift)),
        ..SPACE
    },
    Entry {
        name: "laplace27",
        usage: "laplace27:N or laplace27:NxMxK",
        description: "the matrix of poisson27, under the name of structured multigrid's benchmarks",
        example: "laplace27:5x4x3",
        neighbours: BOX,
        make: Make::Cells(|_, cells, executor| laplace27(1.0, cells, executor)),
        ..SPACE
    },
    Entry {
        name: "laplace27e8",
        usage: "laplace27e8:N or laplace27e8:NxMxK",
        description: "laplace27 times 10^8, far beyond the range of half precision",
        example: "laplace27e8:5x4x3",
        neighbours: BOX,
        make: Make::Cells(|_, cells, executor| laplace27(1e8, cells, executor)),
        ..SPACE
    },
    Entry {
        name: "aniso5",
        usage: "aniso5:N,eps[,theta] or aniso5:NxM,eps[,theta]",
        description: "2-D diffusion, 1 along the direction theta (degrees from x), eps across it",
        example: "aniso5:6x5,0.01,30",
        parameters: &[EPS, number("theta", -360.0, 360.0, Some(0.0))],
        make: Make::Weights(rotated),
        ..PLANE
    },
    Entry {
        name: "aniso7",
        usage: "aniso7:N,eps or aniso7:NxMxK,eps",
        description: "3-D diffusion, 1 along x and y, eps along z",
        example: "aniso7:5x4x3,0.01",
        parameters: &[EPS],
        make: Make::Weights(|numbers, shift| match shift {
            [0, 0, 0] => 4.0 + 2.0 * numbers[0],
            [_, 0, 0] | [0, _, 0] => -1.0,
            [0, 0, _] => -numbers[0],
            _ => 0.0,
        }),
        ..SPACE
    },
    Entry {
        name: "jump7",
        usage: "jump7:N,c or jump7:NxMxK,c",
        description: "3-D diffusion by finite volumes, coefficient 1 or c in random 8x8x8 blocks",
        example: "jump7:12x10x9,1e6",
        parameters: &[CONTRAST],
        make: Make::Jump,
        ..SPACE
    },
    Entry {
        name: "convdiff7",
        usage: "convdiff7:N,peclet or convdiff7:NxMxK,peclet",
        description: "3-D upwind convection-diffusion, nonsymmetric; peclet is that of a cell",
        example: "convdiff7:5x4x3,10",
        parameters: &[number("peclet", 0.0, 1e100, None)],
        make: Make::Weights(upwind),
        ..SPACE
    },
    Entry {
        name: "elasticity",
        usage: "elasticity:N[,nu[,c]] or elasticity:NxMxK[,nu[,c]]",
        description: "linear elasticity of NxMxK cubes clamped at x=0, stiffness 1 or c in 8x8x8 blocks",
        example: "elasticity:3x2x2",
        parameters: &[
            number("nu", 0.0, 0.4999, Some(0.3)),
            number("contrast", 1e-100, 1e100, Some(1.0)),
        ],
        unknowns: 3,
        neighbours: BOX,
        make: Make::Rows(
            |[nx, ny, nz]| [nx, ny.saturating_add(1), nz.saturating_add(1)],
            elasticity,
        ),
        ..SPACE
    },
    Entry {
        name: "beam",
        usage: "beam:oP,lL",
        description: "diffusion in a beam of two materials, elements of order P, L refinements",
        example: "beam:o2,l0",
        texts: 1,
        make: Make::Elements(&BEAM),
        ..SPACE
    },
    Entry {
        name: "lshape",
        usage: "lshape:oP,lL",
        description: "diffusion in an L-shaped domain, elements of order P, L refinements",
        example: "lshape:o3,l1",
        texts: 1,
        make: Make::Elements(&LSHAPE),
        ..SPACE
    },
    Entry {
        name: "tet",
        usage: "tet:N[,c]",
        description: "3-D diffusion, linear elements on 6 N^3 distorted tetrahedra, coefficient 1 or c in random blocks",
        example: "tet:5",
        dimension: 1,
        parameters: &[number("contrast", 1e-100, 1e100, Some(100.0))],
        neighbours: TETRAHEDRA,
        make: Make::Rows(|[cells, ..]| [cells.saturating_sub(1); 3], tet),
        ..SPACE
    },
    Entry {
        name: "rhd",
        usage: "rhd:N or rhd:NxMxK",
        description: "radiation diffusion, 7 points, conductivities of 10^5 to 10^12: far from half precision",
        example: "rhd:6x5x4",
        make: Make::Cells(radiation::one_temperature),
        ..SPACE
    },
    Entry {
        name: "oil",
        usage: "oil:N or oil:NxMxK, then FOLDER with fields of SPE10",
        description: "pressure in an oil reservoir, 7 points, contrasts of 10^7, not symmetric, within half precision",
        example: "oil:6x5x4",
        texts: 1,
        make: Make::Cells(reservoir::pressure),
        ..SPACE
    },
    Entry {
        name: "weather",
        usage: "weather:N or weather:NxMxK",
        description: "pressure over mountains, 19 points, thin layers: strongly anisotropic, not symmetric, near half precision",
        example: "weather:6x5x4",
        neighbours: EDGES,
        make: Make::Cells(weather::helmholtz),
        ..SPACE
    },
    Entry {
        name: "rhd-3T",
        usage: "rhd-3T:N or rhd-3T:NxMxK",
        description: "temperatures of radiation, electrons and ions, 7 points, 3 unknowns, anisotropic",
        example: "rhd-3T:5x4x3",
        unknowns: 3,
        make: Make::Cells(radiation::three_temperatures),
        ..SPACE
    },
    Entry {
        name: "oil-4C",
        usage: "oil-4C:N or oil-4C:NxMxK, then FOLDER with fields of a sector model",
        description: "pressure and three components in an oil reservoir, 7 points, 4 unknowns, near half precision",
        example: "oil-4C:4x3x3",
        texts: 1,
        unknowns: 4,
        make: Make::Cells(reservoir::components),
        ..SPACE
    },
    Entry {
        name: "solid-3D",
        usage: "solid-3D:N or solid-3D:NxMxK",
        description: "linear elasticity on tetrahedra, 15 points, 3 unknowns: far from half precision",
        example: "solid-3D:4x3x3",
        unknowns: 3,
        neighbours: TETRAHEDRA,
        make: Make::Cells(solid::elasticity),
        ..SPACE
    },
];

pub(super) static COMPLEX: [Entry; 2] = [
    Entry {
        name: "helmholtz",
        usage: "helmholtz:N,k[,absorption] or helmholtz:NxM,k[,absorption]",
        description: "2-D Helmholtz equation with absorption, complex symmetric; k is the wave number of the unit square",
        example: "helmholtz:8x6,10,0.5",
        // The usual absorption is the shift of the shifted Laplacian of Erlangga, Oosterlee and Vuik (2006).
        parameters: &[
            number("k", 0.0, 1e100, None),
            number("absorption", 0.0, 1e100, Some(0.5)),
        ],
        make: Make::Complex(complex::helmholtz),
        ..PLANE
    },
    Entry {
        name: "magnetic",
        usage: "magnetic:N,flux or magnetic:NxM,flux",
        description: "2-D Laplacian in a magnetic field, Hermitian positive definite; flux is that of a cell",
        example: "magnetic:8x6,0.01",
        parameters: &[number("flux", -10.0, 10.0, None)],
        make: Make::Complex(complex::magnetic),
        ..PLANE
    },
];

/// Rotated anisotropic diffusion `-div(D grad u)` in 2-D, times the square of the mesh width.
///
/// `D` has the eigenvalue 1 along the direction at `theta` degrees from the x axis and `eps` across it:
/// `Dxx = c² + eps s²`, `Dyy = s² + eps c²`, `Dxy = (1 - eps) c s` with `c = cos theta`, `s = sin theta`. Centred differences give
///
/// ```text
///    Dxy/2    -Dyy    -Dxy/2
///    -Dxx   2 + 2eps   -Dxx
///   -Dxy/2    -Dyy     Dxy/2
/// ```
///
/// which is symmetric positive definite, but an M-matrix only where `Dxy` vanishes: at multiples of 90 degrees it is the plain
/// 5-point stencil, at 0 with 1 along x and `eps` along y.
fn rotated(numbers: &[f64], [x, y, _]: Offset) -> f64 {
    let (eps, theta) = (numbers[0], numbers[1]);
    // Exact where a cosine or sine is zero, so that the corners of the stencil vanish there.
    let (s, c) = match theta.rem_euclid(180.0) {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        reduced => reduced.to_radians().sin_cos(),
    };
    match [x, y] {
        [0, 0] => 2.0 + 2.0 * eps,
        [_, 0] => -(c * c + eps * s * s),
        [0, _] => -(s * s + eps * c * c),
        [x, y] => -0.5 * ((1.0 - eps) * c * s) * f64::from(x * y),
    }
}

/// `-Laplace(u) + v . grad(u)` with the flow `v` towards growing x, y and z, upwind differences, times the square of the mesh
/// width `h`.
///
/// The number is the Péclet number of a cell, `|v_x| h = |v_y| h = |v_z| h`: upstream neighbours have `-1 - peclet`, downstream ones
/// -1, the diagonal is `6 + 3 peclet`. An M-matrix for every `peclet`, symmetric for 0.
fn upwind(numbers: &[f64], [x, y, z]: Offset) -> f64 {
    let peclet = numbers[0];
    match (x.abs() + y.abs() + z.abs(), x + y + z) {
        (0, _) => 6.0 + 3.0 * peclet,
        (1, -1) => -1.0 - peclet,
        (1, _) => -1.0,
        _ => 0.0,
    }
}
