//! Matrices over ranks beside the same without.

use std::sync::Arc;

use super::testing::on_ranks;
use super::*;
use crate::arrays::Sweep;
use crate::communicator::threads;
use crate::linop::{LinOp, Transpose};
use crate::matrix::csr::testing::of_rows;
use crate::matrix::galerkin;
use crate::scalar::f16;
use crate::vector::{Coefficient, Vector};
use crate::workspace::Workspace;

const RANKS: [usize; 5] = [1, 2, 3, 7, 64];

/// A grid of 9 x 9 with couplings of every size, and one to a row far away.
fn matrix() -> Csr<f64> {
    let n = 81;
    let alone = Executor::cpu_with_threads(1).unwrap();
    of_rows(&alone, Size::square(n), Duplicates::Refuse, |row| {
        let mut near = vec![(row * 7 + 3) % n, row];
        near.extend((row % 9 > 0).then(|| row - 1));
        near.extend((row % 9 < 8).then(|| row + 1));
        near.extend((row >= 9).then(|| row - 9));
        near.extend((row < 72).then(|| row + 9));
        near.sort_unstable();
        near.dedup();
        let entry = |column: usize| {
            let value = 1.0 / (3 + row + 2 * column) as f64;
            let value = if column == row { 4.0 + value } else { -value };
            (column, value)
        };
        near.into_iter().map(entry).collect()
    })
}

/// A prolongation from every third row.
fn prolongation(executor: &Executor) -> Csr<f64> {
    of_rows(executor, Size::new(81, 27), Duplicates::Refuse, |row| {
        let value = |place: usize| 1.0 / (place + 2) as f64;
        let (first, next) = (row / 3, (row / 3 + 1) % 27);
        vec![(first, value(2 * row)), (next, value(2 * row + 1))]
    })
}

/// The own part of a vector of the whole matrix.
fn own(a: &Distributed<f64>, whole: &[f64]) -> Vec<f64> {
    let range = a.rows().range(a.team().rank());
    whole[range.start as usize..range.end as usize].to_vec()
}

/// Kernels add the entries of rows that are alike in an order of their own.
fn assert_close(found: &Vector<f64>, expected: &[f64]) {
    assert_eq!(found.rows(), expected.len());
    let mut pairs = found.to_vec().into_iter().zip(expected);
    assert!(pairs.all(|(found, expected)| (found - expected).abs() < 1e-14));
}

fn sweep<'v>(b: &'v Vector<f64>, d: &'v Vector<f64>) -> Sweep<'v, f64> {
    let (alpha, beta, gamma) = (0.7, 1.1, -0.2);
    Sweep {
        b,
        d,
        alpha,
        beta,
        gamma,
    }
}

#[test]
fn products_are_those_of_the_whole_matrix() {
    let (whole, ws) = (matrix(), Workspace::new());
    let numbers: Vec<f64> = (0..81).map(|row| 1.0 / f64::from(row + 1)).collect();
    let x = Vector::from_column(whole.executor(), numbers.clone());
    let d = Vector::<f64>::filled(whole.executor(), 81, 1, 0.3).unwrap();
    let (mut product, mut residual, mut swept) = (x.clone(), x.clone(), x.clone());
    whole.apply(&x, &mut product, &ws).unwrap();
    whole.residual(&d, &x, &mut residual, &ws).unwrap();
    whole.relax(sweep(&x, &d), &x, &mut swept, &ws).unwrap();
    let mut transposed = x.clone();
    whole
        .apply_transposed(Transpose::Plain, &x, &mut transposed, &ws)
        .unwrap();
    let expected = [product, residual, swept].map(|v| v.to_vec());
    let transposed = transposed.to_vec();
    let device = crate::testing::device();
    let with_device = [1, 2, 3, 64].map(|ranks| (device.as_ref(), ranks));
    let all = RANKS.map(|ranks| (None, ranks)).into_iter();
    for (device, ranks) in all.chain(with_device.into_iter().filter(|(d, _)| d.is_some())) {
        on_ranks(device, ranks, &whole, |rank, a| {
            let ws = Workspace::new();
            let x = Vector::from_column(rank, own(&a, &numbers));
            let d = Vector::<f64>::filled(rank, x.rows(), 1, 0.3)?;
            let mut y = x.clone();
            a.apply(&x, &mut y, &ws)?;
            assert_close(&y, &own(&a, &expected[0]));
            a.residual(&d, &x, &mut y, &ws)?;
            assert_close(&y, &own(&a, &expected[1]));
            let mut y = x.clone();
            a.relax(sweep(&x, &d), &x, &mut y, &ws)?;
            assert_close(&y, &own(&a, &expected[2]));
            a.apply_transposed(Transpose::Plain, &x, &mut y, &ws)?;
            assert_close(&y, &own(&a, &transposed));
            Ok(())
        });
    }
}

