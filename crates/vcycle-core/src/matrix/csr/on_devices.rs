//! Matrix algebra on devices, compared with the host.

use super::in_blocks::{assert_near as assert_near_vectors, product};
use super::testing::{assert_near, assert_same, banded, grid, nodes, of_rows, random};
use super::{Duplicates, Galerkin, SpGemm, galerkin};
use crate::launch::prelude::*;
use crate::operations::products::{Factors, Product};

const HOST: Executor = Executor::Reference;

fn shapes() -> Vec<[Csr<f64>; 2]> {
    let random = |m, n, density, seed| random::<f64>(&HOST, m, n, density, seed);
    vec![
        [random(0, 0, 0.5, 1), random(0, 3, 0.5, 2)],
        [random(40, 30, 0.3, 1), random(30, 50, 0.3, 2)],
        [random(9, 70, 0.9, 3), random(70, 700, 0.5, 4)],
        // Rows that are too long for local memory, counted and gathered.
        [random(6, 60, 1.0, 5), random(60, 6000, 0.1, 6)],
        [grid(&HOST, 20), banded(&HOST, 400, 1)],
    ]
}

#[test]
fn products_and_transposes_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    for [a, b] in shapes() {
        let (c, t) = (a.multiply(&b).unwrap(), b.transpose().unwrap());
        let there = |a: &Csr<f64>| a.copy_to(&executor).unwrap();
        let (a, b) = (there(&a), there(&b));
        let found = a.multiply(&b).unwrap();
        assert_near(&found, &c, 1e-14);
        assert_same(&a.multiply(&b).unwrap(), &found);
        assert_same(&b.transpose().unwrap(), &t);
        assert_eq!(b.pattern().transpose().unwrap().columns(), t.columns());
    }
}

/// A product by entries that is still to be formed.
fn product_of<'p>(a: &'p Csr<f64>, b: &'p Csr<f64>) -> Product<'p> {
    let queue = Queue::of(a.executor()).unwrap();
    Product::new(queue, a.pattern(), b.pattern()).unwrap()
}

/// A product by tables with entries counted first, and in one pass.
fn counted_and_not(a: &Csr<f64>, b: &Csr<f64>) -> [Csr<f64>; 2] {
    let product = || product_of(a, b);
    let both = [product().counted_first(), product().without_words()];
    both.map(|product| product.whole(Factors { a, b, p: None }, true).unwrap())
}

#[test]
fn words_of_columns_give_what_tables_give() {
    let Some(executor) = device() else { return };
    let mut shapes = shapes();
    let nodes = nodes(&HOST, [3, 3, 4]);
    shapes.push([nodes.clone(), nodes]);
    for [a, b] in shapes {
        let expected = a.multiply(&b).unwrap();
        let (a, b) = (a.copy_to(&executor).unwrap(), b.copy_to(&executor).unwrap());
        let factors = Factors {
            a: &a,
            b: &b,
            p: None,
        };
        let tables = product_of(&a, &b).without_words();
        let tables = tables.whole(factors, true).unwrap();
        assert_near(&tables, &expected, 1e-14);
        let product = product_of(&a, &b).with_words();
        assert_near(&product.whole(factors, true).unwrap(), &tables, 1e-15);
        let pattern = Arc::new(product.symbolic().unwrap());
        let values = product.numeric(factors, &pattern);
        let found = Csr::of_buffers(&pattern, values.unwrap());
        assert_near(&found, &tables, 1e-15);
    }
}

#[test]
fn tiles_give_what_entries_give() {
    let Some(executor) = device() else { return };
    let mut shapes = shapes();
    let nodes = nodes(&HOST, [3, 3, 4]);
    // Dense tiles, and rows of tiles that are made in several windows.
    let dense = random(&HOST, 30, 22, 0.9, 4);
    let wide = random(&HOST, 22, 1100, 0.3, 5);
    shapes.extend([[nodes.clone(), nodes], [dense, wide]]);
    for [a, b] in shapes {
        let expected = a.multiply(&b).unwrap();
        let there = |a: &Csr<f64>| a.copy_to(&executor).unwrap();
        let (a, b) = (there(&a), there(&b));
        assert_near(&a.multiply_in_tiles(&b).unwrap(), &expected, 1e-14);
        let single = |a: &Csr<f64>| a.convert::<f32>().unwrap();
        let found = single(&a).multiply_in_tiles(&single(&b));
        assert_near(&found.unwrap(), &single(&expected), 1e-5);
    }
}

#[test]
fn rows_that_are_not_counted_first_are_the_same() {
    let Some(executor) = device() else { return };
    let nodes = nodes(&HOST, [3, 3, 4]);
    // Rows with many entries for their products: one of them, which is made again, and all; and rows that are too long for that.
    let full = random(&HOST, 300, 300, 1.0, 1);
    let one = full.filter(|row, column, _| row == 0 && column < 30 || row == column);
    let all = full.filter(|row, column, _| row < 20 && column % 10 == 0);
    let (one, all) = (one.unwrap(), all.unwrap());
    let many = random(&HOST, 300, 700, 0.08, 2);
    let longest = random(&HOST, 300, 9000, 0.02, 3);
    for [a, b] in [
        [nodes.clone(), nodes],
        [one, many.clone()],
        [all.clone(), many],
        [all, longest],
    ] {
        let (a, b) = (a.copy_to(&executor).unwrap(), b.copy_to(&executor).unwrap());
        let [counted, tables] = counted_and_not(&a, &b);
        assert_near(&tables, &counted, 1e-15);
        assert_near(&a.multiply(&b).unwrap(), &counted, 1e-15);
    }
}

