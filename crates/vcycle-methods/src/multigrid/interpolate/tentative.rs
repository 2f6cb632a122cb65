//! The tentative prolongation of aggregates, which reproduces the near-nullspace.

use super::prolongation::RankLevel;
use super::registration::{InterpolationMethod, InterpolationRegistration};
use crate::linop::check_size;
use crate::matrix::{Halo, Rows, balance, build, fill_rows, zeroed};
use crate::multigrid::coarsen::{Aggregates, Groups, LEFT_OUT, NONE, NextNumbers, spread_over};
use crate::operations::interpolate::{self as operations, Grouping};
use crate::prelude::*;

/// A vector of which less than this share is left once it is orthogonal to those before it
/// depends on them.
const DEPENDENT: f64 = 1e-10;

pub(super) const TENTATIVE: InterpolationRegistration = InterpolationRegistration {
    name: "tentative",
    summary: "The near-nullspace, piece by piece (Vaněk, Mandel and Brezina 1996).",
    reads: &["energy-steps"],
    on_host: &[],
    over_ranks: true,
    method: InterpolationMethod::Groups { smoothed: false },
};

/// The tentative prolongation `T` and the near-nullspace `B_c` of the next level (Vaněk, Mandel
/// and Brezina 1996).
///
/// Each aggregate has as many coarse unknowns as there are vectors `B`. On its rows the vectors
/// are factorised, `B = Q R`, by two passes of modified Gram-Schmidt; `T` has the columns of `Q`
/// and `B_c` those of `R`, so that `T B_c = B` and `T^T T = I`. Coarse unknown `k` of aggregate
/// `g` has the number `g m + k` with `m` vectors: the next level has `m` unknowns a node. Vectors
/// that depend on those before them on an aggregate (rotations on a single node) give an empty
/// column of `T` there; the coarse matrix needs something on its diagonal there.
///
/// Without vectors every component of the `block_size` a node has is interpolated by itself,
/// constant on each aggregate: the entries of `T` are ones, and no vectors are returned.
///
/// **Choose it** as the start of [`smoothed`](super::smoothed), or as it is where the coarse
/// matrices have to be sparse and the cycle makes up for the lost accuracy.
///
/// ```
/// use vcycle::executor::Executor;
/// use vcycle::multigrid::{coarsen::{Aggregates, NONE}, interpolate::tentative};
/// let pairs = Aggregates { aggregate: vec![0, 0, NONE, 1, 1].into(), count: 2 };
/// let (t, _) = tentative(&pairs, &[], 1, &Executor::cpu())?;
/// assert_eq!((t.columns(), t.values()), (&[0, 0, 1, 1][..], &[1.0; 4][..]));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For aggregates out of range, vectors of wrong length, a block size of zero; when memory is
/// short.
pub fn tentative(
    aggregates: &Aggregates,
    near_nullspace: &[Vec<f64>],
    block_size: usize,
    executor: &Executor,
) -> Result<(Csr<f64>, Vec<Vec<f64>>)> {
    check(aggregates, near_nullspace, block_size)?;
    let nodes = Grouping {
        groups: aggregates.aggregate.buffer(),
        count: aggregates.count,
        block: block_size,
        is_complete: aggregates.aggregate.is_complete(),
    };
    if let Some(made) = operations::tentative(executor, nodes, near_nullspace, DEPENDENT)? {
        return Ok(made);
    }
    if near_nullspace.is_empty() {
        let t = constants(aggregates, block_size, executor)?;
        return Ok((t, Vec::new()));
    }
    let groups = GroupFactors::new(aggregates, near_nullspace.len(), block_size);
    let mut factors = zeroed(executor, groups.offsets[aggregates.count])?;
    fill_rows(executor, &groups.offsets, &mut factors, |group, out| {
        groups.factorise(group, near_nullspace, out);
    });
    let t = groups.prolongation(&factors, executor)?;
    Ok((t, groups.coarse_vectors(&factors)))
}

