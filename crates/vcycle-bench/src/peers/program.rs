//! The peers: how each is installed and run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::Files;
use super::measurement::{Attempt, Measurement};
use crate::asked::Asked;
use crate::common::Result;
use crate::install;

const SCRIPT: &str = concat!(
    include_str!("../../peers/system.py"),
    include_str!("../../peers/amg.py")
);
/// The programs and what they share.
const SOURCES: [(&str, &str); 8] = [
    ("amgcl.cpp", include_str!("../../peers/amgcl.cpp")),
    ("system.h", include_str!("../../peers/system.h")),
    ("hypre.h", include_str!("../../peers/hypre.h")),
    ("fsai.c", include_str!("../../peers/fsai.c")),
    ("hypre.c", include_str!("../../peers/hypre.c")),
    ("pfmg.c", include_str!("../../peers/pfmg.c")),
    ("petsc.c", include_str!("../../peers/petsc.c")),
    ("petsc_jacobi.c", include_str!("../../peers/petsc_jacobi.c")),
];

/// Where peers are installed: Python packages, and programs that are compiled.
pub(crate) struct ProgramPlaces {
    venv: PathBuf,
    build: PathBuf,
}

impl ProgramPlaces {
    pub(crate) fn new(asked: &Asked) -> Self {
        let [venv, build] = ["venv", "build"].map(|name| asked.text(name).into());
        Self { venv, build }
    }

    /// Installs Python packages; the interpreter that has them.
    pub(crate) fn python(&self, packages: &[&str]) -> Result<PathBuf> {
        install::python(&self.venv, packages)
    }
}

/// Other libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Library {
    /// BoomerAMG
    Hypre,
    /// FSAI of hypre
    Fsai,
    /// PFMG of hypre, for matrices on cubes of cells
    Pfmg,
    /// GAMG, of PETSc
    Gamg,
    /// A hundred iterations of PETSc with Jacobi
    Petsc,
    /// AMGCL
    Amgcl,
    /// PyAMG
    Pyamg,
}

impl Library {
    /// Those that are asked for.
    pub(crate) fn asked(asked: &Asked) -> Vec<Self> {
        let of = |name: &str| serde_json::from_value(name.into());
        let known = asked.list("peers").into_iter().map(of);
        known
            .map(|library| library.expect("the options name them"))
            .collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Library::Hypre => "hypre BoomerAMG",
            Library::Fsai => "hypre FSAI",
            Library::Pfmg => "hypre PFMG",
            Library::Gamg => "PETSc GAMG",
            Library::Petsc => "PETSc, Jacobi",
            Library::Amgcl => "AMGCL",
            Library::Pyamg => "PyAMG",
        }
    }

    fn program(self, places: &ProgramPlaces) -> Result<PeerProgram> {
        match self {
            Library::Hypre => hypre(&places.build, "hypre"),
            Library::Fsai => hypre(&places.build, "fsai"),
            Library::Pfmg => hypre(&places.build, "pfmg"),
            Library::Gamg => petsc(&places.build, "petsc"),
            Library::Petsc => petsc(&places.build, "petsc_jacobi"),
            Library::Amgcl => {
                install::debian(&["libboost-dev"])?;
                // What its source needs to tell its own name and version.
                let tools = ["numpy", "setuptools", "wheel", "pybind11<3"];
                let python = install::python(&places.venv, &tools)?;
                let headers = install::python_source(&python, &places.build, "pyamgcl")?;
                written_sources(&places.build)?;
                let include = format!("-I{}", headers.display());
                install::compile(&places.build, "amgcl.cpp", &[&include]).map(PeerProgram::Threads)
            }
            Library::Pyamg => {
                let python = install::python(&places.venv, &["numpy", "scipy", "pyamg"])?;
                let library = "pyamg";
                Ok(PeerProgram::Script { python, library })
            }
        }
    }
}

/// How to run a peer.
enum PeerProgram {
    /// With a process for each thread.
    Processes(PathBuf),
    /// With threads of OpenMP.
    Threads(PathBuf),
    Script {
        python: PathBuf,
        library: &'static str,
    },
}

fn written_sources(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (file, text) in SOURCES {
        install::write_source(&folder.join(file), text)?;
    }
    Ok(())
}

