//! Multicolour Gauss-Seidel: rows of one colour are not coupled and are relaxed at the same time.

use std::sync::Arc;

use super::example;
use super::order::Rows;
use super::sor::Relaxation;
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{COLOURS, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::matrix::{Csr, Pattern};
use crate::operations;
use crate::registration::preconditioner;
use crate::scalar::Mixes;

preconditioner! {
    /// Gauss-Seidel (over-relaxation) colour by colour, from a zero guess.
    ///
    /// Every row gets the first colour that no row before it has which is coupled to it (Adams and
    /// Ortega 1982), so that rows of one colour are relaxed at the same time by all threads. The
    /// result is that of [`Sor`](super::Sor) or [`Ssor`](super::Ssor) for the matrix with its rows
    /// sorted by colour, whatever the number of threads.
    ///
    /// **Choose it** as a smoother on many threads where the sweeps of [`Sor`](super::Sor) are serial.
    /// On grids it smooths as well or better, as a preconditioner alone it is weaker; and every colour
    /// passes over all of the vectors, so that few threads are faster with
    /// [`HybridGs`](super::HybridGs).
    ///
    #[doc = example!("MulticolourGs", "Gmres", "poisson5:16", 50)]
    pub struct MulticolourGs {
        /// The relaxation `omega`, between 0 and 2.
        pub omega: f64 = 1.0,
        /// How many sweeps an application makes.
        pub sweeps: usize = 1,
        /// Whether a sweep through the colours is followed by one back.
        pub symmetric: bool = false,
    }
    name: "multicolour-gs", summary: "Gauss-Seidel colour by colour.",
    after_colon: &["omega", "sweeps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[TRIANGLES, COLOURS]), symmetry: OneSided,
    memory: Memory::per(12, 24);
    symmetric if: |own| own.symmetric;
}

impl<T: Mixes<T, T>> Factory<T> for MulticolourGs {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let relaxation = Relaxation {
            component: "multicolour-gs",
            omega: self.omega,
            sweeps: self.sweeps,
            symmetric: self.symmetric,
        };
        let order = |entries: &Csr<T>| colours(entries.pattern()).map(Rows::Coloured);
        relaxation.operator(a, ws, order, |_, diagonal| diagonal)
    }
}

/// For every row the first colour that no row before it has which is coupled to it, either way.
fn colours(pattern: &Pattern) -> Result<Vec<u32>> {
    let transposed = pattern.transpose()?;
    let coupled = || pattern.union(&transposed);
    if let Some(colours) = operations::factor::colours(pattern, coupled)? {
        return Ok(colours);
    }
    operations::on_host(pattern.executor(), COLOURS);
    let n = pattern.size().rows;
    let mut colours = vec![0_u32; n];
    // For every colour the last row that found it taken.
    let mut taken = Vec::new();
    for row in 0..n {
        for graph in [pattern, &transposed] {
            let columns = graph.columns()[graph.range(row)].iter();
            for &before in columns.take_while(|&&column| (column as usize) < row) {
                taken[colours[before as usize] as usize] = row;
            }
        }
        let free = taken.iter().position(|&last| last != row);
        let colour = free.unwrap_or(taken.len());
        if colour == taken.len() {
            taken.push(n);
        }
        colours[row] = colour as u32;
    }
    Ok(colours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::precond::testing::{convection, from_dense, red_black};
    use vcycle_core::testing::device;

    #[test]
    fn a_grid_has_two_colours_and_couplings_in_one_direction_count() {
        let a = convection::<f64>(&Executor::reference(), 6);
        let found = colours(a.pattern()).unwrap();
        for (row, &colour) in found.iter().enumerate() {
            assert_eq!(colour as usize, (row % 6 + row / 6) % 2);
        }
        let a = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        let a = from_dense(&Executor::reference(), 3, &a);
        assert_eq!(colours(a.pattern()).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn devices_find_the_colours_of_the_host() {
        let Some(device) = device() else { return };
        let host = Executor::reference();
        let built = |spec| gallery::build(spec, &host).unwrap().matrix;
        let one_way = built("poisson7:5").filter(|row, column, _| row % 3 != 1 || column <= row);
        for a in [
            convection(&host, 9),
            red_black(&host, 50), // fronts for several blocks
            built("poisson27:5"),
            one_way.unwrap(),
            built("poisson5:20000x1"),
            from_dense(&host, 70, &[1.0; 70 * 70]),
            from_dense(&host, 0, &[]),
        ] {
            let copy = a.copy_to(&device).unwrap();
            let expected = colours(a.pattern()).unwrap();
            assert_eq!(colours(copy.pattern()).unwrap(), expected);
        }
    }
}
