use super::*;
use crate::precond::ic::cholesky;
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
fn devices_make_the_triangles_of_the_host() {
    let Some(device) = vcycle_core::testing::device() else {
        return;
    };
    let host = convection::<f64>(&Executor::reference(), 12);
    let diagonal = super::super::diagonal_places(host.pattern(), "test").unwrap();
    let made = |a: &Csr<f64>, values: &[f64]| {
        Factors::<f64>::unit_lower("test", a.pattern(), values, &diagonal)
    };
    let there = host.copy_to(&device).unwrap();
    let b = Vector::from_rows(&host.executor().clone(), 2, values_for(288)).unwrap();
    let applied = |m: Arc<dyn LinOp<f64>>, b: &Vector<f64>| {
        let mut y = Vector::zeros_like(b).unwrap();
        m.apply(b, &mut y, &Workspace::new()).unwrap();
        y.to_vec()
    };
    let expected = applied(made(&host, host.values()).unwrap(), &b);
    let watch = crate::operations::HostStages::watch();
    let found = applied(
        made(&there, host.values()).unwrap(),
        &b.copy_to(&device).unwrap(),
    );
    assert!(watch.tell(Workspace::new().log()).is_empty());
    let close = |found: Vec<f64>, expected: Vec<f64>| {
        let mut pairs = found.into_iter().zip(expected);
        pairs.all(|(found, expected)| (found - expected).abs() <= 1e-13 * expected.abs().max(1.0))
    };
    assert!(close(found, expected));
    let symmetric = |a: &Csr<f64>| {
        cholesky::<f64>("test", String::new(), a.pattern(), host.values(), &diagonal).unwrap()
    };
    let expected = applied(symmetric(&host), &b);
    assert!(close(
        applied(symmetric(&there), &b.copy_to(&device).unwrap()),
        expected
    ));
    for value in [0.0, f64::NAN] {
        let mut values = host.values().to_vec();
        values[diagonal[7]] = value;
        let problem = if value == 0.0 { "zero" } else { "not finite" };
        let Err(Error::BadPivot {
            row: 7,
            problem: told,
            ..
        }) = made(&there, &values)
        else {
            panic!("row 7 has no pivot");
        };
        assert_eq!(told, problem);
    }
}

#[test]
fn zero_and_infinite_pivots_are_named() {
    let a = Csr::<f64>::identity(&Executor::reference(), 3);
    let build = |diagonal| {
        Triangle::<f64>::new("test", Side::Lower, a.pattern(), Some(diagonal), |_, _| 0.0)
    };
    assert!(matches!(
        build(vec![1.0, 0.0, 1.0]),
        Err(Error::BadPivot {
            row: 1,
            problem: "zero",
            ..
        })
    ));
    assert!(matches!(
        build(vec![1.0, 1.0, f64::NAN]),
        Err(Error::BadPivot {
            row: 2,
            problem: "not finite",
            ..
        })
    ));
}
