//! Structured multigrid over ranks beside the same without.

use vcycle_core::communicator::threads;

use super::mg_tests::{is_in_boxes, jumps, struct_mg};
use super::{StencilMatrix, StructMg};
use crate::gallery;
use crate::matrix::Partition;
use crate::prelude::*;

/// What a preconditioner makes of a vector, on so many ranks, or without; every rank may have a device.
fn applied(
    device: Option<&Executor>,
    whole: &Csr<f64>,
    parameters: &StructMg,
    ranks: Option<usize>,
) -> Vec<f64> {
    let unknowns = StencilMatrix::from_csr(whole).unwrap().unknowns();
    let rows = whole.size().rows;
    let value = |row: usize| (row * 37 % 101) as f64 / 101.0 - 0.3;
    let made = |a: Arc<dyn LinOp<f64>>, own: std::ops::Range<usize>| {
        let ws = Workspace::new();
        let made = parameters.generate_with_report(&a, &ws)?;
        let b = Vector::from_column(a.executor(), own.map(value).collect());
        let mut x = Vector::zeros_like(&b)?;
        made.operator.apply(&b, &mut x, &ws)?;
        Ok(x.to_vec())
    };
    let Some(ranks) = ranks else {
        let whole = match device {
            Some(device) => whole.copy_to(device).unwrap(),
            None => whole.clone(),
        };
        return made(Arc::new(whole), 0..rows).unwrap();
    };
    let all = threads::run(ranks, |team| {
        let mut rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
        if let Some(device) = device {
            rank = rank.with_device(device.name())?;
        }
        let even = Partition::even(rows as u64, unknowns as u64, ranks);
        let own = even.range(team.rank());
        let a = Distributed::part_of(&rank, whole, even)?;
        made(Arc::new(a), own.start as usize..own.end as usize)
    });
    all.unwrap().concat()
}

/// Levels down to a few cells are shared.
const SMALL: &str = "gather-cells=60, coarsest-cells=20";
/// Small levels are shared on devices, too, which gather larger ones.
const SMALL_THERE: &str = "gather-cells=3, coarsest-cells=20";

/// The first row where two vectors differ.
fn difference(one: &[f64], other: &[f64]) -> Option<usize> {
    assert_eq!(one.len(), other.len());
    (0..one.len()).find(|&row| one[row].to_bits() != other[row].to_bits())
}

/// Any of some numbers of ranks make what one process makes.
fn same(device: Option<&Executor>, cases: &[(&[usize], &str)], options: &str) {
    let parameters = &struct_mg(options);
    for &(numbers, spec) in cases {
        let whole = gallery::build(spec, &Executor::cpu()).unwrap().matrix;
        let alone = applied(device, &whole, parameters, None);
        for &ranks in numbers {
            let shared = applied(device, &whole, parameters, Some(ranks));
            assert_eq!(difference(&alone, &shared), None, "{spec} on {ranks} ranks");
        }
    }
}

#[test]
fn ranks_with_devices_have_the_bits_of_one_device() {
    let Some(device) = device() else { return };
    let cases: [(&[usize], &str); 4] = [
        (&[1, 3], "poisson27:6x5x13"),
        // Scaled levels of half precision; several unknowns; boxes of lines.
        (&[2], "rhd:6x5x14"),
        (&[2], "oil-4C:3x3x9"),
        (&[6], "poisson7:5x19x4"),
    ];
    same(Some(&device), &cases, SMALL_THERE);
}

#[test]
fn cycles_have_the_same_bits_on_any_number_of_ranks() {
    let cases: [(&[usize], &str); 7] = [
        (&[1, 2, 3, 7], "poisson27:6x5x23"),
        (&[3, 7], "poisson9:9x40"),
        // Scaled levels.
        (&[2, 3, 7], "jump7:7x6x29,1e8"),
        // Semicoarsening, along the axis that is cut and along others.
        (&[3], "aniso7:6x6x24,0.01"),
        // Boxes of lines, where slabs would be thin or planes are too few.
        (&[16], "poisson27:4x32x16"),
        (&[6], "jump7:5x19x4,1e3"),
        // More ranks than planes and too few lines for boxes: one has them all.
        (&[2, 7], "poisson7:5x5x6"),
    ];
    same(None, &cases, SMALL);
}

