//! Islands of stencil matrices: how they are found, their functions, and corrections by these on boxes of cells.

use crate::arrays::{IslandBox, IslandBoxes, IslandFunctions, Ranges};
use crate::gpu::kernels::islands as kernels;
use crate::launch::prelude::*;
use crate::operations::stencil::StencilBox;

/// Blocks of an island where cells are by themselves, as in the kernels.
pub(crate) const PARTS: usize = 16;
/// Numbers before the islands that are found, as in `kernels/islands.c`.
const HEAD: usize = 4;
/// Numbers of an island that is found.
const RECORD: usize = 9;
/// Islands that are read together with their number.
const FEW: usize = 256;
/// Blocks for every compute unit that search: local memory has no room for more.
const SEARCHES_PER_UNIT: usize = 4;

/// What islands are, and their functions.
#[derive(Clone, Copy, Debug)]
pub struct IslandRules {
    /// Cells are one island whose coupling is this part of the larger diagonal entry of the two.
    pub strong: f64,
    /// All else that a cell of an island is coupled with comes to less than this part of its diagonal entry.
    pub weak: f64,
    /// Steps of Jacobi's method that make the function smooth around the island.
    pub steps: usize,
    /// Numbers of the function below this are none.
    pub least: f64,
    /// Where the grid goes on elsewhere, a bit each: at the first line, the last one, the first plane, the last one. Cells there
    /// are no islands.
    pub cut: u32,
}

/// An island: its first cell, the cells it has along each axis, how many, and where they are listed.
struct Found {
    first: u32,
    ranges: Ranges,
    count: u32,
    from: u32,
}

impl Found {
    fn new(record: &[u32]) -> Self {
        let range = |axis: usize| record[3 + axis] as usize..record[6 + axis] as usize + 1;
        Self {
            first: record[0],
            ranges: [0, 1, 2].map(range),
            count: record[1],
            from: record[2],
        }
    }
}

impl Queue<'_> {
    /// The islands of a matrix with their functions.
    pub fn island_functions(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        rules: &IslandRules,
    ) -> Result<IslandFunctions> {
        let (found, members) = self.islands(shape, values, rules)?;
        let margin = rules.steps + 1;
        let boxed = found.into_iter().filter_map(|island| {
            let ranges = IslandBoxes::around(shape.grid, &island.ranges, margin)?;
            Some((ranges, [island.from, island.count]))
        });
        let (ranges, cells): (Vec<Ranges>, Vec<[u32; 2]>) = boxed.unzip();
        let boxes = IslandBoxes::new(shape.grid, ranges);
        let table = Buffer::from_vec(self.executor, boxes.table(|place| cells[place]));
        let [z, az] = self.island_numbers(shape, values, rules, (&boxes, &table, &members))?;
        let mut weights = self.uninit::<f64>(boxes.boxes.len())?;
        kernels::island_weights(&table, &z, &az, &mut weights)?.run(self.gpu, boxes.boxes.len())?;
        Ok(IslandFunctions {
            boxes,
            table,
            z,
            az,
            weights,
        })
    }

    /// The islands by their first cells, and the cells of all.
    fn islands(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        rules: &IslandRules,
    ) -> Result<(Vec<Found>, Buffer<u32>)> {
        let cells = shape.grid.cells();
        // More would not have room for their boxes.
        let most = cells / 8 + 1;
        let mut links = self.uninit::<u32>(cells)?;
        let mut firsts = self.uninit::<u32>(cells)?;
        let mut members = self.uninit::<u32>(cells)?;
        let mut found = self.zeros::<u32>(HEAD + RECORD * most)?;
        kernels::island_links(
            shape.parts(),
            rules.cut,
            rules.strong,
            rules.weak,
            values,
            &mut links,
            &mut firsts,
            &mut found,
        )?
        .items(self, cells)?;
        let units = self.gpu.device().properties().compute_units;
        kernels::island_search(
            shape.parts(),
            most,
            &links,
            &firsts,
            &mut found,
            &mut members,
        )?
        .run(self.gpu, (units * SEARCHES_PER_UNIT).min(cells))?;
        Ok((records(&found, most, cells)?, members))
    }

    /// The functions, and their products with the matrix.
    fn island_numbers(
        &self,
        shape: StencilBox<'_>,
        values: &Buffer<f64>,
        rules: &IslandRules,
        (boxes, table, members): (&IslandBoxes, &Buffer<u32>, &Buffer<u32>),
    ) -> Result<[Buffer<f64>; 2]> {
        let islands = boxes.boxes.len();
        let mut z = self.zeros::<f64>(boxes.cells())?;
        let mut other = self.uninit::<f64>(boxes.cells())?;
        kernels::island_marks(shape.parts(), table, members, &mut z)?.run(self.gpu, islands)?;
        for _ in 0..rules.steps {
            kernels::island_step(shape.parts(), rules.least, values, table, &z, &mut other)?
                .run(self.gpu, islands * PARTS)?;
            std::mem::swap(&mut z, &mut other);
        }
        kernels::island_products(shape.parts(), values, table, &z, &mut other)?
            .run(self.gpu, islands * PARTS)?;
        Ok([z, other])
    }
}

