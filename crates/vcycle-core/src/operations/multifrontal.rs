//! Sparse LU factorisations by fronts, on devices.

use vcycle_kernels::Transpose;

use crate::executor::Element;
use crate::gpu::{BLOCK, kernels::multifrontal as kernels};
use crate::launch::prelude::*;

/// Pivots that are eliminated at once, and rows and columns of a tile, as in the kernels.
const PANEL: usize = 32;
/// Most blocks of a launch whose threads share items.
const MOST_BLOCKS: usize = 4096;

/// What a factorisation does, whatever the values are: a tree of dense matrices, its fronts.
///
/// Fronts are numbered level by level from the leaves, and in a level by their pivots, those with most first. The
/// unknowns have an order of their own: the pivots of a front follow each other, and come before those of the front it is
/// added to.
#[derive(Clone, Debug, Default)]
pub struct FrontTree {
    /// Rows of every front.
    pub sizes: Vec<u32>,
    /// Those of them that are pivots, the first ones.
    pub pivots: Vec<u32>,
    /// The first front of every level, and the number of all.
    pub levels: Vec<usize>,
    /// For every front where the list of those begins that are added to it, and the number of all.
    pub child_offsets: Vec<u32>,
    /// These lists.
    pub children: Vec<u32>,
    /// The unknown of every row of a front, front after front.
    pub unknowns: Vec<u32>,
    /// The row of the next front it is added to; 0 for pivots.
    pub targets: Vec<u32>,
    /// The row of the matrix that is that of an unknown, and what it is multiplied by.
    pub rows: (Vec<u32>, Vec<f64>),
    /// The same of columns.
    pub columns: (Vec<u32>, Vec<f64>),
    /// For every entry of the matrix its place in the fronts, and what it is multiplied by.
    pub entries: (Vec<usize>, Vec<f64>),
}

impl FrontTree {
    /// Numbers in all fronts.
    pub fn values(&self) -> usize {
        self.sizes.iter().map(|&size| (size as usize).pow(2)).sum()
    }
}

/// The tree in the memory of a device.
#[derive(Debug)]
pub struct Fronts {
    executor: Executor,
    rows: usize,
    values: usize,
    sizes: Buffer<u32>,
    pivots: Buffer<u32>,
    places: Buffer<usize>,
    lists: Buffer<usize>,
    child_offsets: Buffer<u32>,
    children: Buffer<u32>,
    unknowns: Buffer<u32>,
    targets: Buffer<u32>,
    of_rows: (Buffer<u32>, Buffer<f64>),
    of_columns: (Buffer<u32>, Buffer<f64>),
    entries: (Buffer<usize>, Buffer<f64>),
    /// The first blocks of fronts, for all launches that share them.
    starts: Buffer<u32>,
    levels: Vec<Level>,
}

/// Fronts that do not depend on each other.
#[derive(Clone, Debug)]
struct Level {
    first: usize,
    count: usize,
    gather: Tasks,
    panels: Vec<Panel>,
}

/// The elimination of some pivots of the first `active` fronts of a level.
#[derive(Clone, Copy, Debug)]
struct Panel {
    begin: usize,
    active: usize,
    edges: Tasks,
    update: Tasks,
}

/// Blocks of a launch, and where the first ones of fronts are listed.
#[derive(Clone, Copy, Debug)]
struct Tasks {
    starts: usize,
    blocks: usize,
}

/// The tree of a factorisation where the values are to be; none on the host, which has factors of another kind.
pub fn fronts(executor: &Executor, tree: FrontTree) -> Option<Fronts> {
    executor.is_device().then(|| Fronts::new(executor, tree))
}

