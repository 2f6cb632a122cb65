//! Stencils: products, triangular solves and sweeps, arrays of structures, and whole solves.

use vcycle::scalar::{convert, f16};
use vcycle::structured::{Direction, Offset, StencilMatrix, Storage};

use super::products::mkl;
use crate::common::cores;
use crate::prelude::*;
use crate::reproduce::experiment::{Experiment, Scope};
use crate::reproduce::record::Value;
use crate::structured::gains;
use crate::timing::{mean, race};

/// Times in half precision beside single, vectors in single; and what others take.
pub(super) fn kernels(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut values = Vec::new();
    for subject in experiment.subjects(scope)? {
        let (pattern, triangle) = (&subject.name, subject.extra.unwrap_or_default());
        let a = vcycle::gallery::build_stencil(&subject.problem, &executor)?;
        let (single, half) = (a.convert::<f32>()?, a.convert::<f16>()?);
        let times = [times(scope, &single)?, times(scope, &half)?];
        let points = a.stencil().points() as f64;
        // What is read of a row, and vectors.
        let rows = [
            (format!("{pattern}, product"), points, 2.0),
            (
                format!("{triangle}, triangular solve"),
                (points + 1.0) / 2.0,
                2.0,
            ),
            (format!("{pattern}, sweep"), points, 3.0),
        ];
        for (place, (row, entries, vectors)) in rows.iter().enumerate() {
            let gain = times[0][place] / times[1][place];
            let bound = (4.0 * entries + 4.0 * vectors) / (2.0 * entries + 4.0 * vectors);
            values.push(Value::factor(row, HALF, gain));
            values.push(Value::factor(row, "bytes allow", bound));
        }
        let (ours, what) = (times[1][0], "time beside ours, half");
        let row = format!("{pattern}, product, array of structures");
        let naive = [
            times_of_structures(scope, &single)?,
            times_of_structures(scope, &half)?,
        ];
        values.push(Value::factor(&row, HALF, naive[0] / naive[1]));
        values.push(Value::factor(&row, what, naive[1] / ours));
        if let Some(theirs) = mkl(scope, &a.to_csr())? {
            let row = format!("{pattern}, product, CSR in double");
            values.push(Value::factor(row, what, theirs / ours).by("MKL"));
        }
    }
    Ok(values)
}

const HALF: &str = "half beside single";

/// Rounds, and seconds of each.
fn measuring(scope: &Scope) -> (usize, f64) {
    scope.size([(1, 0.0), (2, 0.05), (5, 0.2)])
}

/// Seconds of a product, a triangular solve and a sweep.
fn times<M: Storage>(scope: &Scope, a: &StencilMatrix<M>) -> Result<Vec<f64>>
where
    StencilMatrix<M>: LinOp<f32>,
{
    let (ws, forward) = (Workspace::new(), Direction::Forward);
    let vector = || Vector::<f32>::filled(a.executor(), a.size().rows, 1, 1e-3);
    let (b, mut x, mut y, mut z) = (vector()?, vector()?, vector()?, vector()?);
    race(
        &mut [
            &mut || Ok(a.apply(&b, &mut x, &ws)?),
            &mut || Ok(a.solve_triangle(forward, &b, &mut y, &ws)?),
            &mut || Ok(a.gauss_seidel(forward, &b, &mut z, &ws)?),
        ],
        measuring(scope),
    )
}

/// Seconds of a product with an array of structures: the entries of a cell lie side by side, as in what the paper begins with.
fn times_of_structures<M: Storage>(scope: &Scope, a: &StencilMatrix<M>) -> Result<f64> {
    let naive = Structures::new(a);
    let threads = cores()?;
    let x = naive.padded(&vec![1e-3; a.size().rows]);
    let mut y = vec![0.0; a.size().rows];
    let mut apply = || {
        naive.apply(threads, &x, &mut y);
        Ok(())
    };
    Ok(race(&mut [&mut apply], measuring(scope))?[0])
}

/// A stencil matrix with one unknown a cell, whose entries lie cell by cell.
struct Structures<M> {
    values: Vec<M>,
    /// Zeros around a vector that neighbours outside the grid are read from.
    margin: usize,
    /// How far behind the first of the zeros before a cell its neighbours are.
    steps: Vec<usize>,
}

