//! Problems that several parts use are made once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use vcycle::executor::Executor;

use crate::common::Result;
use crate::problem::{self, BenchSystem};

/// Systems in the memory of the host, by name.
pub(super) struct Problems {
    folder: Option<PathBuf>,
    made: RefCell<HashMap<String, Rc<BenchSystem>>>,
}

impl Problems {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            made: RefCell::default(),
        }
    }

    /// A problem of the gallery, or a matrix of the folder.
    pub fn get(&self, name: &str) -> Result<Rc<BenchSystem>> {
        if let Some(made) = self.made.borrow().get(name) {
            return Ok(Rc::clone(made));
        }
        let source = match name.contains(':') {
            true => name.to_owned(),
            false => self.file(name)?,
        };
        let system = Rc::new(problem::system(&Executor::cpu(), &source)?);
        let mut made = self.made.borrow_mut();
        made.insert(name.to_owned(), Rc::clone(&system));
        Ok(system)
    }

    fn file(&self, name: &str) -> Result<String> {
        let Some(folder) = &self.folder else {
            return Err(format!("no folder with {name} was given (--matrices)").into());
        };
        let files =
            ["mtx", "mtx.xz", "mtx.gz"].map(|ending| folder.join(format!("{name}.{ending}")));
        let found = files.iter().find(|file| file.exists());
        let found = found.ok_or_else(|| format!("{} has no {name}.mtx", folder.display()))?;
        Ok(found.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_made_once() {
        let problems = Problems::new(None);
        let made = problems.get("poisson5:4").unwrap();
        assert!(Rc::ptr_eq(&made, &problems.get("poisson5:4").unwrap()));
        let missing = problems.get("G2_circuit").err().unwrap();
        assert!(missing.to_string().contains("--matrices"), "{missing}");
    }
}
