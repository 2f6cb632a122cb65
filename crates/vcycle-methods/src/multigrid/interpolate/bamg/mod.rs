//! Interpolation that reproduces test vectors.

mod basis;
mod neighbours;

use std::ops::Range;

use self::basis::Basis;
use self::neighbours::Neighbours;
use super::registration::{InterpolationMethod, InterpolationRegistration};
use super::small::norm;
use crate::host_stages;
use crate::linop::check_size;
use crate::matrix::{Rows, balance, build};
use crate::multigrid::coarsen::{NONE, Splitting};
use crate::multigrid::near_nullspace::check_finite;
use crate::operations::{self, interpolate::FitLimits};
use crate::prelude::*;
use crate::registration::parameters;

parameters! {
    /// How [`bamg`] looks for coarse unknowns.
    pub struct Bamg {
        /// Coarse unknowns up to this distance, in steps along strong couplings, are taken at once.
        pub min_distance: usize = 1,
        /// Those farther away than this are never taken.
        pub max_distance: usize = 3,
        /// The largest difference from the test vectors, relative to their norm.
        pub residual: f64 = 0.01,
        /// The largest norm of the weights of a row.
        pub norm: f64 = 4.0,
        /// The share of the absolute sum of a row that filtering (`fbamg`) keeps at least.
        pub kept: f64 = 0.9,
    }
}

impl Bamg {
    fn limits(&self) -> FitLimits {
        FitLimits {
            min_distance: self.min_distance,
            max_distance: self.max_distance,
            residual: self.residual,
            norm: self.norm,
        }
    }

    fn check(&self) -> Result<()> {
        let (min, max) = (self.min_distance, self.max_distance);
        let reason = format!("must be from 1 to {max}, not {min}");
        Error::check_parameter((1..=max).contains(&min), "min-distance", reason)?;
        Error::check_parameter(self.residual >= 0.0, "residual", "must be zero or positive")?;
        Error::check_parameter(self.norm > 0.0, "norm", "must be positive")
    }
}

pub(in crate::multigrid) const BAMG: InterpolationRegistration = InterpolationRegistration {
    name: "bamg",
    summary: "Bootstrap interpolation of the near-nullspace: test vectors decide, not entries.",
    reads: &["strength", "bamg", "energy-steps"],
    on_host: &[host_stages::BAMG],
    over_ranks: true,
    method: vectors(false, false),
};

pub(in crate::multigrid) const SMOOTHED_BAMG: InterpolationRegistration =
    InterpolationRegistration {
        name: "sbamg",
        summary: "The same, smoothed.",
        method: vectors(true, false),
        ..BAMG
    };

pub(in crate::multigrid) const FILTERED_BAMG: InterpolationRegistration =
    InterpolationRegistration {
        name: "fbamg",
        summary: "The same, smoothed and filtered.",
        on_host: &[host_stages::BAMG, host_stages::FILTER],
        method: vectors(true, true),
        ..BAMG
    };

const fn vectors(smoothed: bool, filtered: bool) -> InterpolationMethod {
    InterpolationMethod::Vectors { smoothed, filtered }
}

/// Least-squares interpolation of bootstrap multigrid (Brandt et al. 2011; algorithm 3 of the
/// thesis on Chronos).
///
/// The weights of a fine unknown `i` are those with which the test vectors at coarse unknowns come
/// closest to what they are at `i`. The coarse unknowns are those within a distance in the graph
/// of strong couplings, of which a basis of nearly maximal volume is used: as many as there are
/// test vectors. Where the residual or the norm of the weights is too large, the distance grows by
/// one; where even the largest is not enough, `i` becomes coarse itself. Unknowns without strong
/// couplings are not interpolated.
///
/// Returns the prolongation and the coarse unknowns, with those that became so.
///
/// **Choose it** for systems whose near-kernel is known or can be found, as in elasticity: it is
/// reproduced with few entries a row.
///
/// ```
/// use vcycle::{executor::Executor, gallery};
/// use vcycle::multigrid::{coarsen::{NONE, Splitting}, interpolate::{Bamg, bamg}};
/// let a = gallery::build("poisson5:5x1", &Executor::cpu())?.matrix;
/// let every_other = Splitting { coarse_index: vec![0, NONE, 1, NONE, 2].into(), coarse_count: 3 };
/// let line = [vec![1.0; 5], vec![0.0, 1.0, 2.0, 3.0, 4.0]];
/// let (p, _) = bamg(a.pattern(), &every_other, &line, &Bamg::default())?;
/// assert_eq!(p.row(1).0, [0, 1]);
/// assert!((p.row(1).1[0] - 0.5).abs() < 1e-14);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For parameters and arguments that do not fit together, no test vectors or such that are not
/// finite; when memory is short.
pub fn bamg(
    strength: &Pattern,
    splitting: &Splitting,
    vectors: &[Vec<f64>],
    parameters: &Bamg,
) -> Result<(Csr<f64>, Splitting)> {
    let level = FittedLevel::new(strength, splitting, vectors, parameters)?;
    let numbers = splitting.coarse_index.buffer();
    if let Some((p, numbers, count)) =
        operations::interpolate::fitted(strength, numbers, vectors, parameters.limits())?
    {
        return Ok((p, Splitting::of_device((numbers, count))));
    }
    operations::on_host(strength.executor(), host_stages::BAMG);
    let rows = 0..strength.size().rows;
    let fitted = level.rows(rows.clone())?;
    let is_coarse = |row: usize| level.coarse[row] != NONE || fitted.is_promoted(row);
    let chosen = Splitting::of(rows.len(), is_coarse);
    let p = fitted.prolongation(&chosen)?;
    Ok((p, chosen))
}