impl<M: Storage> Structures<M> {
    fn new(a: &StencilMatrix<M>) -> Self {
        let [nx, ny, _] = a.grid().size();
        let (margin, offsets) = (nx * ny + nx + 1, a.stencil().offsets());
        let step = |&[x, y, z]: &Offset| {
            let [nx, ny] = [nx, ny].map(usize::cast_signed);
            let step = isize::from(x) + nx * (isize::from(y) + ny * isize::from(z));
            margin.saturating_add_signed(step)
        };
        let points = offsets.len();
        let entry = |place: usize| {
            let (cell, point) = (place / points, place % points);
            a.values()[(cell / nx * points + point) * nx + cell % nx]
        };
        Self {
            values: (0..a.entries()).map(entry).collect(),
            margin,
            steps: offsets.iter().map(step).collect(),
        }
    }

    /// A vector with zeros before and behind.
    fn padded(&self, x: &[f32]) -> Vec<f32> {
        let zeros = vec![0.0; self.margin];
        [&zeros, x, &zeros].concat()
    }

    /// `y = A x` on some threads, each with cells of its own; `x` is padded.
    fn apply(&self, threads: usize, x: &[f32], y: &mut [f32]) {
        let per_thread = y.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            for (number, y) in y.chunks_mut(per_thread).enumerate() {
                scope.spawn(move || self.cells(number * per_thread, x, y));
            }
        });
    }

    fn cells(&self, first: usize, x: &[f32], y: &mut [f32]) {
        let points = self.steps.len();
        let rows = self.values[first * points..].chunks_exact(points);
        for (cell, (row, y)) in rows.zip(y).enumerate() {
            let entries = row.iter().zip(&self.steps);
            *y = entries
                .map(|(&value, step)| convert::<M, f32>(value) * x[first + cell + step])
                .sum();
        }
    }
}

/// Half precision beside double, in the preconditioner and end to end.
pub(super) fn halves(experiment: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let subjects = match executor.is_device() {
        // Grids that keep processors busy for long are launches without work for a device.
        true => experiment
            .paper()
            .subjects("figures-8-9-on-devices", scope)?,
        false => experiment.subjects(scope)?,
    };
    let quantities = ["preconditioner", "end to end"];
    let (mut values, mut all) = (Vec::new(), [Vec::new(), Vec::new()]);
    for subject in subjects {
        let measuring = scope.size([(1, 0.0), (1, 0.1), (3, 0.1)]);
        let gained = gains(&subject.problem, &executor, measuring)?;
        let iterations = ["iterations, double", "iterations, half"].into_iter();
        for (quantity, count) in iterations.zip(gained.iterations) {
            let value = Value::new(&subject.name, quantity, "", count as f64);
            values.push(value.of_the_kind(true));
        }
        let factors = [gained.preconditioner, gained.end_to_end];
        for ((quantity, gain), all) in quantities.into_iter().zip(factors).zip(&mut all) {
            values.push(Value::factor(&subject.name, quantity, gain));
            all.push(gain);
        }
    }
    for (quantity, all) in quantities.into_iter().zip(&all) {
        values.push(Value::factor("geometric mean", quantity, mean(all)));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_have_the_same_product() {
        let cpu = Executor::reference();
        for problem in ["oil:5x4x3", "weather:4", "laplace27:4x3x5"] {
            let a = vcycle::gallery::build_stencil(problem, &cpu).unwrap();
            let a = a.convert::<f32>().unwrap();
            let value = |row: usize| (row * 37 % 11) as f32;
            let x: Vec<f32> = (0..a.size().rows).map(value).collect();
            let mut y = Vector::<f32>::zeros(&cpu, x.len(), 1).unwrap();
            let v = Vector::from_column(&cpu, x.clone());
            a.apply(&v, &mut y, &Workspace::new()).unwrap();
            let (same, mut z) = (Structures::new(&a), vec![0.0; x.len()]);
            same.apply(3, &same.padded(&x), &mut z);
            let y = y.to_vec();
            let largest = y.iter().fold(0.0_f32, |all, one| all.max(one.abs()));
            let near = |(one, other): (&f32, &f32)| (one - other).abs() <= 1e-5 * largest;
            assert!(y.iter().zip(&z).all(near), "{problem}");
        }
    }
}
