//! Matrices that store a stencil of numbers a cell and no indices.

use super::{Grid, Stencil};
use crate::backend::reference::stencil::StencilArrays;
use crate::backend::{cpu, reference};
use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor};
use crate::linop::Size;
use crate::matrix::zeroed;
use crate::scalar::{Field, Scalar, bf16, f16};

/// Values that one task looks at.
const PART: usize = 64 * 1024;

/// Types the entries of a [`StencilMatrix`] can be stored in: `f64`, `f32`, `f16`, `bf16`.
pub trait Storage: Scalar {}
impl Storage for f64 {}
impl Storage for f32 {}
impl Storage for f16 {}
impl Storage for bf16 {}

/// A matrix on a [`Grid`] whose rows all have the entries of one [`Stencil`] (SG-DIA).
///
/// Line by line, the entries of one offset lie side by side: `values[(line * points + point) * nx + x]`.
/// So a whole register of them is converted at once, the matrix is read as one stream, and nothing
/// but numbers is stored: in half precision a quarter of what double precision needs. Entries of
/// neighbours outside the grid are stored as zeros.
///
/// ```
/// use vcycle::{executor::Executor, gallery, structured::{Grid, StencilMatrix}};
/// let problem = gallery::build("poisson7:8", &Executor::cpu())?;
/// let a = StencilMatrix::from_csr(&problem.matrix)?;
/// assert_eq!((a.grid(), a.stencil().points()), (Grid::new([8, 8, 8])?, 7));
/// assert_eq!(a.to_csr().values(), problem.matrix.values());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StencilMatrix<T> {
    grid: Grid,
    stencil: Stencil,
    values: Buffer<T>,
}

impl<T: Storage> StencilMatrix<T> {
    /// A matrix from its values, line by line, offset by offset; zeros where a neighbour is outside.
    ///
    /// # Errors
    /// When there are not as many values as the stencil has points times the grid has cells, and on a
    /// device, which has no kernels for it.
    pub fn new(executor: &Executor, grid: Grid, stencil: Stencil, values: Vec<T>) -> Result<Self> {
        if let Executor::Gpu(gpu) = executor {
            return Err(gpu.lacks("stencil matrix", "storage"));
        }
        let expected = grid.cells() * stencil.points();
        if values.len() != expected {
            return Err(Error::InvalidStructure {
                format: "stencil matrix",
                reason: format!("{} values for {expected} entries", values.len()),
            });
        }
        Ok(Self {
            grid,
            stencil,
            values: Buffer::from_vec(executor, values),
        })
    }

    /// The cells.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The neighbours of a cell.
    pub fn stencil(&self) -> &Stencil {
        &self.stencil
    }

    /// Where the matrix lives.
    pub fn executor(&self) -> &Executor {
        self.values.executor()
    }

    /// Rows and columns.
    pub fn size(&self) -> Size {
        Size::square(self.grid.cells())
    }

    /// Entries stored, those of neighbours outside the grid among them.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.values.bytes()
    }

    /// The values line by line, offset by offset.
    pub fn values(&self) -> &[T] {
        self.values
            .host()
            .expect("stencil matrices live on the host")
    }

    /// The values to be changed; those of neighbours outside the grid have to stay zero.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.values
            .host_mut()
            .expect("stencil matrices live on the host")
    }

    /// The arrays, for kernels.
    pub(crate) fn arrays(&self) -> StencilArrays<'_, T> {
        StencilArrays {
            grid: self.grid,
            offsets: self.stencil.offsets(),
            values: self.values(),
        }
    }

    /// The entries of one offset along one line.
    pub(crate) fn line(&self, line: usize, point: usize) -> &[T] {
        let (length, points) = (self.grid.length(), self.stencil.points());
        let first = (line * points + point) * length;
        &self.values()[first..first + length]
    }

    /// The diagonal, in the order of rows.
    pub fn diagonal(&self) -> Vec<T> {
        let centre = self.stencil.centre();
        let lines = (0..self.grid.lines()).flat_map(|line| self.line(line, centre));
        lines.copied().collect()
    }

    /// The same matrix with values of another type, rounded to nearest.
    pub fn convert<S: Storage>(&self) -> Result<StencilMatrix<S>> {
        let mut values: Vec<S> = zeroed(self.executor(), self.entries())?;
        match self.executor() {
            Executor::Cpu(threads) => cpu::vector::copy(threads, self.values(), &mut values),
            _ => reference::vector::copy(self.values(), &mut values),
        }
        Ok(StencilMatrix {
            grid: self.grid,
            stencil: self.stencil.clone(),
            values: Buffer::from_vec(self.executor(), values),
        })
    }

    /// `part(place of the first, values)` for consecutive parts of the values, in order.
    pub(crate) fn map_values<R: Send>(
        &self,
        part: impl Fn(usize, &[T]) -> R + Sync + Send,
    ) -> Vec<R> {
        let tasks = self.values().chunks(PART).enumerate().collect();
        let work = |(number, values): (usize, &[T])| part(number * PART, values);
        self.executor().run(self.bytes(), tasks, work)
    }

    /// The largest absolute value.
    pub fn largest(&self) -> f64 {
        let modulus = |value: &T| value.to_c64().re.abs();
        let parts = self.map_values(|_, values| values.iter().map(modulus).fold(0.0, f64::max));
        parts.into_iter().fold(0.0, f64::max)
    }

    /// Fails, naming it, if an entry is infinite or NaN.
    ///
    /// # Errors
    /// [`NonFiniteEntry`](Error::NonFiniteEntry).
    pub fn check_finite(&self) -> Result<()> {
        let parts = self.map_values(|first, values| {
            let place = values.iter().position(|value| !value.load().is_finite())?;
            Some(first + place)
        });
        match parts.into_iter().flatten().next() {
            None => Ok(()),
            Some(place) => {
                let (row, column) = self.position(place);
                Err(Error::NonFiniteEntry { row, column })
            }
        }
    }

    /// Row and column of the value at a place; of a neighbour outside, the nearest row there is.
    pub(crate) fn position(&self, place: usize) -> (usize, usize) {
        let (length, points) = (self.grid.length(), self.stencil.points());
        let (line, point) = (place / length / points, place / length % points);
        let row = line * length + place % length;
        let column = row.saturating_add_signed(self.grid.distance(self.stencil.offsets()[point]));
        (row, column.min(self.grid.cells() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_to_fill_the_stencil() {
        let grid = Grid::new([3, 1, 1]).unwrap();
        let make =
            |n| StencilMatrix::new(&Executor::reference(), grid, Stencil::full(1), vec![1.0; n]);
        assert!(matches!(make(8), Err(Error::InvalidStructure { .. })));
        assert!(make(9).is_ok());
    }

    #[test]
    fn overflowing_entries_are_named() {
        let grid = Grid::new([2, 2, 1]).unwrap();
        let mut values = vec![0.0; 20];
        // Line 1, offset (0, -1), x = 1: row 3, column 1.
        values[11] = 1e6;
        let a = StencilMatrix::new(&Executor::reference(), grid, Stencil::star(2), values).unwrap();
        a.check_finite().unwrap();
        let half = a.convert::<f16>().unwrap();
        assert!(matches!(
            half.check_finite(),
            Err(Error::NonFiniteEntry { row: 3, column: 1 })
        ));
    }
}
