//! Arrays of NumPy.

use super::super::*;
use super::{Temporary, dense, load, load_columns};

#[test]
fn arrays_of_numpy_are_read_in_both_orders() {
    let header = |order: &str| {
        let dictionary =
            format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': (2, 3), }}\n");
        [
            b"\x93NUMPY\x02\x00".as_slice(),
            &(dictionary.len() as u32).to_le_bytes(),
            dictionary.as_bytes(),
        ]
        .concat()
    };
    let data: Vec<u8> = (0..6_u8)
        .flat_map(|value| f32::from(value).to_le_bytes())
        .collect();
    for (order, expected) in [
        ("False", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        ("True", [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]),
    ] {
        let file = Temporary::holding(".npy", [header(order), data.clone()].concat());
        assert_eq!(load_columns(&file).to_vec(), expected);
        let a = load(&file);
        assert_eq!((dense(&a).concat(), a.nonzeros()), (expected.to_vec(), 5));
    }
    let short = Temporary::holding(".npy", [header("True"), data[1..].to_vec()].concat());
    let Err(Error::File(error)) = read_vector(&short.0, &Executor::reference()) else {
        panic!("complete")
    };
    assert!(matches!(error.problem, Problem::Truncated));
}
