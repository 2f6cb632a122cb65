//! Compressed files where the library was built without them:
//! `cargo test -p vcycle --no-default-features --test left_out`.

#![cfg(not(any(feature = "gzip", feature = "xz", feature = "zstd")))]

use vcycle::executor::Executor;
use vcycle::{gallery, io, matrix::Csr};

#[test]
fn a_format_that_was_left_out_names_its_feature() {
    let host = Executor::reference();
    let a = Csr::<f64>::identity(&host, 2);
    for (name, feature) in [
        ("a.mtx.gz", "gzip"),
        ("a.mtx.xz", "xz"),
        ("a.mtx.zst", "zstd"),
    ] {
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
