//! Products and sweeps of stencils.

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::scalar::f16;
use vcycle::structured::Direction;
use vcycle::vector::Vector;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use crate::common::Result;
use crate::timing::race;

const STENCILS: [(&str, &str, [usize; 3]); 3] = [
    ("3d7", "oil", [8, 40, 160]),
    ("3d19", "weather", [8, 40, 128]),
    ("3d27", "laplace27", [8, 40, 128]),
];

/// Times in half precision beside single, vectors in single.
pub(super) fn kernels(scope: &Scope) -> Result<Vec<Value>> {
    let (executor, ws) = (scope.executor()?, Workspace::new());
    let mut values = Vec::new();
    for (pattern, problem, sizes) in STENCILS {
        let problem = format!("{problem}:{}", scope.size(sizes));
        let a = vcycle::gallery::build_stencil(&problem, &executor)?;
        let rows = a.size().rows;
        let (single, half) = (a.convert::<f32>()?, a.convert::<f16>()?);
        let vector = || Vector::<f32>::filled(&executor, rows, 1, 1e-3);
        let (v, mut w, mut s, mut z, mut t) =
            (vector()?, vector()?, vector()?, vector()?, vector()?);
        let forward = Direction::Forward;
        let times = race(
            [
                &mut || Ok(single.apply(&v, &mut w, &ws)?),
                &mut || Ok(half.apply(&v, &mut z, &ws)?),
                &mut || Ok(single.gauss_seidel(forward, &v, &mut s, &ws)?),
                &mut || Ok(half.gauss_seidel(forward, &v, &mut t, &ws)?),
            ],
            scope.size([1, 2, 5]),
            scope.size([0.0, 0.05, 0.2]),
        )?;
        let vectors = (rows * size_of::<f32>()) as f64;
        let bound = |count: f64| {
            let bytes = |matrix: usize| matrix as f64 + count * vectors;
            bytes(single.bytes()) / bytes(half.bytes())
        };
        for (kernel, gain, count) in [
            ("product", times[0] / times[1], 2.0),
            ("sweep", times[2] / times[3], 3.0),
        ] {
            let row = format!("{pattern}, {kernel}");
            values.push(Value::factor(&row, "half beside single", gain));
            values.push(Value::factor(&row, "bytes allow", bound(count)));
        }
    }
    Ok(values)
}
