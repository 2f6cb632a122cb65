//! Many scratch vectors of one shape, and pseudo-random ones, the same in every run.

use std::ops::{Deref, DerefMut};

use crate::executor::Pooled;
use crate::prelude::*;

/// Vectors that span a space; their contents are unspecified at first.
pub(super) struct Basis<T> {
    executor: Executor,
    rows: usize,
    cols: usize,
    vectors: Vec<Vector<T>>,
}

impl<T: Scalar> Basis<T> {
    /// Borrows at least `count` vectors like `like`.
    pub(super) fn take<'w>(
        ws: &'w Workspace,
        like: &Vector<T>,
        count: usize,
    ) -> Result<Scratch<'w, Self>> {
        let mut basis = ws.take::<Self>(like.executor(), like.rows(), like.cols())?;
        basis.grow(count)?;
        Ok(basis)
    }

    /// Makes sure that there are `count` vectors; no more are made than are needed, for most solves need few.
    pub(super) fn grow(&mut self, count: usize) -> Result<()> {
        while self.vectors.len() < count {
            let vector = Vector::zeros(&self.executor, self.rows, self.cols)?;
            self.vectors.push(vector);
        }
        Ok(())
    }
}

impl<T> Deref for Basis<T> {
    type Target = [Vector<T>];
    fn deref(&self) -> &[Vector<T>] {
        &self.vectors
    }
}

impl<T> DerefMut for Basis<T> {
    fn deref_mut(&mut self) -> &mut [Vector<T>] {
        &mut self.vectors
    }
}

impl<T: Scalar> Pooled for Basis<T> {
    fn allocate(executor: &Executor, rows: usize, cols: usize) -> Result<Self> {
        Ok(Self {
            executor: executor.clone(),
            rows,
            cols,
            vectors: Vec::new(),
        })
    }
    fn executor(&self) -> &Executor {
        &self.executor
    }
}

/// Orthonormal vectors made of a seed; they are kept between solves.
pub(super) struct RandomVectors<T> {
    basis: Basis<T>,
    seed: u64,
}

impl<T: Scalar> RandomVectors<T> {
    /// `count` of them, every column the same.
    pub(super) fn take<'w>(
        ws: &'w Workspace,
        executor: &Executor,
        rows: usize,
        cols: usize,
        count: usize,
        seed: u64,
    ) -> Result<Scratch<'w, Self>> {
        let mut random = ws.take::<Self>(executor, rows, cols)?;
        // Vectors that some ranks have kept and others have not are made by all: making them adds over ranks.
        if executor.any((random.basis.len(), random.seed) != (count, seed))? {
            random.make(count, seed)?;
        }
        Ok(random)
    }

    /// The vectors.
    pub(super) fn vectors(&self) -> &[Vector<T>] {
        &self.basis
    }

    fn make(&mut self, count: usize, seed: u64) -> Result<()> {
        self.seed = seed;
        let Basis {
            executor,
            rows,
            cols,
            vectors,
        } = &mut self.basis;
        vectors.clear();
        let first = executor.before(*rows)?;
        let all = executor.total(*rows)? as usize;
        let mut factor = Scalars::filled(executor, *cols, num_traits::Zero::zero())?;
        for vector in 0..count {
            let mut numbers = Numbers(seed).skip(2 * (vector * all + first));
            let values = (0..*rows).flat_map(|_| {
                let value = T::from_c64(c64::new(numbers.next(), numbers.next()));
                std::iter::repeat_n(value, *cols)
            });
            let mut vector = Vector::from_rows(executor, *cols, values.collect())?;
            for other in &*vectors {
                other.dot(&vector, &mut factor)?;
                vector.axpy(-Coefficient::of(&factor), other)?;
            }
            vector.norm(&mut factor)?;
            vector.scale(Coefficient::one().over(&factor))?;
            vectors.push(vector);
        }
        Ok(())
    }
}

impl<T: Scalar> Pooled for RandomVectors<T> {
    fn allocate(executor: &Executor, rows: usize, cols: usize) -> Result<Self> {
        let basis = Basis::allocate(executor, rows, cols)?;
        Ok(Self { basis, seed: 0 })
    }
    fn executor(&self) -> &Executor {
        self.basis.executor()
    }
}

/// Numbers spread evenly over -1 to 1 (splitmix64, Steele, Lea and Flood 2014).
pub(crate) struct Numbers(pub(crate) u64);

/// What the state grows by from number to number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Numbers {
    /// Those behind the first `count`.
    fn skip(self, count: usize) -> Self {
        Self(self.0.wrapping_add(STEP.wrapping_mul(count as u64)))
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_orthonormal_and_kept() {
        let (ws, host) = (Workspace::new(), Executor::reference());
        let random = RandomVectors::<c64>::take(&ws, &host, 20, 2, 3, 7).unwrap();
        let mut dot = Scalars::filled(&host, 2, c64::default()).unwrap();
        let [first, second, _] = random.vectors() else {
            panic!("three are needed")
        };
        first.dot(second, &mut dot).unwrap();
        assert!(dot.get(1).unwrap().norm() < 1e-14);
        assert!((first.norms().unwrap()[0] - 1.0).abs() < 1e-14);
        let address = first.host().unwrap().as_ptr();
        drop(random);
        let again = RandomVectors::<c64>::take(&ws, &host, 20, 2, 3, 7).unwrap();
        assert_eq!(again.vectors()[0].host().unwrap().as_ptr(), address);
    }
}
