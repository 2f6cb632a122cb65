//! What is known of the unknowns of a level, and what stages see of them where nodes have several.

use std::borrow::Cow;
use std::ops::Range;

use super::amg::Amg;
use super::coarsen::{CoarseUnknowns, Nearby, spread_over};
use super::near_nullspace::NearNullspace;
use super::strength::{Classical, Strength};
use super::systems::Systems;
use crate::host_stages::{COMPONENTS, LARGE_NODES};
use crate::matrix::{Accumulator, Rows, balance, build};
use crate::operations::{self, on_host};
use crate::prelude::*;

/// What is known of the unknowns of a level.
#[derive(Clone, Debug)]
pub(super) struct Unknowns {
    /// Unknowns of a node, or components.
    block_size: usize,
    /// The component of every unknown, where the numbering does not tell.
    components: Option<Vec<u32>>,
    /// The near-nullspace; none for the constants of the components.
    pub modes: Arc<[Vec<f64>]>,
}

impl Unknowns {
    pub fn new(near: &NearNullspace) -> Self {
        Self {
            block_size: near.block_size(),
            components: None,
            modes: near.shared_vectors(),
        }
    }

    /// Unknowns of a node of a level, neighbours in the numbering; 1 where nodes were taken apart, or nobody cared for them.
    pub fn node_rows(&self, amg: &Amg, level: usize) -> usize {
        let systems = amg.systems.of(self.block_size, amg.coarsening);
        match self.components {
            None if level == 0 || systems != Systems::Scalar => self.block_size,
            None | Some(_) => 1,
        }
    }

    /// The same with the unknowns of other ranks that are near.
    pub fn near(&self, rows: &Nearby) -> Result<Self> {
        let mut near = self.clone();
        let Some(halo) = rows.halo() else {
            return Ok(near);
        };
        let modes = self.modes.iter().map(|mode| spread_over(halo, mode));
        near.modes = modes.collect::<Result<_>>()?;
        if let Some(components) = &mut near.components {
            *components = spread_over(halo, components)?;
        }
        Ok(near)
    }

    /// Those of all ranks that share a matrix, on rank 0.
    pub fn gathered<V: Scalar>(&self, a: &Distributed<V>) -> Result<Self> {
        let mut all = self.clone();
        let modes = self.modes.iter().map(|mode| a.gathered_values(mode));
        all.modes = modes.collect::<Result<_>>()?;
        if let Some(components) = &mut all.components {
            *components = a.gathered_values(components)?;
        }
        Ok(all)
    }

    /// What is known of own unknowns, among the numbers of all that are near. Vectors are those of own ones already
    /// where they are `of_use`.
    pub fn own(mut self, own: Range<usize>, of_use: bool) -> Self {
        if !of_use {
            self.modes = Arc::default();
        }
        let components = self.components.take();
        self.components = components.map(|all| all[own].to_vec());
        self
    }

    fn component(&self, row: usize) -> u32 {
        match &self.components {
            None => (row % self.block_size) as u32,
            Some(known) => known[row],
        }
    }

    /// The near-nullspace as vectors, also where it is the constants of the components.
    pub fn test_vectors(&self, rows: usize) -> Arc<[Vec<f64>]> {
        if !self.modes.is_empty() {
            return Arc::clone(&self.modes);
        }
        let constant = |part: u32| {
            let value = |row| f64::from(u8::from(self.component(row) == part));
            (0..rows).map(value).collect()
        };
        (0..self.block_size as u32).map(constant).collect()
    }

    fn uncoupled(&self, a: &Csr<f64>) -> Result<Csr<f64>> {
        on_host(a.executor(), COMPONENTS);
        a.filter(|row, column, _| self.component(row) == self.component(column))
    }
}

/// What coarsening and interpolation look at.
pub(super) struct View<'a> {
    systems: Systems,
    a: &'a Csr<f64>,
    /// The matrix of the unknowns, of the components by themselves, or of the nodes.
    seen: Cow<'a, Csr<f64>>,
    strength: Arc<Pattern>,
    /// Which of the unknowns or nodes are those of other ranks.
    pub rows: Nearby,
}

