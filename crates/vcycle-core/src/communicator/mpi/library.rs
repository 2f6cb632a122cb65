//! Which library of MPI is loaded.

use std::path::{Path, PathBuf};

use libloading::Library;

use crate::error::{Error, Result};

/// Opens the library that `VCYCLE_MPI` names, or the one that the process uses already (mpi4py's, say), or the first of the
/// usual ones, that of the launcher before others.
pub(super) fn open() -> Result<Library> {
    const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi.dylib"];
    const MPICH: [&str; 3] = ["libmpich.so.12", "libmpi.so.12", "libmpich.so"];
    let named = std::env::var_os("VCYCLE_MPI").map(PathBuf::from);
    let mut names: Vec<PathBuf> = OPEN_MPI.iter().chain(&MPICH).map(PathBuf::from).collect();
    let is_mpich = std::env::var_os("PMI_RANK").is_some() || std::env::var_os("PMI_SIZE").is_some();
    if is_mpich && std::env::var_os("OMPI_COMM_WORLD_SIZE").is_none() {
        names.rotate_left(OPEN_MPI.len());
    }
    let names = named.map_or(names, |name| vec![name]);
    if let Some(library) = names.iter().find_map(|name| loaded(name)) {
        return Ok(library);
    }
    let mut reasons = Vec::new();
    for name in names {
        match load(&name) {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(Error::Team(format!(
        "no library of MPI was found; install Open MPI or MPICH, or name the file in VCYCLE_MPI ({})",
        reasons.join("; ")
    )))
}

/// Loads a library so that its own plug-ins find its symbols: those of Open MPI require that.
#[cfg(unix)]
fn load(name: &Path) -> std::result::Result<Library, libloading::Error> {
    use libloading::os::unix::{self, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: loading a library of MPI has no side effects that matter.
    unsafe { unix::Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }.map(Library::from)
}

/// A library that the process has loaded before.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn loaded(name: &Path) -> Option<Library> {
    use libloading::os::unix::{self, RTLD_GLOBAL, RTLD_NOW};
    // Nothing is loaded with this flag.
    const RTLD_NOLOAD: std::ffi::c_int = if cfg!(target_os = "linux") { 0x4 } else { 0x10 };
    // SAFETY: a library that is there already is opened once more, which runs none of its code.
    let library = unsafe { unix::Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) };
    library.ok().map(Library::from)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn loaded(_: &Path) -> Option<Library> {
    None
}

#[cfg(not(unix))]
fn load(name: &Path) -> std::result::Result<Library, libloading::Error> {
    // SAFETY: loading a library of MPI has no side effects that matter.
    unsafe { Library::new(name) }
}