/// As prolongations have them: teams take entries of several rows at a time.
#[test]
fn products_with_short_rows_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    let a = random::<f64>(&HOST, 50, 600, 0.4, 1);
    let b = random::<f64>(&HOST, 600, 100, 0.03, 2);
    let expected = a.multiply(&b).unwrap();
    let there = |a: &Csr<f64>| a.copy_to(&executor).unwrap();
    let (a, b) = (there(&a), there(&b));
    for found in counted_and_not(&a, &b) {
        assert_near(&found, &expected, 1e-15);
    }
    assert_near(&a.multiply(&b).unwrap(), &expected, 1e-15);
    let product = SpGemm::symbolic(a.pattern(), b.pattern()).unwrap();
    assert_near(&product.numeric(&a, &b).unwrap(), &expected, 1e-15);
}

#[test]
fn unions_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    let a = grid::<f64>(&HOST, 20);
    let a = a.filter(|row, column, _| row % 3 == 0 || column >= row);
    let a = a.unwrap();
    let both = |a: &Csr<f64>| {
        let transposed = a.pattern().transpose().unwrap();
        a.pattern().union(&transposed).unwrap()
    };
    let (found, expected) = (both(&a.copy_to(&executor).unwrap()), both(&a));
    assert_eq!(found.offsets(), expected.offsets());
    assert_eq!(found.columns(), expected.columns());
}

#[test]
fn narrow_products_add_in_their_arithmetic() {
    let Some(executor) = device() else { return };
    let a = grid::<f64>(&HOST, 20);
    let expected = a.convert::<f16>().unwrap();
    let expected = expected.multiply(&expected).unwrap();
    let found = a.copy_to(&executor).unwrap().convert::<f16>().unwrap();
    assert_near(&found.multiply(&found).unwrap(), &expected, 1e-3);
}

#[test]
fn values_change_on_a_known_pattern() {
    let Some(executor) = device() else { return };
    let mut a = grid::<f64>(&executor, 12);
    let square = SpGemm::symbolic(a.pattern(), a.pattern()).unwrap();
    let before = square.numeric(&a, &a).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    let after = square.numeric(&a, &a).unwrap();
    assert_same(&after, &before.scale(4.0).unwrap());
    let other = Csr::identity(&executor, 144);
    assert!(square.numeric(&a, &other).is_err());
}

#[test]
fn galerkin_products_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    let a = grid::<f64>(&HOST, 20);
    let group = |row: usize| vec![((row / 40) * 10 + row % 20 / 2, 1.0 + (row % 3) as f64)];
    let aggregated = of_rows(&HOST, Size::new(400, 100), Duplicates::Refuse, group);
    for p in [random::<f64>(&HOST, 400, 60, 0.05, 3), aggregated] {
        let expected = galerkin(&p.transpose().unwrap(), &a, &p).unwrap();
        let (a, p) = (a.copy_to(&executor).unwrap(), p.copy_to(&executor).unwrap());
        let r = p.transpose().unwrap();
        let found = galerkin(&r, &a, &p).unwrap();
        assert_near(&found, &expected, 1e-14);
        let kept = Galerkin::symbolic(&r, &a, &p).unwrap();
        assert_same(&kept.numeric(&r, &a, &p).unwrap(), &found);
    }
}

fn check_layout<T: Mixes<T, T>>(executor: &Executor, a: &Csr<f64>) {
    let a = a.convert::<T>().unwrap();
    let there = a.copy_to(executor).unwrap();
    let (found, expected) = (product::<T, T>(&there, 1), product(&a, 1));
    assert_near_vectors(&found, &expected, &format!("{} {}", T::KIND, a.size()));
}

#[test]
fn layouts_of_the_device_multiply_as_the_host_does() {
    let Some(executor) = device() else { return };
    check_layout::<bf16>(&executor, &grid(&HOST, 20));
    for a in shapes().into_iter().flatten() {
        check_layout::<f64>(&executor, &a);
    }
}

/// A complex matrix with the pattern of a real one.
fn turned(a: &Csr<f64>) -> Csr<c64> {
    let values = a.values();
    let value = |row: usize, place: usize| c64::from_polar(values[place], (row + place) as f64);
    Csr::from_places(a.pattern(), value).unwrap()
}

