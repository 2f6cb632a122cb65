//! A system in files, for programs that solve it, and the solution they leave.

use std::path::PathBuf;

use vcycle::executor::Executor;
use vcycle::io::{AnyVector, read_vector, write_matrix, write_vector};
use vcycle::vector::Vector;

use crate::common::Result;
use crate::folder::Folder;
use crate::problem::BenchSystem;
use crate::system_file;

/// A temporary folder with the files of a system.
pub(super) struct Files<'s> {
    folder: Folder,
    system: &'s BenchSystem,
}

impl<'s> Files<'s> {
    /// Writes the raw arrays, which the programs of the peers read.
    pub(super) fn new(system: &'s BenchSystem) -> Result<Self> {
        let folder = Folder::new()?;
        let files = Self { folder, system };
        system_file::write(&files.raw(), system)?;
        Ok(files)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The raw arrays.
    pub(super) fn raw(&self) -> PathBuf {
        self.path("system")
    }

    /// Writes what `vcycle solve` reads: matrix, right-hand side, near-nullspace; returns its arguments.
    pub(super) fn for_vcycle(&self) -> Result<Vec<String>> {
        let (matrix, rhs) = (self.path("a.npz"), self.path("b.npy"));
        let host = Executor::reference();
        write_matrix(&matrix, &self.system.matrix)?;
        write_vector(&rhs, &Vector::from_column(&host, self.system.rhs.clone()))?;
        let mut arguments = vec![
            matrix.display().to_string(),
            "--rhs".to_owned(),
            rhs.display().to_string(),
        ];
        let modes = self.system.modes();
        if !modes.is_empty() {
            let path = self.path("modes.npy");
            let rows = 0..self.system.rhs.len();
            let values = rows.flat_map(|row| modes.iter().map(move |mode| mode[row]));
            let modes = Vector::from_rows(&host, modes.len(), values.collect())?;
            write_vector(&path, &modes)?;
            let block = self.system.block_size().to_string();
            let told = [
                "--near-nullspace",
                &path.display().to_string(),
                "--block-size",
                &block,
            ];
            arguments.extend(told.map(str::to_owned));
        }
        Ok(arguments)
    }

    /// A file of zeros, as long as the solution, that processes write their rows to.
    pub(super) fn raw_solution(&self) -> Result<PathBuf> {
        let path = self.path("x");
        system_file::write_zeros(&path, self.system)?;
        Ok(path)
    }

    /// Where vcycle writes its solution; none is there before.
    pub(super) fn solution(&self) -> PathBuf {
        let path = self.path("x.npy");
        // There is none before the first solve.
        let _ = std::fs::remove_file(&path);
        path
    }

    /// The relative residual of the raw solution.
    pub(super) fn raw_residual(&self) -> Result<f64> {
        system_file::residual(&self.path("x"), self.system)
    }

    /// The relative residual of what vcycle has written.
    pub(super) fn vcycle_residual(&self) -> Result<f64> {
        match read_vector(self.path("x.npy"), &Executor::reference())? {
            AnyVector::Real(x) => self.system.residual(x.to_vec()),
            AnyVector::Complex(_) => Err("the solution is complex".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem;

    #[test]
    fn residuals_are_those_of_the_solution_in_the_file() {
        let system = problem::system(&Executor::reference(), "poisson5:4").unwrap();
        let files = Files::new(&system).unwrap();
        let path = files.raw_solution().unwrap();
        assert_eq!(files.raw_residual().unwrap(), 1.0);
        std::fs::write(&path, [0; 8]).unwrap();
        assert!(files.raw_residual().is_err());
        let zeros = Vector::<f64>::zeros(&Executor::reference(), 16, 1).unwrap();
        write_vector(files.solution(), &zeros).unwrap();
        assert_eq!(files.vcycle_residual().unwrap(), 1.0);
        assert_eq!(files.for_vcycle().unwrap().len(), 3);
    }

    #[test]
    fn vcycle_is_told_the_modes_that_peers_are_told() {
        let system = problem::system(&Executor::reference(), "elasticity:2x1x1").unwrap();
        let files = Files::new(&system).unwrap();
        let arguments = files.for_vcycle().unwrap();
        assert_eq!(arguments[3], "--near-nullspace");
        assert_eq!(arguments[5..], ["--block-size", "3"]);
        let modes = read_vector(&arguments[4], &Executor::reference()).unwrap();
        assert_eq!((modes.size().rows, modes.size().cols), (24, 6));
    }
}
