//! `vcycle solve`: the contract scripts rely on.

mod common;

use common::{ok, rows, scratch, vcycle};

#[test]
fn json_is_one_object_with_the_agreed_keys() {
    let run = ok("solve poisson7:8 --solver cg --precond jacobi --json");
    let object = run.json();
    let keys = "status iterations relative_residual recurrence_residual read_seconds setup_seconds \
                solve_seconds rows nonzeros operator_complexity grid_complexity levels bytes \
                peak_memory_bytes device threads config messages";
    for key in keys.split_whitespace() {
        assert!(object.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(object["status"], "converged");
    assert_eq!(object["rows"], 512);
    assert_eq!(object["config"]["solver"]["name"], "cg");
    assert_eq!(object["levels"][0]["matrix_precision"], "f64");
    assert!(object["relative_residual"].as_f64().unwrap() <= 1e-8);
    assert_eq!(run.stderr, "");
}

#[test]
fn not_converging_is_status_1() {
    let run = vcycle("solve poisson7:8 --solver cg --precond none --max-iters 2 --json");
    assert_eq!(run.status, 1);
    assert_eq!(run.json()["status"], "iteration-limit");
    assert_eq!(run.json()["iterations"], 2);
}

#[test]
fn bad_input_is_status_2_and_says_what_was_meant() {
    let table = "
        poisson7:8 --solver gmrse               | did you mean `gmres`?
        poisson7:8 --solver gmres:restrat=3     | unknown key `restrat` in solver gmres; did you mean `restart`?
        poisson7:8 --solver gmres:many          | `restart` cannot be
        poisson7:8 --format stencil             | not available in this version
        lshape:o1,l2 --precond struct-mg        | couples cells that are no neighbours
        laplace27e8:8 --precond struct-mg --scaling none --precision K64P32D16 | overflows in f16
        laplace27:8 --precond struct-mg --precision hp | vectors are in `dp` or `sp`
        poisson7:8 --device cuda:99             | cuda
        poisson7:8 --precision f16              | did you mean `hp`?
        poisson7:8 --rtol -1                    | rtol
        poisson7:8 --rhs random:x               | random:1
        poisson7:8 --rhs random:1,0             | random:1,32
        poison7:8                               | did you mean `poisson7`?
        absent.mtx                              | absent.mtx
        poisson7:8 --slover cg                  | --solver
        poisson5:5 --report /nowhere/report.html | /nowhere/report.html: cannot be written";
    for [arguments, expected] in rows(table) {
        let run = vcycle(&format!("solve {arguments}"));
        run.check(2, expected);
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments}");
    }
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    for arguments in [
        "solve poisson7:8 --solver gmrse --json",
        "solve poisson7:8 --json --slover cg",
    ] {
        let run = vcycle(arguments);
        assert_eq!(run.status, 2);
        assert_eq!(run.json()["status"], "error");
        assert!(run.json()["error"].is_string());
    }
}

#[test]
fn a_configuration_file_is_read_and_overridden() {
    let path = scratch("config.toml");
    let text = "preconditioner = { name = \"jacobi\", weight = 0.5 }\nsolver = \"cg\"\n[stop]\nrtol = 1e-3";
    std::fs::write(&path, text).unwrap();
    let run = ok(&format!(
        "solve poisson7:8 --config {} --rtol 1e-6 --json",
        path.display()
    ));
    let config = &run.json()["config"];
    assert_eq!(config["preconditioner"]["weight"], 0.5);
    assert_eq!(config["stop"]["rtol"], 1e-6);
}

#[test]
fn a_wrong_key_in_a_configuration_file_is_named() {
    let path = scratch("wrong.toml");
    std::fs::write(&path, "solver = { name = \"gmres\", restrat = 20 }").unwrap();
    let run = vcycle(&format!("solve poisson7:8 --config {}", path.display()));
    run.check(2, "did you mean `restart`?");
}

#[test]
fn the_solution_written_solves_the_system() {
    let (matrix, solution) = (scratch("a.mtx"), scratch("x.mtx"));
    ok(&format!("gen convdiff7:6,10 -o {}", matrix.display()));
    let run = ok(&format!(
        "solve {} --rhs random:3,2 --rtol 1e-10 --quiet --output {}",
        matrix.display(),
        solution.display()
    ));
    assert_eq!(run.stdout.lines().count(), 1);
    // As right-hand sides the file must be read again, with two values a row.
    ok(&format!(
        "solve {} --rhs {} --json",
        matrix.display(),
        solution.display()
    ));
}

#[test]
fn the_report_loads_nothing_from_elsewhere() {
    let path = scratch("report.html");
    ok(&format!("solve poisson5:20 --report {}", path.display()));
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for outside in ["http", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("<svg") && page.contains("poisson5:20"));
}

#[test]
fn the_report_of_a_failure_says_what_to_try() {
    let path = scratch("failure.html");
    let run = vcycle(&format!(
        "solve poisson5:20 --solver cg --precond none --max-iters 2 --report {}",
        path.display()
    ));
    assert_eq!(run.status, 1, "{}", run.stderr);
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.contains("iteration-limit") && page.contains("choose a stronger preconditioner"));
}

