//! The peers: how each is installed and run.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::measurement::{Attempt, Measurement};
use crate::common::Result;
use crate::install;

const SCRIPT: &str = concat!(
    include_str!("../../peers/system.py"),
    include_str!("../../peers/amg.py")
);
/// The C programs and what they share.
const SOURCES: [(&str, &str); 6] = [
    ("system.h", include_str!("../../peers/system.h")),
    ("hypre.h", include_str!("../../peers/hypre.h")),
    ("fsai.c", include_str!("../../peers/fsai.c")),
    ("hypre.c", include_str!("../../peers/hypre.c")),
    ("pfmg.c", include_str!("../../peers/pfmg.c")),
    ("petsc.c", include_str!("../../peers/petsc.c")),
];

const HYPRE: [&str; 2] = ["-I/usr/include/hypre", "-lHYPRE"];

/// Where peers are installed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProgramPlaces {
    /// Where Python packages are installed
    #[arg(long, default_value = "target/bench-venv")]
    venv: PathBuf,
    /// Where the programs of hypre and PETSc are compiled
    #[arg(long, default_value = "target/bench-peers")]
    build: PathBuf,
}

/// Other libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Library {
    /// BoomerAMG
    Hypre,
    /// FSAI of hypre
    Fsai,
    /// PFMG of hypre, for matrices on cubes of cells
    Pfmg,
    /// GAMG, of PETSc
    Gamg,
    /// AMGCL, by its Python module
    Amgcl,
    /// PyAMG
    Pyamg,
}

impl Library {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Library::Hypre => "hypre BoomerAMG",
            Library::Fsai => "hypre FSAI",
            Library::Pfmg => "hypre PFMG",
            Library::Gamg => "PETSc GAMG",
            Library::Amgcl => "AMGCL",
            Library::Pyamg => "PyAMG",
        }
    }

    fn program(self, places: &ProgramPlaces) -> Result<PeerProgram> {
        match self {
            Library::Hypre => {
                install::debian(&["libhypre-dev"])?;
                compiled(&places.build, "hypre", &HYPRE)
            }
            Library::Fsai => {
                install::debian(&["libhypre-dev"])?;
                compiled(&places.build, "fsai", &HYPRE)
            }
            Library::Pfmg => {
                install::debian(&["libhypre-dev"])?;
                compiled(&places.build, "pfmg", &HYPRE)
            }
            Library::Gamg => {
                install::debian(&["libpetsc-real-dev", "pkg-config"])?;
                let query = ["--cflags", "--libs", "petsc"];
                let flags = install::output(Command::new("pkg-config").args(query))?;
                let flags: Vec<&str> = flags.split_whitespace().collect();
                compiled(&places.build, "petsc", &flags)
            }
            Library::Amgcl => {
                // It is compiled on the spot, and does not say what it needs for that.
                install::debian(&["libboost-dev"])?;
                let tools = ["numpy", "scipy", "setuptools", "wheel", "pybind11<3"];
                install::python(&places.venv, &tools)?;
                let python = install::python(&places.venv, &["--no-build-isolation", "pyamgcl"])?;
                let library = "amgcl";
                Ok(PeerProgram::Script { python, library })
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
    Script {
        python: PathBuf,
        library: &'static str,
    },
}

fn compiled(folder: &Path, name: &str, flags: &[&str]) -> Result<PeerProgram> {
    std::fs::create_dir_all(folder)?;
    for (file, text) in SOURCES {
        std::fs::write(folder.join(file), text)?;
    }
    install::compile(folder, name, flags).map(PeerProgram::Processes)
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

    /// Whether it makes use of so many threads.
    pub(crate) fn uses(&self, threads: usize) -> bool {
        threads == 1 || self.library != Library::Pyamg
    }

    /// Solves the system of a file.
    pub(crate) fn solve(&self, system: &Path, threads: usize) -> Attempt {
        let program = self.program.as_ref().map_err(String::clone)?;
        let printed = install::output(program.command(threads).arg(system));
        printed
            .and_then(|printed| Measurement::parse(&printed))
            .map_err(|error| format!("failed: {error}"))
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
    use super::*;

    #[test]
    fn a_peer_that_is_not_installed_says_why() {
        let peer = Peer {
            library: Library::Hypre,
            program: Err("not installed: no network".to_owned()),
        };
        let attempt = peer.solve(Path::new("system"), 1);
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
        let why = peer.solve(Path::new("system"), 1).unwrap_err();
        assert!(why.starts_with("failed: no-such-python"), "{why}");
        assert!(peer.uses(1) && !peer.uses(2));
    }
}