/// The islands that were found, by their first cells; none of more than there is room for.
fn records(found: &Buffer<u32>, most: usize, cells: usize) -> Result<Vec<Found>> {
    let mut head = found.first(HEAD + RECORD * most.min(FEW))?;
    let (islands, members) = (head[1] as usize, head[2] as usize);
    if islands > most || members > cells {
        return Ok(Vec::new());
    }
    if islands > FEW {
        head = found.first(HEAD + RECORD * islands)?;
    }
    let records = head[HEAD..].chunks(RECORD).take(islands);
    let mut found: Vec<Found> = records.map(Found::new).collect();
    found.sort_by_key(|island| island.first);
    Ok(found)
}

/// Cells of an island, at most, as in `kernels/islands.c`.
pub const MOST_CELLS: usize = 4096;

impl IslandFunctions {
    /// Functions that the host has made, and their products with the matrix, box by box.
    pub fn new(executor: &Executor, boxes: IslandBoxes, z: Vec<f64>, az: Vec<f64>) -> Self {
        let weights = weights(&boxes, &z, &az);
        Self {
            table: Buffer::from_vec(executor, boxes.table(|_| [0; 2])),
            z: Buffer::from_vec(executor, z),
            az: Buffer::from_vec(executor, az),
            weights: Buffer::from_vec(executor, weights),
            boxes,
        }
    }

    /// Some of the functions, with the weights that they have among all.
    pub fn some(&self, islands: &[usize]) -> Result<Self> {
        let executor = self.z.executor();
        let kept = || islands.iter().map(|&island| &self.boxes.boxes[island]);
        let ranges = kept().map(|one| one.ranges.clone()).collect();
        let boxes = IslandBoxes::new(self.boxes.grid, ranges);
        let of_boxes = |numbers: &Buffer<f64>| -> Result<Buffer<f64>> {
            let numbers = numbers.host()?;
            let parts: Vec<&[f64]> = kept().map(|one| &numbers[one.places()]).collect();
            Ok(Buffer::from_vec(executor, parts.concat()))
        };
        let weights = self.weights.host()?;
        let weights = islands.iter().map(|&island| weights[island]).collect();
        Ok(Self {
            table: Buffer::from_vec(executor, boxes.table(|_| [0; 2])),
            z: of_boxes(&self.z)?,
            az: of_boxes(&self.az)?,
            weights: Buffer::from_vec(executor, weights),
            boxes,
        })
    }

    /// `D^-1 Z^T b`; with numbers `before` and a vector `x`, `before + D^-1 (Z^T b - (A Z)^T x)`.
    pub fn sums(
        &self,
        b: &Vector<f64>,
        before: Option<[&Vector<f64>; 2]>,
        sums: &mut Vector<f64>,
    ) -> Result<()> {
        let Executor::Gpu(gpu) = b.executor() else {
            return self.sums_on_host(b, before, sums);
        };
        let [nx, ny, _] = self.boxes.grid.size();
        kernels::island_sums(
            nx,
            ny,
            b.cols(),
            &self.table,
            &self.weights,
            &self.z,
            b,
            &self.az,
            before.map(|[_, x]| x),
            before.map(|[before, _]| before),
            sums,
        )?
        .run(gpu, self.count() * b.cols())
    }