fn check(aggregates: &Aggregates, near_nullspace: &[Vec<f64>], block_size: usize) -> Result<()> {
    let reason = "a node has at least one unknown";
    Error::check_parameter(block_size > 0, "block_size", reason)?;
    let rows = Size::new(aggregates.aggregate.count() * block_size, 1);
    for vector in near_nullspace {
        check_size("near-nullspace", rows, Size::new(vector.len(), 1))?;
    }
    aggregates.aggregate.check_below(aggregates.count)
}

/// Ones from each component of an aggregate to that of its nodes.
fn constants(aggregates: &Aggregates, block_size: usize, executor: &Executor) -> Result<Csr<f64>> {
    let fill = |(): &mut (), row: usize, out: &mut Rows<f64>| {
        let group = aggregates.aggregate[row / block_size];
        if group != NONE {
            out.reserve(executor, 1)?;
            out.push(group * block_size as u32 + (row % block_size) as u32, 1.0);
        }
        Ok(())
    };
    let rows = aggregates.aggregate.len() * block_size;
    let arrays = build(
        executor,
        &balance(rows, |row| 2 * row),
        rows * size_of::<f64>(),
        || (),
        fill,
    )?;
    let size = Size::new(rows, aggregates.count * block_size);
    Ok(arrays.into_csr(executor, size))
}

/// The nodes of each aggregate, and where its factors `Q` (row by row) and then `R` lie.
struct GroupFactors<'a> {
    aggregates: &'a Aggregates,
    vectors: usize,
    block_size: usize,
    /// Nodes by aggregate.
    nodes: Vec<u32>,
    /// For every aggregate the place of its first node.
    starts: Vec<usize>,
    /// For every node its place within its aggregate.
    places: Vec<u32>,
    /// For every aggregate the place of its factors.
    offsets: Vec<usize>,
}

impl<'a> GroupFactors<'a> {
    fn new(aggregates: &'a Aggregates, vectors: usize, block_size: usize) -> Self {
        let mut starts = vec![0; aggregates.count + 1];
        let mut places = vec![0; aggregates.aggregate.len()];
        for (place, &group) in places.iter_mut().zip(aggregates.aggregate.iter()) {
            if group != NONE {
                *place = starts[group as usize + 1] as u32;
                starts[group as usize + 1] += 1;
            }
        }
        for group in 0..aggregates.count {
            starts[group + 1] += starts[group];
        }
        let mut nodes = vec![0; starts[aggregates.count]];
        for ((node, &place), &group) in (0..).zip(&places).zip(aggregates.aggregate.iter()) {
            if group != NONE {
                nodes[starts[group as usize] + place as usize] = node;
            }
        }
        let offset =
            |(group, nodes): (usize, &usize)| vectors * (nodes * block_size + group * vectors);
        Self {
            offsets: starts.iter().enumerate().map(offset).collect(),
            aggregates,
            vectors,
            block_size,
            nodes,
            starts,
            places,
        }
    }

    fn unknowns(&self, group: usize) -> impl Iterator<Item = usize> {
        let nodes = &self.nodes[self.starts[group]..self.starts[group + 1]];
        let size = self.block_size;
        nodes
            .iter()
            .flat_map(move |&node| (0..size).map(move |part| node as usize * size + part))
    }

    /// Writes `Q` and `R` of the vectors' rows in an aggregate.
    fn factorise(&self, group: usize, vectors: &[Vec<f64>], out: &mut [f64]) {
        let m = self.vectors;
        let (q, r) = out.split_at_mut(out.len() - m * m);
        for (row, unknown) in q.chunks_exact_mut(m).zip(self.unknowns(group)) {
            for (entry, vector) in row.iter_mut().zip(vectors) {
                *entry = vector[unknown];
            }
        }
        gram_schmidt(q, r, m);
    }

