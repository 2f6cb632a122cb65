//! Test vectors: samples of the error that smoothing leaves.

use std::sync::Arc;

use super::finest::finest;
use super::near_nullspace::NearNullspace;
use super::smooth::Smoother;
use crate::eigen::{Lobpcg, Srqcg, are_independent, orthonormalise};
use crate::eigen::{rounded, scattered};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Factory, LinOp};
use crate::scalar::Scalar;
use crate::text;
use crate::vector::Vector;

const NAME: &str = "test space";
/// Bits that found vectors keep: more than they are worth, and so few that sums in another order, those of several ranks or
/// of a device, hardly ever make another vector.
const KEPT: u32 = 20;

/// Orthonormal vectors that span, nearly, what a matrix hardly changes: the coarse levels have to
/// hold them.
///
/// It starts from what is known of a problem and is improved with the matrix itself.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, gallery, linop::{Factory, LinOp}, precond::Fsai};
/// use vcycle::{eigen::Srqcg, multigrid::TestSpace};
/// let (cpu, ws) = (Executor::cpu(), Workspace::new());
/// let a: Arc<dyn LinOp<f64>> = Arc::new(gallery::build("poisson5:20", &cpu)?.matrix);
/// let m = Fsai::default().generate(&a, &ws)?;
/// let space = TestSpace::scattered(&cpu, 400, 2)?.minimised(a.as_ref(), m.as_ref(), 10, &ws)?;
/// assert_eq!(space.near_nullspace(1)?.vectors().len(), 2);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TestSpace {
    vectors: Vec<Vector<f64>>,
}

impl TestSpace {
    /// The space that vectors span.
    ///
    /// # Errors
    /// Vectors of different lengths, not finite, or dependent on each other.
    pub fn given(executor: &Executor, vectors: &[Vec<f64>]) -> Result<Self> {
        let vectors = vectors.iter().cloned();
        Self::spanned(vectors.map(|v| Vector::from_column(executor, v)).collect())
    }

    /// The motions of a rigid body, see [`NearNullspace::rigid_body_modes`].
    ///
    /// # Errors
    /// For a dimension that is not 2 or 3, coordinates that are not finite, and points on a line,
    /// about which a rotation moves nothing.
    pub fn rigid_bodies(
        executor: &Executor,
        dimension: usize,
        coordinates: &[[f64; 3]],
    ) -> Result<Self> {
        let modes = NearNullspace::rigid_body_modes(dimension, coordinates)?;
        Self::given(executor, modes.vectors())
    }

    /// Vectors without any relation to a matrix, the same every time: a start for finding others.
    ///
    /// # Errors
    /// For more vectors than rows.
    pub fn scattered(executor: &Executor, rows: usize, count: usize) -> Result<Self> {
        let all = executor.total(rows)? as usize;
        let first = executor.before(rows)?;
        let own = first..first + rows;
        let vector = |k: usize| own.clone().map(|row| scattered(k * all + row)).collect();
        Self::spanned(
            (0..count)
                .map(|k| Vector::from_column(executor, vector(k)))
                .collect(),
        )
    }

    fn spanned(mut vectors: Vec<Vector<f64>>) -> Result<Self> {
        orthonormalise(NAME, &mut vectors)?;
        Ok(Self { vectors })
    }

    /// What `steps` sweeps `x -= M A x` leave of the vectors.
    ///
    /// # Errors
    /// When an operator fails, or the sweeps leave nothing, or nothing finite, of a vector.
    pub fn smoothed(
        mut self,
        a: &dyn LinOp<f64>,
        m: &dyn LinOp<f64>,
        steps: usize,
        ws: &Workspace,
    ) -> Result<Self> {
        let Some(first) = self.vectors.first() else {
            return Ok(self);
        };
        let zero = Vector::zeros_like(first)?;
        for x in &mut self.vectors {
            m.improve(steps, a, &zero, x, ws)?;
        }
        Self::spanned(self.vectors)
    }

    /// The vectors after `steps` steps of [`Srqcg`] towards the smallest eigenvectors.
    ///
    /// # Errors
    /// When an operator fails.
    pub fn minimised(
        self,
        a: &dyn LinOp<f64>,
        m: &dyn LinOp<f64>,
        steps: usize,
        ws: &Workspace,
    ) -> Result<Self> {
        let iterations = steps;
        let pairs = Srqcg { iterations }.smallest(a, m, self.vectors, ws)?;
        Ok(Self {
            vectors: pairs.vectors,
        })
    }

    /// The vectors after at most `steps` steps of [`Lobpcg`] towards the smallest eigenvectors.
    ///
    /// # Errors
    /// When an operator fails.
    pub fn optimised(
        self,
        a: &dyn LinOp<f64>,
        m: &dyn LinOp<f64>,
        steps: usize,
        ws: &Workspace,
    ) -> Result<Self> {
        let lobpcg = Lobpcg {
            max_iterations: steps,
            ..Lobpcg::default()
        };
        let vectors = lobpcg.smallest(a, m, self.vectors, ws)?.vectors;
        Ok(Self { vectors })
    }

