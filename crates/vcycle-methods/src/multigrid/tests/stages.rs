//! Stages and how they combine.

use super::*;

#[test]
fn the_matrix_decides_by_default() {
    let made = hierarchy(&Amg::default(), &problem("poisson5:40")).unwrap();
    assert_eq!(made.amg().coarsening, Coarsening::Greedy);
    assert_eq!(made.amg().smoother, Smoother::Chebyshev { degree: 2 });
    assert_eq!(made.amg().precision.to_string(), "sp");
    let made = hierarchy(&Amg::default(), &problem("convdiff7:8,10")).unwrap();
    assert_eq!(made.amg().coarsening, Coarsening::Pmis);
    assert_eq!(made.amg().smoother, Smoother::L1Jacobi { weight: 1.5 });
    for spec in ["poisson27:20", "jump7:24,1e6", "aniso5:100,0.001"] {
        let count = iterations(&Amg::default(), &problem(spec));
        assert!(count <= 25, "{spec}: {count}");
    }
}

#[test]
fn aggressive_coarsening_gets_a_smoother_that_suits_it() {
    let amg = amg("coarsening=pmis-aggressive");
    for (spec, most) in [("poisson5:64", 15), ("poisson7:20", 14)] {
        let count = iterations(&amg, &problem(spec));
        assert!(count <= most, "{spec}: {count}");
    }
}

#[test]
fn groups_by_the_numbering_are_for_the_asking_and_where_matching_stalls() {
    let uniform = amg("coarsening=uniform, aggregate-size=5");
    let a = problem("poisson5:40");
    let report = hierarchy(&uniform, &a).unwrap().report().clone();
    assert_eq!((report.levels[1].rows, report.notes), (320, vec![]));
    assert!(iterations(&uniform, &a) <= 40);

    // Pairs of nodes with three unknowns become one with six.
    let (a, near) = body("elasticity:6x3x3", &Executor::cpu());
    let (a, pairs): (Matrix, _) = (Arc::new(a), amg("coarsening=pgm, aggregate-size=2"));
    let made = pairs.hierarchy_with(&a, &near, &Workspace::new()).unwrap();
    assert_eq!(made.report().levels[1].rows, 96 / 8 * 6);
    let note = "matching stalled on level 0: groups of 8 by the numbering (`uniform`)";
    assert_eq!(made.report().notes, [note]);
    assert!(made.to_string().ends_with(note));
}

#[test]
fn every_pair_of_coarsening_and_interpolation_converges() {
    let a = problem("poisson5:40");
    for coarsening in Coarsening::ALL {
        for interpolation in Interpolation::ALL {
            if interpolation.after(coarsening).is_err() {
                continue;
            }
            let options = format!("coarsening={coarsening}, interpolation={interpolation}");
            let amg = with(&classical(), &options);
            let count = iterations(&amg, &a);
            // Sparse choices need interpolation from a distance, and constants of groups do not
            // converge independently of the size.
            let near = [Interpolation::Direct, Interpolation::Classical].contains(&interpolation);
            let limit = match coarsening {
                _ if interpolation == Interpolation::Tentative => 70,
                // So do those of the one test vector there is.
                _ if interpolation.fits_vectors() => 60,
                Coarsening::Pgm => 60,
                Coarsening::Uniform => 70,
                Coarsening::Auto | Coarsening::Mis2 | Coarsening::Greedy => 30,
                Coarsening::PmisAggressive => 30,
                Coarsening::Pmis | Coarsening::Hmis if near => 30,
                _ => 16,
            };
            assert!(count <= limit, "{coarsening} {interpolation}: {count}");
        }
    }
}

/// Two grids and a few unknowns by themselves, one after the other.
fn in_pieces() -> Csr<f64> {
    let host = Executor::cpu();
    let grids = ["poisson5:30", "aniso5:25,0.01"].map(|spec| gallery::build(spec, &host).unwrap());
    let (mut triplets, mut first) = (Vec::new(), 0);
    for grid in grids {
        let a = grid.matrix;
        let rows = a.size().rows as u32;
        for row in 0..rows {
            let (columns, values) = a.row(row as usize);
            let entries = columns.iter().zip(values);
            triplets.extend(entries.map(|(column, &value)| (first + row, first + column, value)));
        }
        first += rows;
    }
    triplets.extend((0..5).map(|alone| (first + alone, first + alone, 1e-3 + f64::from(alone))));
    of_triplets(first as usize + 5, triplets)
        .copy_to(&host)
        .unwrap()
}

#[test]
fn disconnected_parts_and_unknowns_by_themselves_are_solved() {
    let a: Matrix = Arc::new(in_pieces());
    for coarsening in Coarsening::ALL {
        let amg = with(&classical(), &format!("coarsening={coarsening}"));
        let count = iterations(&amg, &a);
        let limit = match coarsening {
            Coarsening::Pmis | Coarsening::Hmis | Coarsening::RugeStueben => 16,
            Coarsening::PmisAggressive => 32,
            _ => 64,
        };
        assert!(count <= limit, "{coarsening}: {count}");
    }
}

#[test]
fn all_that_the_host_does_for_devices_is_listed() {
    let coarsenings = Coarsening::ALL.map(|one| one.registration().unwrap().on_host);
    let interpolations = Interpolation::ALL.map(|one| one.registration().unwrap().on_host);
    let solvers = Coarsest::ALL.map(|one| one.registration().unwrap().on_host);
    let smoothers = Smoother::entries().into_iter().map(|one| one.on_host);
    let all = coarsenings.into_iter().chain(interpolations);
    for stage in all.chain(solvers).chain(smoothers).flatten() {
        assert!(crate::host_stages::MULTIGRID.contains(stage), "{stage}");
    }
}

#[test]
fn coarsening_that_stalls_is_told_and_the_smoother_solves() {
    // No coupling is strong.
    let a = problem("poisson5:40");
    let weak = r#"strength={"kind":"symmetric","threshold":2.0}"#;
    let amg = with(&classical(), weak);
    let made = hierarchy(&amg, &a).unwrap();
    let stalled = "coarsening stalled on level 0: 0 of 1600 unknowns are coarse";
    assert_eq!(made.report().stalled.as_deref(), Some(stalled));
    assert_eq!(made.report().coarsest, "smoother");
    assert!(iterations(&amg, &a) > 16);
}

#[test]
fn maps_lead_every_unknown_to_the_levels_it_is_on() {
    let a = problem("poisson5:40");
    for coarsening in Coarsening::ALL {
        let amg = with(&classical(), &format!("coarsening={coarsening}"));
        let maps = amg.coarse_maps(&a, &Workspace::new()).unwrap();
        let made = hierarchy(&amg, &a).unwrap();
        assert_eq!(maps.grouped, made.amg().coarsening.aggregates());
        for (level, facts) in made.report().levels.iter().enumerate() {
            let mut numbers = maps.numbers(level);
            numbers.retain(|&number| number != coarsen::NONE);
            if !maps.grouped {
                let deep = maps.depths().into_iter().filter(|depth| *depth >= level);
                assert_eq!(deep.count(), numbers.len(), "{coarsening}");
            }
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), facts.rows, "{coarsening}");
        }
    }
}
