//! The smaller subcommands.

mod common;

use common::{scratch, vcycle};

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = vcycle(&format!("completions {shell}"));
        assert_eq!(run.status, 0);
        assert!(run.stdout.contains("vcycle"), "{shell}");
    }
}

#[test]
fn info_knows_symmetry_and_what_to_try() {
    let run = vcycle("info convdiff7:6,50 --json");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(run.json()["facts"]["symmetric"], false);
    assert_eq!(run.json()["facts"]["rows"], 216);
    assert!(run.json()["try"][0]["solver"]["name"].is_string());
    let text = vcycle("info poisson7:6").stdout;
    assert!(text.contains("symmetric") && text.contains("tries in this order"));
}

#[test]
fn the_configuration_printed_can_be_read() {
    let run = vcycle("config");
    assert_eq!(run.status, 0);
    let path = scratch("default.toml");
    std::fs::write(&path, run.stdout).unwrap();
    let run = vcycle(&format!(
        "solve poisson5:8 --config {} --json",
        path.display()
    ));
    assert_eq!(run.status, 0, "{}", run.stderr);
}

#[test]
fn a_generated_problem_is_the_same_when_read_back() {
    let (matrix, rhs) = (scratch("poisson.mtx.gz"), scratch("b.mtx"));
    let run = vcycle(&format!(
        "gen poisson5:9 -o {} --rhs-output {}",
        matrix.display(),
        rhs.display()
    ));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let facts = |source: &str| vcycle(&format!("info {source} --json")).json()["facts"].clone();
    assert_eq!(facts(&matrix.display().to_string()), facts("poisson5:9"));
    let unknown = vcycle(&format!("gen poisson6:9 -o {}", matrix.display()));
    assert_eq!(unknown.status, 2);
}

#[test]
fn devices_and_problems_are_listed() {
    let devices = vcycle("devices --json").json();
    assert_eq!(devices["devices"][0]["name"], "reference");
    assert!(devices["devices"][1]["threads"].as_u64().unwrap() >= 1);
    assert!(vcycle("problems").stdout.contains("poisson27"));
}

#[test]
fn help_has_examples() {
    for command in ["solve", "info", "gen", "completions"] {
        let run = vcycle(&format!("{command} --help"));
        assert_eq!(run.status, 0);
        assert!(run.stdout.contains("Example"), "{command}");
    }
}
