use super::*;
use crate::precond::testing::{convection, red_black, values_for};

fn triangles(executor: &Executor) -> [Triangle<f64>; 2] {
    let a = red_black(executor, 100);
    let diagonal = || Some(a.diagonal());
    let value = |_, place: usize| a.values()[place];
    [Side::Lower, Side::Upper]
        .map(|side| Triangle::new("test", side, a.pattern(), diagonal(), value).unwrap())
}

#[test]
fn levels_have_the_bits_of_the_serial_solve() {
    let host = Executor::reference();
    let ws = Workspace::new();
    for threads in [1, 2, 3] {
        let cpu = Executor::cpu_with_threads(threads).unwrap();
        for (serial, parallel) in triangles(&host).into_iter().zip(triangles(&cpu)) {
            let serial_steps = matches!(parallel.schedule.groups, Groups::Serial);
            assert_eq!(serial_steps, threads == 1);
            let b = Vector::from_rows(&host, 2, values_for(20_000)).unwrap();
            let mut expected = Vector::zeros_like(&b).unwrap();
            serial.apply(&b, &mut expected, &ws).unwrap();
            let b = b.copy_to(&cpu).unwrap();
            let mut y = Vector::zeros_like(&b).unwrap();
            parallel.apply(&b, &mut y, &ws).unwrap();
            assert_eq!(y.to_vec(), expected.to_vec());
        }
    }
}

#[test]
fn devices_name_the_pivots_that_the_host_names() {
    let Some(device) = device() else { return };
    let a = convection::<f64>(&Executor::reference(), 12);
    let diagonal = super::super::diagonal_places(a.pattern(), "test").unwrap();
    let there = a.copy_to(&device).unwrap();
    for (value, expected) in [(0.0, "row 7 is zero"), (f64::NAN, "row 7 is not finite")] {
        let mut values = a.values().to_vec();
        values[diagonal[7]] = value;
        let made = unit_lower::<f64>("test", there.pattern(), &values, &diagonal);
        let message = made.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn zero_and_infinite_pivots_are_named() {
    let a = Csr::<f64>::identity(&Executor::reference(), 3);
    for (value, expected) in [(0.0, "row 1 is zero"), (f64::NAN, "row 1 is not finite")] {
        let diagonal = Some(vec![1.0, value, 1.0]);
        let made = Triangle::<f64>::new("test", Side::Lower, a.pattern(), diagonal, |_, _| 0.0);
        let message = made.err().unwrap().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
