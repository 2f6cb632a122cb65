//! Stencil matrices and structured multigrid on devices, beside the reference.

use std::sync::Arc;

use vcycle::config::{self, Config};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::{LinOp, Sweep};
use vcycle::scalar::{Mixes, Real, Scalar, bf16, f16};
use vcycle::structured::{
    Direction, Grid, Stencil, StencilMatrix, Storage, StructMg, Transfer, Vectors,
};
use vcycle::vector::{Coefficient, Vector};

/// A number that depends on two others, between 0 and 1.
fn noise(a: usize, b: usize) -> f64 {
    let mixed = (a + 1).wrapping_mul(40_503) ^ (b + 7).wrapping_mul(60_493);
    (mixed >> 3 & 255) as f64 / 256.0
}

fn matrix(stencil: Stencil, size: [usize; 3], unknowns: usize) -> StencilMatrix<f64> {
    let grid = Grid::new(size).unwrap();
    let points = stencil.points();
    StencilMatrix::from_cells(
        &Executor::reference(),
        grid,
        stencil,
        unknowns,
        |cell, out| {
            let cell = cell[0] + size[0] * (cell[1] + size[1] * cell[2]);
            for (place, entry) in out.iter_mut().enumerate() {
                let (j, point, i) = (
                    place % unknowns,
                    place / unknowns % points,
                    place / unknowns / points,
                );
                *entry = match (point == points / 2, i == j) {
                    (true, true) => points as f64 + noise(cell, place),
                    (_, true) => -noise(cell, place),
                    _ => 0.25 * noise(cell, place) / points as f64,
                };
            }
        },
    )
    .unwrap()
}

fn vector<V: Scalar>(executor: &Executor, rows: usize, cols: usize, seed: usize) -> Vector<V> {
    let value = |place: usize| V::from_c64((noise(place, seed) - 0.5).into());
    let values = (0..rows * cols).map(value).collect();
    Vector::from_rows(executor, cols, values).unwrap()
}

/// Fails unless both are the same but for rounding.
fn check<V: Real>(what: &str, device: &Vector<V>, host: &Vector<V>, within: f64) {
    let wide = |vector: &Vector<V>| -> Vec<f64> {
        let values = vector.to_vec();
        values.iter().map(|value| value.to_c64().re).collect()
    };
    let (device, host) = (wide(device), wide(host));
    let largest = host
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    for (row, (there, here)) in device.iter().zip(&host).enumerate() {
        let close = (there - here).abs() <= within * largest;
        assert!(
            close,
            "{what}, row {row}: {there} on the device, {here} on the host"
        );
    }
}

/// What is done with a matrix: name, and from two vectors to a third.
type Operation<M, V> = (
    &'static str,
    fn(&StencilMatrix<M>, &Vector<V>, &mut Vector<V>, &Workspace) -> vcycle::Result<()>,
);

fn same_on<M: Storage, V>(executor: &Executor, a: &StencilMatrix<f64>, within: f64)
where
    StencilMatrix<M>: LinOp<V>,
    V: Vectors + Mixes<V, V>,
{
    let here = a.convert::<M>().unwrap();
    let there = here.copy_to(executor).unwrap();
    assert_eq!(there.values(), here.values());
    let ws = Workspace::new();
    let operations: [Operation<M, V>; 6] = [
        ("product", |a, x, y, ws| a.apply(x, y, ws)),
        ("combination", |a, x, y, ws| {
            let (half, two) = (Coefficient::real(0.5), Coefficient::real(2.0));
            a.apply_advanced(half, x, two, y, ws)
        }),
        ("residual", |a, x, y, ws| a.residual(&y.clone(), x, y, ws)),
        ("relaxation", |a, x, y, ws| {
            let (b, d) = (y.clone(), vector(y.executor(), y.rows(), 1, 3));
            let sweep = Sweep {
                b: &b,
                d: &d,
                alpha: 0.5,
                beta: 1.5,
                gamma: -0.5,
            };
            a.relax(sweep, x, y, ws)
        }),
        ("sweep forward", |a, b, x, ws| {
            a.gauss_seidel(Direction::Forward, b, x, ws)
        }),
        ("sweep backward", |a, b, x, ws| {
            a.gauss_seidel(Direction::Backward, b, x, ws)
        }),
    ];
    let rows = a.size().rows;
    for (name, operation) in operations {
        let result = |a: &StencilMatrix<M>| {
            let x = vector::<V>(a.executor(), rows, 1, 1);
            let mut y = vector::<V>(a.executor(), rows, 1, 2);
            operation(a, &x, &mut y, &ws).unwrap();
            y
        };
        let what = format!(
            "{name} of {} in {} on {} cells, unknowns {}",
            a.stencil(),
            M::KIND,
            a.grid(),
            a.unknowns()
        );
        check(&what, &result(&there), &result(&here), within);
    }
}