/// The rows of [`bamg`] for some unknowns, where others are those of other ranks.
pub(in crate::multigrid) fn bamg_rows(
    strength: &Pattern,
    splitting: &Splitting,
    vectors: &[Vec<f64>],
    parameters: &Bamg,
    rows: Range<usize>,
) -> Result<FittedRows> {
    FittedLevel::new(strength, splitting, vectors, parameters)?.rows(rows)
}

/// Weights of some unknowns, by the unknowns they belong to.
pub(in crate::multigrid) struct FittedRows {
    /// A row that becomes coarse has a number that is none in its own column.
    weights: Csr<f64>,
    first: usize,
}

impl FittedRows {
    /// Whether an unknown becomes coarse.
    pub fn is_promoted(&self, unknown: usize) -> bool {
        let values = self.weights.row(unknown - self.first).1;
        values.first().is_some_and(|weight| weight.is_nan())
    }

    /// From numbers of unknowns to those of the next level.
    pub fn prolongation(&self, chosen: &Splitting) -> Result<Csr<f64>> {
        let (weights, coarse) = (&self.weights, &chosen.coarse_index);
        let executor = weights.executor();
        let fill = |(): &mut (), row: usize, out: &mut Rows<f64>| {
            let (columns, values) = weights.row(row);
            match coarse[self.first + row] {
                NONE => out.append_kept(executor, columns.len(), |at| {
                    (true, coarse[columns[at] as usize], values[at])
                }),
                own => out.append_entries(executor, &[(own, 1.0)]),
            }
        };
        let (pieces, bytes) = (weights.pattern().pieces(), weights.bytes());
        let arrays = build(executor, pieces, bytes, || (), fill)?;
        let size = Size::new(weights.size().rows, chosen.coarse_count);
        Ok(arrays.into_csr(executor, size))
    }
}

struct FittedLevel<'a> {
    strength: &'a Pattern,
    coarse: &'a [u32],
    vectors: &'a [Vec<f64>],
    parameters: &'a Bamg,
}

#[derive(Default)]
struct FitScratch {
    neighbours: Neighbours,
    basis: Basis,
    /// Unknowns, not yet their coarse numbers, and weights; sorted.
    entries: Vec<(u32, f64)>,
}

impl<'a> FittedLevel<'a> {
    /// What fits together.
    fn new(
        strength: &'a Pattern,
        splitting: &'a Splitting,
        vectors: &'a [Vec<f64>],
        parameters: &'a Bamg,
    ) -> Result<Self> {
        parameters.check()?;
        let (rows, coarse) = (Size::new(strength.size().rows, 1), &splitting.coarse_index);
        check_size(
            "choice of coarse unknowns",
            rows,
            Size::new(coarse.len(), 1),
        )?;
        let reason = "bamg needs at least one test vector";
        Error::check_parameter(!vectors.is_empty(), "vectors", reason)?;
        for vector in vectors {
            check_size("test vector", rows, Size::new(vector.len(), 1))?;
        }
        check_finite("test vector", vectors)?;
        Ok(Self {
            strength,
            coarse,
            vectors,
            parameters,
        })
    }

    fn rows(&self, rows: Range<usize>) -> Result<FittedRows> {
        let (executor, offsets) = (self.strength.executor(), self.strength.offsets());
        let first = rows.start;
        let bounds = balance(rows.len(), |row| {
            64 * (offsets[first + row] - offsets[first] + row)
        });
        let bytes = 64 * self.strength.bytes();
        let fill = |scratch: &mut FitScratch, row: usize, out: &mut Rows<f64>| {
            if !self.weigh(scratch, first + row) {
                // Told from weights, which are among coarse columns, by its own number.
                scratch.entries.push(((first + row) as u32, f64::NAN));
            }
            out.append_entries(executor, &scratch.entries)
        };
        let arrays = build(executor, &bounds, bytes, FitScratch::default, fill)?;
        let size = Size::new(rows.len(), self.strength.size().cols);
        Ok(FittedRows {
            weights: arrays.into_csr(executor, size),
            first,
        })
    }

    fn row(&self, unknown: usize) -> Vec<f64> {
        self.vectors.iter().map(|vector| vector[unknown]).collect()
    }

    /// Finds the entries of a row; says whether that worked. Coarse unknowns have none here.
    fn weigh(&self, scratch: &mut FitScratch, i: usize) -> bool {
        scratch.entries.clear();
        let target = self.row(i);
        if self.coarse[i] != NONE || target.iter().all(|&value| value == 0.0) {
            return true;
        }
        scratch.neighbours.start(self.coarse.len(), i);
        for distance in 1..=self.parameters.max_distance {
            let grown = scratch.neighbours.grow(self.strength, self.coarse);
            if !grown && distance == 1 {
                return true;
            }
            if distance >= self.parameters.min_distance && self.fits(scratch, &target) {
                return true;
            }
            if !grown {
                break;
            }
        }
        scratch.entries.clear();
        false
    }

    /// Weighs what is there; says whether that is good enough.
    fn fits(&self, scratch: &mut FitScratch, target: &[f64]) -> bool {
        let FitScratch {
            neighbours,
            basis,
            entries,
        } = scratch;
        let candidates = &neighbours.coarse;
        let row = |place: usize| self.row(candidates[place] as usize);
        basis.choose(target.len(), (0..candidates.len()).flat_map(row));
        let (weights, residual) = basis.weigh(target, row);
        entries.clear();
        let unknowns = basis.chosen.iter().map(|&place| candidates[place]);
        entries.extend(unknowns.zip(weights.iter().copied()));
        entries.sort_unstable_by_key(|entry| entry.0);
        let norm = norm(&weights);
        residual <= self.parameters.residual && norm <= self.parameters.norm
    }
}

#[cfg(test)]
mod tests;