    /// The vectors.
    pub fn vectors(&self) -> &[Vector<f64>] {
        &self.vectors
    }

    /// The same for a matrix with so many unknowns a node.
    ///
    /// # Errors
    /// For a block size that the rows are no multiple of.
    pub fn near_nullspace(&self, block_size: usize) -> Result<NearNullspace> {
        let vectors = self.vectors.iter().map(Vector::to_vec).collect();
        NearNullspace::new(block_size, vectors)
    }
}

/// How multigrid finds the test space of a matrix by itself.
///
/// It starts from the near-nullspace that is given, filled up with scattered vectors. Where enough
/// vectors are given, they are taken as they are, unless they are to be refined.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct TestSpaceSearch {
    /// What improves the vectors.
    pub method: TestSpaceMethod,
    /// How many there are, where no more are given.
    pub vectors: usize,
    /// Steps of the method.
    pub steps: usize,
    /// Whether vectors are improved that are all given: where boundary conditions or jumps of the
    /// stiffness leave little of a rigid body.
    pub refine: bool,
    /// What smooths or preconditions.
    pub smoother: Smoother,
}

impl Default for TestSpaceSearch {
    fn default() -> Self {
        Self {
            method: TestSpaceMethod::default(),
            vectors: 1,
            steps: 10,
            refine: false,
            smoother: Smoother::fsai(10, 1),
        }
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
    /// [`Lobpcg`], preconditioned by the smoother.
    Lobpcg,
}

text::named!(TestSpaceMethod, "method": Smoothing = "smoothing", Srqcg = "srqcg", Lobpcg = "lobpcg");

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
        let start = self.start(&executor, a.size().rows, given)?;
        if !is_needed {
            return Ok(given.clone());
        }
        let a = finest::<T, f64>(0, a)?.operator();
        let m = self.smoother.generate(&a, ws)?;
        let (a, m) = (a.as_ref(), m.as_ref());
        let found = match self.method {
            TestSpaceMethod::Smoothing => start.smoothed(a, m, self.steps, ws)?,
            TestSpaceMethod::Srqcg => start.minimised(a, m, self.steps, ws)?,
            TestSpaceMethod::Lobpcg => start.optimised(a, m, self.steps, ws)?,
        };
        let rounded = |x: &Vector<f64>| x.to_vec().into_iter().map(|value| rounded(value, KEPT));
        let vectors = found.vectors.iter().map(|x| rounded(x).collect());
        NearNullspace::new(given.block_size(), vectors.collect())
    }

    fn start(&self, executor: &Executor, rows: usize, given: &NearNullspace) -> Result<TestSpace> {
        let more = self.vectors.saturating_sub(given.vectors().len());
        let of = |vector: &Vec<f64>| Vector::from_column(executor, vector.clone());
        let vectors = given.vectors().iter().map(of);
        let more = TestSpace::scattered(executor, rows, more)?;
        TestSpace::spanned(vectors.chain(more.vectors).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
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
        assert!(
            host.is_sorted_by(|before, after| before > after),
            "{host:?}"
        );
        if let Some(device) = vcycle_core::testing::device() {
            for (here, there) in host.into_iter().zip(smoothness(&device)) {
                assert!((here - there).abs() < 1e-6 * here, "{here} {there}");
            }
        }
    }

    /// The Rayleigh quotient of the first vector that each method finds.
    fn smoothness(executor: &Executor) -> [f64; 3] {
        let a = gallery::build("jump7:8,1e3", executor).unwrap();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a.matrix);
        let given = NearNullspace::components(1).unwrap();
        TestSpaceMethod::ALL.map(|method| {
            let search = TestSpaceSearch {
                method,
                vectors: 2,
                ..TestSpaceSearch::default()
            };
            let space = search
                .near_nullspace(&a, &given, &Workspace::new())
                .unwrap();
            let first = Vector::from_column(a.executor(), space.vectors()[0].clone());
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
            let found = search
                .near_nullspace(&a, &modes, &Workspace::new())
                .unwrap();
            assert_eq!((found.block_size(), found.vectors().len()), (3, expected));
            let kept = found.vectors()[0] == modes.vectors()[0];
            assert_eq!(kept, expected == 6 && !refine);
        }
    }

    #[test]
    fn spaces_that_are_none_are_named() {
        let host = Executor::reference();
        let dependent = TestSpace::given(&host, &[vec![1.0, 2.0], vec![2.0, 4.0]]);
        assert!(matches!(
            dependent,
            Err(Error::DependentVectors { vector: 1, .. })
        ));
        let nan = TestSpace::given(&host, &[vec![1.0, f64::NAN]]);
        assert!(matches!(
            nan,
            Err(Error::NonFiniteVector {
                row: 1,
                column: 0,
                ..
            })
        ));
        let line = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
        let line = TestSpace::rigid_bodies(&host, 3, &line);
        assert!(matches!(
            line,
            Err(Error::DependentVectors { vector: 3, .. })
        ));
        assert!(TestSpace::scattered(&host, 2, 3).is_err());
    }
}