pub fn every_pattern(executor: &Executor) {
    let cases = [
        (Stencil::full(1), [301, 1, 1]),
        (Stencil::star(2), [9, 8, 1]),
        (Stencil::full(2), [6, 7, 1]),
        (Stencil::full(2), [1, 6, 1]),
        (Stencil::star(3), [5, 4, 3]),
        (Stencil::faces_and_corners(), [4, 3, 5]),
        (Stencil::faces_and_edges(), [4, 5, 2]),
        (Stencil::full(3), [7, 2, 4]),
        (Stencil::full(3), [6, 1, 3]),
        (Stencil::full(3), [1, 1, 1]),
    ];
    for (stencil, size) in cases {
        same_on::<f64, f64>(executor, &matrix(stencil, size, 1), 1e-13);
    }
}

pub fn every_storage(executor: &Executor) {
    for size in [[8, 3, 4], [6, 5, 2], [5, 4, 3]] {
        let a = matrix(Stencil::full(3), size, 1);
        same_on::<f32, f32>(executor, &a, 1e-5);
        same_on::<f16, f32>(executor, &a, 1e-5);
        same_on::<bf16, f32>(executor, &a, 1e-5);
        same_on::<f16, f64>(executor, &a, 1e-13);
        same_on::<f64, f32>(executor, &a, 1e-5);
    }
}

pub fn several_unknowns(executor: &Executor) {
    for unknowns in 2..=4 {
        let a = matrix(Stencil::star(3), [4, 3, 3], unknowns);
        same_on::<f64, f64>(executor, &a, 1e-13);
        let a = matrix(Stencil::faces_and_corners(), [3, 4, 2], unknowns);
        same_on::<f16, f32>(executor, &a, 1e-5);
    }
    // A line that no block of threads has room for.
    let long = matrix(Stencil::full(2), [70, 2, 1], 4);
    same_on::<f64, f64>(executor, &long, 1e-13);
}

pub fn several_columns(executor: &Executor) {
    let here = matrix(Stencil::star(3), [4, 3, 3], 2);
    let there = here.copy_to(executor).unwrap();
    let ws = Workspace::new();
    let product = |a: &StencilMatrix<f64>| {
        let x = vector::<f64>(a.executor(), 72, 3, 1);
        let mut y = vector::<f64>(a.executor(), 72, 3, 2);
        let coefficient = Coefficient::real(0.5);
        a.apply_advanced(coefficient, &x, coefficient, &mut y, &ws)
            .unwrap();
        y
    };
    check("three columns", &product(&there), &product(&here), 1e-13);
}

