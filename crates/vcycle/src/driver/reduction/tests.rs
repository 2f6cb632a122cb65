use super::super::testing::{
    assert_has, config, matrix, ones, solve, solved as solved_by, system, triplets,
};
use super::*;
use crate::config::Prepared;

/// Solves, and looks at the residual of the system that was given.
fn solved(system: &System, b: &Vector<f64>) -> Solution<f64> {
    let solution = solved_by("", system, b);
    let mut r = Vector::zeros_like(b).unwrap();
    let a = system.matrix.whole().unwrap();
    a.residual(b, &solution.x, &mut r, &Workspace::new())
        .unwrap();
    let [residual, norm] = [&r, b].map(|v| v.norms().unwrap()[0]);
    let relative = solution.outcome.relative_residual;
    assert!((residual - relative * norm).abs() <= 1e-3 * relative * norm);
    let last = solution.outcome.history.last().unwrap();
    assert!((last - relative).abs() <= 0.1 * relative + 1e-12);
    solution
}

/// The rows of a square of points; those of its boundary have the boundary value alone.
fn with_boundary(side: usize) -> System {
    let inner = matrix(&format!("poisson5:{side}"));
    let is_inside = |row: usize| {
        [row % side, row / side]
            .iter()
            .all(|&at| at > 0 && at + 1 < side)
    };
    let mut entries = Vec::new();
    for row in 0..side * side {
        let (columns, values) = inner.row(row);
        match is_inside(row) {
            false => entries.push((row, row, 1.0)),
            true => entries.extend(
                columns
                    .iter()
                    .zip(values)
                    .map(|(&c, &v)| (row, c as usize, v)),
            ),
        }
    }
    system(triplets(side * side, &entries))
}

#[test]
fn boundary_values_are_substituted() {
    let given = with_boundary(52);
    let b = Vector::filled(given.matrix.executor(), 52 * 52, 1, 3.0).unwrap();
    let solution = solved(&given, &b);
    assert_has(
        &solution.messages[0],
        "204 rows with one entry: solved first",
    );
    assert_has(&solution.messages[1], "auto: 2500 rows, symmetric");
    assert_eq!(solution.x.to_vec()[51], 3.0);
    let near = given.clone().with_guess(solution.x.clone());
    assert_eq!(solved(&near, &b).outcome.iterations, 0);
    // What is set up is applied to all rows.
    let prepared = Prepared::new(config(""), given.clone(), &Workspace::new()).unwrap();
    let again = prepared
        .solve(&b, None, &config("").stop, &Workspace::new())
        .unwrap();
    assert_eq!(again.x.to_vec(), solution.x.to_vec());
    let mut z = Vector::zeros_like(&b).unwrap();
    prepared.apply(&b, &mut z, &Workspace::new()).unwrap();
    assert_eq!(z.to_vec()[..52], [3.0; 52]);
}

#[test]
fn triangular_parts_vanish() {
    // Every row refers to the one before it, in both orders of the rows.
    for upper in [false, true] {
        let rows = 3000;
        let before = |row: usize| {
            if upper {
                (row - 1, row)
            } else {
                (row, row - 1)
            }
        };
        let entries = (0..rows).flat_map(|row| {
            let other = (row > 0)
                .then(|| before(row))
                .map(|(row, column)| (row, column, -1.0));
            std::iter::once((row, row, 2.0)).chain(other)
        });
        let given = system(triplets(rows, &entries.collect::<Vec<_>>()));
        let solution = solved(&given, &ones(&given.matrix));
        assert_has(&solution.messages[0], "2999 ");
        assert!(solution.outcome.relative_residual < 1e-14);
    }
}

#[test]
fn rows_and_columns_of_zeros_are_named_and_may_be_inconsistent() {
    let mut entries = vec![(3, 3, 0.0)];
    for row in [0, 1, 2, 4, 5] {
        entries.push((row, row, 2.0));
        let other = if row < 3 { (row + 1) % 3 } else { 9 - row };
        entries.push((row, other, -0.5));
    }
    let given = system(triplets(6, &entries));
    let b = Vector::from_column(given.matrix.executor(), vec![1.0, 2.0, 3.0, 0.0, 1.0, 2.0]);
    let solution = solved(&given, &b);
    assert_has(
        &solution.messages[0],
        "singular: 1 row of zeros, and the column too",
    );
    assert_eq!(solution.x.to_vec()[3], 0.0);
    let outcome = solve("", &given, &ones(&given.matrix)).unwrap().outcome;
    assert_eq!(outcome.status, Status::Inconsistent);
    assert!((outcome.relative_residual - 6f64.sqrt().recip()).abs() < 1e-8);
}
