//! The factors of a matrix, front after front.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Instant;

use faer::Par;
use rayon::prelude::*;

use crate::elimination::NONE;
use crate::front::{Block, Targets, Task};
use crate::number::Number;
use crate::schedule::Schedule;
use crate::symbolic::{Front, Symbolic};
use crate::work::Rest;
use crate::{Failure, Method};

/// Operations of a front that several threads share.
const SHARED: f64 = 2e6;

/// Work, rows times rows times columns of fronts, that a matrix may take whatever was expected.
const WORK: f64 = 1e6;

/// Limits of a factorisation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Pivots that are not larger are none. Without this, a row without pivot is an error; with it, its unknown
    /// is zero in solutions, which are those of a singular system where the right-hand side allows any.
    pub zero: Option<f64>,
    /// When to end, ready or not.
    pub until: Option<Instant>,
    /// How many times as large as [`Symbolic`] says fronts may get by rows that find no pivot in those of their children.
    pub growth: Option<f64>,
}

/// The factors of a matrix.
#[derive(Debug)]
pub struct Factors<F> {
    pub(crate) symbolic: Arc<Symbolic>,
    pub(crate) method: Method,
    pub(crate) blocks: Vec<Block<F>>,
    /// Where the rows of every front begin in the memory of a solve.
    pub(crate) starts: Vec<usize>,
    pub(crate) schedule: Schedule,
}

impl<F: Number> Factors<F> {
    /// Factorises the matrix of these values, in the places that `symbolic` was made of.
    ///
    /// # Errors
    /// Where a pivot is not positive or all are zero, and when memory or time is short.
    pub fn new(
        symbolic: &Arc<Symbolic>,
        values: &[F],
        method: Method,
        limits: Limits,
        threads: usize,
    ) -> Result<Self, Failure> {
        assert_eq!(values.len(), symbolic.nonzeros, "a value for every entry");
        assert_eq!(method != Method::Lu, symbolic.symmetric);
        let schedule = Schedule::new(symbolic, threads);
        let task = Task {
            symbolic,
            values,
            method,
            zero: limits.zero.unwrap_or(-1.0),
            until: limits.until,
            work_left: limits.growth.map(|growth| {
                let expected = symbolic.fronts.iter().map(Front::work).sum::<f64>();
                AtomicI64::new((growth * expected + WORK) as i64)
            }),
        };
        let blocks = factorised(&task, &schedule, threads)?;
        let mut starts = vec![0];
        for block in &blocks {
            starts.push(starts[starts.len() - 1] + block.pivots + block.rest);
        }
        Ok(Self {
            symbolic: Arc::clone(symbolic),
            method,
            blocks,
            starts,
            schedule,
        })
    }

    /// What matrices with other values in the same places share.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }

    /// What the matrix is factorised by.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Bytes that the factors hold.
    pub fn bytes(&self) -> usize {
        let of = |block: &Block<F>| {
            let numbers = block.lower.len() + block.upper.len() + 2 * block.diagonal.values.len();
            let places = block.row_places.len()
                + block.column_places.len()
                + block.targets.rows.len()
                + block.targets.columns.len();
            numbers * size_of::<F>() + 4 * places
        };
        self.blocks.iter().map(of).sum()
    }

    /// How many rows depend on others.
    pub fn dependent(&self) -> usize {
        self.blocks.iter().map(|block| block.dependent).sum()
    }

    /// The smallest pivot of Cholesky factors, as a part of the entry of its row on this diagonal of the matrix.
    pub fn smallest_pivot(&self, diagonal: &[F]) -> Option<f64> {
        if self.method != Method::Cholesky {
            return None;
        }
        let of = |block: &Block<F>| {
            let rows = block.pivots + block.rest;
            let pivots = block
                .row_places
                .iter()
                .enumerate()
                .map(move |(pivot, &place)| {
                    let row = self.symbolic.rows[place as usize] as usize;
                    block.lower[pivot * rows + pivot].re().powi(2) / diagonal[row].re()
                });
            pivots.fold(f64::INFINITY, f64::min)
        };
        Some(self.blocks.iter().map(of).fold(f64::INFINITY, f64::min))
    }

    /// How many eigenvalues of a Hermitian matrix are negative: by Sylvester's law as many as of `D`.
    pub fn negative_eigenvalues(&self) -> Option<usize> {
        if !self.method.is_hermitian() {
            return None;
        }
        let of = |block: &Block<F>| block.diagonal.negative();
        Some(self.blocks.iter().map(of).sum())
    }
}

