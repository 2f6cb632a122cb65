//! Structured multigrid as a preconditioner.

use super::*;
use crate::gallery;
use crate::multigrid::Cycle;
use crate::multigrid::testing::{assert_near, with};
use crate::precision::Unit;
use crate::prelude::*;
use crate::solver::{Cg, Fcg, Gmres, Solver};
use crate::stop::Stop;

/// Structured multigrid some of whose parameters are not those by default.
pub(super) fn struct_mg(text: &str) -> StructMg {
    with(&StructMg::default(), text)
}

fn parameters(triple: &str) -> StructMg {
    struct_mg(&format!("precision={triple}"))
}

fn problem(executor: &Executor, spec: &str) -> Arc<dyn LinOp<f64>> {
    Arc::new(gallery::build(spec, executor).unwrap().matrix)
}

fn with_smoother(smoother: StencilSmoother) -> StructMg {
    with(&parameters("K64P32D16"), &format!("smoother={smoother}"))
}

/// The set-up of a problem on one thread.
fn set_up(spec: &str, parameters: &StructMg) -> Generated<f64> {
    let cpu = Executor::cpu_with_threads(1).unwrap();
    let made = parameters.generate_with_report(&problem(&cpu, spec), &Workspace::new());
    made.unwrap()
}

/// What an operator makes of a vector.
fn applied(operator: &dyn LinOp<f64>, b: Vec<f64>) -> Vec<f64> {
    let b = Vector::from_column(operator.executor(), b);
    let mut x = Vector::filled(operator.executor(), b.rows(), 1, f64::NAN).unwrap();
    operator.apply(&b, &mut x, &Workspace::new()).unwrap();
    x.to_vec()
}