pub fn transfers(executor: &Executor) {
    let host = Executor::reference();
    for (size, axis) in [
        ([5, 4, 3], 0),
        ([4, 5, 3], 1),
        ([3, 2, 4], 2),
        ([2, 1, 1], 0),
        ([6, 2, 2], 0),
    ] {
        let grid = Grid::new(size).unwrap();
        let mut half = size;
        half[axis] = half[axis].div_ceil(2);
        let (cells, coarse) = (grid.cells(), half.iter().product::<usize>());
        let weights = (0..2 * coarse).map(|place| noise(place, 5)).collect();
        let here = Transfer::<f64>::new(&host, grid, axis, weights).unwrap();
        let there = here.copy_to(executor).unwrap();
        let both = |transfer: &Transfer<f64>, on: &Executor, scaled: bool, add: bool| {
            let q = scaled.then(|| vector::<f64>(on, cells, 1, 6));
            let mut fine = vector::<f64>(on, cells, 1, 7);
            let mut small = vector::<f64>(on, coarse, 1, 8);
            transfer.restrict(q.as_ref(), &fine, &mut small).unwrap();
            transfer
                .prolong(q.as_ref(), &small, &mut fine, add)
                .unwrap();
            (small, fine)
        };
        for (scaled, add) in [(false, false), (true, true)] {
            let device = both(&there, executor, scaled, add);
            let host = both(&here, &host, scaled, add);
            check("restriction", &device.0, &host.0, 1e-14);
            check("prolongation", &device.1, &host.1, 1e-14);
        }
    }
}

/// The cycles of a problem on the device and on the host, applied to a vector.
fn cycles_agree(executor: &Executor, problem: &str, parameters: &StructMg, within: f64) {
    let ws = Workspace::new();
    let here = Arc::new(gallery::build_stencil(problem, &Executor::cpu()).unwrap());
    let there = Arc::new(here.copy_to(executor).unwrap());
    let cycle = |a: Arc<StencilMatrix<f64>>| {
        let b = vector::<f64>(a.executor(), a.size().rows, 2, 9);
        let a: Arc<dyn LinOp<f64>> = a;
        let made = parameters.generate_with_report(&a, &ws).unwrap();
        let mut x = vector::<f64>(a.executor(), b.rows(), 2, 10);
        made.operator.apply(&b, &mut x, &ws).unwrap();
        x
    };
    check(problem, &cycle(there), &cycle(here), within);
}

pub fn cycles(executor: &Executor) {
    let cases = [
        ("laplace27:9", "K64P64D64", 1e-12),
        ("laplace27e8:10", "K64P32D16", 1e-5),
        ("weather:8", "K64P32D32", 1e-5),
        ("rhd-3T:7", "K64P64D64", 1e-10),
        ("solid-3D:6", "K64P32D16", 1e-4),
    ];
    for (problem, precision, within) in cases {
        let mut parameters = StructMg::default();
        parameters.precision = Some(precision.parse().unwrap());
        parameters.coarsest_cells = 20;
        // After one sweep the residual is made of fewer entries.
        for sweeps in [1, 2] {
            (parameters.pre_sweeps, parameters.post_sweeps) = (sweeps, sweeps);
            cycles_agree(executor, problem, &parameters, within);
        }
    }
}

pub fn sweeps_and_smoothers(executor: &Executor) {
    for (smoother, pre_sweeps) in [("gs", 0), ("gs", 2), ("dilu", 1), ("ilu0", 1)] {
        let mut parameters = StructMg::default();
        parameters.precision = Some("K64P64D64".parse().unwrap());
        parameters.smoother = smoother.parse().unwrap();
        parameters.pre_sweeps = pre_sweeps;
        parameters.coarsest_cells = 20;
        cycles_agree(executor, "poisson7:6", &parameters, 1e-11);
    }
}

pub fn structured_multigrid_takes_as_many_iterations(executor: &Executor) {
    let config = Config::from_toml("preconditioner = \"struct-mg\"").unwrap();
    for problem in ["poisson5:17", "laplace27e8:9", "oil-4C:6"] {
        let iterations = |executor: &Executor| {
            let made = gallery::build(problem, executor).unwrap();
            let b = Vector::filled(executor, made.matrix.size().rows, 1, 1.0).unwrap();
            let solved = config::solve(&config, &Arc::new(made.matrix), &b, &Workspace::new());
            let solved = solved.unwrap();
            assert!(solved.outcome.converged(), "{problem}");
            solved.outcome.iterations
        };
        let (device, host) = (iterations(executor), iterations(&Executor::cpu()));
        assert!(
            device.abs_diff(host) <= 1,
            "{problem}: {device}, {host} on the host"
        );
    }
}
