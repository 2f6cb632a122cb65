//! One row of a prolongation under construction.

use num_traits::Zero;

use super::couplings::{Couplings, opposes};
use crate::matrix::zeroed;
use crate::multigrid::coarsen::most_common;
use crate::operations::interpolate::WeightMethod;
use crate::prelude::*;

/// Which points a row interpolates from, and what its weights are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::multigrid) enum Formula {
    Direct,
    Classical,
    Extended,
    ExtendedI,
    Hybrid,
}

impl Formula {
    pub(super) fn on_device(self) -> Option<WeightMethod> {
        match self {
            Self::Direct => Some(WeightMethod::Direct),
            Self::Classical => Some(WeightMethod::Classical),
            Self::Extended => Some(WeightMethod::Extended),
            Self::ExtendedI => Some(WeightMethod::ExtendedI),
            Self::Hybrid => None,
        }
    }

    pub(super) fn fill<V: Field>(self, row: &mut Row<V>, level: &Couplings<'_, V>, i: usize) {
        if matches!(self, Self::ExtendedI | Self::Hybrid) {
            row.add(i as u32);
        }
        row.add_neighbours(level, i);
        match self {
            Self::Direct => return row.weigh_directly(level, i),
            Self::Classical => {}
            Self::Extended | Self::ExtendedI => row.add_distant(level),
            Self::Hybrid => row.cover(level),
        }
        row.weigh(level, i);
    }
}

/// Marks a strong fine neighbour; it gets no weight, its couplings are passed on.
const PASSED_ON: u32 = u32::MAX;

/// The set of points that row `i` interpolates from and what their weights are made of.
///
/// Memory is kept from row to row.
#[derive(Default)]
pub(super) struct Row<V = f64> {
    /// For every point zero, [`PASSED_ON`], or one more than its place in `points`.
    marks: Vec<u32>,
    /// The points that the row interpolates from, in the order they were met.
    points: Vec<u32>,
    /// For each of them the numerator of its weight.
    sums: Vec<V>,
    fine: Vec<u32>,
    /// The entries of a neighbour's row that stand in columns of `points`.
    shares: Vec<(u32, V)>,
    /// The finished row: coarse columns and weights.
    pub(super) entries: Vec<(u32, V)>,
}

impl<V: Field> Row<V> {
    /// Forgets the last row.
    pub(super) fn start(&mut self, executor: &Executor, points: usize) -> Result<()> {
        if self.marks.is_empty() {
            self.marks = zeroed(executor, points)?;
        }
        for &point in self.points.iter().chain(&self.fine) {
            self.marks[point as usize] = 0;
        }
        self.points.clear();
        self.sums.clear();
        self.fine.clear();
        self.entries.clear();
        Ok(())
    }

    /// Adds a point to interpolate from, unless it is known.
    #[inline]
    fn add(&mut self, point: u32) {
        let mark = &mut self.marks[point as usize];
        if *mark == 0 {
            self.points.push(point);
            self.sums.push(V::zero());
            *mark = self.points.len() as u32;
        }
    }

    /// Adds the strong coarse neighbours and notes the strong fine ones.
    fn add_neighbours(&mut self, level: &Couplings<'_, V>, i: usize) {
        for &j in level.strong(i) {
            if level.is_coarse(j) {
                self.add(j);
            } else if j as usize != i {
                self.marks[j as usize] = PASSED_ON;
                self.fine.push(j);
            }
        }
    }

    fn add_distant(&mut self, level: &Couplings<'_, V>) {
        for place in 0..self.fine.len() {
            for &l in level.strong_coarse(self.fine[place]) {
                self.add(l);
            }
        }
    }

    /// Adds coarse unknowns until every strong fine neighbour that has some is coupled to one.
    fn cover(&mut self, level: &Couplings<'_, V>) {
        let coarse = |k: u32| level.strong_coarse(k).iter().copied();
        let mut open = self.fine.clone();
        let mut candidates = Vec::new();
        loop {
            open.retain(|&k| !coarse(k).any(|l| self.place(l).is_some()));
            candidates.clear();
            candidates.extend(open.iter().flat_map(|&k| coarse(k)));
            match most_common(&mut candidates) {
                Some(point) => self.add(point),
                None => return,
            }
        }
    }

