//! Products, triangular solves and sweeps of stencils.

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::scalar::f16;
use vcycle::structured::{Direction, StencilMatrix, Storage};
use vcycle::vector::Vector;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::product::mkl;
use super::aos::{Structures, padded};
use crate::common::{Result, threads};
use crate::timing::race;

/// The stencil, its triangle, a problem that has it, and cells in a direction.
const STENCILS: [(&str, &str, &str, [usize; 3]); 3] = [
    ("3d7", "3d4", "oil", [8, 40, 160]),
    ("3d19", "3d10", "weather", [8, 40, 128]),
    ("3d27", "3d14", "laplace27", [8, 40, 128]),
];

/// Times in half precision beside single, vectors in single; and what others take.
pub(super) fn kernels(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut values = Vec::new();
    for (pattern, triangle, problem, sizes) in STENCILS {
        let problem = format!("{problem}:{}", scope.size(sizes));
        let a = vcycle::gallery::build_stencil(&problem, &executor)?;
        let (single, half) = (a.convert::<f32>()?, a.convert::<f16>()?);
        let times = [times(scope, &single)?, times(scope, &half)?];
        let names = [
            format!("{pattern}, product"),
            format!("{triangle}, triangular solve"),
            format!("{pattern}, sweep"),
        ];
        let points = a.stencil().points() as f64;
        // What is read of a row, and vectors.
        let read = [(points, 2.0), ((points + 1.0) / 2.0, 2.0), (points, 3.0)];
        for (place, (row, (entries, vectors))) in names.iter().zip(read).enumerate() {
            let gain = times[0][place] / times[1][place];
            let bound = (4.0 * entries + 4.0 * vectors) / (2.0 * entries + 4.0 * vectors);
            values.push(Value::factor(row, "half beside single", gain));
            values.push(Value::factor(row, "bytes allow", bound));
        }
        let row = format!("{pattern}, product, array of structures");
        let naive = [of_structures(scope, &single)?, of_structures(scope, &half)?];
        values.push(Value::factor(
            &row,
            "half beside single",
            naive[0] / naive[1],
        ));
        values.push(Value::factor(
            &row,
            "time beside ours, half",
            naive[1] / times[1][0],
        ));
        if let Some(theirs) = mkl(scope, &a.to_csr())? {
            let row = format!("{pattern}, product, CSR in double");
            let beside = Value::factor(row, "time beside ours, half", theirs / times[1][0]);
            values.push(beside.by("MKL"));
        }
    }
    Ok(values)
}

/// Rounds, and seconds of each.
fn turns(scope: &Scope) -> (usize, f64) {
    scope.size([(1, 0.0), (2, 0.05), (5, 0.2)])
}

/// Seconds of a product, a triangular solve and a sweep.
fn times<M: Storage>(scope: &Scope, a: &StencilMatrix<M>) -> Result<[f64; 3]>
where
    StencilMatrix<M>: LinOp<f32>,
{
    let (ws, forward) = (Workspace::new(), Direction::Forward);
    let vector = || Vector::<f32>::filled(a.executor(), a.size().rows, 1, 1e-3);
    let (b, mut x, mut y, mut z) = (vector()?, vector()?, vector()?, vector()?);
    let (rounds, seconds) = turns(scope);
    race(
        [
            &mut || Ok(a.apply(&b, &mut x, &ws)?),
            &mut || Ok(a.solve_triangle(forward, &b, &mut y, &ws)?),
            &mut || Ok(a.gauss_seidel(forward, &b, &mut z, &ws)?),
        ],
        rounds,
        seconds,
    )
}

/// Seconds of a product with an array of structures.
fn of_structures<M: Storage>(scope: &Scope, a: &StencilMatrix<M>) -> Result<f64> {
    let (naive, threads) = (Structures::new(a), threads(None)?);
    let x = padded(naive.margin(), &vec![1e-3; a.size().rows]);
    let mut y = vec![0.0; a.size().rows];
    let (rounds, seconds) = turns(scope);
    let [time] = race([&mut || naive.apply(threads, &x, &mut y)], rounds, seconds)?;
    Ok(time)
}
