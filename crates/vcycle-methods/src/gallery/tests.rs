//! What problems promise, and what is said of specifications that are wrong.

use super::*;
use crate::prelude::*;

fn host() -> Executor {
    Executor::reference()
}

fn matrix(spec: &str) -> Csr<f64> {
    build(spec, &host()).unwrap().matrix
}

fn part_of_error(spec: &str) -> &'static str {
    match build(spec, &host()) {
        Err(Error::BadProblem { part, .. }) => part,
        other => panic!("{spec}: {:?}", other.map(|problem| problem.name)),
    }
}

#[test]
fn every_example_builds_and_its_name_builds_it_again() {
    for entry in catalogue() {
        let problem = build(entry.example, &host()).unwrap();
        let again = build(&problem.name, &host()).unwrap();
        let rows = problem.matrix.size().rows;
        assert!(problem.name.starts_with(entry.name));
        assert_eq!(problem.rhs.len(), rows);
        assert_eq!(again.matrix.values(), problem.matrix.values());
        assert!(problem.matrix.check_finite().is_ok());
        assert!(problem.matrix.diagonal().iter().all(|&d| d > 0.0));
        if let Some(coordinates) = &problem.coordinates {
            assert_eq!(coordinates.len() * problem.block_size, rows);
        }
        let facts = problem.matrix.facts();
        let directed = ["convdiff7", "oil", "weather", "oil-4C"];
        let is_directed = directed.contains(&entry.name);
        assert_eq!(facts.symmetric, !is_directed, "{}", entry.name);
    }
    for entry in complex_catalogue() {
        let made = build_complex(entry.example, &host()).unwrap();
        assert_eq!((made.name, made.rhs.len()), (entry.example.to_owned(), 48));
        let facts = made.matrix.facts();
        let is_hermitian = entry.name == "magnetic";
        assert!(facts.hermitian == is_hermitian && facts.symmetric != is_hermitian);
        assert!(facts.complex && (facts.positive_diagonal() || !is_hermitian));
    }
}

#[test]
fn any_number_of_threads_makes_the_same_matrix() {
    let threads = Executor::cpu_with_threads(3).unwrap();
    for spec in [
        "poisson27:17x13x11",
        "jump7:17x13x11,100",
        "beam:o2,l1",
        "tet:16",
    ] {
        let (serial, parallel) = (matrix(spec), build(spec, &threads).unwrap().matrix);
        assert_eq!(parallel.offsets(), serial.offsets());
        assert_eq!(parallel.columns(), serial.columns());
        assert_eq!(parallel.values(), serial.values());
    }
}

#[test]
fn rows_are_those_of_the_definition() {
    let rows: [(&str, usize, &[f64]); 9] = [
        ("poisson5:3", 4, &[-1.0, -1.0, 4.0, -1.0, -1.0]),
        ("poisson7:1", 0, &[6.0]),
        ("poisson7:1x1x3", 1, &[-1.0, 6.0, -1.0]),
        ("aniso5:3,0.5", 4, &[-0.5, -1.0, 3.0, -1.0, -0.5]),
        ("aniso5:3,0.5,90", 4, &[-1.0, -0.5, 3.0, -0.5, -1.0]),
        ("aniso5:3,0.5,-180", 4, &[-0.5, -1.0, 3.0, -1.0, -0.5]),
        (
            "convdiff7:3,10",
            13,
            &[-11.0, -11.0, -11.0, 36.0, -1.0, -1.0, -1.0],
        ),
        // Without a jump it is Poisson's equation with a boundary half a cell away.
        ("jump7:3,1", 13, &[-1.0, -1.0, -1.0, 6.0, -1.0, -1.0, -1.0]),
        ("jump7:3,1", 0, &[9.0, -1.0, -1.0, -1.0]),
    ];
    for (spec, row, values) in rows {
        assert_eq!(matrix(spec).row(row).1, values, "{spec}");
    }
    let a = matrix("aniso5:3,0.0625,45");
    let row = a.row(4).1;
    assert!(row[0] < 0.0 && row[8] < 0.0 && row[2] > 0.0 && row[6] > 0.0);
    assert!(row.iter().sum::<f64>().abs() < 1e-15);
    for spec in ["poisson27:3", "convdiff7:3,10"] {
        let a = matrix(spec);
        for row in 0..27 {
            let (columns, values) = a.row(row);
            let sum: f64 = values.iter().sum();
            assert!(if row == 13 { sum == 0.0 } else { sum > 0.0 });
            let mut entries = columns.iter().zip(values);
            assert!(entries.all(|(&column, &value)| column as usize == row || value < 0.0));
        }
    }
}