    /// The weights of the coarse neighbours by the couplings of the row alone.
    fn weigh_directly(&mut self, level: &Couplings<'_, V>, i: usize) {
        // Sums over the couplings below and above zero.
        let (mut all, mut coarse) = ([V::zero(); 2], [V::zero(); 2]);
        let sign = |value: V| usize::from(value.real() > V::Real::zero());
        let (columns, values) = level.a.row(i);
        for (&j, &value) in columns.iter().zip(values) {
            if j as usize == i {
                continue;
            }
            all[sign(value)] += value;
            if let Some(place) = self.place(j) {
                coarse[sign(value)] += value;
                self.sums[place] = value;
            }
        }
        let mut diagonal = level.diagonal[i];
        for sign in 0..2 {
            if coarse[sign] == V::zero() {
                diagonal += all[sign];
            }
        }
        self.finish(level, |value| {
            let alpha = all[sign(value)] / coarse[sign(value)];
            -alpha * value / diagonal
        });
    }

    #[inline(always)]
    fn place(&self, point: u32) -> Option<usize> {
        match self.marks[point as usize] {
            0 | PASSED_ON => None,
            mark => Some(mark as usize - 1),
        }
    }

    /// The weights of the set `Ĉ_i` found so far, where `k` are strong fine neighbours:
    ///
    /// `w_ij = -(a_ij + Σ_k a_ik ā_kj / b_ik) / ã_ii`, `b_ik = Σ_{l∈Ĉ_i} ā_kl`,
    ///
    /// with `ā_kl = a_kl` where its sign is not that of `a_kk`, else zero. The diagonal `ã_ii` is
    /// `a_ii`, couplings that are neither in the set nor passed on, and those to `k` with
    /// `b_ik = 0`. If `i` itself is in the set, its numerator goes to the diagonal.
    fn weigh(&mut self, level: &Couplings<'_, V>, i: usize) {
        let mut diagonal = V::zero();
        let (columns, values) = level.a.row(i);
        for (&j, &value) in columns.iter().zip(values) {
            match self.marks[j as usize] {
                _ if j as usize == i => diagonal += value,
                0 => diagonal += value,
                PASSED_ON => diagonal += self.pass_on(level, i, j as usize, value),
                mark => self.sums[mark as usize - 1] += value,
            }
        }
        if let Some(own) = self.place(i as u32) {
            diagonal += self.sums[own];
        }
        self.finish(level, |sum| -sum / diagonal);
    }

    /// Shares `coupling` of `i` among the points of the set, which are coarse or `i` itself, as row
    /// `k` does; what is left over is returned.
    fn pass_on(&mut self, level: &Couplings<'_, V>, i: usize, k: usize, coupling: V) -> V {
        self.shares.clear();
        let mut total = V::zero();
        let (columns, values) = level.to_coarse.row(k);
        for (&l, &value) in columns.iter().zip(values) {
            let mark = self.marks[l as usize];
            if mark != 0 {
                self.shares.push((mark - 1, value));
                total += value;
            }
        }
        if let Some(own) = self.place(i as u32) {
            let back = level.a.entry(k, i).unwrap_or_default();
            if opposes(back, level.diagonal[k]) {
                self.shares.push((own as u32, back));
                total += back;
            }
        }
        if total == V::zero() {
            return coupling;
        }
        let factor = coupling / total;
        for &(place, value) in &self.shares {
            self.sums[place as usize] += factor * value;
        }
        V::zero()
    }

    /// Turns sums into entries; a weight that is zero or not finite makes none.
    fn finish(&mut self, level: &Couplings<'_, V>, weight: impl Fn(V) -> V) {
        for (&point, &sum) in self.points.iter().zip(&self.sums) {
            let weight = weight(sum);
            if level.is_coarse(point) && weight != V::zero() && weight.is_finite() {
                self.entries.push((level.coarse[point as usize], weight));
            }
        }
    }
}