/// Iterations to 1e-9.
fn iterations(spec: &str, parameters: &StructMg) -> usize {
    let cpu = Executor::cpu_with_threads(2).unwrap();
    let a = problem(&cpu, spec);
    let n = a.size().rows;
    let solver = match (spec.starts_with("convdiff"), parameters.cycle) {
        (true, _) => Solver::new(Gmres::default(), a).unwrap(),
        // Its cycles are no fixed operator.
        (_, Cycle::K) => Solver::new(Fcg::default(), a).unwrap(),
        _ => Solver::new(Cg::default(), a).unwrap(),
    };
    let solver = solver.preconditioned_by(parameters).unwrap();
    let solver = solver.stopping(Stop::relative(1e-9).max_iterations(200));
    let b = Vector::filled(&cpu, n, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert!(outcome.converged(), "{spec} {outcome:?}");
    outcome.iterations
}

#[test]
fn half_precision_needs_no_more_iterations_than_double() {
    for (spec, most) in [
        ("laplace27:12", 10),
        ("laplace27e8:12", 10),
        ("poisson7:20x17x9", 14),
        ("poisson5:40x33", 14),
        ("poisson9:40x1", 3),
        ("aniso7:14,0.001", 16),
        ("jump7:16,1e6", 40),
        ("elasticity:8x5x6", 30),
    ] {
        let double = iterations(spec, &parameters("K64P64D64"));
        let half = iterations(spec, &parameters("K64P32D16"));
        assert!(
            double <= most,
            "{spec}: {double} iterations in double precision"
        );
        let most = double + 1 + double / 10;
        assert!(half <= most, "{spec}: {double} and {half} iterations");
        let brain = iterations(spec, &parameters("K64P32DB16"));
        assert!(
            brain <= 2 * double,
            "{spec}: {double} and {brain} iterations"
        );
    }
}

#[test]
fn coarse_operators_of_seven_points_cost_some_iterations() {
    let same = struct_mg("coarse-stencil=same");
    for (spec, most) in [("poisson7:20x17x9", 14), ("rhd:12", 24)] {
        let count = iterations(spec, &same);
        assert!(count <= most, "{spec}: {count} iterations");
    }
    let report = set_up("poisson7:20x17x9", &same).report;
    assert!(report.operator_complexity() < 1.2);
}

#[test]
fn narrow_storage_costs_radiation_and_convection_some_iterations() {
    // Two more for radiation if rows and weights do not keep their sums.
    let single = iterations("rhd:24", &parameters("K64P32D32"));
    let half = iterations("rhd:24", &parameters("K64P32D16"));
    assert!(half <= single + 1, "{single} and {half} iterations");
    let double = iterations("convdiff7:16,20", &parameters("K64P64D64"));
    let half = iterations("convdiff7:16,20", &parameters("K64P32D16"));
    assert!(double <= 16 && half <= 22, "{double} and {half} iterations");
}

/// Iterations with a smoother are at most so many times those with another one, or fewer.
#[test]
fn smoothers_compare_as_they_should() {
    use StencilSmoother::{Chebyshev, Dilu, GaussSeidel, Ilu0, Jacobi};
    let scalar = ["laplace27e8:17x16x15", "jump7:16,1000"];
    let factors = [scalar[0], scalar[1], "convdiff7:16,20"];
    let polynomials = [scalar[0], scalar[1], "elasticity:7x6x5"];
    for (specs, smoother, other, times) in [
        (&factors[..], Dilu, GaussSeidel, Some(1)),
        (&factors, Ilu0, GaussSeidel, Some(1)),
        (&["solid-3D:8x7x6"], Ilu0, GaussSeidel, None),
        (&polynomials, Jacobi, GaussSeidel, Some(2)),
        (&polynomials, Chebyshev, Jacobi, None),
    ] {
        for spec in specs {
            let [found, known] = [smoother, other].map(|one| iterations(spec, &with_smoother(one)));
            let most = times.map_or(known - 1, |times| times * known);
            assert!(found <= most, "{spec} {smoother}: {known} and {found}");
        }
    }
}

#[test]
fn grids_of_any_size_have_a_cycle() {
    for spec in [
        "poisson7:1x1x300",
        "poisson7:1x30x40",
        "poisson7:31x1x29",
        "poisson7:2x3x200",
        "poisson7:1",
        "poisson27:7x11x13",
    ] {
        assert!(iterations(spec, &StructMg::default()) <= 16, "{spec}");
    }
}

#[test]
fn the_strategies_differ_where_they_should() {
    let with = |scaling: &str| with(&parameters("K64P32D16"), &format!("scaling={scaling}"));
    let a = problem(&Executor::cpu(), "laplace27e8:12");
    let refused = with("none").generate_with_report(&a, &Workspace::new());
    assert_refused!(refused, LevelOverflow { level: 0, .. });
    for (spec, scaling) in [
        ("laplace27e8:12", "scale-then-setup"),
        ("laplace27:12", "none"),
        ("laplace27:12", "equilibrate"),
    ] {
        assert!(iterations(spec, &with(scaling)) <= 10, "{spec}");
    }
    let scaled = set_up("laplace27e8:12", &with("auto")).report;
    assert!(scaled.levels[0].scaled);
    assert_eq!(scaled.levels[0].precision.matrix, Unit::Half);
    let all = set_up("laplace27:12", &with("equilibrate")).report;
    assert!(all.levels[0].scaled);
}

#[test]
fn levels_from_the_shift_on_are_single() {
    let shifted = struct_mg("precision=K64P32D16, shift-level=1");
    let report = set_up("laplace27:30", &shifted).report;
    let stored = report.levels.iter().map(|level| level.precision.matrix);
    let expected = [Unit::Half, Unit::Single, Unit::Single, Unit::Double];
    assert!(stored.eq(expected));
    assert!(report.operator_complexity() < 1.2);
}

#[test]
fn precisions_differ_by_level() {
    let spec = "laplace27e8:12";
    for (text, expected) in [
        ("dp/hp", ["dp/hp", "dp/hp"]),
        ("sp/hp-sp", ["sp/hp", "sp"]),
        ("dp-sp/dp-hp", ["dp", "sp/hp"]),
        ("sp-dp/hp-dp", ["sp/hp", "dp"]),
    ] {
        let levels = set_up(spec, &parameters(text)).report.levels;
        let found = [0, 1].map(|level: usize| levels[level].precision.to_string());
        assert_eq!(found, expected, "{text}");
        assert!(iterations(spec, &parameters(text)) <= 10, "{text}");
    }
}

#[test]
fn cycles_have_the_shapes_of_all_multigrid() {
    for spec in ["laplace27e8:9x8x7", "elasticity:4x4x3"] {
        let sweeps = "coarsest-cells=10, pre-sweeps=1, post-sweeps=1";
        let with = |cycle: &str, precision: &str| {
            struct_mg(&format!("{sweeps}, cycle={cycle}, precision={precision}"))
        };
        for precision in ["dp", "dp-sp/hp"] {
            let v = iterations(spec, &with("v", precision));
            for cycle in ["w", "f"] {
                let found = iterations(spec, &with(cycle, precision));
                assert!(found <= v, "{spec} {cycle} {precision}: {v} and {found}");
            }
        }
        assert!(iterations(spec, &with("k", "dp")) <= iterations(spec, &with("v", "dp")) + 2);
    }
}

#[test]
fn levels_have_options_of_their_own() {
    let text = r#"{"precision": "sp/hp", "coarsest-cells": 20, "levels": [
        {"from": 1, "smoother": "ilu0", "pre-sweeps": 1, "post-sweeps": 1},
        {"below-rows": 300, "precision": "sp"}]}"#;
    let parameters: StructMg = serde_json::from_str(text).unwrap();
    let again = serde_json::to_string(&parameters).unwrap();
    assert_eq!(
        serde_json::from_str::<StructMg>(&again).unwrap(),
        parameters
    );
    let levels = set_up("laplace27:24", &parameters).report.levels;
    let facts = levels.iter().take(3);
    let facts = facts.map(|facts| format!("{} {}", facts.precision, facts.smoother));
    let expected = [
        "sp/hp gs 2+2 24x24x24",
        "sp/hp ilu0 1+1 12x12x12",
        "sp ilu0 1+1 6x6x6",
    ];
    assert!(facts.eq(expected));
    assert!(iterations("laplace27:24", &parameters) <= 12);
    let unknown = r#"{"levels": [{"interpolation": "direct"}]}"#;
    let unknown = serde_json::from_str::<StructMg>(unknown).unwrap_err();
    assert!(
        unknown
            .to_string()
            .contains("unknown field `interpolation`")
    );
}

