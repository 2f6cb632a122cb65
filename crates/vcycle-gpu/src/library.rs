//! Libraries of vendors, looked for when they are needed.

use std::env;
use std::error::Error as _;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::prelude::*;

/// A function of a library, and its name for messages.
#[derive(Debug)]
pub(crate) struct Function<F> {
    pub name: &'static str,
    pub pointer: F,
}

/// What to look for, and what to say where it is not found.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// `cuda`, `hip` or `opencl`.
    pub driver: &'static str,
    pub names: &'static [&'static str],
    /// The variable of the environment that names the library, if there is one.
    pub variable: Option<&'static str>,
    pub advice: &'static str,
}

impl Wanted {
    /// Loads the library that the environment names, or the first that is found: by the loader itself, or in these folders.
    pub fn load(&self, folders: &[PathBuf]) -> Result<Library> {
        if let Some(path) = self.variable.and_then(env::var_os) {
            let path = Path::new(&path);
            return open(path).map_err(|problem| self.error(path.display().to_string(), problem));
        }
        let bare = self.names.iter().map(PathBuf::from);
        let inside = folders
            .iter()
            .flat_map(|folder| self.names.iter().map(move |name| folder.join(name)))
            .filter(|path| path.exists());
        let mut problem = None;
        for path in bare.chain(inside) {
            match open(&path) {
                Ok(library) => return Ok(library),
                Err(found) => problem = problem.or(Some(found)),
            }
        }
        let problem = problem.unwrap_or_else(|| "is not there".into());
        Err(self.unfit(problem))
    }

    fn error(&self, library: String, problem: String) -> Error {
        Error::Library {
            driver: self.driver,
            library,
            problem,
            advice: self.advice.into(),
        }
    }

    /// The error about a library that was found but is not what is needed.
    pub(crate) fn unfit(&self, problem: String) -> Error {
        self.error(self.names[0].into(), problem)
    }

    /// A function of a library.
    ///
    /// # Safety
    /// `F` is a pointer to a function with the signature that the vendor documents.
    pub(crate) unsafe fn function<F: Copy>(
        &self,
        library: &Library,
        name: &'static str,
    ) -> Result<Function<F>> {
        // SAFETY: `F` is a pointer to a function with the signature of the one called `name`, a condition of this
        // function.
        let symbol = unsafe { library.get::<F>(name.as_bytes()) };
        let pointer = *symbol.map_err(|_| self.unfit(format!("has no function {name}")))?;
        Ok(Function { name, pointer })
    }
}

/// Opens a library; its own words where that fails.
fn open(path: &Path) -> Result<Library, String> {
    path.parent().into_iter().for_each(open_builtins);
    // SAFETY: what these libraries run when they are loaded asks nothing of us.
    unsafe { Library::new(path) }.map_err(|error| match error.source() {
        Some(loader) => format!("cannot be loaded ({loader})"),
        None => format!("cannot be loaded ({error})"),
    })
}

/// Compilers open a second library by its bare name, which the loader finds in a folder it does
/// not search only if it is open already.
fn open_builtins(folder: &Path) {
    const STARTS: [&str; 3] = [
        "libnvrtc-builtins.so",
        "libhiprtc-builtins.so",
        "nvrtc-builtins64",
    ];
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        if STARTS
            .iter()
            .any(|start| name.to_string_lossy().starts_with(start))
        {
            // SAFETY: it holds data alone. Where it cannot be opened the compiler says so itself.
            if let Ok(library) = unsafe { Library::new(file.path()) } {
                std::mem::forget(library);
            }
        }
    }
}