type Made<F> = (Vec<Block<F>>, Vec<(usize, Rest<F>)>);
/// A front, and what its children have left.
type Ready<F> = (usize, Vec<(usize, Rest<F>)>);

fn factorised<F: Number>(
    task: &Task<'_, F>,
    schedule: &Schedule,
    threads: usize,
) -> Result<Vec<Block<F>>, Failure> {
    let subtree = |fronts: &std::ops::Range<usize>| subtree(task, fronts.clone());
    if threads == 1 {
        let (blocks, _) = subtree(&schedule.subtrees[0])?;
        return Ok(blocks);
    }
    let made: Result<Vec<Made<F>>, Failure> = schedule.subtrees.par_iter().map(subtree).collect();
    let fronts = &task.symbolic.fronts;
    let mut blocks: Vec<Option<Block<F>>> = Vec::new();
    blocks.resize_with(fronts.len(), || None);
    let mut waiting: Vec<Vec<(usize, Rest<F>)>> = Vec::new();
    waiting.resize_with(fronts.len(), Vec::new);
    for (range, (own, rests)) in schedule.subtrees.iter().zip(made?) {
        for (number, block) in range.clone().zip(own) {
            blocks[number] = Some(block);
        }
        for (number, rest) in rests {
            wait(task.symbolic, &mut waiting, number, rest);
        }
    }
    for level in &schedule.levels {
        let ready: Vec<Ready<F>> = level
            .iter()
            .map(|&number| (number, std::mem::take(&mut waiting[number])))
            .collect();
        let work = |(number, mut children): Ready<F>| {
            children.sort_unstable_by_key(|(child, _)| *child);
            let front = &fronts[number];
            let size = front.rows() as f64;
            let parallel = match size * size * front.pivots.len() as f64 > SHARED {
                true => Par::rayon(threads),
                false => Par::Seq,
            };
            let (block, rest, targets) = task.factorise(front, &children, parallel)?;
            let children: Vec<usize> = children.iter().map(|(child, _)| *child).collect();
            Ok((number, block, rest, children, targets))
        };
        let made: Result<Vec<_>, Failure> = ready.into_par_iter().map(work).collect();
        for (number, block, rest, children, targets) in made? {
            blocks[number] = Some(block);
            wait(task.symbolic, &mut waiting, number, rest);
            for (child, targets) in children.into_iter().zip(targets) {
                if let Some(block) = &mut blocks[child] {
                    block.targets = targets;
                }
            }
        }
    }
    Ok(blocks.into_iter().flatten().collect())
}

/// Keeps what a front has left for its parent.
fn wait<F>(
    symbolic: &Symbolic,
    waiting: &mut [Vec<(usize, Rest<F>)>],
    number: usize,
    rest: Rest<F>,
) {
    let parent = symbolic.fronts[number].parent;
    if parent != NONE {
        waiting[parent as usize].push((number, rest));
    }
}

/// The fronts of a subtree, one after the other, and what its root has left.
fn subtree<F: Number>(
    task: &Task<'_, F>,
    fronts: std::ops::Range<usize>,
) -> Result<Made<F>, Failure> {
    let first = fronts.start;
    let mut blocks: Vec<Block<F>> = Vec::with_capacity(fronts.len());
    let mut waiting: Vec<(usize, Rest<F>)> = Vec::new();
    for number in fronts {
        let front = &task.symbolic.fronts[number];
        let children = waiting.split_off(waiting.len() - front.children);
        let (block, rest, targets) = task.factorise(front, &children, Par::Seq)?;
        for ((child, _), targets) in children.iter().zip(targets) {
            blocks[child - first].targets = targets;
        }
        blocks.push(block);
        waiting.push((number, rest));
        if front.parent == NONE {
            waiting.pop();
        }
    }
    Ok((blocks, waiting))
}

impl<F: Number> Block<F> {
    pub fn targets_of(&self, is_column: bool) -> &[u32] {
        let Targets { rows, columns } = &self.targets;
        if is_column && !columns.is_empty() {
            columns
        } else {
            rows
        }
    }

    pub fn places_of(&self, is_column: bool) -> &[u32] {
        match is_column && !self.column_places.is_empty() {
            true => &self.column_places,
            false => &self.row_places,
        }
    }
}
