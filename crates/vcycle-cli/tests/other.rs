//! The smaller subcommands.

mod common;

use common::{ok, scratch, vcycle};

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = ok(&format!("completions {shell}"));
        assert!(run.stdout.contains("vcycle"), "{shell}");
    }
}

#[test]
fn info_knows_symmetry_and_what_to_try() {
    let run = ok("info convdiff7:6,50 --json");
    assert_eq!(run.json()["facts"]["symmetric"], false);
    assert_eq!(run.json()["facts"]["rows"], 216);
    assert!(run.json()["try"][0]["solver"]["name"].is_string());
    let text = vcycle("info poisson7:6").stdout;
    assert!(text.contains("symmetric") && text.contains("tries in this order"));
}

#[test]
fn the_configuration_printed_can_be_read() {
    let run = ok("config");
    let path = scratch("default.toml");
    std::fs::write(&path, run.stdout).unwrap();
    ok(&format!(
        "solve poisson5:8 --config {} --json",
        path.display()
    ));
}

#[test]
fn a_generated_problem_is_the_same_when_read_back() {
    let (matrix, rhs) = (scratch("poisson.mtx.gz"), scratch("b.mtx"));
    ok(&format!(
        "gen poisson5:9 -o {} --rhs-output {}",
        matrix.display(),
        rhs.display()
    ));
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
fn every_driver_has_devices_or_a_reason() {
    let listing = vcycle("devices --json").json();
    let list = |key: &str| listing[key].as_array().unwrap().clone();
    for driver in ["cuda", "hip", "opencl"] {
        let of_driver = |name: &str| name.starts_with(&format!("{driver}:"));
        let mut devices = list("devices").into_iter();
        let there = devices.find(|device| of_driver(device["name"].as_str().unwrap()));
        let mut missing = list("missing").into_iter();
        let reason = missing.find(|none| none["driver"] == driver);
        match (there, reason) {
            (Some(device), None) => {
                assert!(device["memory_bytes"].as_u64().unwrap() > 0);
                assert!(
                    device["copy_gigabytes_per_second"].is_number()
                        != device["problem"].is_string()
                );
            }
            (None, Some(none)) => assert!(!none["reason"].as_str().unwrap().contains('\n')),
            both => panic!("{driver}: {both:?}"),
        }
    }
}

#[test]
fn presets_are_listed_printed_and_used() {
    assert!(vcycle("presets").stdout.contains("paper-pgm"));
    let printed = ok("presets paper-pgm");
    let path = scratch("preset.toml");
    std::fs::write(&path, printed.stdout).unwrap();
    let solve = |options: &str| vcycle(&format!("solve beam:o2,l1 {options} --json")).json();
    let preset = solve("--preset paper-pgm");
    assert_eq!(preset["status"], "converged");
    assert_eq!(preset["config"]["preconditioner"]["aggregate-size"], 2);
    assert!(preset["recurrence_residual"].as_f64().unwrap() <= 1e-12);
    let file = solve(&format!("--config {}", path.display()));
    assert_eq!(file["iterations"], preset["iterations"]);
    let narrow = solve("--preset paper-pgm --precision dp/hp --scaling equilibrate --rtol 1e-6");
    assert_eq!(narrow["levels"][1]["matrix_precision"], "f16");
    assert_eq!(narrow["config"]["precision"], "dp");
    assert!(narrow["iterations"].as_u64() < preset["iterations"].as_u64());
}

#[test]
fn an_unknown_preset_is_named() {
    for command in ["presets paper-pmg", "solve poisson5:8 --preset paper-pmg"] {
        let run = vcycle(command);
        run.check(2, "did you mean `paper-pgm`?");
    }
    let both = vcycle("solve poisson5:8 --preset paper-pgm --config some.toml");
    assert_eq!(both.status, 2);
}

#[test]
fn help_has_examples() {
    for command in ["solve", "info", "gen", "presets", "completions"] {
        let run = ok(&format!("{command} --help"));
        assert!(run.stdout.contains("Example"), "{command}");
    }
}

#[test]
fn kernels_are_listed_without_a_device() {
    let text = vcycle("kernels list").stdout;
    assert!(text.lines().count() > 100, "{text}");
    assert!(text.contains("vector.c 256 T=f64"), "{text}");
}

#[test]
fn an_unknown_architecture_is_refused() {
    let file = scratch("x86.kernels");
    let run = vcycle(&format!("kernels build --arch x86 -o {}", file.display()));
    run.check(2, "sm_90 or gfx90a");
    assert!(!file.exists());
}

#[test]
fn an_archive_without_a_folder_is_refused_before_it_is_compiled() {
    let file = scratch("no-folder").join("below/x.kernels");
    let run = vcycle(&format!("kernels build --arch sm_90 -o {}", file.display()));
    run.check(2, "x.kernels");
}
