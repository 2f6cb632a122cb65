//! Prolongations of groups that reproduce vectors.

use crate::gpu::kernels::tentative as kernels;
use crate::launch::prelude::*;
use crate::operations::interpolate::smoothed::constants;
use crate::operations::on_device;

/// Groups of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Grouping<'g> {
    /// The group of every node, if it has one.
    pub groups: &'g Buffer<u32>,
    /// How many there are.
    pub count: usize,
    /// Unknowns of a node.
    pub block: usize,
    /// Whether it is known that every node has one.
    pub is_complete: bool,
}

impl Grouping<'_> {
    fn rows(&self) -> usize {
        self.groups.len() * self.block
    }
}

/// A prolongation, and the vectors of the next level.
pub type Prolonged = (Csr<f64>, Vec<Vec<f64>>);

/// The tentative prolongation of groups, and the vectors of the next level: those of which less than the share
/// `dependent` is left behind those before depend on them. Without vectors its entries are ones.
pub fn tentative(
    executor: &Executor,
    nodes: Grouping<'_>,
    vectors: &[Vec<f64>],
    dependent: f64,
) -> Result<Option<Prolonged>> {
    on_device(executor, |queue| {
        let groups = &nodes.groups.brought(executor)?;
        let nodes = Grouping { groups, ..nodes };
        if vectors.is_empty() {
            let shape = (nodes.count, nodes.block);
            let t = constants(queue, groups, shape, nodes.is_complete)?;
            return Ok((t, Vec::new()));
        }
        reproducing(queue, nodes, vectors, dependent)
    })
}

fn reproducing(
    queue: Queue<'_>,
    nodes: Grouping<'_>,
    vectors: &[Vec<f64>],
    dependent: f64,
) -> Result<Prolonged> {
    let (rows, m, count) = (nodes.rows(), vectors.len(), nodes.count);
    let vectors = Buffer::gathered(queue.executor, vectors)?;
    let single = (count, 1);
    let members = constants(queue, nodes.groups, single, nodes.is_complete)?;
    let members = queue.transpose_pattern(members.pattern())?;
    let mut q = queue.uninit::<f64>(rows * m)?;
    let mut coarse = queue.zeros::<f64>(count * m * m)?;
    let (offsets, list) = members.buffers();
    kernels::tentative_factors(
        count,
        rows,
        nodes.block,
        m,
        dependent,
        offsets,
        list,
        &vectors,
        &mut q,
        &mut coarse,
    )?
    .rows(&queue, (count, rows.div_ceil(count.max(1))))?;
    let t = gathered(queue, nodes, m, &q)?;
    let coarse = coarse.host()?;
    let coarse = coarse.chunks((count * m).max(1)).map(<[f64]>::to_vec);
    let mut coarse: Vec<_> = coarse.collect();
    coarse.resize(m, Vec::new());
    Ok((t, coarse))
}

/// What is not zero of the `m` numbers of every row.
fn gathered(queue: Queue<'_>, nodes: Grouping<'_>, m: usize, q: &Buffer<f64>) -> Result<Csr<f64>> {
    let rows = nodes.rows();
    let mut counts = queue.uninit(rows)?;
    kernels::tentative_counts(rows, nodes.block, m, nodes.groups, q, &mut counts)?
        .rows(&queue, (rows, 1))?;
    let mut t = queue.new_rows(&counts)?;
    kernels::tentative_fill(rows, nodes.block, m, nodes.groups, q, &mut t)?
        .rows(&queue, (rows, 1))?;
    Ok(t.matrix(Size::new(rows, nodes.count * m)))
}