    fn prolongation(&self, factors: &[f64], executor: &Executor) -> Result<Csr<f64>> {
        let (m, size) = (self.vectors, self.block_size);
        let fill = |(): &mut (), row: usize, out: &mut Rows<f64>| {
            let (node, part) = (row / size, row % size);
            let group = self.aggregates.aggregate[node];
            if group == NONE {
                return Ok(());
            }
            let place = self.places[node] as usize * size + part;
            let q = &factors[self.offsets[group as usize] + place * m..][..m];
            out.reserve(executor, m)?;
            for (column, &value) in (group * m as u32..).zip(q) {
                if value != 0.0 {
                    out.push(column, value);
                }
            }
            Ok(())
        };
        let rows = self.aggregates.aggregate.len() * size;
        let bounds = balance(rows, |row| row * (1 + m));
        let arrays = build(executor, &bounds, size_of_val(factors), || (), fill)?;
        Ok(arrays.into_csr(executor, Size::new(rows, self.aggregates.count * m)))
    }

    /// The columns of `R`, aggregate after aggregate.
    fn coarse_vectors(&self, factors: &[f64]) -> Vec<Vec<f64>> {
        let m = self.vectors;
        let of_group = |group: usize, column: usize| {
            let r = &factors[self.offsets[group + 1] - m * m..self.offsets[group + 1]];
            r.iter().skip(column).step_by(m).copied()
        };
        let groups = 0..self.aggregates.count;
        (0..m)
            .map(|column| {
                groups
                    .clone()
                    .flat_map(|group| of_group(group, column))
                    .collect()
            })
            .collect()
    }
}

/// Replaces the `m` columns of `q` by orthonormal ones, or zero where they depend on those
/// before; `r` gets the factors, row by row, and is zero before.
fn gram_schmidt(q: &mut [f64], r: &mut [f64], m: usize) {
    let dot = |q: &[f64], a: usize, b: usize| -> f64 {
        q.chunks_exact(m).map(|row| row[a] * row[b]).sum()
    };
    for column in 0..m {
        let before = dot(q, column, column).sqrt();
        // The second pass removes what rounding left in the first.
        for _ in 0..2 {
            for earlier in 0..column {
                let factor = dot(q, earlier, column);
                r[earlier * m + column] += factor;
                q.chunks_exact_mut(m)
                    .for_each(|row| row[column] -= factor * row[earlier]);
            }
        }
        let norm = dot(q, column, column).sqrt();
        let independent = norm > DEPENDENT * before;
        r[column * m + column] = if independent { norm } else { 0.0 };
        for row in q.chunks_exact_mut(m) {
            row[column] = if independent { row[column] / norm } else { 0.0 };
        }
    }
}

/// [`tentative`] for the rows nearby of a matrix that ranks share, and the own rows of `B_c`. The rank of a group gets the
/// rows of vectors in it, factorises them, and sends the factor to the ranks of its members. All ranks call it together.
pub(in crate::multigrid) fn tentative_over_ranks(
    level: RankLevel<'_>,
    next: &NextNumbers,
    groups: &Aggregates,
    (vectors, node): (&[Vec<f64>], usize),
    executor: &Executor,
) -> Result<(Csr<f64>, Vec<Vec<f64>>)> {
    if vectors.is_empty() {
        return tentative(groups, vectors, node, executor);
    }
    let halo = level.near;
    let members = Members::new(level, next, groups, (node, vectors.len()))?;
    let own = vectors.iter().map(|all| &all[halo.own()]);
    let vectors: Vec<Vec<f64>> = own
        .map(|own| spread_over(&members.rows, own))
        .collect::<Result<_>>()?;
    let made = tentative(&members.groups, &vectors, node, executor);
    let (factor, coarse) = halo.team().agree(made)?;
    let flipped = Distributed::of_numbered(
        level.executor,
        &next.partition,
        halo.partition(),
        &members.rows,
        factor.transpose()?,
    )?;
    let near = flipped.transpose()?.rows_near(halo, &next.numbers)?;
    Ok((near, coarse))
}

/// The members of own groups, wherever their rows are.
struct Members {
    /// Own rows, and those of members that other ranks have.
    rows: Halo,
    /// The own group of every node that is here, counted from the first.
    groups: Aggregates,
}

