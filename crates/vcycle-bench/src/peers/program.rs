//! The peers: how each is installed and run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install;
use crate::prelude::*;

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
    pub(crate) fn new(args: &Args) -> Self {
        let [venv, build] = ["venv", "build"].map(|name| args.text(name).into());
        Self { venv, build }
    }

    /// The interpreter, with packages installed.
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
    /// Those of `--peers`.
    pub(crate) fn given(args: &Args) -> Vec<Self> {
        let of = |name: &str| serde_json::from_value(name.into()).expect("the options name them");
        args.list("peers").into_iter().map(of).collect()
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
                // What its source needs to find its own name and version.
                let tools = ["numpy", "setuptools", "wheel", "pybind11<3"];
                let python = places.python(&tools)?;
                let headers = install::python_source(&python, &places.build, "pyamgcl")?;
                let include = format!("-I{}", headers.display());
                let program = install::compile(&places.build, "amgcl.cpp", &[&include])?;
                Ok(PeerProgram::Threads(program, &[]))
            }
            Library::Pyamg => {
                let python = places.python(&["numpy", "scipy", "pyamg"])?;
                Ok(PeerProgram::Threads(python, &["-c", SCRIPT, "pyamg"]))
            }
        }
    }
}

/// How to run a peer.
enum PeerProgram {
    /// With a process for each thread.
    Processes(PathBuf),
    /// With threads of OpenMP, and with arguments.
    Threads(PathBuf, &'static [&'static str]),
}

fn write_sources(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut all = SOURCES.iter();
    all.try_for_each(|(file, text)| install::write_source(&folder.join(file), text))
}

/// A program that uses hypre. One that is compiled already needs no package, so that it can be carried to a machine
/// where nothing can be installed.
fn hypre(folder: &Path, name: &str) -> Result<PeerProgram> {
    let program = match install::up_to_date(folder, name)? {
        Some(program) => program,
        None => {
            install::debian(&["libhypre-dev"])?;
            let flags = ["-I/usr/include/hypre", "-lHYPRE"];
            install::compile(folder, &format!("{name}.c"), &flags)?
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
    install::compile(folder, &format!("{name}.c"), &flags).map(PeerProgram::Processes)
}

/// A peer that is installed, or the reason why it is not.
pub(crate) struct Peer {
    pub(super) library: Library,
    program: std::result::Result<PeerProgram, String>,
}

impl Peer {
    pub(crate) fn install(library: Library, places: &ProgramPlaces) -> Self {
        let program = write_sources(&places.build).and_then(|()| library.program(places));
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
    pub(super) fn uses(&self, threads: usize) -> bool {
        threads == 1 || self.library != Library::Pyamg
    }

    /// The command that solves, without the files.
    pub(super) fn command(&self, threads: usize) -> Result<Command> {
        Ok(match self.program.as_ref().map_err(String::clone)? {
            PeerProgram::Processes(program) => {
                let mut command = mpirun(program, threads);
                command.env("OMP_NUM_THREADS", "1");
                command
            }
            PeerProgram::Threads(program, arguments) => {
                let mut command = Command::new(program);
                command.args(*arguments);
                command.env("OMP_NUM_THREADS", threads.to_string());
                command
            }
        })
    }
}

/// A program in several processes.
pub(super) fn mpirun(program: &Path, processes: usize) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--oversubscribe", "-n", &processes.to_string()])
        .arg(program)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::race::Files;
    use crate::problem;

    #[test]
    fn a_peer_that_cannot_be_run_is_reported_with_the_reason() {
        let system = problem::system(&Executor::reference(), "poisson5:2").unwrap();
        let files = Files::new(&system).unwrap();
        let absent = PeerProgram::Threads("no-such-python".into(), &[]);
        for (program, expected) in [
            (
                Err("not installed: no network".to_owned()),
                "not installed: no network",
            ),
            (Ok(absent), "failed: no-such-python"),
        ] {
            let library = Library::Pyamg;
            let peer = Peer { library, program };
            let why = files.solve_by(&peer, 1).unwrap_err().to_string();
            assert!(why.starts_with(expected), "{why}");
            assert!(peer.uses(1) && !peer.uses(2));
        }
    }
}
