//! Rows that are on the devices of ranks beside those of their hosts.

use super::*;
use crate::communicator::threads;
use crate::linop::LinOp;
use crate::matrix::csr::testing::assert_same;
use crate::testing::device;
use crate::vector::Vector;
use crate::workspace::Workspace;

/// A matrix of order 23 with couplings to distant rows; those in both directions if it is mutual.
fn whole(is_mutual: bool) -> Csr<f64> {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for row in 0..23_u32 {
        for column in [row, (row * 3 + 1) % 23, (row + 7) % 23] {
            rows.push(row);
            columns.push(column);
            if is_mutual && column != row {
                rows.push(column);
                columns.push(row);
            }
        }
    }
    let values = (0..rows.len()).map(|k| 1.0 + k as f64).collect();
    let size = Size::square(23);
    Csr::from_triplets(
        &Executor::cpu(),
        size,
        rows,
        columns,
        values,
        Duplicates::Sum,
    )
    .unwrap()
}

fn assert_alike(found: &Distributed<f64>, expected: &Distributed<f64>) {
    assert!(found.local().executor().is_device());
    assert_eq!(found.columns().others(), expected.columns().others());
    assert_same(found.local(), expected.local());
}

#[test]
fn what_devices_make_of_their_rows_is_what_hosts_make() {
    let Some(device) = device() else { return };
    for (ranks, is_mutual) in [(1, true), (2, false), (3, true), (3, false)] {
        let whole = whole(is_mutual);
        threads::run(ranks, |team| {
            let host = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let rank = host.with_device(device.name())?;
            let rows = Partition::even(23, 1, ranks);
            let here = Distributed::part_of(&host, &whole, rows.clone())?;
            let there = Distributed::part_of(&rank, &whole, rows)?.with_rows_there()?;
            assert_eq!(there.is_mutual()?, here.is_mutual()?);
            let [near, expected] = [there.surrounded(1, 1)?, here.surrounded(1, 1)?];
            assert_eq!(near.halo.others(), expected.halo.others());
            assert_same(&near.matrix, &expected.matrix);
            assert_same(
                &near.own_rows(&near.matrix)?,
                &expected.own_rows(&expected.matrix)?,
            );
            let [flipped, expected] = [there.transpose()?, here.transpose()?];
            assert_alike(&flipped, &expected);
            assert_alike(
                &galerkin_shared(&flipped, &there, &there)?,
                &galerkin_shared(&expected, &here, &here)?,
            );
            let x = Vector::from_column(&host, (0..here.size().rows).map(|k| k as f64).collect());
            let (mut y, mut z) = (
                Vector::<f64>::zeros_like(&x)?,
                Vector::<f64>::zeros_like(&x)?,
            );
            let ws = Workspace::new();
            here.apply(&x, &mut y, &ws)?;
            there.on(&host)?.apply(&x, &mut z, &ws)?;
            assert_eq!(z.to_vec(), y.to_vec());
            let x = x.copy_to(&rank)?;
            let mut z = Vector::<f64>::zeros_like(&x)?;
            there.apply(&x, &mut z, &ws)?;
            assert_eq!(z.to_vec(), y.to_vec());
            Ok(())
        })
        .unwrap();
    }
}
