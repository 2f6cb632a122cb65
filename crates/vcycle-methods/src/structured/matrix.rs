//! Stencil matrices: a fixed set of couplings per cell, stored without indices.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use super::{Grid, Stencil};
use crate::executor::check_memory;
use crate::fields::interleave;
use crate::matrix::{CellMoves, GridPart};
use crate::operations::stencil::StencilEntries;
use crate::operations::stencil_setup::{self, OwnCells};
use crate::operations::vector::copy_numbers;
use crate::prelude::*;
use crate::scalar::convert;

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
/// A cell may have up to four unknowns, which are neighbours in the numbering: row `r cell + i`. Then
/// entries are dense blocks, `values[(((line * r + i) * points + point) * r + j) * nx + x]`.
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
    unknowns: usize,
    /// What diagonal entries are beside what is stored of them.
    base: f64,
    values: Buffer<T>,
    /// How ranks share the grid, of which the cells are those near this rank.
    part: Option<Arc<GridPart>>,
}

/// Unknowns a cell can have.
pub(super) const MOST_UNKNOWNS: usize = 4;

impl<T: Storage> StencilMatrix<T> {
    /// A matrix with one unknown a cell from its values, line by line, offset by offset; zeros where a
    /// neighbour is outside.
    pub fn new(executor: &Executor, grid: Grid, stencil: Stencil, values: Vec<T>) -> Result<Self> {
        Self::with_unknowns(executor, grid, stencil, 1, values)
    }

    /// A matrix with several unknowns a cell: in a line those of the first unknown, offset by offset,
    /// for each the entries with the first unknown there, then with the second, and so on.
    ///
    /// # Errors
    /// For another number of unknowns than one to four, and when there are not as many values as the
    /// stencil has points times the grid has cells times unknowns squared.
    pub fn with_unknowns(
        executor: &Executor,
        grid: Grid,
        stencil: Stencil,
        unknowns: usize,
        values: Vec<T>,
    ) -> Result<Self> {
        if !(1..=MOST_UNKNOWNS).contains(&unknowns) {
            return Err(Error::BadParameter {
                parameter: "unknowns",
                reason: format!("{unknowns} a cell; there can be 1 to {MOST_UNKNOWNS}"),
            });
        }
        let expected = grid.cells() * stencil.points() * unknowns * unknowns;
        if values.len() != expected {
            let reason = format!("{} values for {expected} entries", values.len());
            return Err(Error::structure("stencil matrix", reason));
        }
        let values = Buffer::from_vec(executor, values);
        Ok(Self::of_buffer(grid, stencil, unknowns, values))
    }

    /// A matrix of values that are somewhere already; as many as [`with_unknowns`](Self::with_unknowns) wants.
    pub(super) fn of_buffer(
        grid: Grid,
        stencil: Stencil,
        unknowns: usize,
        values: Buffer<T>,
    ) -> Self {
        Self {
            grid,
            stencil,
            unknowns,
            base: 0.0,
            values,
            part: None,
        }
    }

    /// The same matrix with other values.
    pub(super) fn with_buffer<S>(&self, values: Buffer<S>) -> StencilMatrix<S> {
        StencilMatrix {
            grid: self.grid,
            stencil: self.stencil.clone(),
            unknowns: self.unknowns,
            base: self.base,
            values,
            part: self.part.clone(),
        }
    }

    /// The same matrix as the part that a rank has of one whose grid several share.
    pub(super) fn with_part(self, part: Option<&Arc<GridPart>>) -> Self {
        let part = part.cloned();
        Self { part, ..self }
    }

    /// What becomes of it where cells are moved to those of another grid; ranks call it together.
    pub(super) fn moved(&self, grid: Grid, moves: &CellMoves) -> Result<Self> {
        let per_cell = self.numbers_of_a_cell();
        let mut values = Buffer::filled(self.executor(), grid.cells() * per_cell, T::default())?;
        moves.move_values([1, per_cell], &self.values, &mut values)?;
        let (stencil, unknowns) = (self.stencil.clone(), self.unknowns);
        Ok(Self::of_buffer(grid, stencil, unknowns, values))
    }

