use super::*;
use crate::precond::testing::{assemble, from_dense, hermitian, made, made_of};

fn of_size(block_size: usize, adaptive: bool) -> BlockJacobi {
    BlockJacobi {
        block_size,
        adaptive,
        ..BlockJacobi::default()
    }
}

#[test]
fn rows_of_equal_pattern_stay_together() {
    let blocks = |row: usize| [0, 0, 2, 2, 4][row];
    let entry = |k: usize| f64::from(blocks(k / 5) == blocks(k % 5));
    let dense: Vec<f64> = (0..25).map(entry).collect();
    let a = from_dense(&Executor::reference(), 5, &dense);
    assert_eq!(find_blocks(a.pattern(), 3), [0, 2, 5]);
    assert_eq!(find_blocks(a.pattern(), 4), [0, 4, 5]);
    assert_eq!(find_blocks(a.pattern(), 1), [0, 1, 2, 3, 4, 5]);
    let empty = from_dense::<f64>(&Executor::reference(), 0, &[]);
    assert_eq!(find_blocks(empty.pattern(), 3), [0]);
}

#[test]
fn blocks_choose_their_precision_by_condition_and_range() {
    for (diagonal, expected) in [
        ([1.0, 1e-1], "0 blocks in f64, 0 in f32, 1 in f16"),
        ([1.0, 1e-4], "0 blocks in f64, 1 in f32, 0 in f16"),
        ([1.0, 1e-9], "1 blocks in f64, 0 in f32, 0 in f16"),
        ([1e-6, 1e-6], "0 blocks in f64, 1 in f32, 0 in f16"),
        ([1e9, 1e9], "0 blocks in f64, 1 in f32, 0 in f16"),
    ] {
        let dense = [diagonal[0], 0.0, 0.0, diagonal[1]];
        let m = made_of(&of_size(2, true), 2, &dense).unwrap();
        assert_eq!(format!("{m:?}"), format!("block-jacobi: {expected}"));
    }
    let held = |adaptive| {
        let m = made_of(&of_size(2, adaptive), 2, &[4.0, 1.0, 1.0, 3.0]);
        m.unwrap().footprint().held
    };
    assert_eq!(held(false) - held(true), 4 * (8 - 2));
}

#[test]
fn complex_blocks_are_narrowed_in_pairs() {
    let a = hermitian::<c64>(&Executor::reference(), 3);
    let [exact, narrow] = [false, true].map(|adaptive| {
        let m = made(&of_size(3, adaptive), &a).unwrap();
        (format!("{m:?}"), assemble(m.as_ref(), None))
    });
    assert!(narrow.0.ends_with("1 in f16"), "{}", narrow.0);
    for (exact, narrow) in exact.1.iter().zip(&narrow.1) {
        assert!((exact - narrow).norm() < 1e-3);
    }
    assert!(narrow.1.iter().any(|value| value.im != 0.0));
}