#[test]
fn complex_matrices_are_multiplied_and_transposed() {
    let Some(executor) = device() else { return };
    let on = |a: &Csr<c64>| a.copy_to(&executor).unwrap();
    for [a, b] in shapes() {
        let (a, b) = (turned(&a), turned(&b));
        let (there, expected) = (on(&a).multiply(&on(&b)).unwrap(), a.multiply(&b).unwrap());
        assert_near(&there, &expected, 1e-14);
        assert_same(&on(&a).adjoint().unwrap(), &a.adjoint().unwrap());
    }
    let a = turned(&grid(&HOST, 12));
    // Groups, and a prolongation with several entries a row.
    let pair = |row: usize| vec![(row / 2, 1.0)];
    let groups = turned(&of_rows(
        &HOST,
        Size::new(144, 72),
        Duplicates::Refuse,
        pair,
    ));
    let several = a.multiply(&groups).unwrap();
    for p in [groups, several] {
        let r = p.adjoint().unwrap();
        let expected = galerkin(&r, &a, &p).unwrap();
        let found = galerkin(&on(&r), &on(&a), &on(&p)).unwrap();
        assert_near(&found, &expected, 1e-13);
    }
    let there = on(&a);
    assert_eq!(there.diagonal(), a.diagonal());
    assert!((there.largest_entry().unwrap() - a.largest_entry().unwrap()).abs() < 1e-14);
    assert_eq!(
        there.symmetric_and_positive().unwrap(),
        a.symmetric_and_positive().unwrap()
    );
    let hermitian = a.add(1.0.into(), 1.0.into(), &a.adjoint().unwrap());
    assert!(on(&hermitian.unwrap()).symmetric_and_positive().unwrap()[0]);
}

#[test]
fn entries_are_checked_and_measured() {
    let Some(executor) = device() else { return };
    let mut a = grid::<f64>(&HOST, 12);
    a.values_mut()[7] = -3.0;
    let mut there = a.copy_to(&executor).unwrap();
    assert_eq!(there.diagonal(), a.diagonal());
    assert_eq!(there.norm_max(), a.norm_max());
    let of = |all: &[&Csr<f64>]| Csr::largest_and_least_pivots(all).unwrap();
    assert_eq!(of(&[&there, &there, &a])[1], of(&[&a])[0]);
    let facts = a.facts();
    let of = |a: &Csr<f64>| a.symmetric_and_positive().unwrap();
    assert_eq!(of(&there), [facts.symmetric, facts.positive_diagonal()]);
    assert_eq!(of(&grid(&executor, 12)), [true, true]);
    for (difference, symmetric) in [(1e-14, true), (1e-3, false)] {
        // Beside a diagonal of 4, of which the first is what assembly rounds off.
        let mut a = grid::<f64>(&HOST, 12);
        a.values_mut()[1] = difference;
        a.values_mut()[3] = -difference;
        assert_eq!(a.columns()[3], 0);
        assert_eq!(of(&a), [symmetric, true]);
        assert_eq!(of(&a.copy_to(&executor).unwrap()), [symmetric, true]);
        // What was found is kept until values change.
        a.values_mut()[3] = difference;
        assert_eq!(of(&a), [true, true]);
    }
    let is_like = |a: &Csr<f64>| there.pattern().same_as(a.pattern());
    assert!(is_like(&grid(&executor, 12)) && !is_like(&Csr::identity(&executor, 144)));
    let place = there.offsets()[100] + 1;
    let column = there.columns()[place] as usize;
    there.values_mut()[place] = f64::NAN;
    let wrong = there.check_finite().unwrap_err();
    assert!(matches!(wrong, Error::NonFiniteEntry { row: 100, column: c } if c == column));
}

#[test]
fn wrong_arrays_of_any_executor_are_reported_with_their_row() {
    let Some(executor) = device() else { return };
    for executor in [executor, HOST] {
        let made = |offsets: [usize; 4], columns: [u32; 4]| {
            let offsets = Buffer::from_vec(&executor, offsets.to_vec());
            let columns = Buffer::from_vec(&executor, columns.to_vec());
            let values = Buffer::from_vec(&executor, vec![1.0; 4]);
            Csr::from_buffers(Size::square(3), offsets, columns, values).map(|a| a.nonzeros())
        };
        let message = |offsets, columns| made(offsets, columns).unwrap_err().to_string();
        assert_eq!(made([0, 1, 3, 4], [0, 0, 1, 2]).unwrap(), 4);
        assert!(message([0, 1, 3, 4], [0, 1, 0, 2]).contains("row 1"));
        assert!(message([0, 1, 3, 4], [0, 1, 2, 3]).contains("row 2"));
        assert!(message([0, 3, 1, 4], [0, 1, 2, 0]).contains("row 1"));
        let twice = made([0, 1, 3, 4], [0, 1, 1, 2]).unwrap_err();
        assert!(matches!(twice, Error::DuplicateEntry { row: 1, column: 1 }));
    }
}

#[test]
fn patterns_are_shared() {
    let Some(executor) = device() else { return };
    let a = grid::<f64>(&executor, 5);
    let narrow = a.convert::<f32>().unwrap();
    assert!(Arc::ptr_eq(a.pattern(), narrow.pattern()));
    assert_eq!(narrow.values()[0], 4.0);
}
