//! The kernels of every instruction set and executor, compared with the reference loops.

use super::*;
use crate::cpu::stencil::Vectors;
use crate::gallery;
use crate::linop::Sweep;
use crate::prelude::*;
use crate::scalar::convert;
use vcycle_core::simd::testing::at_every_level;

/// Sizes with ends of lines that fill registers and that do not, and axes of one cell.
const GRIDS: [[usize; 3]; 8] = [
    [1, 1, 1],
    [5, 1, 1],
    [1, 4, 3],
    [2, 3, 2],
    [35, 3, 1],
    [131, 2, 3],
    [64, 1, 4],
    [17, 5, 4],
];

/// Small integers that depend on the place, exact in every precision.
fn number(place: usize, range: usize) -> f64 {
    ((place * 7919 + 13) % (2 * range + 1)) as f64 - range as f64
}

fn numbers<V: Vectors>(executor: &Executor, n: usize, shift: usize) -> Vector<V> {
    let values = (0..n)
        .map(|place| V::from_f64(number(place + shift, 4)))
        .collect();
    Vector::from_column(executor, values)
}

/// A matrix of small integers with a diagonal that is a power of two; the number of unknowns a cell
/// depends on the size.
fn matrix<M: Storage>(
    executor: &Executor,
    size: [usize; 3],
    stencil: &Stencil,
) -> StencilMatrix<M> {
    let grid = Grid::new(size).unwrap();
    let (r, points) = (1 + size[1] % 4, stencil.points());
    let cells = |[x, y, z]: [usize; 3], entries: &mut [f64]| {
        for (stream, entry) in entries.iter_mut().enumerate() {
            let (j, point, i) = (stream % r, stream / r % points, stream / r / points);
            let line = (y + size[1] * z) * points * r * r;
            *entry = match point == stencil.centre() && i == j {
                true => 8.0,
                false => number((line + stream) * size[0] + x, 3),
            };
        }
    };
    let a = StencilMatrix::from_cells(executor, grid, stencil.clone(), r, cells);
    a.unwrap().convert().unwrap()
}

fn stencils() -> [Stencil; 5] {
    [
        Stencil::star(2),
        Stencil::star(3),
        Stencil::faces_and_corners(),
        Stencil::faces_and_edges(),
        Stencil::full(3),
    ]
}

/// The results of all forms of a product.
fn products<M: Storage, V: Vectors + Mixes<V, V>>(
    executor: &Executor,
    size: [usize; 3],
    stencil: &Stencil,
) -> Vec<Vec<V>>
where
    StencilMatrix<M>: LinOp<V>,
{
    let (a, ws) = (matrix::<M>(executor, size, stencil), Workspace::new());
    let n = a.size().rows;
    let [x, b, d] = [0, 5, 9].map(|shift| numbers::<V>(executor, n, shift));
    let mut product = numbers(executor, n, 3);
    a.apply(&x, &mut product, &ws).unwrap();
    let mut advanced = numbers(executor, n, 3);
    let (two, three) = (Coefficient::real(2.0), Coefficient::real(3.0));
    a.apply_advanced(two, &x, three, &mut advanced, &ws)
        .unwrap();
    let mut residual = numbers(executor, n, 3);
    a.residual(&b, &x, &mut residual, &ws).unwrap();
    let mut relaxed = numbers(executor, n, 3);
    let sweep = Sweep {
        b: &b,
        d: &d,
        alpha: 0.5,
        beta: 2.0,
        gamma: -1.0,
    };
    a.relax(sweep, &x, &mut relaxed, &ws).unwrap();
    [product, advanced, residual, relaxed]
        .map(|vector| vector.to_vec())
        .to_vec()
}

fn check_products<M: Storage, V: Vectors + Mixes<V, V>>()
where
    StencilMatrix<M>: LinOp<V>,
{
    let cpu = Executor::cpu_with_threads(1).unwrap();
    for size in GRIDS {
        for stencil in stencils() {
            let expected = products::<M, V>(&Executor::reference(), size, &stencil);
            at_every_level(|level| {
                let found = products::<M, V>(&cpu, size, &stencil);
                assert_eq!(found, expected, "{size:?} {stencil} {level:?}");
            });
        }
    }
}

#[test]
fn products_are_those_of_the_oracle_in_every_precision() {
    check_products::<f64, f64>();
    check_products::<f32, f32>();
    check_products::<f16, f32>();
    check_products::<bf16, f32>();
    check_products::<f16, f64>();
    check_products::<f64, f32>();
}

fn swept<M: Storage, V: Vectors>(
    executor: &Executor,
    size: [usize; 3],
    stencil: &Stencil,
) -> Vec<V> {
    let (a, ws) = (matrix::<M>(executor, size, stencil), Workspace::new());
    let n = a.size().rows;
    let (b, mut x) = (numbers(executor, n, 5), numbers(executor, n, 0));
    for direction in [Direction::Forward, Direction::Backward] {
        a.gauss_seidel(direction, &b, &mut x, &ws).unwrap();
    }
    x.to_vec()
}