impl Fronts {
    /// A tree brought to a device.
    fn new(executor: &Executor, tree: FrontTree) -> Self {
        let mut starts = Vec::new();
        let bounds = tree.levels.windows(2);
        let levels = bounds.map(|ends| level(&tree, ends[0], ends[1], &mut starts));
        let levels = levels.collect();
        let (values, rows) = (tree.values(), tree.rows.0.len());
        let places = firsts(&tree.sizes, |size| size * size);
        let lists = firsts(&tree.sizes, |size| size);
        let pair = |(indices, scales)| (brought(executor, indices), brought(executor, scales));
        Self {
            executor: executor.clone(),
            rows,
            values,
            sizes: brought(executor, tree.sizes),
            pivots: brought(executor, tree.pivots),
            places: brought(executor, places),
            lists: brought(executor, lists),
            child_offsets: brought(executor, tree.child_offsets),
            children: brought(executor, tree.children),
            unknowns: brought(executor, tree.unknowns),
            targets: brought(executor, tree.targets),
            of_rows: pair(tree.rows),
            of_columns: pair(tree.columns),
            entries: (
                brought(executor, tree.entries.0),
                brought(executor, tree.entries.1),
            ),
            starts: brought(executor, starts),
            levels,
        }
    }

    /// Rows of all fronts together: those of the vector that a solve works in.
    pub fn work_rows(&self) -> usize {
        self.unknowns.len()
    }

    /// Bytes of the tree.
    pub fn bytes(&self) -> usize {
        self.unknowns.bytes()
            + self.targets.bytes()
            + self.entries.0.bytes()
            + self.entries.1.bytes()
    }

    /// The factors of a matrix with the given entries. None where a pivot is zero or not finite.
    pub fn factorise<F: Field>(&self, given: &Buffer<F>) -> Result<Option<Buffer<F>>> {
        let mut values = Buffer::filled(&self.executor, self.values, F::zero())?;
        let mut failed = Buffer::filled(&self.executor, 1, 0u32)?;
        let (gpu, fronts, children) = (self.gpu()?, self.fronts()?, self.children()?);
        let (to, scales) = &self.entries;
        kernels::front_entries(given.len(), given, scales, to, &mut values)?
            .run(gpu, blocks(given.len()))?;
        for level in &self.levels {
            let first = level.first;
            let starts = self.starts.pointer()?.at(level.gather.starts);
            kernels::front_gather(first, level.count, starts, fronts, children, &mut values)?
                .run(gpu, level.gather.blocks)?;
            for panel in &level.panels {
                let (begin, active) = (panel.begin, panel.active);
                kernels::front_diagonal(first, begin, fronts, &mut values, &mut failed)?
                    .run(gpu, active)?;
                let starts = self.starts.pointer()?.at(panel.edges.starts);
                kernels::front_edges(first, active, begin, starts, fronts, &mut values)?
                    .run(gpu, panel.edges.blocks)?;
                let starts = self.starts.pointer()?.at(panel.update.starts);
                kernels::front_update(first, active, begin, starts, fronts, &mut values)?
                    .run(gpu, panel.update.blocks)?;
            }
        }
        Ok((failed.get(0)? == 0).then_some(values))
    }

    /// `A x = b`, or with the transposed matrix, with the factors of `A`, and two vectors to work in: one of
    /// [`work_rows`](Self::work_rows), and one like `b`.
    pub fn solve<F: Field>(
        &self,
        factors: &Buffer<F>,
        transposed: Option<Transpose>,
        b: &Vector<F>,
        (work, ordered): (&mut Vector<F>, &mut Vector<F>),
        x: &mut Vector<F>,
    ) -> Result<()> {
        let (gpu, fronts, children) = (self.gpu()?, self.fronts()?, self.children()?);
        let (given, found) = match transposed {
            None => (&self.of_rows, &self.of_columns),
            Some(_) => (&self.of_columns, &self.of_rows),
        };
        let defines: &[Define] = match transposed {
            None => &[],
            Some(Transpose::Conjugate) if F::KIND.is_complex() => {
                &[("TRANSPOSED", "1"), ("CONJUGATED", "1")]
            }
            Some(_) => &[("TRANSPOSED", "1"), ("CONJUGATED", "0")],
        };
        let cols = b.cols();
        for level in &self.levels {
            kernels::front_forward(
                level.first,
                cols,
                fronts,
                children,
                &self.unknowns,
                (&given.0, &given.1),
                factors,
                b,
                &mut *work,
            )?
            .with(defines)
            .run(gpu, level.count)?;
        }
        for level in self.levels.iter().rev() {
            kernels::front_backward(
                level.first,
                cols,
                fronts,
                &self.unknowns,
                factors,
                &mut *work,
                &mut *ordered,
            )?
            .with(defines)
            .run(gpu, level.count)?;
        }
        kernels::front_solution(self.rows, cols, &found.0, &found.1, &*ordered, x)?
            .with(defines)
            .run(gpu, blocks(self.rows * cols))
    }

