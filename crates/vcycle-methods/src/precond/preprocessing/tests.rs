use super::{Equilibration, MatchingKind, Preprocessing, Reorder};
use crate::precond::testing::{assemble, from_dense, identity_error, multiply};
use crate::precond::{Ilu0, Jacobi};
use crate::prelude::*;

/// Four rows with zeros on the diagonal.
const DENSE: [f64; 16] = [
    0.0, 2.0, 0.0, 1.0, 4e3, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 3e-3, 0.0,
];

fn all() -> Vec<Preprocessing> {
    let mut all = Vec::new();
    for equilibrate in Equilibration::ALL {
        for matching in MatchingKind::ALL {
            for reorder in Reorder::ALL {
                if reorder != Reorder::Amd || cfg!(feature = "direct") {
                    all.push(Preprocessing {
                        equilibrate,
                        matching,
                        reorder,
                    });
                }
            }
        }
    }
    all
}

fn operator(n: usize, dense: &[f64]) -> Arc<dyn LinOp<f64>> {
    Arc::new(from_dense(&Executor::reference(), n, dense))
}

#[test]
fn whatever_is_done_is_undone() {
    // Dense and dominant: incomplete factors are exact.
    let n = 5;
    let value = |k: usize| match k / n == k % n {
        true => 9.0 * 10f64.powi((k / n) as i32 - 2),
        false => 1.0 / (2 + k) as f64,
    };
    let dense: Vec<f64> = (0..n * n).map(value).collect();
    let (a, ws) = (operator(n, &dense), Workspace::new());
    for before in all() {
        let m = before.precondition(&a, &Ilu0::default(), &ws).unwrap();
        let error = identity_error(n, &multiply(n, &assemble(m.as_ref(), None), &dense));
        assert!(error < 1e-12, "{before}: {error}");
    }
}

#[test]
fn matched_matrices_have_large_entries_on_the_diagonal() {
    let (a, ws) = (operator(4, &DENSE), Workspace::new());
    for before in all() {
        let prepared = before.prepare(&a, &ws).unwrap();
        let matrix = prepared.matrix().csr().unwrap();
        let matched = before.matching == MatchingKind::Mc64;
        let least = matrix
            .diagonal()
            .iter()
            .fold(f64::INFINITY, |least, d| least.min(d.abs()));
        assert_eq!(least >= 0.5, matched, "{before}");
        assert_eq!(prepared.notes().is_empty(), {
            before.matching == MatchingKind::None && before.reorder == Reorder::None
        });
        let works = before.precondition(&a, &Jacobi::default(), &ws).is_ok();
        assert_eq!(works, matched, "{before}");
    }
}

#[test]
fn vectors_follow_the_unknowns() {
    // What A makes zero of x, A' makes of x'.
    let dense = [
        1.0, 1.0, 0.0, 0.0, 2.0, 7.0, 1.0, 0.0, 0.0, 1.0, 4.0, 3.0, 5.0, 0.0, 1.0, 2.0,
    ];
    let x = [2.0, -2.0, 10.0, -38.0 / 3.0];
    let (a, ws) = (operator(4, &dense), Workspace::new());
    for before in all() {
        let prepared = before.prepare(&a, &ws).unwrap();
        let matrix = prepared.matrix().csr().unwrap();
        let moved = prepared.unknowns(&x).unwrap();
        let product = |row: usize| -> f64 {
            let (columns, values) = matrix.row(row);
            let terms = columns.iter().zip(values);
            terms.map(|(&c, v)| v * moved[c as usize]).sum()
        };
        let zeros = (0..4).filter(|&row| product(row).abs() < 1e-12).count();
        assert_eq!(zeros, 3, "{before}");
        assert!(prepared.unknowns(&x[..3]).is_err());
    }
}