    /// The matrix of the whole grid, on rank 0 of those that share it; none on the others.
    pub(super) fn gathered(&self, part: &GridPart) -> Result<Option<Self>> {
        let (leads, per_cell) = (part.team().rank() == 0, self.numbers_of_a_cell());
        let cells = if leads { part.grid().cells() } else { 0 };
        let values = Buffer::filled(self.executor(), cells * per_cell, T::default());
        let mut values = part.team().agree(values)?;
        let moves = part.to_first();
        moves.move_values([1, per_cell], &self.values, &mut values)?;
        let (stencil, unknowns) = (self.stencil.clone(), self.unknowns);
        Ok(leads.then(|| Self::of_buffer(part.grid(), stencil, unknowns, values)))
    }

    /// How ranks share the grid, if they do.
    pub(super) fn part(&self) -> Option<&Arc<GridPart>> {
        self.part.as_ref()
    }

    /// The cells of all ranks.
    pub(super) fn grid_of_all(&self) -> Grid {
        self.part.as_ref().map_or(self.grid, |part| part.grid())
    }

    /// The rows of all ranks.
    pub(super) fn rows_of_all(&self) -> usize {
        self.grid_of_all().cells() * self.unknowns
    }

    /// Whether it holds on any rank.
    pub(super) fn any(&self, holds: bool) -> Result<bool> {
        match &self.part {
            Some(part) => part.team().any(holds),
            None => Ok(holds),
        }
    }

    /// Fails on all ranks where it has failed on one.
    pub(super) fn agree<R>(&self, result: Result<R>) -> Result<R> {
        match &self.part {
            Some(part) => part.team().agree(result),
            None => result,
        }
    }

    /// Numbers of a cell.
    pub(super) fn numbers_of_a_cell(&self) -> usize {
        self.stencil.points() * self.unknowns * self.unknowns
    }

    /// The same matrix with a number added to every diagonal entry that is not stored with it: a diagonal that is
    /// nearly constant keeps more of its digits so.
    pub(super) fn on_base(self, base: f64) -> Self {
        Self { base, ..self }
    }

    /// What every diagonal entry is beside what is stored of it.
    pub(super) fn base(&self) -> f64 {
        self.base
    }

    /// A diagonal entry, from what is stored of it.
    pub(super) fn whole(&self, stored: T) -> T {
        match self.base == 0.0 {
            true => stored,
            false => convert(convert::<T, f64>(stored) + self.base),
        }
    }

    /// The cells.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The neighbours of a cell.
    pub fn stencil(&self) -> &Stencil {
        &self.stencil
    }

    /// Unknowns of a cell.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// Where the matrix lives.
    pub fn executor(&self) -> &Executor {
        self.values.executor()
    }

    /// Rows and columns.
    pub fn size(&self) -> Size {
        Size::square(self.grid.cells() * self.unknowns)
    }