#[test]
fn updates_make_what_a_new_set_up_makes_on_the_same_grids() {
    let (cpu, ws) = (Executor::cpu_with_threads(1).unwrap(), Workspace::new());
    let a = problem(&cpu, "aniso7:12,0.001");
    let first = StructMg::default().generate_with_report(&a, &ws).unwrap();
    let mut other = gallery::build("aniso7:12,0.001", &cpu).unwrap().matrix;
    other
        .values_mut()
        .iter_mut()
        .for_each(|value| *value *= 1e8);
    let other: Arc<dyn LinOp<f64>> = Arc::new(other);
    let updated = first.setup.update_values(&other, &ws).unwrap();
    let rows = |made: &Generated<f64>| {
        let levels = made.report.levels.iter();
        levels.map(|level| level.rows).collect::<Vec<_>>()
    };
    assert_eq!(rows(&updated), rows(&first));
    assert!(updated.report.levels[0].scaled && !first.report.levels[0].scaled);
    let anew = StructMg::default()
        .generate_with_report(&other, &ws)
        .unwrap();
    let ones = |made: &Generated<f64>| applied(made.operator.as_ref(), vec![1.0; a.size().rows]);
    assert_eq!(ones(&updated), ones(&anew));
    let update = |spec| first.setup.update_values(&problem(&cpu, spec), &ws);
    assert_eq!(rows(&update("poisson7:12").unwrap()), rows(&first));
    assert_refused!(update("poisson27:12"), InvalidStructure { .. });
    assert_refused!(update("poisson7:11"), SizeMismatch { .. });
}

