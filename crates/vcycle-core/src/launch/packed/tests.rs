//! The kernels on vectors in fewer bits beside those of the host.

use super::*;
use crate::arrays::Storage;
use crate::prelude::*;
use crate::scalar::convert;

/// Numbers and vectors that a few steps of orthogonalisation leave.
fn steps<T: Scalar>(executor: &Executor, storage: Storage, cols: usize) -> Vec<f64> {
    let rows = 5003;
    let mut packed = Packed::<T>::empty(executor, rows, cols).unwrap();
    packed.prepare(storage, 20).unwrap();
    let mut found = Vec::new();
    for step in 0..20 {
        let value =
            |i: usize| convert(((i * i * (7 + step) + i * step) % 1009) as f64 * 0.01 - 5.0);
        let values = (0..rows * cols).map(value).collect();
        let mut w = Vector::<T>::from_rows(executor, cols, values).unwrap();
        packed.project(step, &mut w).unwrap();
        let wanted = |column| column + 1 == cols;
        packed.project_some(step, &mut w, wanted).unwrap();
        let numbers = &packed.numbers().unwrap()[..(step + 1) * cols];
        found.extend(numbers.iter().map(|number| number.to_c64().re));
        packed.keep_unit(step, &mut w).unwrap();
        found.extend(w.to_vec()[..50].iter().map(|value| value.to_c64().re));
    }
    let mut sum = Vector::<T>::filled(executor, rows, cols, 1.0).unwrap();
    packed.keep(3, &mut sum).unwrap();
    let coefficient = |vector, column| T::Arith::from_f64((vector + column) as f64 * 0.5);
    packed.add_to(20, coefficient, &mut sum).unwrap();
    found.extend(sum.to_vec().iter().map(|value| value.to_c64().re));
    found
}

/// The same of pipelined steps, of which the second half takes from vectors in several segments.
fn pipelined<T: Scalar>(executor: &Executor, cols: usize) -> Vec<f64> {
    let rows = 1003;
    let mut packed = Packed::<T>::empty(executor, rows, cols).unwrap();
    packed.prepare(Storage::Working, 20).unwrap();
    let vector = |seed: usize| {
        let value = |i: usize| convert(((i * (7 + seed) + seed) % 11) as f64 * 0.25 - 1.0);
        let values = (0..rows * cols).map(value).collect();
        Vector::<T>::from_rows(executor, cols, values).unwrap()
    };
    let mut found = Vec::new();
    packed.keep(0, &mut vector(1)).unwrap();
    for count in 1..20 {
        let (mut z, mut w) = (vector(count), vector(2 * count));
        let (mut besides, mut done) = ([3.0], false);
        let mut meanwhile = || {
            done = true;
            Ok(())
        };
        let numbers = packed.multiply_while(count, &z, &mut besides, &mut meanwhile);
        found.extend(numbers.unwrap().iter().map(|number| number.to_c64().re));
        assert!(done && besides == [3.0]);
        let coefficients = |vector: usize, column: usize| {
            let a = T::Arith::from_f64(0.01 * (vector + column) as f64);
            match vector == count {
                true => [T::Arith::from_f64(if column == 1 { 0.0 } else { 0.5 }), a],
                false => [a, -a],
            }
        };
        packed.advance(count, coefficients, &mut z, &mut w).unwrap();
        let values = [z.to_vec(), w.to_vec()].concat();
        found.extend(values.iter().map(|value| value.to_c64().re));
    }
    found
}

fn check<T: Scalar>(device: &Executor, storage: Storage, cols: usize, tolerance: f64) {
    check_of::<T>(device, tolerance, |executor| {
        steps::<T>(executor, storage, cols)
    });
}

fn check_of<T: Scalar>(device: &Executor, tolerance: f64, steps: impl Fn(&Executor) -> Vec<f64>) {
    let here = steps(&Executor::reference());
    for executor in [&Executor::cpu(), device] {
        let there = steps(executor);
        for (place, (here, there)) in here.iter().zip(&there).enumerate() {
            let off = (here - there).abs();
            assert!(
                off <= tolerance * here.abs().max(1.0),
                "{}: {here} and {there} at {place}",
                T::KIND
            );
        }
    }
}

#[test]
fn pipelined_steps_are_those_of_the_reference() {
    let device = device().unwrap_or(Executor::cpu());
    check_of::<f64>(&device, 1e-10, |executor| pipelined::<f64>(executor, 1));
    check_of::<c64>(&device, 1e-10, |executor| pipelined::<c64>(executor, 2));
}

#[test]
fn devices_orthogonalise_as_the_reference_does() {
    let device = device().unwrap_or(Executor::cpu());
    check::<f64>(&device, Storage::Working, 1, 1e-10);
    check::<c64>(&device, Storage::Working, 1, 1e-10);
    check::<c32>(&device, Storage::Working, 2, 1e-2);
    // Codes may be the next one where rounding decides.
    check::<f64>(&device, Storage::Hp, 1, 1e-2);
    check::<f64>(&device, Storage::I32, 1, 1e-8);
    check::<f64>(&device, Storage::I16, 3, 1e-3);
}