    /// Entries stored, those of neighbours outside the grid among them.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.values.bytes()
    }

    /// The values line by line, offset by offset; those of a device are copied.
    pub fn values(&self) -> &[T] {
        self.values.host().expect("the device still answers")
    }

    /// The values to be changed; those of neighbours outside the grid have to stay zero.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.values.host_mut().expect("the device still answers")
    }

    /// The same matrix on another executor.
    ///
    /// # Errors
    /// When a device has no memory for it, or cannot number its rows.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        if executor.is_device() && self.size().rows >= u32::MAX as usize {
            return Err(executor.lacks("stencil matrix", "so many rows"));
        }
        executor.check_room(self.bytes())?;
        Ok(self.with_buffer(self.values.copy_to(executor)?))
    }

    /// [`copy_to`](Self::copy_to) that copies nothing where the matrix is there already.
    pub fn into_executor(self, executor: &Executor) -> Result<Self> {
        match self.executor().shares_memory_with(executor) {
            true => Ok(self),
            false => self.copy_to(executor),
        }
    }

    /// The matrix as operations take it, wherever it is.
    pub(super) fn operand(&self) -> StencilEntries<'_, T> {
        StencilEntries {
            grid: self.grid,
            offsets: self.stencil.offsets(),
            unknowns: self.unknowns,
            base: self.base,
            values: &self.values,
            own: self.own_cells(),
        }
    }

    /// The cells that this rank has, of those that it knows.
    pub(super) fn own_cells(&self) -> OwnCells {
        let Some(part) = &self.part else {
            return OwnCells::all(self.grid);
        };
        let (own, near) = (part.own(), part.near_box());
        OwnCells {
            first: [1, 2].map(|axis| own.first[axis] - near.first[axis]),
            count: [1, 2].map(|axis| own.size()[axis]),
        }
    }

    /// The entries of one offset along one line, of the rows of an unknown and the columns of another.
    pub(crate) fn line_of(&self, [row, column]: [usize; 2], line: usize, point: usize) -> &[T] {
        let (length, points, r) = (self.grid.length(), self.stencil.points(), self.unknowns);
        let first = (((line * r + row) * points + point) * r + column) * length;
        &self.values()[first..first + length]
    }

    /// The diagonal as it is stored, line by line, unknown by unknown, and where each of these begins in the order that kernels have.
    pub(super) fn diagonal_lines(&self) -> impl Iterator<Item = (usize, &[T])> {
        let (lines, length) = (self.grid.lines(), self.grid.length());
        (0..self.unknowns * lines).map(move |place| {
            let (unknown, line) = (place / lines, place % lines);
            let values = self.line_of([unknown; 2], line, self.stencil.centre());
            (place * length, values)
        })
    }

    /// The diagonal as it is stored, unknown by unknown: the order that kernels have.
    pub(crate) fn diagonal_fields(&self) -> Vec<T> {
        let mut fields = Vec::with_capacity(self.size().rows);
        let lines = self.diagonal_lines();
        lines.for_each(|(_, values)| fields.extend_from_slice(values));
        fields
    }

    /// The diagonal, in the order of rows.
    pub fn diagonal(&self) -> Vec<T> {
        let stored = self.diagonal_fields().into_iter();
        let fields: Vec<T> = stored.map(|value| self.whole(value)).collect();
        let mut rows = fields.clone();
        interleave(self.unknowns, &fields, &mut rows);
        rows
    }

    /// The row of a place in the order that kernels have, among those of all ranks.
    pub(crate) fn row_of_field(&self, place: usize) -> usize {
        let cells = self.grid.cells();
        self.row_of_all(place % cells, place / cells)
    }

    /// The row of an unknown of a cell, among those of all ranks.
    pub(super) fn row_of_all(&self, cell: usize, unknown: usize) -> usize {
        let part = self.part.as_ref();
        part.map_or(cell, |part| part.cell_of_all(cell)) * self.unknowns + unknown
    }

    /// The same matrix with values of another type, rounded to nearest.
    pub fn convert<S: Storage>(&self) -> Result<StencilMatrix<S>> {
        Ok(self.with_buffer(converted(&self.values)?))
    }

    /// Row and column of the value at a place; of a neighbour outside, the nearest row there is.
    pub(crate) fn position(&self, place: usize) -> (usize, usize) {
        let (length, points, r) = (self.grid.length(), self.stencil.points(), self.unknowns);
        let (stream, x) = (place / length, place % length);
        let (j, point, i) = (stream % r, stream / r % points, stream / r / points % r);
        let cell = stream / r / points / r * length + x;
        let other = cell.saturating_add_signed(self.grid.distance(self.stencil.offsets()[point]));
        let other = other.min(self.grid.cells() - 1);
        (self.row_of_all(cell, i), self.row_of_all(other, j))
    }
}

/// Values in another type, rounded to nearest.
pub(super) fn converted<T: Scalar, S: Scalar>(values: &Buffer<T>) -> Result<Buffer<S>> {
    if let Some(made) = stencil_setup::converted(values)? {
        return Ok(made);
    }
    let mut made = zeros(values.executor(), values.len())?;
    copy_numbers(values.executor(), values.host()?, &mut made);
    Ok(Buffer::from_vec(values.executor(), made))
}

/// Zeros that the system writes when they are first used, whatever their type.
pub(super) fn zeros<S: Scalar>(executor: &Executor, len: usize) -> Result<Vec<S>> {
    check_memory(executor, len, size_of::<S>())?;
    let layout = Layout::array::<S>(len).expect("no more than there is memory");
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is that of a vector, and all bits zero are a zero of every type.
    unsafe {
        let memory = alloc_zeroed(layout).cast::<S>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Ok(Vec::from_raw_parts(memory, len, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflowing_entries_are_named() {
        let grid = Grid::new([2, 2, 1]).unwrap();
        let mut values = vec![0.0; 20];
        // Line 1, offset (0, -1), x = 1: row 3, column 1.
        values[11] = 1e6;
        let a = StencilMatrix::new(&Executor::reference(), grid, Stencil::star(2), values).unwrap();
        a.check_finite().unwrap();
        let half = a.convert::<f16>().unwrap();
        assert_refused!(half.check_finite(), NonFiniteEntry { row: 3, column: 1 });
    }
}