    fn gpu(&self) -> Result<&Gpu> {
        match &self.executor {
            Executor::Gpu(gpu) => Ok(gpu),
            host => Err(host.lacks("fronts", "any of their kernels")),
        }
    }

    /// What `FRONTS` of the kernels stands for.
    fn fronts(&self) -> Result<FrontsParts> {
        let (sizes, pivots) = (self.sizes.pointer()?, self.pivots.pointer()?);
        let (places, lists) = (&self.places, &self.lists);
        Ok((sizes, pivots, places.pass()?, lists.pass()?))
    }

    /// What `CHILDREN` of the kernels stands for.
    fn children(&self) -> Result<(Read<u32>, Read<u32>, Read<u32>)> {
        let (offsets, children) = (&self.child_offsets, &self.children);
        Ok((offsets.pass()?, children.pass()?, self.targets.pointer()?))
    }
}

type FrontsParts = (Read<u32>, Read<u32>, Read<u64>, Read<u64>);

/// Blocks whose threads share items.
fn blocks(items: usize) -> usize {
    items.div_ceil(BLOCK as usize).min(MOST_BLOCKS)
}

/// The launches of the fronts from `first` to `last`.
fn level(tree: &FrontTree, first: usize, last: usize, starts: &mut Vec<u32>) -> Level {
    let (sizes, pivots) = (&tree.sizes[first..last], &tree.pivots[first..last]);
    let tiles = |rows: usize| rows.div_ceil(PANEL);
    let has_children =
        |at: usize| tree.child_offsets[first + at] < tree.child_offsets[first + at + 1];
    let gathered = |at: usize| match has_children(at) {
        true => tiles(sizes[at] as usize),
        false => 0,
    };
    let gather = tasks((0..sizes.len()).map(gathered), starts);
    let most = pivots.first().map_or(0, |&most| most as usize);
    let panel = |begin: usize| {
        let active = pivots.partition_point(|&count| count as usize > begin);
        let behind = |at: usize| {
            let end = (begin + PANEL).min(pivots[at] as usize);
            tiles(sizes[at] as usize - end)
        };
        Panel {
            begin,
            active,
            edges: tasks((0..active).map(behind), starts),
            update: tasks((0..active).map(|at| behind(at).pow(2)), starts),
        }
    };
    Level {
        first,
        count: last - first,
        gather,
        panels: (0..most).step_by(PANEL).map(panel).collect(),
    }
}

/// Lists the first blocks of fronts that have so many.
fn tasks(blocks: impl Iterator<Item = usize>, starts: &mut Vec<u32>) -> Tasks {
    let begin = starts.len();
    let mut total = 0;
    for count in blocks {
        starts.push(total as u32);
        total += count;
    }
    Tasks {
        starts: begin,
        blocks: total,
    }
}

/// Where each begins of those that have a number of places by their size.
fn firsts(sizes: &[u32], places: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut next = 0;
    let first = |&size: &u32| {
        let first = next;
        next += places(size as usize);
        first
    };
    sizes.iter().map(first).collect()
}

fn brought<T: Element>(executor: &Executor, values: Vec<T>) -> Buffer<T> {
    Buffer::from_vec(executor, values)
}
