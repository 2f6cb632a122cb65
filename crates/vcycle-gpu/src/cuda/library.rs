//! Vendors' libraries, looked for when they are needed.

use std::env;
use std::error::Error as _;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::cuda::vendor::Vendor;
use crate::error::{Error, Result};

/// A function of a library, and its name for messages.
#[derive(Debug)]
pub(super) struct Function<F> {
    pub name: &'static str,
    pub pointer: F,
}

/// What to look for, and what to say where it is not found.
#[derive(Debug)]
pub(super) struct Wanted {
    driver: &'static str,
    names: &'static [&'static str],
    advice: &'static str,
}

impl Vendor {
    /// The library that drives devices.
    pub(super) fn driver_library(self) -> Wanted {
        let names: &[&str] = match (self, cfg!(windows)) {
            (Self::Cuda, false) => &["libcuda.so.1", "libcuda.so"],
            (Self::Cuda, true) => &["nvcuda.dll"],
            (Self::Hip, false) => &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"],
            (Self::Hip, true) => &["amdhip64_7.dll", "amdhip64_6.dll"],
        };
        let advice = match self {
            Self::Cuda => "install the NVIDIA driver, version 525 or newer",
            Self::Hip => "install the HIP run-time of ROCm 6 or newer",
        };
        Wanted {
            driver: self.name(),
            names,
            advice,
        }
    }

    /// The library that compiles kernels.
    pub(super) fn compiler_library(self) -> Wanted {
        let names: &[&str] = match (self, cfg!(windows)) {
            (Self::Cuda, false) => &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
            (Self::Cuda, true) => &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"],
            (Self::Hip, false) => &[
                "libhiprtc.so",
                "libhiprtc.so.7",
                "libhiprtc.so.6",
                "libamdhip64.so.5",
            ],
            (Self::Hip, true) => &["hiprtc0701.dll", "hiprtc0700.dll", "hiprtc0604.dll"],
        };
        let advice = match self {
            Self::Cuda => {
                "install NVRTC 12 or 13 (of the CUDA toolkit, or `pip install nvidia-cuda-nvrtc`) \
                 and name the file in VCYCLE_NVRTC where it is not found by itself"
            }
            Self::Hip => {
                "install HIPRTC of ROCm 6 or newer and name the file in VCYCLE_HIPRTC where it is \
                 not found by itself"
            }
        };
        Wanted {
            driver: self.name(),
            names,
            advice,
        }
    }

    /// The variable that names the compiler's library.
    fn compiler_variable(self) -> &'static str {
        match self {
            Self::Cuda => "VCYCLE_NVRTC",
            Self::Hip => "VCYCLE_HIPRTC",
        }
    }

    /// Folders of toolkits, which the loader does not search by itself.
    fn folders(self) -> Vec<PathBuf> {
        let (variables, usual): (&[&str], &[&str]) = match self {
            Self::Cuda => (
                &["CUDA_PATH", "CUDA_HOME"],
                &["/usr/local/cuda", "/opt/cuda"],
            ),
            Self::Hip => (&["ROCM_PATH", "HIP_PATH"], &["/opt/rocm"]),
        };
        let named = variables.iter().filter_map(env::var_os).map(PathBuf::from);
        let roots = named.chain(usual.iter().map(PathBuf::from));
        roots
            .flat_map(|root| ["lib64", "lib", "bin", "bin/x64"].map(|folder| root.join(folder)))
            .collect()
    }

    /// Loads the library that drives devices.
    pub(super) fn load_driver(self) -> Result<Library> {
        self.driver_library().load(&self.folders())
    }

    /// Loads the library that compiles: the one that is named, or else the first that is found.
    pub(super) fn load_compiler(self) -> Result<Library> {
        let wanted = self.compiler_library();
        match env::var_os(self.compiler_variable()) {
            Some(path) => open(Path::new(&path))
                .map_err(|problem| wanted.error(Path::new(&path).display().to_string(), problem)),
            None => wanted.load(&self.folders()),
        }
    }
}

impl Wanted {
    fn load(&self, folders: &[PathBuf]) -> Result<Library> {
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
        Err(self.error(self.names[0].into(), problem))
    }

    /// The error about this library.
    pub(super) fn error(&self, library: String, problem: String) -> Error {
        Error::Library {
            driver: self.driver,
            library,
            problem,
            advice: self.advice.into(),
        }
    }

    /// The error about a library that was found but is not what is needed.
    pub(super) fn unfit(&self, problem: String) -> Error {
        self.error(self.names[0].into(), problem)
    }

    /// A function of a library.
    ///
    /// # Safety
    /// `F` is a pointer to a function with the signature that the vendor documents.
    pub(super) unsafe fn function<F: Copy>(
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
