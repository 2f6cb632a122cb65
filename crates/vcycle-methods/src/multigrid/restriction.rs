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
    use super::*;
    use crate::multigrid::LevelMatrices;
    use crate::multigrid::testing::{Matrix, amg, csr, with};
    use crate::prelude::*;

    fn levels(a: Csr<f64>, options: &str) -> Vec<LevelMatrices> {
        let amg = with(&amg("coarsest-rows=20, max-levels=2"), options);
        let (a, ws): (Matrix, _) = (Arc::new(a), Workspace::new());
        let (setup, _) = amg.setup(&a, &ws).unwrap();
        setup.matrices(&a, &ws).unwrap()
    }

    #[test]
    fn a_symmetric_matrix_has_one_restriction_only() {
        for coarsening in ["pmis", "sa"] {
            let [transposed, own] = Restriction::ALL.map(|restriction| {
                let options = format!("coarsening={coarsening}, restriction={restriction}");
                levels(csr("poisson5:12"), &options)
            });
            assert_eq!(own[1].a.values(), transposed[1].a.values());
        }
    }

    #[test]
    fn it_is_the_transposed_prolongation_of_the_transposed_matrix() {
        let a = csr("convdiff7:6x6x4,10");
        let adjoint = a.transpose().unwrap();
        // Groups by the numbering are those of both matrices; strength would differ.
        let options =
            "coarsening=uniform, interpolation=smoothed, aggregate-size=4, restriction=own";
        let [given, mirrored] = [a, adjoint].map(|a| levels(a, options));
        let (r, p) = (&given[0].restriction, &mirrored[0].prolongation);
        let expected = p.as_ref().unwrap().transpose().unwrap();
        assert_eq!(r.as_ref().unwrap().values(), expected.values());
        let p = given[0].prolongation.as_ref().unwrap().transpose().unwrap();
        assert_ne!(p.values(), expected.values());
    }
}
