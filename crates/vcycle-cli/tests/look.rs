//! What there is to look at: levels, pictures, reports.

mod common;

use common::{ok, scratch, vcycle};

#[test]
fn info_shows_the_levels_and_their_set_up() {
    let run = ok("info poisson5:60 --json");
    let hierarchy = &run.json()["hierarchy"];
    let levels = hierarchy["levels"].as_array().unwrap();
    assert!(levels.len() > 2 && levels[0]["rows"] == 3600);
    assert_eq!(levels[0]["smoother"], "chebyshev:2 1+1");
    let formats = [&levels[0], &levels[levels.len() - 1]].map(|level| level["format"].clone());
    assert_eq!(formats, ["csr", "dense"]);
    assert!(levels[0]["bytes"].as_u64().unwrap() > 0);
    let stages = hierarchy["setup"].as_array().unwrap();
    assert!(stages.iter().any(|stage| stage["name"] == "galerkin"));
    let text = vcycle("info poisson5:40 --precond amg:pgm").stdout;
    assert!(text.contains("operator complexity") && text.contains("set-up"));
    assert!(text.contains("`--format auto` takes"), "{text}");
}

#[test]
fn info_without_levels_says_why() {
    let path = scratch("zero.mtx");
    let text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0\n";
    std::fs::write(&path, text).unwrap();
    let run = ok(&format!("info {}", path.display()));
    assert!(run.stdout.contains("no multigrid levels"), "{}", run.stdout);
    let bare = vcycle("info poisson5:20 --no-hierarchy --json").json();
    assert!(bare["hierarchy"].is_null());
    let other = vcycle("info poisson5:20 --precond ilu0");
    other.check(2, "has no levels");
}

#[test]
fn what_info_advises_works() {
    for problem in ["poisson5:60", "convdiff7:8,5"] {
        let advice = vcycle(&format!("info {problem} --json")).json()["advice"].clone();
        let advice = advice.as_array().unwrap();
        assert!(advice.len() > 2, "{problem}");
        for entry in advice {
            let command = entry["command"].as_str().unwrap();
            let arguments = command.strip_prefix("vcycle ").unwrap();
            let report = scratch("advised.html").display().to_string();
            ok(&arguments.replace("report.html", &report));
        }
    }
}

#[test]
fn the_report_shows_levels_and_their_times() {
    let path = scratch("levels.html");
    ok(&format!(
        "solve poisson5:60 --solver cg --precond amg --report {}",
        path.display()
    ));
    let page = std::fs::read_to_string(&path).unwrap();
    for shown in ["Levels", "nonzeros", "galerkin", "pre-smoothing", "level 2"] {
        assert!(page.contains(shown), "{shown}");
    }
    // Residuals, coarsening, set-up, iterations, and the pattern of the matrix.
    assert_eq!(page.matches("<svg").count(), 5);
    assert!(!page.contains("http"));
}

#[test]
fn a_coarsening_is_drawn() {
    for (command, points) in [
        ("solve poisson5:30 --coarsening pmis", 900),
        ("info poisson9:20x15 --precond amg:pmis", 300),
        ("solve aniso5:16,0.01 --coarsening hmis --smoother gs", 256),
        ("info lshape:o2,l3 --precond amg:pmis", 833),
    ] {
        let path = scratch("coarsening.svg");
        ok(&format!("{command} --plot-coarsening {}", path.display()));
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("h0").count(), points, "{command}");
    }
}

#[test]
fn groups_are_drawn_as_cells() {
    let path = scratch("groups.svg");
    ok(&format!(
        "solve poisson5:30 --solver cg --coarsening pgm --plot-coarsening {}",
        path.display()
    ));
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.contains("groups of level 1"));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let path = scratch("none.svg");
    for (command, told) in [
        ("solve poisson7:6", "in the plane"),
        ("info elasticity:3", "in the plane"),
        ("info poisson5:8", "nothing is coarsened"),
        ("solve poisson5:30 --precond ic0", "the preconditioner is"),
        ("info poisson5:600", "too many"),
    ] {
        let run = vcycle(&format!("{command} --plot-coarsening {}", path.display()));
        run.check(2, told);
    }
}

#[test]
fn the_summary_names_only_what_differs_and_is_not_wide() {
    let run = ok("solve poisson5:30 --solver cg --precond amg:coarsening=hmis");
    assert!(run.stdout.contains("amg:coarsening=hmis"));
    assert!(!run.stdout.contains("max-levels"));
    let widest = run.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 100, "{}", run.stdout);
    let json = vcycle("solve poisson5:30 --solver cg --precond amg --json").json();
    assert_eq!(json["config"]["preconditioner"]["max-levels"], 25);
    assert_eq!(json["levels"][0]["smoother"], "chebyshev:2 1+1");
}
