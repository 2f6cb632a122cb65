//! Test vectors: samples of the error that smoothing leaves.

use super::finest::finest;
use super::near_nullspace::NearNullspace;
use super::smooth::Smoother;
use crate::eigen::{Srqcg, are_independent, orthonormalise, rounded, scattered};
use crate::prelude::*;
use crate::registration::parameters;
use crate::text;

const NAME: &str = "test space";
/// Bits that found vectors keep: more than they are worth, and so few that sums in another order, those of several ranks or
/// of a device, hardly ever make another vector.
const KEPT: u32 = 20;

parameters! { computed
    #[derive(Copy)]
    /// How multigrid finds the test space of a matrix by itself: orthonormal vectors that span, nearly, what the matrix hardly
    /// changes. The coarse levels have to hold them.
    ///
    /// It starts from the near-nullspace that is given, filled up with scattered vectors. Where enough
    /// vectors are given, they are taken as they are, unless they are to be refined.
    pub struct TestSpaceSearch {
        /// What improves the vectors.
        pub method: TestSpaceMethod = TestSpaceMethod::default(),
        /// How many there are, where no more are given.
        pub vectors: usize = 1,
        /// Steps of the method.
        pub steps: usize = 10,
        /// Whether vectors are improved that are all given: where boundary conditions or jumps of the
        /// stiffness leave little of a rigid body.
        pub refine: bool = false,
        /// What smooths or preconditions.
        pub smoother: Smoother = Smoother::fsai(10, 1),
    }
}

/// What improves the vectors of a test space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TestSpaceMethod {
    /// Sweeps of the smoother.
    Smoothing,
    /// [`Srqcg`], preconditioned by the smoother.
    #[default]
    Srqcg,
}

text::named!(TestSpaceMethod, "method": Smoothing = "smoothing", Srqcg = "srqcg");

impl TestSpaceSearch {
    /// Whether there is something to find, or to improve.
    pub fn is_needed(&self, given: &NearNullspace) -> bool {
        self.refine || given.vectors().len() < self.vectors
    }

