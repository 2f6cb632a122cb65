use super::*;
use crate::gallery;
use crate::precond::testing::{
    assemble, assemble_transposed, from_dense, hermitian, identity_error, largest_difference, made,
    made_of, multiply,
};
use crate::scalar::c64;
use vcycle_core::testing::device;

fn of_size(block_size: usize, adaptive: bool) -> BlockJacobi {
    BlockJacobi {
        block_size,
        adaptive,
        ..BlockJacobi::default()
    }
}

#[test]
fn one_block_is_the_inverse() {
    let a = [0.0, 1.0, 2.0, 3.0, 5.0, 1.0, -2.0, 1.0, 6.0];
    let m = made_of(&of_size(3, false), 3, &a).unwrap();
    let product = multiply(3, &assemble(m.as_ref()), &a);
    assert!(identity_error(3, &product) < 1e-14);
}

#[test]
fn rows_of_equal_pattern_stay_together() {
    let a = from_dense(
        &Executor::reference(),
        5,
        &[
            2.0, 1.0, 0.0, 0.0, 0.0, //
            1.0, 2.0, 0.0, 0.0, 0.0, //
            0.0, 0.0, 2.0, 1.0, 0.0, //
            0.0, 0.0, 1.0, 2.0, 0.0, //
            0.0, 0.0, 0.0, 0.0, 1.0,
        ],
    );
    assert_eq!(find_blocks(a.pattern(), 3), [0, 2, 5]);
    assert_eq!(find_blocks(a.pattern(), 4), [0, 4, 5]);
    assert_eq!(find_blocks(a.pattern(), 1), [0, 1, 2, 3, 4, 5]);
    let empty = from_dense::<f64>(&Executor::reference(), 0, &[]);
    assert_eq!(find_blocks(empty.pattern(), 3), [0]);
}

#[test]
fn blocks_choose_their_precision_by_condition() {
    let with_condition = |condition: f64| vec![1.0, 0.0, 0.0, 1.0 / condition];
    for (condition, expected) in [
        (1e1, "0 blocks in f64, 0 in f32, 1 in f16"),
        (1e4, "0 blocks in f64, 1 in f32, 0 in f16"),
        (1e9, "1 blocks in f64, 0 in f32, 0 in f16"),
    ] {
        let m = made_of(&of_size(2, true), 2, &with_condition(condition)).unwrap();
        assert_eq!(format!("{m:?}"), format!("block-jacobi: {expected}"));
    }
}

#[test]
fn values_out_of_range_are_not_stored_in_half() {
    for scale in [1e-6, 1e9] {
        let m = made_of(&of_size(2, true), 2, &[scale, 0.0, 0.0, scale]).unwrap();
        let label = format!("{m:?}");
        assert!(label.ends_with("1 in f32, 0 in f16"), "{label}");
    }
}

#[test]
fn narrow_blocks_take_less_memory() {
    let a = [4.0, 1.0, 1.0, 3.0];
    let held = |adaptive| {
        let m = made_of(&of_size(2, adaptive), 2, &a).unwrap();
        m.footprint().held
    };
    assert_eq!(held(false) - held(true), 4 * (8 - 2));
}

#[test]
fn complex_blocks_are_narrowed_in_pairs() {
    let n = 3;
    let a = hermitian::<c64>(&Executor::reference(), n);
    let [exact, narrow] = [false, true].map(|adaptive| {
        let m = made(&of_size(n, adaptive), &a).unwrap();
        (format!("{m:?}"), assemble(m.as_ref()))
    });
    assert!(narrow.0.ends_with("1 in f16"), "{}", narrow.0);
    for (exact, narrow) in exact.1.iter().zip(&narrow.1) {
        assert!((exact - narrow).norm() < 1e-3);
    }
    assert!(narrow.1.iter().any(|value| value.im != 0.0));
}

#[test]
fn a_singular_block_names_its_first_row() {
    let a = [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0, 4.0];
    let blocks = from_dense(&Executor::reference(), 3, &a);
    assert_eq!(find_blocks(blocks.pattern(), 2), [0, 1, 3]);
    let result = made_of(&of_size(2, false), 3, &a);
    assert!(matches!(result, Err(Error::BadPivot { row: 1, .. })));
}

#[test]
fn block_sizes_have_a_range() {
    for size in [0, 33] {
        let result = made_of(&of_size(size, false), 1, &[1.0]);
        assert!(matches!(result, Err(Error::BadParameter { .. })));
    }
}

/// What the host and the device make of a matrix.
fn both<T: Mixes<T, T>>(
    blocks: BlockJacobi,
    a: &Csr<T>,
    device: &Executor,
) -> [Result<Made<T>>; 2] {
    [&Executor::reference(), device].map(|executor| made(&blocks, &a.copy_to(executor)?))
}

type Made<T> = Arc<dyn LinOp<T>>;

fn assert_same<T: Mixes<T, T>>(blocks: BlockJacobi, a: &Csr<T>, device: &Executor, error: f64) {
    let [here, there] = both(blocks, a, device).map(|made| made.unwrap());
    assert_eq!(format!("{there:?}"), format!("{here:?}"));
    let plain = |m: &Made<T>| assemble(m.as_ref());
    let transposed = |m: &Made<T>| assemble_transposed(m.as_ref(), Transpose::Plain);
    for (found, expected) in [
        (plain(&there), plain(&here)),
        (transposed(&there), transposed(&here)),
    ] {
        let difference = largest_difference(&found, &expected);
        let size = largest_difference(&expected, &vec![T::default(); expected.len()]);
        assert!(
            difference <= error * size,
            "{blocks:?}: {difference} {size}"
        );
    }
}

#[test]
fn devices_invert_the_blocks_of_the_host() {
    let Some(device) = device() else { return };
    let build = |spec| gallery::build(spec, &Executor::reference()).unwrap().matrix;
    let mut uneven = build("elasticity:2x2x2");
    let places: Vec<usize> = (0..uneven.nonzeros()).collect();
    for place in places {
        uneven.values_mut()[place] *= 1.0 + (place % 7) as f64 / 5.0;
    }
    for a in [uneven, build("jump7:4,1e6"), build("aniso5:7,0.001")] {
        for size in [1, 3, 5, 8, 32] {
            for adaptive in [false, true] {
                assert_same(of_size(size, adaptive), &a, &device, 1e-10);
            }
        }
        assert_same::<f32>(of_size(6, true), &a.convert().unwrap(), &device, 1e-2);
    }
    assert_same::<f16>(
        of_size(4, true),
        &build("poisson5:6").convert().unwrap(),
        &device,
        1e-2,
    );
    let empty = from_dense::<f64>(&Executor::reference(), 0, &[]);
    let [_, there] = both(of_size(3, true), &empty, &device);
    assert_eq!(there.unwrap().size().rows, 0);
}

#[test]
fn devices_name_the_first_singular_block() {
    let Some(device) = device() else { return };
    let mut dense = vec![0.0; 36];
    for (row, column, value) in [
        (0, 0, 1.0),
        (1, 1, 1.0),
        (1, 2, 2.0),
        (2, 1, 2.0),
        (2, 2, 4.0),
    ] {
        dense[row * 6 + column] = value;
        // The same once more.
        dense[(row + 3) * 6 + column + 3] = value;
    }
    let a = from_dense(&Executor::reference(), 6, &dense);
    for result in both(of_size(2, false), &a, &device) {
        assert!(matches!(result, Err(Error::BadPivot { row: 1, .. })));
    }
}