impl<'a> View<'a> {
    /// Of rows some of which may be those of other ranks. Without a measure of strength all couplings are strong.
    pub fn new(
        amg: &Amg,
        strength: Option<Strength>,
        (a, near): (&'a Csr<f64>, &Nearby),
        unknowns: &Unknowns,
    ) -> Result<Self> {
        let coarsening = amg.coarsening;
        let systems = amg.systems.of(unknowns.block_size, coarsening);
        // Ranks talk to each other here: nothing that could fail on one of them comes before.
        let rows = match systems == Systems::Node {
            true => near.nodes(unknowns.block_size)?,
            false => near.clone(),
        };
        let (seen, strength) = match systems {
            Systems::Unknown => (Cow::Owned(unknowns.uncoupled(a)?), strength),
            Systems::Node => (
                Cow::Owned(condensed(a, unknowns.block_size)?),
                strength.map(of_nodes),
            ),
            Systems::Scalar | Systems::Auto => (Cow::Borrowed(a), strength),
        };
        let strength = match strength {
            Some(measure) => measure.graph_near(&seen, &rows, coarsening.skips_diagonal())?,
            None => Arc::clone(seen.pattern()),
        };
        Ok(Self {
            systems,
            a,
            seen,
            strength,
            rows,
        })
    }

    /// Whether it shows nodes, not unknowns.
    pub fn is_of_nodes(&self) -> bool {
        self.systems == Systems::Node
    }

    /// Whether that is the matrix of the level itself.
    pub fn shows_all(&self) -> bool {
        std::ptr::eq(self.matrix(), self.a)
    }

    /// The matrix to coarsen.
    pub fn matrix(&self) -> &Csr<f64> {
        &self.seen
    }

    /// Its strong couplings.
    pub fn strength(&self) -> &Arc<Pattern> {
        &self.strength
    }

    /// Rows of the next level with so many coarse unknowns or nodes.
    pub fn coarse_rows(&self, count: usize, unknowns: &Unknowns) -> usize {
        match unknowns.modes.len() {
            _ if !self.is_of_nodes() => count,
            0 => count * unknowns.block_size,
            modes => count * modes,
        }
    }

    /// What the interpolation of all unknowns goes by, and the unknowns of a group's node.
    pub fn for_interpolation<'c>(
        self,
        coarse: &'c CoarseUnknowns,
        unknowns: &Unknowns,
    ) -> Result<(Self, Cow<'c, CoarseUnknowns>, usize)> {
        let size = unknowns.block_size;
        match self.systems {
            Systems::Node if coarse.is_grouped() => {
                let seen = Cow::Borrowed(self.a);
                Ok((Self { seen, ..self }, Cow::Borrowed(coarse), size))
            }
            Systems::Node => {
                let seen = unknowns.uncoupled(self.a)?;
                let view = Self {
                    strength: spread(&self.strength, &seen, size)?,
                    seen: Cow::Owned(seen),
                    ..self
                };
                Ok((view, Cow::Owned(coarse.of_nodes(size)), 1))
            }
            Systems::Auto | Systems::Scalar | Systems::Unknown => {
                Ok((self, Cow::Borrowed(coarse), 1))
            }
        }
    }

    /// What is known of the unknowns that `prolongation` leads from, whose first row is that of some unknown; their
    /// modes are known.
    pub fn coarse_unknowns<V: Scalar>(
        &self,
        (prolongation, first): (&Csr<V>, usize),
        unknowns: &mut Unknowns,
        grouped: bool,
    ) {
        match self.systems {
            Systems::Unknown => {
                let mut coarse = vec![0; prolongation.size().cols];
                for row in 0..prolongation.size().rows {
                    for &column in prolongation.row(row).0 {
                        coarse[column as usize] = unknowns.component(first + row);
                    }
                }
                unknowns.components = Some(coarse);
            }
            Systems::Node if grouped && !unknowns.modes.is_empty() => {
                unknowns.block_size = unknowns.modes.len();
            }
            Systems::Auto | Systems::Scalar | Systems::Node => {}
        }
    }
}

/// Norms of blocks are not the entries of a matrix whose row sums say anything.
fn of_nodes(strength: Strength) -> Strength {
    match strength {
        Strength::Mutual(measure) => Strength::Mutual(measure.of_nodes()),
        Strength::Classical(measure) => Strength::Classical(Classical {
            max_row_sum: 1.0,
            ..measure
        }),
        other => other,
    }
}

/// The matrix of nodes: the Frobenius norms of the blocks, negative beside the diagonal.
fn condensed(a: &Csr<f64>, block_size: usize) -> Result<Csr<f64>> {
    if let Some(norms) = operations::blocks::norms(a, block_size)? {
        return Ok(norms);
    }
    let nodes = a.size().rows / block_size;
    let executor = a.executor();
    on_host(executor, LARGE_NODES);
    let fill = |sums: &mut Accumulator<f64>, node: usize, out: &mut Rows<f64>| {
        let rows = node * block_size..(node + 1) * block_size;
        sums.start(
            executor,
            nodes,
            a.offsets()[rows.end] - a.offsets()[rows.start],
        )?;
        for row in rows {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                *sums.sum(column / block_size as u32) += value * value;
            }
        }
        let (columns, square) = sums.sorted();
        out.append_by(executor, columns, |other| match other as usize == node {
            true => square(other).sqrt(),
            false => -square(other).sqrt(),
        })
    };
    let bounds = balance(nodes, |node| a.offsets()[node * block_size] + node);
    let arrays = build(executor, &bounds, a.bytes(), Accumulator::default, fill)?;
    Ok(arrays.into_csr(executor, Size::square(nodes)))
}

/// The couplings of `a` between unknowns whose nodes are strongly coupled.
fn spread(nodes: &Pattern, a: &Csr<f64>, block_size: usize) -> Result<Arc<Pattern>> {
    let executor = a.executor();
    let fill = |(): &mut (), row: usize, out: &mut Rows<()>| {
        let strong = &nodes.columns()[nodes.range(row / block_size)];
        let (columns, values) = a.row(row);
        out.reserve(executor, columns.len())?;
        for (&column, &value) in columns.iter().zip(values) {
            let node = column / block_size as u32;
            if value != 0.0 && strong.binary_search(&node).is_ok() {
                out.push(column, ());
            }
        }
        Ok(())
    };
    let pieces = a.pattern().pieces();
    let arrays = build(executor, pieces, a.bytes(), || (), fill)?;
    Ok(arrays.into_pattern(executor, a.size()))
}

#[cfg(test)]
mod tests;
