//! What the library was built without says so:
//! `cargo test -p vcycle --no-default-features --test left_out`, and with any of the features.

use vcycle::executor::Executor;
use vcycle::{gallery, io, matrix::Csr};

/// Files, the feature each needs, and whether this build has it.
const FILES: [(&str, &str, bool); 3] = [
    ("a.mtx.gz", "gzip", cfg!(feature = "gzip")),
    ("a.mtx.xz", "xz", cfg!(feature = "xz")),
    ("a.mtx.zst", "zstd", cfg!(feature = "zstd")),
];

#[test]
fn a_format_that_was_left_out_names_its_feature() {
    let host = Executor::reference();
    let a = Csr::<f64>::identity(&host, 2);
    for (name, feature, _) in FILES.into_iter().filter(|(.., built)| !built) {
        let path = std::env::temp_dir().join(name);
        let wanted = format!("build it with the feature `{feature}`");
        let read = io::load_matrix(&path, &host).unwrap_err().to_string();
        let written = io::write_matrix(&path, &a).unwrap_err().to_string();
        assert!(
            read.ends_with(&wanted) && written.ends_with(&wanted),
            "{read}"
        );
        assert!(!path.exists());
    }
    assert!(gallery::build("poisson5:4", &host).is_ok());
}

#[cfg(not(feature = "gpu"))]
#[test]
fn gpus_that_were_left_out_name_their_feature() {
    for name in ["cuda:0", "hip:0", "opencl:0"] {
        let error = Executor::gpu(name).unwrap_err();
        assert!(
            matches!(
                error,
                vcycle::Error::Device(vcycle_gpu::Error::LeftOut { .. })
            ),
            "{error}"
        );
        let wanted = "this build has no GPUs: build it with the feature `gpu`";
        assert!(error.to_string().ends_with(wanted), "{error}");
    }
}