    /// `x += Z sums`.
    pub fn add(&self, sums: &Vector<f64>, x: &mut Vector<f64>) -> Result<()> {
        self.add_some(&self.z, (1.0, sums), x)
    }

    /// `r -= A Z sums`.
    pub fn subtract_products(&self, sums: &Vector<f64>, r: &mut Vector<f64>) -> Result<()> {
        self.add_some(&self.az, (-1.0, sums), r)
    }

    fn add_some(
        &self,
        functions: &Buffer<f64>,
        (sign, sums): (f64, &Vector<f64>),
        y: &mut Vector<f64>,
    ) -> Result<()> {
        if let Executor::Gpu(gpu) = y.executor().clone() {
            let [nx, ny, _] = self.boxes.grid.size();
            let cols = y.cols();
            return kernels::island_add(nx, ny, cols, sign, &self.table, functions, sums, y)?
                .run(&gpu, self.count() * PARTS);
        }
        let (cols, functions, sums) = (y.cols(), functions.host()?, sums.host()?);
        let y = y.host_mut()?;
        for (island, one) in self.boxes.boxes.iter().enumerate() {
            let cells = one.cells(self.boxes.grid);
            for (cell, value) in cells.zip(&functions[one.places()]) {
                for column in 0..cols {
                    y[cell * cols + column] += sign * value * sums[island * cols + column];
                }
            }
        }
        Ok(())
    }

    fn sums_on_host(
        &self,
        b: &Vector<f64>,
        before: Option<[&Vector<f64>; 2]>,
        sums: &mut Vector<f64>,
    ) -> Result<()> {
        let (cols, weights) = (b.cols(), self.weights.host()?);
        let (z, az, b_host) = (self.z.host()?, self.az.host()?, b.host()?);
        let x = before.map(|[_, x]| x.host()).transpose()?;
        let before = before.map(|[before, _]| before.host()).transpose()?;
        let tasks = (0..self.count() * cols).collect();
        let work = |place: usize| {
            let (island, column) = (place / cols, place % cols);
            let of = |numbers, vector| self.dot(island, numbers, vector, [column, cols]);
            let sum = of(z, b_host) - x.map_or(0.0, |x| of(az, x));
            before.map_or(0.0, |before| before[place]) + weights[island] * sum
        };
        let found = b.executor().run(self.bytes(), tasks, work);
        sums.host_mut()?.copy_from_slice(&found);
        Ok(())
    }

    /// The product of a function with a column of a vector.
    fn dot(&self, island: usize, numbers: &[f64], v: &[f64], [column, cols]: [usize; 2]) -> f64 {
        let one = &self.boxes.boxes[island];
        let length = one.ranges[0].len();
        let lines = one.lines(self.boxes.grid);
        let of_line = |(first, numbers): (usize, &[f64])| -> f64 {
            let cells = (first..).zip(numbers);
            cells.map(|(cell, z)| z * v[cell * cols + column]).sum()
        };
        lines
            .zip(numbers[one.places()].chunks(length))
            .map(of_line)
            .sum()
    }
}

/// One over the diagonal of `Z^T A Z` and, so that corrections of islands beside each other do not add up to too much, absolute
/// values of what is beside it; zero where that is not positive.
fn weights(boxes: &IslandBoxes, z: &[f64], az: &[f64]) -> Vec<f64> {
    let product = |one: &IslandBox, other: &IslandBox| -> f64 {
        let cells = one.cells(boxes.grid).zip(&az[one.places()]);
        let place = |cell| other.place(boxes.grid.cell(cell));
        cells
            .filter_map(|(cell, az)| Some(az * z[place(cell)?]))
            .sum()
    };
    let of_one = |one: &IslandBox| {
        let near = one.near.iter().map(|&near| &boxes.boxes[near as usize]);
        let beside: f64 = near.map(|other| product(one, other).abs()).sum();
        let sum = product(one, one) + beside;
        if sum > 0.0 { 1.0 / sum } else { 0.0 }
    };
    boxes.boxes.iter().map(of_one).collect()
}