    /// Finds the test space of `a`, on the device that has it.
    ///
    /// # Errors
    /// Given vectors that are not finite or depend on each other; when the smoother cannot be made
    /// or fails.
    pub fn near_nullspace<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        given: &NearNullspace,
        ws: &Workspace,
    ) -> Result<NearNullspace> {
        let _stage = ws.stage("test space", 0);
        given.check(a.size().rows)?;
        let is_needed = self.is_needed(given);
        // What a rank has of vectors does not tell.
        let is_whole = a.executor().team().is_none();
        if !is_needed && is_whole && are_independent(given.vectors()) {
            return Ok(given.clone());
        }
        // Vectors that depend on each other are told, whether they are improved or not.
        let executor = match is_whole {
            true => a.executor().clone(),
            false => a.executor().on_host(),
        };
        let mut vectors = self.start(&executor, a.size().rows, given)?;
        if !is_needed {
            return Ok(given.clone());
        }
        let a = finest::<T, f64>(0, a)?.operator();
        let m = self.smoother.generate(&a, ws)?;
        let (a, m) = (a.as_ref(), m.as_ref());
        let found = match self.method {
            TestSpaceMethod::Smoothing => {
                for x in &mut vectors {
                    let zero = Vector::zeros_like(x)?;
                    m.improve(self.steps, a, &zero, x, ws)?;
                }
                orthonormalise(NAME, &mut vectors)?;
                vectors
            }
            TestSpaceMethod::Srqcg => {
                let iterations = self.steps;
                Srqcg { iterations }.smallest(a, m, vectors, ws)?.vectors
            }
        };
        let rounded = |x: &Vector<f64>| x.to_vec().into_iter().map(|value| rounded(value, KEPT));
        let vectors = found.iter().map(|x| rounded(x).collect());
        NearNullspace::new(given.block_size(), vectors.collect())
    }

    /// The given vectors, filled up with some that have no relation to a matrix and are the same every time; orthonormal.
    fn start(
        &self,
        executor: &Executor,
        rows: usize,
        given: &NearNullspace,
    ) -> Result<Vec<Vector<f64>>> {
        let all = executor.total(rows)? as usize;
        let first = executor.before(rows)?;
        let own = first..first + rows;
        let more = self.vectors.saturating_sub(given.vectors().len());
        let scattered = |k: usize| own.clone().map(|row| scattered(k * all + row)).collect();
        let of = |values: Vec<f64>| Vector::from_column(executor, values);
        let mut more: Vec<_> = (0..more).map(|k| of(scattered(k))).collect();
        orthonormalise(NAME, &mut more)?;
        let given = given.vectors().iter().cloned().map(of);
        let mut vectors: Vec<_> = given.chain(more).collect();
        orthonormalise(NAME, &mut vectors)?;
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    fn quotient(a: &dyn LinOp<f64>, x: &Vector<f64>) -> f64 {
        let mut ax = Vector::zeros_like(x).unwrap();
        a.apply(x, &mut ax, &Workspace::new()).unwrap();
        let products = x.to_vec().into_iter().zip(ax.to_vec());
        products.map(|(x, y)| x * y).sum()
    }

    #[test]
    fn every_method_finds_smooth_vectors_and_the_better_ones_smoother_on_devices_too() {
        let host = smoothness(&Executor::reference());
        let falls = host.is_sorted_by(|before, after| before > after);
        assert!(falls, "{host:?}");
        if let Some(device) = device() {
            for (here, there) in host.into_iter().zip(smoothness(&device)) {
                assert!((here - there).abs() < 1e-6 * here, "{here} {there}");
            }
        }
    }

    /// The Rayleigh quotient of the first vector that each method finds.
    fn smoothness(executor: &Executor) -> [f64; 2] {
        let a = gallery::build("jump7:8,1e3", executor).unwrap();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a.matrix);
        let given = NearNullspace::components(1).unwrap();
        TestSpaceMethod::ALL.map(|method| {
            let search = TestSpaceSearch {
                method,
                vectors: 2,
                ..TestSpaceSearch::default()
            };
            let space = search.near_nullspace(&a, &given, &Workspace::new());
            let first = space.unwrap().vectors()[0].clone();
            let first = Vector::from_column(a.executor(), first);
            quotient(a.as_ref(), &first)
        })
    }

    #[test]
    fn given_vectors_are_filled_up() {
        let problem = gallery::build("elasticity:4x3x3", &Executor::reference()).unwrap();
        let a: Arc<dyn LinOp<f64>> = Arc::new(problem.matrix);
        let modes = problem.near_nullspace.unwrap();
        for (vectors, refine, expected) in [(2, false, 6), (2, true, 6), (7, false, 7)] {
            let search = TestSpaceSearch {
                vectors,
                refine,
                ..TestSpaceSearch::default()
            };
            let found = search.near_nullspace(&a, &modes, &Workspace::new());
            let found = found.unwrap();
            assert_eq!((found.block_size(), found.vectors().len()), (3, expected));
            let kept = found.vectors()[0] == modes.vectors()[0];
            assert_eq!(kept, expected == 6 && !refine);
        }
    }

    #[test]
    fn spaces_that_are_none_are_named() {
        let host = Executor::reference();
        let refused = |rows: usize, vectors: usize, given: NearNullspace| {
            let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::<f64>::identity(&host, rows));
            let search = TestSpaceSearch {
                vectors,
                ..TestSpaceSearch::default()
            };
            let found = search.near_nullspace(&a, &given, &Workspace::new());
            found.unwrap_err()
        };
        let twice = NearNullspace::new(1, vec![vec![1.0, 2.0], vec![2.0, 4.0]]).unwrap();
        let line = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
        let line = NearNullspace::rigid_body_modes(3, &line).unwrap();
        for (rows, given, dependent) in [(2, twice, 1), (9, line, 3)] {
            let error = refused(rows, 1, given);
            assert!(matches!(error, Error::DependentVectors { vector, .. } if vector == dependent));
        }
        let more = refused(2, 3, NearNullspace::components(1).unwrap());
        assert!(matches!(more, Error::DependentVectors { .. }));
    }
}
