//! Prolongations of less energy over ranks.

use super::choice::NextNumbers;
use crate::error::Result;
use crate::matrix::{Csr, Distributed, Halo};
use crate::multigrid::interpolate::{OwnRows, check_energy, energy_minimised_near};
use crate::multigrid::systems::spread_over;
use crate::vector::Vector;

/// Own rows of a prolongation, as [`energy_minimised`](crate::multigrid::interpolate::energy_minimised) changes them, for
/// own rows of vectors of the next level. The matrix has the rows nearby that a halo of `fine` numbers. All ranks call it
/// together.
pub(super) fn lowered(
    (a, fine): (&Csr<f64>, &Halo),
    (p, next): (Csr<f64>, &NextNumbers),
    vectors: &[Vec<f64>],
    fixed: impl Fn(usize) -> bool + Sync,
    steps: usize,
    whole: &Distributed<f64>,
) -> Result<Csr<f64>> {
    let (team, executor) = (whole.team(), whole.executor());
    let (numbers, partition) = (&next.numbers, &next.partition);
    let values = p.values().to_vec();
    let shared = Distributed::of_numbered(executor, whole.rows(), partition, numbers, p.clone())?;
    let wanted = whole.columns().others();
    let of_rows = |values: Vec<f64>| shared.with_values(values)?.rows_of(wanted, fine);
    let (_, columns) = of_rows(values)?;
    let columns = Halo::new(team, partition, columns.others().to_vec())?;
    let vectors = vectors.iter().map(|own| spread_over(&columns, own));
    let vectors: Vec<Vec<f64>> = vectors.collect::<Result<_>>()?;
    team.agree(check_energy(a, &vectors, columns.len(), fine.own()))?;
    let own = OwnRows {
        rows: fine.own(),
        near: |x: &Vector<f64>| Ok(of_rows(x.to_vec())?.0),
        sum: |own: f64| {
            let mut all = [own];
            team.sum(&mut all)?;
            Ok(all[0])
        },
    };
    energy_minimised_near(a, &p, &vectors, fixed, steps, own)
}
