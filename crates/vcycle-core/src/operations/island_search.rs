//! How islands of stencil matrices are found, and their functions made.

use crate::arrays::{IslandBoxes, IslandFunctions, Ranges};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::kernels::islands as kernels;
use crate::launch::Queue;
use crate::operations::stencil_box::StencilBox;

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
        let mut weights = self.room::<f64>(boxes.boxes.len())?;
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
        let mut links = self.room::<u32>(cells)?;
        let mut firsts = self.room::<u32>(cells)?;
        let mut members = self.room::<u32>(cells)?;
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
        let mut other = self.room::<f64>(boxes.cells())?;
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