#[test]
fn weak_axes_are_not_halved() {
    let report = set_up("aniso7:16,0.001", &StructMg::default()).report;
    assert_eq!(report.levels[1].rows, 8 * 8 * 16);
}

#[test]
fn the_cycle_is_symmetric() {
    let m = set_up("jump7:9x8x7,100", &parameters("K64P64D64")).operator;
    let vector = |seed: usize| -> Vec<f64> {
        let value = |place: usize| ((place * seed) % 17) as f64 - 8.0;
        (0..m.size().rows).map(value).collect()
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let (x, y) = (vector(5), vector(11));
    let (left, right) = (
        dot(&applied(m.as_ref(), x.clone()), &y),
        dot(&x, &applied(m.as_ref(), y.clone())),
    );
    assert!(
        (left - right).abs() < 1e-10 * left.abs().max(1.0),
        "{left} {right}"
    );
}

#[test]
fn any_number_of_threads_makes_the_same_cycle() {
    let results = [1, 2, 3].map(|threads| {
        let a = problem(
            &Executor::cpu_with_threads(threads).unwrap(),
            "jump7:33x32x31,100",
        );
        let made = StructMg::default().generate_with_report(&a, &Workspace::new());
        applied(made.unwrap().operator.as_ref(), vec![1.0; a.size().rows])
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn what_cannot_be_preconditioned_is_named() {
    let cpu = Executor::cpu_with_threads(1).unwrap();
    let made = |a: &Arc<dyn LinOp<f64>>, parameters: &StructMg| {
        parameters
            .generate_with_report(a, &Workspace::new())
            .map(|made| made.report.notes.concat())
    };
    let changed = |change: &dyn Fn(usize, &mut f64)| -> Arc<dyn LinOp<f64>> {
        let mut a = gallery::build("poisson7:6", &cpu).unwrap().matrix;
        let values = a.values_mut().iter_mut().enumerate();
        values.for_each(|(place, value)| change(place, value));
        Arc::new(a)
    };
    let (any, half) = (StructMg::default(), parameters("K64P32D16"));
    let a = changed(&|_, _| ());
    let other = struct_mg("grid=36x6");
    for refused in [made(&problem(&cpu, "lshape:o1,l2"), &any), made(&a, &other)] {
        let is_named = matches!(refused, Err(Error::NotAStencil { .. }));
        assert!(is_named, "{refused:?}");
    }
    for other in ["hp", "dp-hp", "sp-hp"] {
        let said = made(&a, &parameters(other)).unwrap_err().to_string();
        assert!(said.contains("vectors are in `dp` or `sp`"), "{said}");
    }
    let huge = changed(&|_, value| *value *= 1e60);
    let chosen = made(&huge, &any).unwrap();
    assert!(chosen.starts_with("struct-mg dp:"), "{chosen}");
    let refused = made(&huge, &half).unwrap_err();
    let is_named = matches!(
        refused,
        Error::LevelOverflow {
            row: 1,
            column: 0,
            ..
        }
    );
    assert!(is_named, "{refused:?}");
    let csr = gallery::build("poisson7:6", &cpu).unwrap().matrix;
    let diagonal = csr.row(5).0.iter().position(|&column| column == 5);
    let zero = csr.offsets()[5] + diagonal.unwrap();
    let singular = changed(&|place, value| *value *= f64::from(u8::from(place != zero)));
    let refused = made(&singular, &any).unwrap_err();
    let is_named = matches!(refused, Error::ZeroDiagonal { row: 5, .. });
    assert!(is_named, "{refused:?}");
    let negative = changed(&|_, value| *value *= -1e8);
    let refused = made(&negative, &half).unwrap_err();
    let is_named = matches!(refused, Error::BadPivot { row: 0, .. });
    assert!(is_named, "{refused:?}");
    let chosen = made(&negative, &any).unwrap();
    assert!(chosen.starts_with("struct-mg sp:"), "{chosen}");
}

/// What one cycle makes of a vector.
fn cycled(executor: &Executor, spec: &str, parameters: &StructMg) -> Vec<f64> {
    let a = problem(executor, spec);
    let b = (0..a.size().rows).map(|row| ((row * 7) % 11) as f64 - 4.0);
    let made = parameters.generate_with_report(&a, &Workspace::new());
    applied(made.unwrap().operator.as_ref(), b.collect())
}

#[test]
fn cycles_are_those_of_the_oracle() {
    let cpu = Executor::cpu_with_threads(3).unwrap();
    for (spec, triple, sweeps, tolerance) in [
        ("laplace27:9x7x37", "K64P64D64", [1, 1], 1e-11),
        ("poisson7:18x5x20", "K64P64D64", [1, 2], 1e-11),
        ("jump7:20x3x18,100", "K64P64D64", [2, 1], 1e-11),
        ("poisson5:20x37", "K64P64D64", [1, 1], 1e-11),
        ("aniso7:12x9x11,0.001", "K64P64D64", [1, 1], 1e-11),
        ("elasticity:5x4x19", "K64P64D64", [1, 1], 1e-9),
        ("laplace27e8:8x9x17", "K64P32D16", [1, 1], 1e-4),
        ("laplace27e8:8x9x17", "K64P32D16", [2, 2], 1e-4),
        ("rhd-3T:7x6x9", "K64P32D16", [2, 2], 1e-3),
    ] {
        let parameters = struct_mg(&format!(
            "precision={triple}, pre-sweeps={}, post-sweeps={}, coarsest-cells=20",
            sweeps[0], sweeps[1]
        ));
        let expected = cycled(&Executor::reference(), spec, &parameters);
        assert_near(&cycled(&cpu, spec, &parameters), &expected, tolerance, spec);
    }
}

/// A diffusion whose coefficient is 1e6 in some cells and 1 around them.
pub(super) fn jumps(
    size: [usize; 3],
    is_high: impl Fn([usize; 3]) -> bool + Sync,
) -> StencilMatrix<f64> {
    let coefficient = |cell| if is_high(cell) { 1e6 } else { 1.0 };
    let (stencil, grid) = (Stencil::star(3), Grid::new(size).unwrap());
    let (centre, offsets) = (stencil.centre(), stencil.offsets().to_vec());
    let a = StencilMatrix::from_cells(&Executor::cpu(), grid, stencil, 1, |cell, entries| {
        let here = coefficient(cell);
        for (offset, entry) in offsets.iter().zip(&mut *entries) {
            let there = [0, 1, 2].map(|axis| cell[axis].wrapping_add_signed(offset[axis].into()));
            let there = coefficient(there);
            *entry = -2.0 * here * there / (here + there);
        }
        entries[centre] = 0.0;
        entries[centre] = -entries.iter().sum::<f64>();
    });
    a.unwrap()
}

/// Boxes of 4x2x2 cells none of which holds a cell of the third grid.
pub(super) fn is_in_boxes([x, y, z]: [usize; 3]) -> bool {
    x % 8 < 4 && y % 4 >= 2 && z % 4 >= 2
}

#[test]
fn corrections_on_islands_save_most_iterations() {
    let a: Arc<dyn LinOp<f64>> = Arc::new(jumps([24, 16, 16], is_in_boxes));
    let [without, with] = ["off", "auto"].map(|islands| {
        let parameters = struct_mg(&format!("precision=sp/hp, islands={islands}"));
        let solver = Solver::new(Cg::default(), Arc::clone(&a)).unwrap();
        let solver = solver.preconditioned_by(&parameters).unwrap();
        let solver = solver.stopping(Stop::relative(1e-8).max_iterations(20));
        let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        solver.solve(&b, &mut x).unwrap()
    });
    // It takes 299 iterations.
    assert!(!without.converged() && without.relative_residual > 1e-3);
    assert!(with.converged() && with.iterations < 16, "{with:?}");
}