#[test]
fn rigid_bodies_feel_no_force_away_from_the_clamp() {
    for spec in ["elasticity:3x2x2", "elasticity:17x2x2,0.45,1e3"] {
        let problem = build(spec, &host()).unwrap();
        let coordinates = problem.coordinates.as_ref().unwrap();
        for mode in problem.near_nullspace.as_ref().unwrap().vectors() {
            assert!(mode.iter().any(|&value| value != 0.0));
            for row in 0..mode.len() {
                let (columns, values) = problem.matrix.row(row);
                let entries = columns.iter().zip(values);
                let force: f64 = entries.map(|(&c, &v)| v * mode[c as usize]).sum();
                let scale = problem.matrix.entry(row, row).unwrap();
                assert!(force.abs() < 1e-13 * scale || coordinates[row / 3][0] == 1.0);
            }
        }
    }
    let problem = build("elasticity:8x4x4,0.45,1", &host()).unwrap();
    assert_eq!(problem.name, "elasticity:8x4x4,0.45");
    assert_eq!((problem.matrix.size().rows, problem.block_size), (600, 3));
}

#[test]
fn blocks_are_stiffer_by_the_contrast() {
    let (plain, mixed) = (
        matrix("elasticity:16x1x1"),
        matrix("elasticity:16x1x1,0.3,100"),
    );
    let last = plain.size().rows - 1;
    // The first block of eight cubes is soft, the second one stiff.
    assert_eq!(mixed.entry(0, 0), plain.entry(0, 0));
    let ratio = mixed.entry(last, last).unwrap() / plain.entry(last, last).unwrap();
    assert!((ratio - 100.0).abs() < 1e-10, "{ratio}");
}

#[test]
fn elements_meet_at_nodes_and_corners() {
    let a = matrix("lshape:o1,l2");
    let row = 9 + 2; // (2, 1) of 9 x 5 nodes in the lower half
    assert_eq!(a.row(row).0.len(), 9);
    assert!((a.entry(row, row).unwrap() - 8.0 / 3.0).abs() < 1e-14);
    assert!((a.entry(row, row + 9 + 1).unwrap() + 1.0 / 3.0).abs() < 1e-14);
    // The re-entrant corner lacks the nodes of the missing quarter.
    let problem = build("lshape:o1,l1", &host()).unwrap();
    let coordinates = problem.coordinates.unwrap();
    let corner = |point: &[f64; 3]| *point == [0.5, 0.5, 0.0];
    let corner = coordinates.iter().position(corner).unwrap();
    assert_eq!(problem.matrix.size().rows, 21);
    let (columns, values) = problem.matrix.row(corner);
    assert_eq!(columns.len(), 8);
    assert_eq!(values.iter().sum::<f64>(), 1.0);
    assert_eq!(problem.rhs[corner], 0.0);
    // Refining brings the load to the volume.
    let [none, one, two] = ["beam:o1,l0", "beam:o1,l1", "beam:o1,l2"]
        .map(|spec| build(spec, &host()).unwrap().rhs.iter().sum::<f64>());
    assert!(none == 0.0 && one < two && two < 8.0);
    assert_eq!(matrix("beam:o2,l0").size().rows, 17 * 3 * 3);
}

/// Name, stencil, unknowns, and what the largest value is between.
const FEATURES: [(&str, &str, usize, [f64; 2]); 8] = [
    ("laplace27", "3d27", 1, [1e0, 1e2]),
    ("laplace27e8", "3d27", 1, [1e8, 1e10]),
    ("rhd", "3d7", 1, [1e9, 1e15]),
    ("oil", "3d7", 1, [1e0, 6e4]),
    ("weather", "3d19", 1, [7e4, 1e7]),
    ("rhd-3T", "3d7", 3, [1e9, 1e15]),
    ("oil-4C", "3d7", 4, [7e4, 1e8]),
    ("solid-3D", "3d15", 3, [1e8, 1e12]),
];

