//! Products with the entries of a cell side by side, an array of structures: what the paper begins with.

use vcycle::scalar::{Scalar, convert};
use vcycle::structured::{Grid, Offset, StencilMatrix, Storage};

use crate::common::Result;

/// A stencil matrix with one unknown a cell, whose entries lie cell by cell.
pub(super) struct Structures<M> {
    grid: Grid,
    offsets: Vec<Offset>,
    values: Vec<M>,
}

impl<M: Storage> Structures<M> {
    pub fn new(a: &StencilMatrix<M>) -> Self {
        let (grid, offsets) = (a.grid(), a.stencil().offsets().to_vec());
        let (points, length) = (offsets.len(), grid.size()[0]);
        let entry = |place: usize| {
            let (cell, point) = (place / points, place % points);
            let (line, x) = (cell / length, cell % length);
            a.values()[(line * points + point) * length + x]
        };
        let values = (0..a.entries()).map(entry).collect();
        Self {
            grid,
            offsets,
            values,
        }
    }

    /// `y = A x` on some threads, each with planes of its own; `x` has `margin` zeros before and behind.
    pub fn apply(&self, threads: usize, x: &[f32], y: &mut [f32]) -> Result<()> {
        let per_thread = y.len().div_ceil(threads).max(1);
        let steps: Vec<usize> = self.steps().collect();
        std::thread::scope(|scope| {
            for (number, y) in y.chunks_mut(per_thread).enumerate() {
                let steps = &steps;
                scope.spawn(move || self.cells(number * per_thread, steps, x, y));
            }
        });
        Ok(())
    }

    /// Zeros around a vector that neighbours outside the grid are read from.
    pub fn margin(&self) -> usize {
        let [nx, ny, _] = self.grid.size();
        nx * ny + nx + 1
    }

    /// How far behind the first of the zeros before a cell its neighbours are.
    fn steps(&self) -> impl Iterator<Item = usize> {
        let [nx, ny, _] = self.grid.size().map(usize::cast_signed);
        let margin = self.margin();
        let step = move |&[x, y, z]: &Offset| {
            let step = isize::from(x) + nx * (isize::from(y) + ny * isize::from(z));
            margin.saturating_add_signed(step)
        };
        self.offsets.iter().map(step)
    }

    fn cells(&self, first: usize, steps: &[usize], x: &[f32], y: &mut [f32]) {
        let points = steps.len();
        let rows = self.values[first * points..].chunks_exact(points);
        for (cell, (row, y)) in rows.zip(y).enumerate() {
            let entries = row.iter().zip(steps);
            *y = entries
                .map(|(&value, step)| convert::<M, f32>(value) * x[first + cell + step])
                .sum();
        }
    }
}

/// A vector with so many zeros before and behind.
pub(super) fn padded<T: Scalar>(margin: usize, x: &[T]) -> Vec<T> {
    let mut padded = vec![T::default(); 2 * margin + x.len()];
    padded[margin..margin + x.len()].copy_from_slice(x);
    padded
}

#[cfg(test)]
mod tests {
    use vcycle::executor::{Executor, Workspace};
    use vcycle::linop::LinOp;
    use vcycle::vector::Vector;

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
            same.apply(3, &padded(same.margin(), &x), &mut z).unwrap();
            let largest = y
                .to_vec()
                .iter()
                .fold(0.0_f32, |all, one| all.max(one.abs()));
            for (one, other) in y.to_vec().iter().zip(&z) {
                assert!((one - other).abs() <= 1e-5 * largest, "{problem}");
            }
        }
    }
}