impl Members {
    /// Of nodes of so many rows, where a group has so many unknowns of the next level. All ranks call it together.
    fn new(
        RankLevel {
            executor,
            near: halo,
            ..
        }: RankLevel<'_>,
        next: &NextNumbers,
        near: &Aggregates,
        (node, width): (usize, usize),
    ) -> Result<Self> {
        let rows = halo.partition();
        let group = |&group: &u32| match group {
            NONE => LEFT_OUT,
            group => next.numbers.global(group as usize * width) / width as u64,
        };
        let own = halo.own().start / node..halo.own().end / node;
        let groups = Groups {
            of_own: near.aggregate[own].iter().map(group).collect(),
            partition: Arc::new(next.partition.divided(width)),
        };
        let nodes = Arc::new(rows.divided(node));
        let members = groups.constants(executor, &nodes)?.transpose()?;
        let here = members.columns();
        let mut aggregate = vec![NONE; here.len()];
        for group in 0..members.local().size().rows {
            for &member in members.local().row(group).0 {
                aggregate[member as usize] = group as u32;
            }
        }
        let others = here.multiplied(node).others().to_vec();
        Ok(Self {
            rows: Halo::new(halo.team(), rows, others)?,
            groups: Aggregates {
                aggregate: aggregate.into(),
                count: members.local().size().rows,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, mapped};
    use super::*;
    use crate::multigrid::testing::body;

    /// `count` groups of consecutive nodes, the last node left out.
    fn runs(nodes: usize, length: usize) -> Aggregates {
        let mut aggregate: Vec<u32> = (0..nodes).map(|node| (node / length) as u32).collect();
        let count = (nodes - 1).div_ceil(length);
        aggregate[nodes - 1] = NONE;
        Aggregates {
            aggregate: aggregate.into(),
            count,
        }
    }

    #[test]
    fn rigid_bodies_are_reproduced_and_dependent_vectors_give_empty_columns() {
        let (a, near) = body("elasticity:3x2x2", &Executor::reference());
        let modes = near.vectors();
        // 27 nodes: groups of five and a single node, or of single nodes, the last node left out.
        for (length, unknowns) in [(5, 36), (1, 156)] {
            let (t, coarse) = tentative(&runs(27, length), modes, 3, a.executor()).unwrap();
            assert_eq!(t.size(), Size::new(81, unknowns));
            for (mode, coarse) in modes.iter().zip(&coarse) {
                assert_close(&mapped(&t, coarse)[..78], &mode[..78]);
            }
            assert!(t.row(80).0.is_empty());
            if length == 1 {
                assert_eq!(t.row(4), (&[7][..], &[1.0][..]));
            }
        }
    }

    #[test]
    fn columns_are_orthonormal() {
        let cpu = Executor::reference();
        let modes = [vec![1.0; 12], (0..12).map(f64::from).collect::<Vec<_>>()];
        let groups = runs(7, 3);
        let modes = modes.map(|mode| [mode, vec![0.5; 2]].concat());
        let (t, _) = tentative(&groups, &modes, 2, &cpu).unwrap();
        let gram = t.transpose().unwrap().multiply(&t).unwrap();
        for row in 0..4 {
            for column in 0..4 {
                let expected = f64::from(u8::from(row == column));
                assert!((gram.entry(row, column).unwrap_or(0.0) - expected).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn components_without_vectors_are_kept_apart() {
        let groups = runs(3, 2);
        let (t, coarse) = tentative(&groups, &[], 2, &Executor::reference()).unwrap();
        assert_eq!((t.size(), coarse.len()), (Size::new(6, 2), 0));
        assert_eq!(t.columns(), [0, 1, 0, 1]);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let cpu = Executor::reference();
        let groups = runs(3, 2);
        assert!(tentative(&groups, &[], 0, &cpu).is_err());
        assert!(tentative(&groups, &[vec![1.0; 5]], 2, &cpu).is_err());
        let outside = Aggregates {
            aggregate: vec![1].into(),
            count: 1,
        };
        assert!(tentative(&outside, &[], 1, &cpu).is_err());
    }
}
