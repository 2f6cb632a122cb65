//! The restriction, where it is not the transposed prolongation.

use crate::text;

/// What residuals are brought to the next level with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restriction {
    /// The transposed prolongation `P^T`.
    #[default]
    Transposed,
    /// The transposed prolongation that `A^T` would get with the same coarse unknowns or groups: what
    /// Galerkin's product is for matrices that are not symmetric, where left and right singular
    /// vectors differ (Sala and Tuminaro 2008). The same as the other where `A` is symmetric, and
    /// where test vectors are interpolated.
    ///
    /// **Choose it** where coarse matrices of a problem far from symmetric have to be those of both the
    /// matrix and its transpose; the set-up interpolates twice. It is no cure for convection: on
    /// `convdiff7:40,100` GMRES takes 35 iterations with it and 23 without.
    Own,
}

text::named!(Restriction, "restriction": Transposed = "transposed", Own = "own");

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::linop::LinOp;
    use crate::matrix::Csr;
    use crate::multigrid::{Amg, Coarsening, Interpolation, LevelMatrices};

    fn levels(a: Csr<f64>, coarsening: Coarsening, restriction: Restriction) -> Vec<LevelMatrices> {
        let amg = Amg {
            coarsening,
            restriction,
            coarsest_rows: 20,
            max_levels: 2,
            ..Amg::default()
        };
        let (a, ws): (Arc<dyn LinOp<f64>>, _) = (Arc::new(a), Workspace::new());
        let (setup, _) = amg.setup(&a, &ws).unwrap();
        setup.matrices(&a, &ws).unwrap()
    }

    #[test]
    fn a_symmetric_matrix_has_one_restriction_only() {
        let a = gallery::build("poisson5:12", &Executor::reference()).unwrap();
        for coarsening in [Coarsening::Pmis, Coarsening::Greedy] {
            let [own, transposed] = [Restriction::Own, Restriction::Transposed]
                .map(|kind| levels(a.matrix.clone(), coarsening, kind));
            assert_eq!(own[1].a.values(), transposed[1].a.values());
        }
    }

    #[test]
    fn it_is_the_transposed_prolongation_of_the_transposed_matrix() {
        let a = gallery::build("convdiff7:6x6x4,10", &Executor::reference()).unwrap();
        let adjoint = a.matrix.transpose().unwrap();
        // Groups by the numbering are those of both matrices; strength would differ.
        let amg = Amg {
            coarsening: Coarsening::Uniform,
            interpolation: Interpolation::Smoothed,
            aggregate_size: 4,
            restriction: Restriction::Own,
            max_levels: 2,
            coarsest_rows: 20,
            ..Amg::default()
        };
        let of = |a: Csr<f64>| {
            let (a, ws): (Arc<dyn LinOp<f64>>, _) = (Arc::new(a), Workspace::new());
            let (setup, _) = amg.setup(&a, &ws).unwrap();
            setup.matrices(&a, &ws).unwrap()
        };
        let (given, mirrored) = (of(a.matrix), of(adjoint));
        let (r, p) = (&given[0].restriction, &mirrored[0].prolongation);
        let expected = p.as_ref().unwrap().transpose().unwrap();
        assert_eq!(r.as_ref().unwrap().values(), expected.values());
        let p = given[0].prolongation.as_ref().unwrap().transpose().unwrap();
        assert_ne!(p.values(), expected.values());
    }
}
