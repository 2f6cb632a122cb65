//! Corrections by a function for each island.

use super::StencilMatrix;
use super::columns::by_column;
use super::island_ranks::{FunctionMoves, RankFunctions, Ranks};
use crate::arrays::IslandFunctions;
use crate::linop::check_apply;
use crate::matrix::CellOrder;
use crate::prelude::*;
use crate::text;

/// Whether structured multigrid corrects what is constant on islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IslandCorrections {
    /// Where the diagonal of a symmetric matrix jumps along all axes.
    #[default]
    Auto,
    /// Nowhere.
    Off,
}

text::named!(IslandCorrections, "island correction": Auto = "auto", Off = "off");

/// A cycle between two corrections `x += Z D^-1 Z^T (b - A x)`: a column of `Z` is one on an island and decreases around it, and
/// `D` is the diagonal of `Z^T A Z`, with what couples islands added to it.
///
/// An error that is constant on an island stays there when a level is smoothed, and cells of a coarse grid that hold
/// more than the island cannot correct it. All of it is in double precision: what cancels within an
/// island is as large as the jump around it.
#[derive(Debug)]
pub(super) struct IslandCorrection {
    cycle: Arc<dyn LinOp<f64>>,
    functions: IslandFunctions,
    /// Over ranks: to the cells that functions which reach own rows need, and back.
    moves: Option<FunctionMoves>,
}

impl IslandCorrection {
    /// Around the cycle of a symmetric matrix, whose rows ranks may share; the cycle itself where there are no islands.
    pub(super) fn around(
        cycle: Arc<dyn LinOp<f64>>,
        a: &StencilMatrix<f64>,
        ranks: Option<Ranks<'_>>,
    ) -> Result<Arc<dyn LinOp<f64>>> {
        let (functions, moves) = match ranks {
            None => {
                let functions = a.island_functions()?;
                let weights = functions.weights().first(functions.count())?;
                if weights.is_empty() || weights.iter().any(|&weight| weight <= 0.0) {
                    return Ok(cycle);
                }
                (functions, None)
            }
            Some(ranks) => {
                let Some(found) = RankFunctions::new(a, ranks)? else {
                    return Ok(cycle);
                };
                (found.functions, Some(found.moves))
            }
        };
        Ok(Arc::new(Self {
            cycle,
            functions,
            moves,
        }))
    }

    /// The correction before and after a cycle. Over ranks functions are applied to the cells that they need, of which own
    /// ones are kept.
    fn corrected(&self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        let (there, islands) = (self.functions.z().executor(), self.functions.count());
        let mut first = ws.vector::<f64>(there, islands, b.cols())?;
        let mut both = ws.vector::<f64>(there, islands, b.cols())?;
        let mut r = ws.vector_like::<f64, f64>(b)?;
        r.copy_from(b)?;
        let mut wide = self.entered(&r, ws)?;
        let near = wide.as_deref_mut().unwrap_or(&mut r);
        self.functions.sums(near, None, &mut first)?;
        self.functions.subtract_products(&first, near)?;
        self.leave(wide.as_deref(), &mut r, ws)?;
        self.cycle.apply(&r, x, ws)?;
        // D^-1 Z^T (r - A x), on top of the first correction.
        let (wide_r, mut wide_x) = (self.entered(&r, ws)?, self.entered(x, ws)?);
        let near_x = wide_x.as_deref_mut().unwrap_or(x);
        let before = [&*first, &*near_x];
        let near_r = wide_r.as_deref().unwrap_or(&r);
        self.functions.sums(near_r, Some(before), &mut both)?;
        self.functions.add(&both, near_x)?;
        self.leave(wide_x.as_deref(), x, ws)
    }

    /// The numbers of the cells around own rows; none where all are here.
    fn entered<'w>(
        &self,
        own: &Vector<f64>,
        ws: &'w Workspace,
    ) -> Result<Option<Scratch<'w, Vector<f64>>>> {
        let (there, order) = (self.functions.z().executor(), CellOrder::Rows);
        let entered = |moves: &FunctionMoves| {
            let mut wide = ws.vector::<f64>(there, moves.cells, 1)?;
            let to: &mut Vector<f64> = &mut wide;
            moves.enter.move_vector(1, (own, order), (to, order), ws)?;
            Ok(wide)
        };
        self.moves.as_ref().map(entered).transpose()
    }

    /// Keeps the numbers of own rows.
    fn leave(
        &self,
        wide: Option<&Vector<f64>>,
        own: &mut Vector<f64>,
        ws: &Workspace,
    ) -> Result<()> {
        let order = CellOrder::Rows;
        match (&self.moves, wide) {
            (Some(moves), Some(wide)) => {
                let leave = &moves.leave;
                leave.move_vector(1, (wide, order), (own, order), ws)
            }
            _ => Ok(()),
        }
    }
}

impl LinOp<f64> for IslandCorrection {
    forward!(cycle: size, executor);

    fn apply(&self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        check_apply("struct-mg", self.size(), self.executor(), b, x)?;
        match &self.moves {
            None => self.corrected(b, x, ws),
            Some(_) => by_column(b, x, ws, |b, x| self.corrected(b, x, ws)),
        }
    }

    fn label(&self) -> &'static str {
        "struct-mg"
    }

    fn footprint(&self) -> Footprint {
        let (cycle, own) = (self.cycle.footprint(), self.functions.bytes());
        Footprint::new(cycle.held + own, cycle.moved + 2 * own)
    }
}

#[cfg(test)]
mod tests {
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
            let islands = IslandCorrection::around(identity, &a, None).unwrap();
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