#[test]
fn several_columns_and_precisions_go_together() {
    let device = crate::testing::device();
    columns_and_precisions(None);
    device
        .iter()
        .for_each(|device| columns_and_precisions(Some(device)));
}

fn columns_and_precisions(device: Option<&Executor>) {
    on_ranks(device, 3, &matrix(), |rank, a| {
        let ws = Workspace::new();
        let half = a.convert::<f16>()?;
        let rows = a.size().rows;
        let x = Vector::<f32>::filled(rank, rows, 3, 1.0)?;
        let mut y = Vector::<f64>::filled(rank, rows, 3, 1.0)?;
        half.apply_advanced(Coefficient::real(2.0), &x, Coefficient::one(), &mut y, &ws)?;
        let mut single = Vector::<f64>::zeros(rank, rows, 1)?;
        let one = Vector::<f32>::filled(rank, rows, 1, 1.0)?;
        half.apply(&one, &mut single, &ws)?;
        let pairs = y.to_vec();
        for (three, one) in pairs.chunks_exact(3).zip(single.to_vec()) {
            assert!(
                three
                    .iter()
                    .all(|value| (value - 1.0 - 2.0 * one).abs() < 1e-6)
            );
        }
        Ok(())
    });
}

/// The memory of devices that are processors is that of the host: any rank can send it by its address.
#[test]
fn rows_may_go_from_device_to_device() {
    let devices = crate::testing::device().into_iter();
    let is_cpu = |one: &Executor| one.device().is_some_and(|one| one.properties().is_cpu);
    for device in devices.filter(is_cpu) {
        on_ranks(Some(&device), 3, &matrix(), |rank, staged| {
            let Executor::Gpu(gpu) = rank.on_host().with_device(rank.name())? else {
                panic!("a rank with a device");
            };
            let gpu = Arc::into_inner(gpu).expect("a device of its own");
            let sending = Executor::Gpu(Arc::new(gpu.sending_memory(true)));
            let (ws, direct) = (Workspace::new(), staged.on(&sending)?);
            let product = |a: &Distributed<f64>| -> Result<Vec<f64>> {
                let rows = a.size().rows;
                let x = (0..3 * rows).map(|place| place as f64).collect();
                let x = Vector::from_rows(a.executor(), 3, x)?;
                let mut y = Vector::zeros_like(&x)?;
                // Twice: the second one receives where the first has read.
                a.apply(&x, &mut y, &ws)?;
                a.apply(&y.clone(), &mut y, &ws)?;
                Ok(y.to_vec())
            };
            assert!(product(&direct)? == product(&staged)?);
            Ok(())
        });
    }
}

#[test]
fn an_overlap_is_the_principal_submatrix() {
    let whole = matrix();
    for ranks in RANKS {
        on_ranks(None, ranks, &whole, |_, a| {
            for (rings, block) in [(0, 1), (1, 1), (2, 3), (3, 1)] {
                let near = a.overlapped(rings, block)?;
                assert_eq!(near.matrix.size(), Size::square(near.halo.len()));
                for row in 0..near.halo.len() {
                    let global = near.halo.global(row) as usize;
                    let (columns, values) = whole.row(global);
                    let inside = columns.iter().zip(values).filter_map(|(&column, &value)| {
                        near.halo
                            .local(u64::from(column))
                            .map(|local| (local, value))
                    });
                    let (columns, values) = near.matrix.row(row);
                    let found = columns.iter().copied().zip(values.iter().copied());
                    assert!(
                        found.eq(inside),
                        "{ranks} ranks, {rings} rings, row {global}"
                    );
                }
            }
            let near = a.surrounded(1, 1)?;
            assert_eq!(near.own_rows(&near.matrix)?.size().rows, a.size().rows);
            let first = a.overlapped(1, 1)?.halo;
            for row in 0..near.halo.len() {
                let global = near.halo.global(row);
                let (columns, entries) = whole.row(global as usize);
                let refers = |&column: &u32| a.columns().own_rows().contains(&u64::from(column));
                let is_beside = first.local(global).is_some() || columns.iter().any(refers);
                let found = near.matrix.row(row).1;
                let expected = if is_beside { entries } else { &[] };
                assert_eq!(found, expected, "{ranks} ranks, row {global}");
            }
            Ok(())
        });
    }
}

#[test]
fn transposed_and_triple_products_have_the_bits_of_the_whole_matrices() {
    let whole = matrix();
    let p = prolongation(whole.executor());
    let whole_r = p.transpose().unwrap();
    let coarse = galerkin(&whole_r, &whole, &p).unwrap();
    for ranks in RANKS {
        on_ranks(None, ranks, &whole, |rank, a| {
            let arrays = spread::own_rows(&p, a.rows().range(a.team().rank()));
            let of_columns = Arc::new(Partition::even(27, 1, ranks));
            let p =
                Distributed::of_columns(rank, a.rows(), &of_columns, arrays, Duplicates::Refuse)?;
            let r = p.transpose()?;
            let made = galerkin_shared(&r, &a, &p)?;
            let by = galerkin_in_blocks(&r, &a, &p, Size::square(1), galerkin)?;
            for (shared, expected) in [(&r, &whole_r), (&made, &coarse), (&by, &coarse)] {
                if let Some(found) = shared.gathered()? {
                    assert_eq!(found.size(), expected.size());
                    assert_eq!(found.columns(), expected.columns());
                    assert_eq!(found.values(), expected.values());
                }
            }
            Ok(())
        });
    }
}

