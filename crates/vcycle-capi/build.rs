//! Names the shared library by the versions it is compatible with, and keeps it in memory: its threads would not
//! survive being unloaded.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of_package =
        |part: &str| std::env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // Until version 1 a minor version may break the interface.
        let version = match of_package("MAJOR").as_str() {
            "0" => format!("0.{}", of_package("MINOR")),
            major => major.to_owned(),
        };
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libvcycle.so.{version}");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
