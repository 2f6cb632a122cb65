//! Compares `include/vcycle.h` with what the source says; `VCYCLE_BLESS=1 cargo test -p vcycle-capi --test interface header`
//! writes it.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_source() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let sources = "version codes status failure handle watch setters matrix setup distributed solve apply describe";
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources.split(' ').fold(builder, |builder, name| {
        builder.with_src(here.join(format!("src/{name}.rs")))
    });
    let made = builder.generate().unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let path = here.join("include/vcycle.h");
    if std::env::var_os("VCYCLE_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "include/vcycle.h is old: VCYCLE_BLESS=1 cargo test -p vcycle-capi --test interface header"
    );
}
