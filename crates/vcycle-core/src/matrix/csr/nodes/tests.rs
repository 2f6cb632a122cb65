use super::super::testing::{grid, of_rows};
use super::*;
use crate::matrix::Duplicates;

const SIDE: usize = 12;

/// Springs between neighbours of a grid, along its lines and diagonals: `stiffness n n^T` between two nodes.
/// Row `number(node, component)`, or none for an unknown that is held. A held one is left out, or has a diagonal
/// entry if it has a number.
fn springs(
    number: impl Fn(usize, usize) -> Option<usize>,
    held: impl Fn(usize, usize) -> bool,
) -> Csr<f64> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut put = |i: Option<usize>, j: Option<usize>, value: f64| {
        if let (Some(i), Some(j)) = (i, j) {
            rows.push(i as u32);
            columns.push(j as u32);
            values.push(value);
        }
    };
    let free = |node: usize, part: usize| number(node, part).filter(|_| !held(node, part));
    let mut largest = 0;
    for node in 0..SIDE * SIDE {
        let (x, y) = ((node % SIDE) as isize, (node / SIDE) as isize);
        for part in 0..2 {
            largest = largest.max(number(node, part).unwrap_or(0));
            let fixed = number(node, part).filter(|_| held(node, part));
            put(fixed, fixed, 1.0);
        }
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
            let (u, v) = (x + dx, y + dy);
            let inside = |c: isize| (0..SIDE as isize).contains(&c);
            if !inside(u) || !inside(v) {
                continue;
            }
            let other = u as usize + v as usize * SIDE;
            let way = [dx as f64, dy as f64 + 0.1 * dx as f64];
            for (p, q) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let stiffness = (1.0 + (node % 3) as f64) * way[p] * way[q];
                for (a, b, sign) in [
                    (node, node, 1.0),
                    (other, other, 1.0),
                    (node, other, -1.0),
                    (other, node, -1.0),
                ] {
                    put(free(a, p), free(b, q), sign * stiffness);
                }
            }
        }
    }
    let size = Size::square(largest + 1);
    let cpu = Executor::cpu();
    Csr::from_triplets(&cpu, size, rows, columns, values, Duplicates::Sum).unwrap()
}

fn found(a: &Csr<f64>) -> Option<(usize, Numbering, usize)> {
    Nodes::find(a).map(|nodes| (nodes.block_size(), nodes.numbering(), nodes.missing()))
}

fn by_node(node: usize, part: usize) -> Option<usize> {
    Some(2 * node + part)
}

fn by_component(node: usize, part: usize) -> Option<usize> {
    Some(SIDE * SIDE * part + node)
}

/// The numbers that are left where some unknowns are removed.
fn closed(
    number: fn(usize, usize) -> Option<usize>,
    removed: fn(usize, usize) -> bool,
) -> impl Fn(usize, usize) -> Option<usize> {
    let mut gone = vec![false; 2 * SIDE * SIDE];
    for node in 0..SIDE * SIDE {
        (0..2).for_each(|part| gone[number(node, part).unwrap()] = removed(node, part));
    }
    move |node, part| {
        let row = number(node, part)?;
        let before = gone[..row].iter().filter(|gone| **gone).count();
        (!gone[row]).then(|| row - before)
    }
}

#[test]
fn both_numberings_are_found_with_and_without_boundary_conditions() {
    let held = |node: usize, _: usize| node < SIDE;
    let numbers = [by_node as fn(usize, usize) -> Option<usize>, by_component];
    let numberings = [Numbering::NodeByNode, Numbering::ComponentByComponent];
    for (number, numbering) in numbers.into_iter().zip(numberings) {
        let expected = Some((2, numbering, 0));
        assert_eq!(found(&springs(number, |_, _| false)), expected);
        assert_eq!(found(&springs(number, held)), expected);
        let one_part = |node: usize, part: usize| part == 0 && node.is_multiple_of(SIDE);
        assert_eq!(found(&springs(number, one_part)), expected);
        let a = springs(closed(number, held), |_, _| false);
        assert_eq!(a.size().rows, 2 * SIDE * (SIDE - 1));
        assert_eq!(found(&a), expected);
    }
}

#[test]
fn nodes_that_lack_an_unknown_are_found_and_completed() {
    let removed = |node: usize, part: usize| part == 1 && node.is_multiple_of(SIDE);
    for number in [by_node as fn(usize, usize) -> Option<usize>, by_component] {
        let a = springs(closed(number, removed), |_, _| false);
        let nodes = Nodes::find(&a).unwrap();
        assert_eq!((nodes.block_size(), nodes.missing()), (2, SIDE));
        let whole = nodes.gather_matrix(&a).unwrap();
        // All nodes are in their order: the missing unknown of the first is the second.
        let expected = springs(by_node, removed);
        for row in 0..2 * SIDE * SIDE {
            let (columns, values) = whole.row(row);
            assert_eq!(columns, expected.row(row).0, "{row}");
            if !removed(row / 2, row % 2) {
                assert_eq!(values, expected.row(row).1, "{row}");
            }
        }
        let x: Vec<f64> = (0..a.size().rows).map(|row| row as f64).collect();
        for at in [Executor::reference()].into_iter().chain(device()) {
            let x = Vector::from_column(&at, x.clone());
            let gathered = nodes.gather(&x).unwrap();
            assert_eq!(gathered.to_vec()[1], 0.0);
            assert_eq!(nodes.scatter(&gathered).unwrap().to_vec(), x.to_vec());
        }
        assert_eq!(nodes.constant(1)[..2], [0.0, 0.0]);
        assert_eq!(nodes.constant(0)[..2], [1.0, 0.0]);
    }
}

#[test]
fn unknowns_without_couplings_and_scalar_problems_have_no_nodes() {
    let laplace = grid::<f64>(&Executor::cpu(), SIDE);
    assert_eq!(found(&laplace), None);
    // Two of them side by side, with couplings stored that are zero.
    let size = Size::square(2 * laplace.size().rows);
    let two: Csr<f64> = of_rows(&Executor::cpu(), size, Duplicates::Refuse, |row| {
        let (columns, values) = laplace.row(row / 2);
        let both = columns.iter().zip(values).flat_map(|(&column, &value)| {
            [0, 1].map(|part| {
                (
                    2 * column as usize + part,
                    if part == row % 2 { value } else { 0.0 },
                )
            })
        });
        both.collect()
    });
    assert_eq!(found(&two), None);
    let dense: Csr<f64> = of_rows(
        &Executor::cpu(),
        Size::square(6),
        Duplicates::Refuse,
        |row| {
            let value = |column: usize| if row == column { 9.0 } else { 1.0 };
            (0..6).map(|column| (column, value(column))).collect()
        },
    );
    assert_eq!(found(&dense), None);
}
