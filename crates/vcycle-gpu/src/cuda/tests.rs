use super::*;
use crate::testing::names_compiler;

fn source(text: &str) -> Source {
    Source {
        file: "kernels.c".into(),
        text: text.into(),
        defines: vec!["FACTOR=3".into()],
    }
}

const SCALE: &str = "extern \"C\" __global__ void scale(double *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= FACTOR;
}";

#[test]
fn targets_of_other_vendors_are_refused() {
    let message = compile_only("x86", &source(SCALE)).unwrap_err().to_string();
    assert!(
        message.contains("x86") && message.contains("sm_90"),
        "{message}"
    );
}

#[test]
fn nvrtc_compiles_without_a_device() {
    if !names_compiler("VCYCLE_NVRTC") {
        return;
    }
    for target in ["sm_80", "sm_90", "sm_100"] {
        let code = compile_only(target, &source(SCALE)).unwrap();
        assert_eq!(&code[..4], b"\x7fELF", "{target}");
    }
}

#[test]
fn devices_newer_than_nvrtc_get_intermediate_code() {
    if !names_compiler("VCYCLE_NVRTC") {
        return;
    }
    let code = compile_only("sm_999", &source(SCALE)).unwrap();
    let text = String::from_utf8(code).unwrap();
    assert!(
        text.contains(".visible .entry scale") && text.ends_with('\0'),
        "{text}"
    );
}

#[test]
fn the_compilers_log_names_file_and_line() {
    if !names_compiler("VCYCLE_NVRTC") {
        return;
    }
    let wrong = source("extern \"C\" __global__ void wrong() {\n  missing = 1;\n}");
    let error = compile_only("sm_90", &wrong).unwrap_err();
    let Error::Compile { log, options, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        log.contains("kernels.c(2)") && log.contains("missing"),
        "{log}"
    );
    assert!(options.contains("-DFACTOR=3"), "{options}");
}

#[test]
fn hiprtc_compiles_without_a_device() {
    if !names_compiler("VCYCLE_HIPRTC") {
        return;
    }
    let code = compile_only("gfx90a", &source(SCALE)).unwrap();
    assert!(!code.is_empty());
}

#[test]
fn absent_drivers_say_what_to_install() {
    for vendor in [Vendor::Cuda, Vendor::Hip] {
        if let Err(error) = devices(vendor) {
            let message = error.to_string();
            assert!(
                message.contains("install") || message.contains("GPU (is one hidden"),
                "{message}"
            );
        }
    }
}

#[test]
fn amd_architecture_is_found_behind_the_model() {
    let mut structure = vec![0u8; 1472];
    structure[..10].copy_from_slice(b"GPU gfx000");
    structure[1160..1174].copy_from_slice(b"gfx90a:xnack-\0");
    assert_eq!(properties::amd_architecture(&structure), "gfx90a:xnack-");
}
