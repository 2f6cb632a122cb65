//! Reports of hierarchies, and errors where none can be made.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::log::{Log, Profile};

#[test]
fn a_report_shows_every_level() {
    let made = hierarchy(&classical(), &problem("poisson5:64")).unwrap();
    let text = made.to_string();
    assert_eq!(text.lines().count(), made.report().levels.len() + 4);
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    assert!(text.contains("operator complexity") && text.contains("l1-jacobi 1+1"));
    let report = made.report();
    let stages: Vec<&str> = report.setup_by_stage().iter().map(|s| s.name).collect();
    for stage in "strength coarsening interpolation galerkin smoothers".split(' ') {
        assert!(stages.contains(&stage), "{stage}");
    }
    let by_stage: f64 = report.setup_by_stage().iter().map(|s| s.seconds).sum();
    assert!((by_stage - report.setup_seconds()).abs() < 1e-9);
}

#[test]
fn a_profile_shows_the_stages_of_every_level() {
    let a = problem("poisson5:64");
    let made = hierarchy(&classical(), &a).unwrap();
    let profile = Rc::new(RefCell::new(Profile::default()));
    let ws = Workspace::with_log(Log::new().with(Rc::clone(&profile)));
    let (b, mut x) = (irregular(a.as_ref(), 0.3), irregular(a.as_ref(), 0.0));
    made.apply(&b, &mut x, &ws).unwrap();
    let profile = profile.borrow();
    let mut level = &profile.stages()[0];
    for number in 0..made.report().levels.len() - 1 {
        assert_eq!(level.name, format!("level {number}"));
        let names: Vec<&str> = level.children.iter().map(|s| s.name.as_str()).collect();
        let below = format!("level {}", number + 1);
        assert_eq!(
            names,
            [
                "pre-smoothing",
                "residual",
                "restriction",
                &below,
                "prolongation",
                "post-smoothing"
            ]
        );
        assert!(level.children.iter().all(|stage| stage.bytes > 0));
        level = &level.children[3];
    }
    assert!(level.children.is_empty());
}

#[test]
fn what_cannot_be_set_up_is_named() {
    let refused = |a: Csr<f64>, options: &str| {
        hierarchy(&with(&classical(), options), &(Arc::new(a) as Matrix)).unwrap_err()
    };
    let zero = refused(
        Csr::diagonal_matrix(&Executor::reference(), vec![0.0; 3]),
        "seed=1",
    );
    assert!(matches!(
        zero,
        Error::Singular {
            component: "amg",
            ..
        }
    ));

    let mut holed = csr("poisson5:5");
    holed.values_mut()[3] = f64::NAN;
    let error = refused(holed, "seed=1");
    assert!(matches!(error, Error::NonFiniteEntry { row: 1, column: 0 }));

    let mut large = csr("poisson5:30");
    large.values_mut()[7] = 1e5;
    let error = refused(large, "precision=dp/hp, scaling=none");
    assert!(
        matches!(error, Error::LevelOverflow { level: 0, .. }),
        "{error}"
    );

    for (options, told) in [
        ("restriction-scaling=-1.0", "restriction-scaling: "),
        (
            "interpolation=smoothed",
            "does not go with the coarsening `pmis`",
        ),
    ] {
        let error = refused(csr("poisson5:30"), options).to_string();
        assert!(error.contains(told), "{error}");
    }
}
