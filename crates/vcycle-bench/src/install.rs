//! Installing what benchmarks compare with: Python packages, Debian packages, small programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::prelude::*;

/// Makes the virtual environment unless it is there and installs packages from PyPI into it;
/// returns its interpreter.
pub(crate) fn python(venv: &Path, packages: &[&str]) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    if !python.exists() {
        eprintln!("making {}", venv.display());
        output(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    }
    eprintln!("installing from PyPI: {}", packages.join(" "));
    output(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet"])
            .args(packages),
    )?;
    Ok(python)
}

/// Installs Debian packages unless they are there.
pub(crate) fn debian(packages: &[&str]) -> Result<()> {
    let is_there = |package: &&str| {
        let query = ["-W", "-f", "${db:Status-Status}", package];
        output(Command::new("dpkg-query").args(query)).is_ok_and(|status| status == "installed")
    };
    if packages.iter().all(is_there) {
        return Ok(());
    }
    eprintln!("installing from Debian: {}", packages.join(" "));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    // Old lists name versions that do not go together, or are gone.
    output(apt().arg("update"))
        .and_then(|_| {
            output(
                apt()
                    .args(["install", "--yes", "--no-install-recommends"])
                    .args(packages),
            )
        })
        .map_err(|error| format!("apt-get install {}: {error}", packages.join(" ")))?;
    Ok(())
}

/// Compiles a source of a folder with MPI, or C++ with OpenMP for this machine; returns the program.
pub(crate) fn compile(folder: &Path, source: &str, flags: &[&str]) -> Result<PathBuf> {
    let (name, ending) = source.split_once('.').unwrap_or((source, "c"));
    if let Some(program) = up_to_date(folder, name)? {
        return Ok(program);
    }
    let program = folder.join(name);
    eprintln!("compiling {source}");
    let mut command = match ending {
        "cpp" => {
            let mut command = Command::new("c++");
            command.args(["-march=native", "-fopenmp", "-w"]);
            command
        }
        _ => Command::new("mpicc"),
    };
    command.arg("-O3").arg(folder.join(source));
    output(command.arg("-o").arg(&program).args(flags).arg("-lm"))?;
    Ok(program)
}

/// Writes a source unless it is there as it is: programs that are newer need not be compiled again.
pub(crate) fn write_source(path: &Path, text: &str) -> Result<()> {
    match std::fs::read_to_string(path) {
        Ok(old) if old == text => Ok(()),
        _ => Ok(std::fs::write(path, text)?),
    }
}

/// A program of a folder, if it is there and newer than all sources beside it.
pub(crate) fn up_to_date(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    let program = folder.join(name);
    let Ok(made) = program.metadata().and_then(|facts| facts.modified()) else {
        return Ok(None);
    };
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        let path = file.path();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        if ["c", "cpp", "h"].contains(&&*ending) && file.metadata()?.modified()? > made {
            return Ok(None);
        }
    }
    Ok(Some(program))
}

/// The source of a package of PyPI, unpacked below a folder; returns its own.
pub(crate) fn python_source(python: &Path, folder: &Path, package: &str) -> Result<PathBuf> {
    let source = folder.join(package);
    if source.is_dir() {
        return Ok(source);
    }
    eprintln!("downloading from PyPI: the source of {package}");
    let archives = folder.join(format!("{package}-archive"));
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps"])
        .args(["--no-build-isolation", "--no-binary", ":all:", "--dest"]);
    output(pip.arg(&archives).arg(package))?;
    let found = std::fs::read_dir(&archives)?.next();
    let archive = found.ok_or_else(|| format!("PyPI has no source of {package}"))??;
    // Unpacked elsewhere first, so that what was cut short is not taken for all of it.
    let unpacked = folder.join(format!("{package}-unpacked"));
    std::fs::create_dir_all(&unpacked)?;
    output(
        Command::new("tar")
            .args(["--strip-components=1", "-xzf"])
            .arg(archive.path())
            .arg("-C")
            .arg(&unpacked),
    )?;
    std::fs::rename(&unpacked, &source)?;
    Ok(source)
}

/// What a command prints; if it fails, the last line of its complaint.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let last = complaint
        .lines()
        .rfind(|line| line.contains(char::is_alphanumeric));
    Err(match last {
        Some(line) => line.trim().to_owned(),
        None => format!("{program} ended with {}", output.status),
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Folder;

    #[test]
    fn programs_are_compiled_again_when_a_source_is_written() {
        let folder = Folder::new().unwrap();
        let (source, program) = (folder.path().join("a.h"), folder.path().join("a"));
        write_source(&source, "one").unwrap();
        assert!(up_to_date(folder.path(), "a").unwrap().is_none());
        std::fs::write(&program, "").unwrap();
        write_source(&source, "one").unwrap();
        assert_eq!(up_to_date(folder.path(), "a").unwrap(), Some(program));
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(9);
        let file = std::fs::File::options().append(true).open(&source).unwrap();
        file.set_modified(later).unwrap();
        assert!(up_to_date(folder.path(), "a").unwrap().is_none());
    }

    #[test]
    fn a_failing_command_tells_its_last_line() {
        let shell = |script: &str| output(Command::new("sh").args(["-c", script]));
        assert_eq!(shell("echo 1").unwrap(), "1");
        let error = shell("echo first >&2; echo last >&2; echo === >&2; exit 3").unwrap_err();
        assert_eq!(error.to_string(), "last");
        assert!(shell("exit 3").unwrap_err().to_string().contains('3'));
        let error = output(&mut Command::new("no-such-program")).unwrap_err();
        assert!(error.to_string().starts_with("no-such-program: "));
    }
}
