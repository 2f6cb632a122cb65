//! Matrices over ranks beside the same without.

use super::*;
use crate::arrays::Sweep;
use crate::linop::{LinOp, Transpose};
use crate::matrix::csr::testing::{assert_same, of_rows};
use crate::matrix::galerkin;
use crate::matrix::on_parts;
use crate::prelude::*;
use crate::testing::on_ranks;

const RANKS: [usize; 5] = [1, 2, 3, 7, 64];

/// A grid of 9 x 9 with couplings of every size, and one to a row far away.
pub(super) fn matrix() -> Csr<f64> {
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
    let device = device();
    let with_device = [1, 2, 3, 64].map(|ranks| (device.as_ref(), ranks));
    let all = RANKS.map(|ranks| (None, ranks)).into_iter();
    for (device, ranks) in all.chain(with_device.into_iter().filter(|(d, _)| d.is_some())) {
        on_parts(device, ranks, &whole, |rank, a| {
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
    let device = device();
    for device in [None].into_iter().chain(device.as_ref().map(Some)) {
        on_parts(device, 3, &matrix(), |rank, a| {
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
                let is_close = |value: &f64| (value - 1.0 - 2.0 * one).abs() < 1e-6;
                assert!(three.iter().all(is_close));
            }
            Ok(())
        });
    }
}

/// The memory of devices that are processors is that of the host: any rank can send it by its address.
#[test]
fn rows_may_go_from_device_to_device() {
    let devices = device().into_iter();
    let is_cpu = |one: &Executor| one.device().is_some_and(|one| one.properties().is_cpu);
    for device in devices.filter(is_cpu) {
        on_parts(Some(&device), 3, &matrix(), |rank, staged| {
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
        on_parts(None, ranks, &whole, |_, a| {
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
        on_parts(None, ranks, &whole, |rank, a| {
            let of_columns = Arc::new(Partition::even(27, 1, ranks));
            let p = Distributed::part_of_both(rank, &p, a.rows(), &of_columns)?;
            let r = p.transpose()?;
            let made = galerkin_shared(&r, &a, &p)?;
            let by = galerkin_in_blocks(&r, &a, &p, Size::square(1), galerkin)?;
            for (shared, expected) in [(&r, &whole_r), (&made, &coarse), (&by, &coarse)] {
                if let Some(found) = shared.gathered()? {
                    assert_same(&found, expected);
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
        on_ranks(ranks, |rank, team| {
            let mine = (team.rank() == 0).then_some(&whole);
            let a = Distributed::spread(rank, mine, 3)?;
            assert_eq!(a.total_nonzeros()?, whole.nonzeros() as u64);
            let again = a.gathered()?;
            assert_eq!(again.is_some(), team.rank() == 0);
            if let Some(again) = again {
                assert_same(&again, &whole);
            }
            Ok(())
        });
    }
}

#[test]
fn bad_rows_of_one_rank_are_refused_on_all() {
    let errors = on_ranks(2, |rank, team| {
        let column = if team.rank() == 1 { 7 } else { 0 };
        let (offsets, columns, refuse) = (vec![0, 1], vec![column], Duplicates::Refuse);
        let made = Distributed::from_rows(rank, offsets, columns, vec![1.0], refuse);
        Ok(made.unwrap_err().to_string())
    });
    assert_eq!(errors[1], "distributed: column 7 is outside 0..2");
    assert_eq!(errors[0], format!("rank 1: {}", errors[1]));
    let (alone, none) = (Executor::cpu(), Vec::<f64>::new());
    let made = Distributed::from_rows(&alone, vec![0], Vec::new(), none, Duplicates::Refuse);
    assert!(made.is_err());
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
            on_ranks(ranks, |rank, _| {
                let rows = whole.size().rows as u64;
                let even = Partition::even(rows, block, ranks);
                let is_whole = (0..ranks).all(|rank| even.range(rank).end.is_multiple_of(2));
                let a = Distributed::part_of(rank, &whole, even)?;
                let expected = match width == 2 && is_whole {
                    true => Some(2),
                    false => expected,
                };
                assert_eq!(a.unknowns_of_a_node()?, expected, "{width} on {ranks}");
                Ok(())
            });
        }
    }
}

#[test]
fn rows_and_vectors_are_renumbered_together() {
    let whole = matrix();
    let place = |row: u64| row * 10 % 81;
    let numbers: Vec<f64> = (0..81).map(f64::from).collect();
    for ranks in RANKS {
        on_parts(None, ranks, &whole, |_, a| {
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

/// A matrix of order 23 with couplings to distant rows; those in both directions if it is mutual.
fn distant(is_mutual: bool) -> Csr<f64> {
    let a: Csr<f64> = of_rows(&Executor::cpu(), Size::square(23), Duplicates::Sum, |row| {
        let near = [row, (row * 3 + 1) % 23, (row + 7) % 23].into_iter();
        near.enumerate()
            .map(|(place, column)| (column, (3 * row + place) as f64))
            .collect()
    });
    match is_mutual {
        true => a.add(1.0, 0.5, &a.transpose().unwrap()).unwrap(),
        false => a,
    }
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
        on_parts(None, ranks, &distant(is_mutual), |host, here| {
            let rank = host.with_device(device.name())?;
            let there = here.on(&rank)?.with_rows_there()?;
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
            let x = Vector::from_column(host, (0..here.size().rows).map(|k| k as f64).collect());
            let (mut y, mut z) = (x.clone(), x.clone());
            let ws = Workspace::new();
            here.apply(&x, &mut y, &ws)?;
            there.on(host)?.apply(&x, &mut z, &ws)?;
            assert_eq!(z.to_vec(), y.to_vec());
            let x = x.copy_to(&rank)?;
            let mut z = x.clone();
            there.apply(&x, &mut z, &ws)?;
            assert_eq!(z.to_vec(), y.to_vec());
            Ok(())
        });
    }
}

/// A line of points with 2.5 on the diagonal; `change` has the last word on the entry at a row and a column.
fn line(change: impl Fn(usize, usize, f64) -> Option<f64>) -> Csr<f64> {
    let n = 70;
    of_rows(
        &Executor::cpu(),
        Size::square(n),
        Duplicates::Refuse,
        |row| {
            let near = row.saturating_sub(1)..(row + 2).min(n);
            let entries = near.filter_map(|column| {
                let value = if row == column { 2.5 } else { -1.0 };
                change(row, column, value).map(|value| (column, value))
            });
            entries.collect()
        },
    )
}

#[test]
fn rows_of_a_small_boundary_are_computed_apart() {
    let whole = line(|row, _, value| Some(value / (1 + row) as f64));
    let x: Vec<f64> = (0..70).map(|row| 1.0 / f64::from(1 + row)).collect();
    let mut expected = Vector::<f64>::zeros(whole.executor(), 70, 1).unwrap();
    let all = Vector::from_column(whole.executor(), x.clone());
    whole.apply(&all, &mut expected, &Workspace::new()).unwrap();
    for ranks in [1, 2, 3] {
        on_parts(None, ranks, &whole, |rank, a| {
            let own = a.rows().range(a.team().rank());
            let own = own.start as usize..own.end as usize;
            let here = Vector::from_column(rank, x[own.clone()].to_vec());
            let mut y = Vector::<f64>::filled(rank, own.len(), 1, 9.0)?;
            a.apply(&here, &mut y, &Workspace::new())?;
            assert_eq!(y.to_vec(), expected.to_vec()[own]);
            Ok(())
        });
    }
}

#[test]
fn symmetry_and_a_positive_diagonal_are_found_on_all_ranks() {
    type Change = fn(usize, usize, f64) -> Option<f64>;
    let cases: [(Change, [bool; 2]); 5] = [
        (|_, _, value| Some(value), [true, true]),
        (
            |i, j, value| ((i, j) != (35, 34)).then_some(value),
            [false, true],
        ),
        (
            |i, j, value| ((i, j) != (34, 35)).then_some(value),
            [false, true],
        ),
        (
            |i, j, value| Some(if (i, j) == (35, 34) { -1.1 } else { value }),
            [false, true],
        ),
        (
            |i, j, value| Some(if (i, j) == (40, 40) { -value } else { value }),
            [true, false],
        ),
    ];
    for (change, expected) in cases {
        let whole = line(change);
        assert_eq!(whole.symmetric_and_positive().unwrap(), expected);
        for ranks in [1, 2, 3] {
            on_parts(None, ranks, &whole, |_, a| {
                assert_eq!(a.symmetric_and_positive()?, expected);
                Ok(())
            });
        }
    }
}

#[test]
fn complex_matrices_are_hermitian_and_products_with_adjoints_are_those_without_ranks() {
    // Conjugates, equal imaginary parts, and an imaginary part on the diagonal.
    for (sign, own, expected) in [(-1.0, 0.0, true), (1.0, 0.0, false), (-1.0, 0.1, false)] {
        let real = line(|_, _, value| Some(value));
        let columns = real.columns();
        let whole = Csr::from_places(real.pattern(), |row, place| {
            let imaginary = match columns[place] as usize {
                column if column == row => own,
                column if column > row => 0.5,
                _ => 0.5 * sign,
            };
            c64::new(real.values()[place], imaginary)
        })
        .unwrap();
        assert_eq!(whole.symmetric_and_positive().unwrap(), [expected, true]);
        let adjoint = whole.adjoint().unwrap();
        for ranks in [1, 2, 3, 7] {
            on_parts(None, ranks, &whole, |rank, a| {
                assert_eq!(a.symmetric_and_positive()?, [expected, true]);
                if let Some(found) = a.adjoint()?.gathered()? {
                    assert_eq!(found.values(), adjoint.values());
                }
                let x = Vector::<c64>::filled(rank, a.size().rows, 1, 1.0)?;
                let (mut y, mut z) = (Vector::zeros_like(&x)?, Vector::zeros_like(&x)?);
                let (mode, ws) = (Transpose::Conjugate, Workspace::new());
                LinOp::<c64>::apply_transposed(&a, mode, &x, &mut y, &ws)?;
                a.adjoint()?.apply(&x, &mut z, &ws)?;
                let pairs = y.to_vec().into_iter().zip(z.to_vec());
                let mut pairs = pairs.into_iter();
                assert!(pairs.all(|(y, z): (c64, c64)| (y - z).norm() < 1e-14));
                Ok(())
            });
        }
    }
}