/// A program that uses hypre. One that is compiled already needs no package, so that it can be carried to a machine
/// where nothing can be installed.
fn hypre(folder: &Path, name: &str) -> Result<PeerProgram> {
    written_sources(folder)?;
    let program = match install::up_to_date(folder, name)? {
        Some(program) => program,
        None => {
            install::debian(&["libhypre-dev"])?;
            install::compile(
                folder,
                &format!("{name}.c"),
                &["-I/usr/include/hypre", "-lHYPRE"],
            )?
        }
    };
    Ok(PeerProgram::Processes(program))
}

/// A program that uses PETSc.
fn petsc(folder: &Path, name: &str) -> Result<PeerProgram> {
    install::debian(&["libpetsc-real-dev", "pkg-config"])?;
    let query = ["--cflags", "--libs", "petsc"];
    let flags = install::output(Command::new("pkg-config").args(query))?;
    let flags: Vec<&str> = flags.split_whitespace().collect();
    written_sources(folder)?;
    install::compile(folder, &format!("{name}.c"), &flags).map(PeerProgram::Processes)
}

/// A peer that is installed, or why it is not.
pub(crate) struct Peer {
    library: Library,
    program: std::result::Result<PeerProgram, String>,
}

impl Peer {
    pub(crate) fn install(library: Library, places: &ProgramPlaces) -> Self {
        let program = library.program(places);
        let program = program.map_err(|error| format!("not installed: {error}"));
        if let Err(why) = &program {
            eprintln!("{}: {why}", library.name());
        }
        Self { library, program }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.library.name()
    }

    pub(super) fn library(&self) -> Library {
        self.library
    }

    /// Whether it makes use of so many threads.
    pub(crate) fn uses(&self, threads: usize) -> bool {
        threads == 1 || self.library != Library::Pyamg
    }

    /// Solves a system in a new process; the residual is that of the solution it leaves.
    pub(super) fn solve(&self, files: &Files<'_>, threads: usize) -> Attempt {
        let program = self.program.as_ref().map_err(String::clone)?;
        let solved = || -> Result<Measurement> {
            let files_of = [files.raw(), files.raw_solution()?].map(OsString::from);
            let printed = install::output(program.command(threads).args(files_of))?;
            let mut measured = Measurement::parse(&printed)?;
            measured.residual = files.raw_residual()?;
            Ok(measured)
        };
        solved().map_err(|error| format!("failed: {error}"))
    }
}

impl PeerProgram {
    fn command(&self, threads: usize) -> Command {
        match self {
            PeerProgram::Processes(program) => {
                let mut command = Command::new("mpirun");
                command
                    .args(["--oversubscribe", "-n", &threads.to_string()])
                    .arg(program)
                    .env("OMP_NUM_THREADS", "1")
                    .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                    .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                command
            }
            PeerProgram::Threads(program) => {
                let mut command = Command::new(program);
                command.env("OMP_NUM_THREADS", threads.to_string());
                command
            }
            PeerProgram::Script { python, library } => {
                let mut command = Command::new(python);
                command
                    .args(["-c", SCRIPT, library])
                    .env("OMP_NUM_THREADS", threads.to_string());
                command
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vcycle::executor::Executor;

    use super::*;
    use crate::problem;

    #[test]
    fn a_peer_that_is_not_installed_says_why() {
        let peer = Peer {
            library: Library::Hypre,
            program: Err("not installed: no network".to_owned()),
        };
        let system = problem::system(&Executor::reference(), "poisson5:2").unwrap();
        let attempt = peer.solve(&Files::new(&system).unwrap(), 1);
        assert_eq!(attempt, Err("not installed: no network".to_owned()));
    }

    #[test]
    fn a_peer_that_cannot_be_run_says_why() {
        let python = PathBuf::from("no-such-python");
        let library = "pyamg";
        let peer = Peer {
            library: Library::Pyamg,
            program: Ok(PeerProgram::Script { python, library }),
        };
        let system = problem::system(&Executor::reference(), "poisson5:2").unwrap();
        let why = peer.solve(&Files::new(&system).unwrap(), 1).unwrap_err();
        assert!(why.starts_with("failed: no-such-python"), "{why}");
        assert!(peer.uses(1) && !peer.uses(2));
    }
}