#[test]
fn gauss_seidel_is_that_of_the_oracle() {
    let cpu = Executor::cpu_with_threads(1).unwrap();
    for size in GRIDS {
        for stencil in stencils() {
            let expected = swept::<f16, f64>(&Executor::reference(), size, &stencil);
            let largest = expected
                .iter()
                .fold(1.0, |m: f64, value| m.max(value.abs()));
            at_every_level(|level| {
                let double = swept::<f16, f64>(&cpu, size, &stencil);
                let single = swept::<f16, f32>(&cpu, size, &stencil);
                for ((expected, double), single) in expected.iter().zip(double).zip(single) {
                    let case = format!("{size:?} {stencil} {level:?}");
                    assert!((double - expected).abs() < 1e-12 * largest, "{case}");
                    assert!(
                        (f64::from(single) - expected).abs() < 1e-4 * largest,
                        "{case}"
                    );
                }
            });
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let size = [50, 40, 30];
    let stencil = Stencil::full(3);
    let results = [1, 2, 3].map(|threads| {
        let cpu = Executor::cpu_with_threads(threads).unwrap();
        let product = products::<f16, f32>(&cpu, size, &stencil);
        (
            product,
            swept::<f16, f32>(&cpu, size, &stencil),
            transferred(&cpu, size, 2),
        )
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

/// A restriction and two prolongations along an axis.
fn transferred(executor: &Executor, size: [usize; 3], axis: usize) -> [Vec<f32>; 3] {
    let fine = Grid::new(size).unwrap();
    let cells = fine.halved(axis).cells();
    let weights = (0..2 * cells)
        .map(|place| convert(number(place, 2)))
        .collect();
    let transfer = Transfer::<f16>::new(executor, fine, axis, weights).unwrap();
    let (values, q) = (
        numbers(executor, fine.cells(), 1),
        numbers(executor, fine.cells(), 2),
    );
    let (mut coarse, mut first) = (
        numbers(executor, cells, 0),
        numbers(executor, fine.cells(), 7),
    );
    transfer.restrict(Some(&q), &values, &mut coarse).unwrap();
    transfer.prolong(None, &coarse, &mut first, false).unwrap();
    let mut second = first.clone();
    transfer
        .prolong(Some(&q), &coarse, &mut second, true)
        .unwrap();
    [coarse, first, second].map(|vector| vector.to_vec())
}

#[test]
fn transfers_are_those_of_the_oracle() {
    let cpu = Executor::cpu_with_threads(1).unwrap();
    for size in GRIDS {
        for axis in (0..3).filter(|&axis| size[axis] > 1) {
            let expected = transferred(&Executor::reference(), size, axis);
            at_every_level(|level| {
                assert_eq!(
                    transferred(&cpu, size, axis),
                    expected,
                    "{size:?} {axis} {level:?}"
                );
            });
        }
    }
}

#[test]
fn weights_of_16_bits_keep_their_sums() {
    let (cpu, grid) = (Executor::cpu(), Grid::new([8, 1, 1]).unwrap());
    // The last cell has one weight only.
    let weights = vec![0.3, 0.9991, 0.45, 0.2, 0.7, 0.0009, 0.55, 0.0];
    let exact = Transfer::<f64>::new(&cpu, grid, 0, weights).unwrap();
    let half = exact.convert::<f16>().unwrap();
    let single = half.convert::<f32>().unwrap();
    let ([left, right], last) = ([0, 4].map(|side| &single.weights()[side..side + 3]), 3);
    for (left, right) in left.iter().zip(right) {
        assert!((left + right - 1.0).abs() < 1e-6, "{left} {right}");
    }
    assert_eq!(half.weights()[last], f16::from_f64(0.2));
    assert_eq!(single.weights()[last + 4], 0.0);
}

#[test]
fn restriction_is_the_adjoint_of_prolongation() {
    let host = Executor::reference();
    let fine = Grid::new([5, 4, 1]).unwrap();
    let weights = (0..24).map(|place| number(place, 3)).collect();
    let transfer = Transfer::<f64>::new(&host, fine, 0, weights).unwrap();
    let (x, y) = (numbers::<f64>(&host, 20, 0), numbers::<f64>(&host, 12, 4));
    let (mut rx, mut py) = (numbers(&host, 12, 0), numbers(&host, 20, 0));
    transfer.restrict(None, &x, &mut rx).unwrap();
    transfer.prolong(None, &y, &mut py, false).unwrap();
    let dot = |a: &Vector<f64>, b: &Vector<f64>| -> f64 {
        a.to_vec().iter().zip(b.to_vec()).map(|(a, b)| a * b).sum()
    };
    assert_eq!(dot(&rx, &y), dot(&x, &py));
}

#[test]
fn many_columns_are_single_ones() {
    let (cpu, ws) = (Executor::cpu(), Workspace::new());
    let a = matrix::<f16>(&cpu, [9, 4, 3], &Stencil::full(3));
    assert_eq!(a.unknowns(), 1);
    let x = Vector::from_rows(&cpu, 2, (0..216).map(|place| number(place, 4)).collect()).unwrap();
    let (mut y, mut r) = (Vector::<f64>::zeros_like(&x).unwrap(), x.clone());
    a.apply(&x, &mut y, &ws).unwrap();
    a.residual(&x, &x, &mut r, &ws).unwrap();
    let column: Vec<f64> = x.to_vec().into_iter().skip(1).step_by(2).collect();
    let mut single = Vector::zeros(&cpu, 108, 1).unwrap();
    a.apply(&Vector::from_column(&cpu, column.clone()), &mut single, &ws)
        .unwrap();
    let second: Vec<f64> = y.to_vec().into_iter().skip(1).step_by(2).collect();
    assert_eq!(second, single.to_vec());
    let rest: Vec<f64> = column.iter().zip(second).map(|(b, ax)| b - ax).collect();
    assert!(r.to_vec().into_iter().skip(1).step_by(2).eq(rest));
}

#[test]
fn a_zero_diagonal_is_named() {
    let grid = Grid::new([3, 1, 1]).unwrap();
    let values = vec![0.0, 1.0, 1.0, 2.0, 0.0, 2.0, 1.0, 1.0, 0.0];
    let a = StencilMatrix::new(&Executor::reference(), grid, Stencil::full(1), values).unwrap();
    let refused = a.check_diagonal("gauss-seidel");
    assert_refused!(refused, ZeroDiagonal { row: 1, .. });
}

#[test]
fn blocks_survive_the_way_to_csr_and_back() {
    for size in [[5, 1, 1], [3, 2, 2], [2, 3, 4]] {
        let a = matrix::<f64>(&Executor::reference(), size, &Stencil::full(3));
        let again = StencilMatrix::from_csr_on(&a.to_csr(), a.grid()).unwrap();
        assert_eq!(again.unknowns(), a.unknowns());
        let (csr, csr_again) = (a.to_csr(), again.to_csr());
        assert_eq!(csr.columns(), csr_again.columns());
        assert_eq!(csr.values(), csr_again.values());
        let x = numbers::<f64>(&Executor::reference(), a.size().rows, 2);
        let (mut y, mut z) = (x.clone(), x.clone());
        a.apply(&x, &mut y, &Workspace::new()).unwrap();
        csr.apply(&x, &mut z, &Workspace::new()).unwrap();
        assert_eq!(y.to_vec(), z.to_vec());
        for row in 0..a.size().rows {
            assert_eq!(a.diagonal()[row], csr.entry(row, row).unwrap());
        }
    }
}

#[test]
fn cells_have_one_to_four_unknowns() {
    let grid = Grid::new([2, 1, 1]).unwrap();
    let make = |unknowns: usize, n: usize| {
        let (host, stencil) = (Executor::reference(), Stencil::full(1));
        StencilMatrix::with_unknowns(&host, grid, stencil, unknowns, vec![1.0; n])
    };
    assert!(make(2, 24).is_ok());
    assert_refused!(make(2, 12), InvalidStructure { .. });
    assert_refused!(make(0, 0), BadParameter { .. });
    assert_refused!(make(5, 150), BadParameter { .. });
}

#[test]
fn products_for_solvers_come_with_their_dots() {
    let (cpu, ws) = (Executor::cpu_with_threads(3).unwrap(), Workspace::new());
    for spec in [
        "laplace27:9x7x37",
        "oil-4C:5x4x21",
        "poisson5:20x37",
        "rhd-3T:4x3x2",
    ] {
        let a = gallery::build_stencil(spec, &cpu).unwrap();
        let n = a.size().rows;
        let value = |row: usize| ((row * 7) % 11) as f64 - 4.0;
        let x = Vector::from_column(&cpu, (0..n).map(value).collect());
        let mut y = Vector::filled(&cpu, n, 1, f64::NAN).unwrap();
        let mut dots = ws.scalars(&x).unwrap();
        assert!(a.apply_dot(&x, &mut y, &mut dots, &ws).unwrap());
        let mut expected = Vector::zeros_like(&x).unwrap();
        a.to_csr().apply(&x, &mut expected, &ws).unwrap();
        let largest = expected
            .to_vec()
            .iter()
            .fold(0.0, |m: f64, v: &f64| m.max(v.abs()));
        let mut dot = 0.0;
        for ((x, y), expected) in x.to_vec().iter().zip(y.to_vec()).zip(expected.to_vec()) {
            assert!(
                (y - expected).abs() < 1e-13 * largest,
                "{spec}: {y} {expected}"
            );
            dot += x * y;
        }
        let found = dots.host().unwrap()[0];
        assert!(
            (found - dot).abs() < 1e-12 * largest * n as f64,
            "{spec}: {found} {dot}"
        );
    }
}