#[test]
fn a_matrix_is_spread_and_gathered() {
    let whole = matrix();
    for ranks in RANKS {
        threads::run(ranks, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let mine = (team.rank() == 0).then_some(&whole);
            let a = Distributed::spread(&rank, mine, 3)?;
            assert_eq!(a.total_nonzeros()?, whole.nonzeros() as u64);
            let again = a.gathered()?;
            assert_eq!(again.is_some(), team.rank() == 0);
            if let Some(again) = again {
                assert_eq!(
                    (again.columns(), again.values()),
                    (whole.columns(), whole.values())
                );
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn bad_rows_of_one_rank_are_refused_on_all() {
    let errors = threads::run(2, |team| {
        let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        let column = if team.rank() == 1 { 7 } else { 0 };
        let made = Distributed::from_rows(
            &rank,
            vec![0, 1],
            vec![column],
            vec![1.0],
            Duplicates::Refuse,
        );
        Ok(made.unwrap_err().to_string())
    });
    let errors = errors.unwrap();
    assert_eq!(errors[1], "distributed: column 7 is outside 0..2");
    assert_eq!(errors[0], format!("rank 1: {}", errors[1]));
    let alone = Distributed::from_rows(
        &Executor::cpu(),
        vec![0],
        Vec::new(),
        Vec::<f64>::new(),
        Duplicates::Refuse,
    );
    assert!(alone.is_err());
}

/// Displacements of a plane on a grid of 12 x 12: `(2 + s) (v_x, w_x) + ...` with a coupling of both components that
/// annihilates constants.
fn elastic(width: usize) -> Csr<f64> {
    let n = 12;
    let alone = Executor::cpu_with_threads(1).unwrap();
    let size = Size::square(n * n * width);
    let steps = || (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
    of_rows(&alone, size, Duplicates::Refuse, |row| {
        let (node, own) = (row / width, row % width);
        let (x, y) = ((node % n) as i64, (node / n) as i64);
        let mut entries = Vec::new();
        for (dx, dy) in steps() {
            let (to_x, to_y) = (x + dx, y + dy);
            if !(0..n as i64).contains(&to_x) || !(0..n as i64).contains(&to_y) {
                continue;
            }
            for component in 0..width {
                let value = match (component == own, dx * dy) {
                    (true, _) if (dx, dy) == (0, 0) => 8.0,
                    (true, _) => -1.0,
                    (false, corner) => 0.3 * corner as f64,
                };
                if value != 0.0 {
                    let node = (to_y * n as i64 + to_x) as usize;
                    entries.push((node * width + component, value));
                }
            }
        }
        entries
    })
}

#[test]
fn unknowns_of_a_node_are_found_where_ranks_have_whole_nodes() {
    for (width, block, expected) in [(2, 2, Some(2)), (3, 3, Some(3)), (1, 1, None), (2, 1, None)] {
        let whole = elastic(width);
        for ranks in [1, 2, 5] {
            threads::run(ranks, |team| {
                let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
                let rows = whole.size().rows as u64;
                let even = Partition::even(rows, block, ranks);
                let is_whole = (0..ranks).all(|rank| even.range(rank).end.is_multiple_of(2));
                let a = Distributed::part_of(&rank, &whole, even)?;
                let expected = match width == 2 && is_whole {
                    true => Some(2),
                    false => expected,
                };
                assert_eq!(a.unknowns_of_a_node()?, expected, "{width} on {ranks}");
                Ok(())
            })
            .unwrap();
        }
    }
}

#[test]
fn rows_and_vectors_are_renumbered_together() {
    let whole = matrix();
    let place = |row: u64| row * 10 % 81;
    let numbers: Vec<f64> = (0..81).map(f64::from).collect();
    for ranks in RANKS {
        on_ranks(None, ranks, &whole, |_, a| {
            let (b, vectors) = a.renumbered(place, &[own(&a, &numbers)])?;
            let found = b.gathered_values(&vectors[0])?;
            if let Some(b) = b.gathered()? {
                for row in 0..81 {
                    let at = place(row as u64) as usize;
                    assert_eq!(found[at], row as f64);
                    for (&column, &value) in whole.row(row).0.iter().zip(whole.row(row).1) {
                        assert_eq!(b.entry(at, place(u64::from(column)) as usize), Some(value));
                    }
                }
            }
            Ok(())
        });
    }
}