/// Islands that slabs and boxes cut, and a long one that is on all ranks.
#[test]
fn islands_are_corrected_with_the_same_bits_on_any_number_of_ranks() {
    let is_high =
        |cell: [usize; 3]| is_in_boxes(cell) || cell[..2] == [6, 1] && (2..25).contains(&cell[2]);
    let (on, off) = (
        struct_mg(SMALL),
        struct_mg(&format!("{SMALL}, islands=off")),
    );
    for (size, numbers) in [([8, 6, 27], &[2, 7][..]), ([8, 19, 4], &[6])] {
        let whole = jumps(size, is_high).to_csr();
        let alone = applied(None, &whole, &on, None);
        assert!(difference(&alone, &applied(None, &whole, &off, None)).is_some());
        for &ranks in numbers {
            let shared = applied(None, &whole, &on, Some(ranks));
            let differs = difference(&alone, &shared);
            assert_eq!(differs, None, "{size:?} on {ranks} ranks");
        }
    }
}

/// Planes that are known around rows are all of a grid or some.
#[test]
fn ranks_with_devices_correct_islands_with_the_bits_of_one_device() {
    let Some(device) = device() else { return };
    for (planes, ranks) in [(19, 3), (80, 2)] {
        let whole = jumps([8, 6, planes], is_in_boxes).to_csr();
        let there = |ranks| applied(Some(&device), &whole, &struct_mg(SMALL_THERE), ranks);
        assert_eq!(difference(&there(None), &there(Some(ranks))), None);
    }
}

#[test]
fn other_parameters_and_several_unknowns_have_the_same_bits_too() {
    let seven = "poisson7:6x6x21";
    let polynomials: [(&[usize], &str); 3] = [
        (&[3], "poisson27:5x4x15"),
        (&[6], "jump7:5x19x4,1e3"),
        (&[2], "oil-4C:4x3x9"),
    ];
    for (options, cases) in [
        ("cycle=f, pre-sweeps=1", &[(&[2, 3][..], seven)][..]),
        ("cycle=full, precision=dp", &[(&[3], seven)]),
        ("cycle=v", &[(&[3], "oil-4C:4x4x19")]),
        ("coarse-stencil=same", &[(&[2, 3], "jump7:6x6x21,1e3")]),
        ("smoother=jacobi", &polynomials),
        ("smoother=chebyshev", &polynomials),
    ] {
        same(None, cases, &format!("{SMALL}, {options}"));
    }
}

/// Sums over ranks are formed in another order.
#[test]
fn k_cycles_are_the_same_to_rounding() {
    let k = |gathered: usize| {
        struct_mg(&format!(
            "cycle=k, gather-cells={gathered}, coarsest-cells=20, precision=dp"
        ))
    };
    let device = device().map(Some);
    for device in std::iter::once(None).chain(device) {
        let whole = gallery::build("poisson7:6x6x21", &Executor::cpu())
            .unwrap()
            .matrix;
        let by = |gathered, ranks| applied(device.as_ref(), &whole, &k(gathered), ranks);
        let alone = by(0, None);
        for gathered in [0, 5] {
            let shared = by(gathered, Some(3));
            let mut pairs = alone.iter().zip(shared);
            assert!(pairs.all(|(one, other)| (one - other).abs() < 1e-10));
        }
    }
}

#[test]
fn what_is_not_made_for_ranks_is_refused() {
    let dilu = struct_mg(&format!("{SMALL}, smoother=dilu"));
    let whole = gallery::build("poisson7:6", &Executor::cpu())
        .unwrap()
        .matrix;
    let errors = on_ranks(2, |rank, _| {
        let a = Distributed::part_of(rank, &whole, Partition::even(216, 1, 2))?;
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let refused = dilu.generate_with_report(&a, &Workspace::new());
        Ok(refused.unwrap_err().to_string())
    });
    assert!(errors[0].contains("`dilu`"));
}
