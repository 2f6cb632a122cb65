//! Corrections by a function for each island.

use std::fmt;
use std::sync::Arc;

use super::StencilMatrix;
use crate::arrays::IslandFunctions;
use crate::error::{ConfigError, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::text;
use crate::vector::Vector;

/// Whether structured multigrid corrects what is constant on islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IslandCorrections {
    /// Where the diagonal of a symmetric matrix jumps along all axes.
    #[default]
    Auto,
    /// Nowhere.
    Off,
}

impl IslandCorrections {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Auto, Self::Off];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
        }
    }
}

text::named!(IslandCorrections, "island correction");

/// A cycle between two corrections `x += Z D^-1 Z^T (b - A x)`: a column of `Z` is one on an island and decreases around it, and
/// `D` is the diagonal of `Z^T A Z`, with what couples islands added to it.
///
/// An error that is constant on an island stays there when a level is smoothed, and cells of a coarse grid that hold
/// more than the island cannot correct it. All of it is in double precision: what cancels within an
/// island is as large as the jump around it.
#[derive(Debug)]
pub(super) struct IslandCorrection {
    cycle: Arc<dyn LinOp<f64>>,
    functions: Box<dyn CorrectingFunctions>,
}

/// The columns of `Z` with `A Z` and `D`: of one process, or of a rank.
pub(super) trait CorrectingFunctions: fmt::Debug + Send + Sync {
    /// Islands whose sums are formed here.
    fn count(&self) -> usize;

    /// `D^-1 Z^T b`; with numbers `before` and a vector `x`, `before + D^-1 (Z^T b - (A Z)^T x)`.
    fn sums(
        &self,
        b: &Vector<f64>,
        before: Option<[&Vector<f64>; 2]>,
        sums: &mut Vector<f64>,
        ws: &Workspace,
    ) -> Result<()>;

    /// `x += Z sums`.
    fn add(&self, sums: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()>;

    /// `r -= A Z sums`.
    fn subtract_products(
        &self,
        sums: &Vector<f64>,
        r: &mut Vector<f64>,
        ws: &Workspace,
    ) -> Result<()>;

    fn bytes(&self) -> usize;
}

impl CorrectingFunctions for IslandFunctions {
    fn count(&self) -> usize {
        self.count()
    }

    fn sums(
        &self,
        b: &Vector<f64>,
        before: Option<[&Vector<f64>; 2]>,
        sums: &mut Vector<f64>,
        _ws: &Workspace,
    ) -> Result<()> {
        self.sums(b, before, sums)
    }

    fn add(&self, sums: &Vector<f64>, x: &mut Vector<f64>, _ws: &Workspace) -> Result<()> {
        self.add(sums, x)
    }

    fn subtract_products(
        &self,
        sums: &Vector<f64>,
        r: &mut Vector<f64>,
        _ws: &Workspace,
    ) -> Result<()> {
        self.subtract_products(sums, r)
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}

impl IslandCorrection {
    /// Around the cycle of a symmetric matrix; the cycle itself where there are no islands.
    pub(super) fn around(
        cycle: Arc<dyn LinOp<f64>>,
        a: &StencilMatrix<f64>,
    ) -> Result<Arc<dyn LinOp<f64>>> {
        let functions = a.island_functions()?;
        let count = functions.count();
        let weights = functions.weights().first(count)?;
        match count > 0 && weights.iter().all(|&weight| weight > 0.0) {
            true => Ok(Self::by(cycle, functions)),
            false => Ok(cycle),
        }
    }

    /// Around a cycle, by functions that are there already.
    pub(super) fn by(
        cycle: Arc<dyn LinOp<f64>>,
        functions: impl CorrectingFunctions + 'static,
    ) -> Arc<dyn LinOp<f64>> {
        let functions = Box::new(functions);
        Arc::new(Self { cycle, functions })
    }
}

impl LinOp<f64> for IslandCorrection {
    fn size(&self) -> Size {
        self.cycle.size()
    }

    fn executor(&self) -> &Executor {
        self.cycle.executor()
    }

    fn apply(&self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        check_apply("struct-mg", self.size(), self.executor(), b, x)?;
        let islands = self.functions.count();
        let mut first = ws.vector::<f64>(b.executor(), islands, b.cols())?;
        let mut both = ws.vector::<f64>(b.executor(), islands, b.cols())?;
        let mut r = ws.vector_like::<f64, f64>(b)?;
        self.functions.sums(b, None, &mut first, ws)?;
        r.copy_from(b)?;
        self.functions.subtract_products(&first, &mut r, ws)?;
        self.cycle.apply(&r, x, ws)?;
        // D^-1 Z^T (r - A x), on top of the first correction.
        self.functions.sums(&r, Some([&first, x]), &mut both, ws)?;
        self.functions.add(&both, x, ws)
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }

    fn footprint(&self) -> Footprint {
        let (cycle, own) = (self.cycle.footprint(), self.functions.bytes());
        Footprint {
            held: cycle.held + own,
            moved: cycle.moved + 2 * own,
        }
    }
}

#[cfg(test)]
mod tests {
    use vcycle_core::testing::device;

    use super::super::island_search::pair;
    use super::*;
    use crate::linop::Identity;

    #[test]
    fn residuals_have_no_part_in_the_function_of_an_island_that_is_corrected() {
        let here = pair(1e4);
        let cells = here.grid().cells();
        let numbers: Vec<f64> = (0..cells).map(|cell| (cell % 7) as f64 + 1.0).collect();
        let functions = here.island_functions().unwrap();
        let (within, z) = (&functions.boxes().boxes()[0], functions.z().host().unwrap());
        let function: Vec<(usize, f64)> = within
            .cells(here.grid())
            .zip(z.iter().copied())
            .filter(|entry| entry.1 != 0.0)
            .collect();
        assert!(function.contains(&(37, 1.0)) && function.contains(&(38, 1.0)));
        let around = function.iter().filter(|entry| entry.1 != 1.0);
        assert!(around.clone().count() > 10 && around.clone().all(|entry| entry.1 < 0.5));
        for executor in [Some(here.executor().clone()), device()]
            .into_iter()
            .flatten()
        {
            let a = here.copy_to(&executor).unwrap();
            let identity: Arc<dyn LinOp<f64>> = Arc::new(Identity::new(&executor, cells));
            let islands = IslandCorrection::around(identity, &a).unwrap();
            let b = Vector::from_column(&executor, numbers.clone());
            let (mut x, mut r) = (b.clone(), b.clone());
            islands.apply(&b, &mut x, &Workspace::new()).unwrap();
            a.residual(&b, &x, &mut r, &Workspace::new()).unwrap();
            let r = r.to_vec();
            let part: f64 = function.iter().map(|&(cell, z)| z * r[cell]).sum();
            assert!(part.abs() < 1e-8, "{part}");
            assert!(islands.footprint().held > 0);
        }
    }
}