#[test]
fn the_trace_is_json() {
    let path = scratch("trace.json");
    ok(&format!(
        "solve poisson5:20 --solver cg --precond jacobi --trace {}",
        path.display()
    ));
    let text = std::fs::read_to_string(&path).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 10);
}

#[test]
fn nothing_is_coloured_in_a_pipe() {
    for arguments in ["solve poisson5:20", "info poisson5:20", "solve nothing"] {
        let run = vcycle(arguments);
        let text = run.stdout + &run.stderr;
        assert!(!text.is_empty() && !text.contains('\x1b'), "{arguments}");
    }
}

#[test]
fn auto_tells_what_it_chose() {
    for (problem, solver) in [
        ("poisson5:60", "cg"),
        ("poisson5:10", "direct"),
        ("convdiff7:14,10", "fgmres"),
    ] {
        let run = ok(&format!("solve {problem} --json"));
        let object = run.json();
        assert_eq!(object["config"]["solver"]["name"], solver, "{problem}");
        let message = object["messages"][0].as_str().unwrap();
        assert!(message.starts_with("auto: "), "{message}");
    }
}

#[test]
fn narrow_precisions_reach_the_tolerance_of_the_given_system() {
    for precision in ["sp", "dp/sp", "dp/hp", "sp/bf"] {
        let run = ok(&format!(
            "solve aniso5:24,0.37 --solver cg --precond jacobi --precision {precision} --json"
        ));
        assert!(run.json()["relative_residual"].as_f64().unwrap() <= 1e-8);
    }
}

#[test]
fn matrices_of_one_pattern_share_their_set_up() {
    let output = scratch("step.mtx");
    let run = ok(&format!(
        "solve aniso5:30,0.5 --solver cg --precond amg --then aniso5:30,0.4 --then poisson5:12 \
         --json --output {}",
        output.display()
    ));
    let object = run.json();
    assert_eq!(
        (&object["rows"], &object["status"]),
        (&900.into(), &"converged".into())
    );
    let [second, third] = &object["then"].as_array().unwrap()[..] else {
        panic!("two more matrices");
    };
    assert!(
        second["messages"].to_string().contains("reused"),
        "{second}"
    );
    assert!(
        third["messages"].to_string().contains("set up anew"),
        "{third}"
    );
    assert_eq!(third["rows"], 144);
    for name in ["step.mtx", "step-2.mtx", "step-3.mtx"] {
        assert!(scratch(name).exists());
    }
    let alone = vcycle("solve poisson5:8 --json").json();
    assert!(alone.get("then").is_none());
}

#[test]
fn a_solve_can_start_from_full_multigrid_and_smooth_differently_afterwards() {
    let common = "solve poisson5:64 --solver gmres --post-smoother l1-jacobi --json";
    let from_zero = vcycle(common).json();
    let run = ok(&format!("{common} --fmg-start"));
    let object = run.json();
    assert!(
        object["messages"]
            .to_string()
            .contains("full multigrid start")
    );
    assert!(
        object["iterations"].as_u64() < from_zero["iterations"].as_u64(),
        "{object}"
    );
    let smoother = object["levels"][0]["smoother"].as_str().unwrap();
    assert_eq!(smoother, "chebyshev:2 1, l1-jacobi 1");
}