#[test]
fn problems_of_cells_have_the_features_they_are_named_for() {
    for (name, stencil, unknowns, [least, most]) in FEATURES {
        let made = |size: &str| build_stencil(&format!("{name}:{size}"), &host()).unwrap();
        let a = made("12x10x8");
        assert_eq!(a.stencil().to_string(), stencil, "{name}");
        assert_eq!(a.unknowns(), unknowns, "{name}");
        let largest = a.largest();
        assert!(least <= largest && largest <= most, "{name}: {largest:e}");
        a.check_diagonal("test").unwrap();
        a.check_finite().unwrap();
        for a in [a, made("6x1x4")] {
            assert!(a.diagonal().iter().all(|&value| value > 0.0), "{name}");
        }
        // Stencil and compressed rows are the same matrix.
        let (spec, made) = (format!("{name}:5x4x3"), made("5x4x3"));
        let problem = build(&spec, &host()).unwrap();
        assert_eq!(problem.name, spec);
        let found = StencilMatrix::from_csr(&problem.matrix).unwrap();
        assert_eq!(found.grid(), made.grid(), "{name}");
        assert_eq!(found.to_csr().values(), made.to_csr().values(), "{name}");
    }
    let other = build_stencil("poisson5:4x3", &host()).unwrap();
    assert_eq!(other.stencil().points(), 5);
}

#[test]
fn sizes_are_known_before_problems_are_made() {
    let larger = [
        "aniso5:9x7,0.1",
        "beam:o3,l2",
        "lshape:o2,l4",
        "oil-4C:6x5x7",
    ];
    let examples = catalogue().iter().map(|entry| entry.example);
    for text in examples.chain(larger) {
        let (told, made) = (extent(text).unwrap(), matrix(text));
        assert_eq!(told.rows, made.size().rows, "{text}");
        let ratio = told.entries as f64 / made.nonzeros() as f64;
        // Problems of several unknowns have blocks that are not full.
        assert!((0.95..2.6).contains(&ratio), "{text}: {ratio}");
    }
}

#[test]
fn unknown_names_get_the_nearest_one() {
    for (spec, nearest) in [
        ("Poisson7:8", Some("poisson7")),
        ("elastic:8", Some("elasticity")),
        ("zq:8", None),
        ("", None),
    ] {
        match build(spec, &host()) {
            Err(Error::UnknownProblem { suggestion, .. }) => assert_eq!(suggestion, nearest),
            _ => panic!("{spec} is not a problem"),
        }
    }
    let error = |spec| build_complex(spec, &host()).unwrap_err().to_string();
    for (spec, said) in [
        ("helmholtz:8", "k"),
        ("magnetic:8,1,2", "one too many"),
        ("helmholz:8,1", "did you mean `helmholtz`"),
    ] {
        assert!(error(spec).contains(said), "{}", error(spec));
    }
}

#[test]
fn wrong_sizes_and_parameters_are_named() {
    for spec in [
        "poisson7",
        "poisson7:",
        "poisson7:0",
        "poisson7:-4",
        "poisson7:four",
        "poisson7:4x4",
        "poisson7:4x0x4",
        "poisson7:4xx4",
        "poisson5:4x4x4",
        "poisson7:2000",
        "poisson7:99999999999999999999999",
        "poisson7:4294967295x4294967295x4294967295",
        "elasticity:18446744073709551615x1x1",
        "elasticity:1x18446744073709551615x1",
        "tet:1",
        "tet:4x4x4",
    ] {
        assert_eq!(part_of_error(spec), "size", "{spec}");
        assert!(extent(spec).is_err());
    }
    for (spec, part) in [
        ("aniso7:4", "eps"),
        ("aniso7:4,0", "eps"),
        ("aniso5:4,nan", "eps"),
        ("aniso5:4,0.1,inf", "theta"),
        ("jump7:4,high", "contrast"),
        ("convdiff7:4,-1", "peclet"),
        ("beam:3,l1", "order"),
        ("beam:o0,l1", "order"),
        ("beam:o9,l1", "order"),
        ("beam:o3", "levels"),
        ("beam:o3,l20", "levels"),
        ("lshape:o3,l99", "levels"),
        ("poisson7:4,5", "parameters"),
        ("lshape:o1,l1,l2", "parameters"),
        ("tet:4,0", "contrast"),
        ("elasticity:2,0.5", "nu"),
        ("elasticity:2,nan", "nu"),
        ("elasticity:2,0.3,0", "contrast"),
        ("elasticity:2,0.3,1,1", "parameters"),
    ] {
        assert_eq!(part_of_error(spec), part, "{spec}");
    }
}
