//! Matrices of levels in the precisions they are stored in.

use std::any::Any;
use std::cell::RefCell;

use super::matrices::LevelMatrix;
use super::wide::Wide;
use crate::operations::entries::convert_noting;
use crate::precision::Unit;
use crate::prelude::*;

/// A type of vectors of a level, and the one that its matrices are set up in.
pub(super) trait SetUpIn: Scalar {
    type Wide: Wide;
}

macro_rules! set_up_in {
    ($($wide:ty: [$($type:ty),*];)*) => {$($(
        impl SetUpIn for $type {
            type Wide = $wide;
        }
    )*)*};
}

set_up_in! {
    f64: [f64, f32, f16, bf16];
    c64: [c64, c32];
}

/// Matrices between vectors of `Self` and vectors of `Y`, stored in any precision that is not
/// wider than the narrower of both.
pub(super) trait Stores<Y: Scalar>: SetUpIn {
    fn stored(matrix: Rounded<'_, Self::Wide>) -> Result<Arc<dyn LinOp<Self, Y>>>;
}

/// A matrix that ranks share in another type and for vectors on an executor; itself if it is of these already.
fn converted<V: Scalar, M: Scalar>(
    matrix: &Arc<Distributed<V>>,
    executor: &Executor,
    level: usize,
) -> Result<Arc<Distributed<M>>> {
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(matrix) as _;
    let there = |same: &Arc<Distributed<M>>| same.executor().shares_memory_with(executor);
    if let Some(same) = shared.downcast().ok().filter(there) {
        return Ok(same);
    }
    let narrow = matrix.on(executor)?.convert::<M>()?;
    let ready = check(narrow.local(), level).and_then(|()| narrow.prepare());
    narrow.team().agree(ready)?;
    Ok(Arc::new(narrow))
}

/// A matrix to be stored in another precision, and the level it is of.
pub(super) struct Rounded<'m, V: Scalar = f64> {
    pub matrix: &'m LevelMatrix<V>,
    pub unit: Unit,
    pub level: usize,
    pub executor: &'m Executor,
    /// Whether no layout for fast products is to be made of it.
    pub is_plain: bool,
    /// Whether `matrix` keeps what is made here for the next time.
    pub is_kept: bool,
    pub overflows: &'m Overflows,
}

impl<V: Scalar> Rounded<'_, V> {
    /// As the executor multiplies with it: its layout is made now.
    fn ready<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar>(
        &self,
    ) -> Result<Arc<dyn LinOp<X, Y>>> {
        match self.matrix {
            LevelMatrix::Here(whole) => {
                let stored = self.to::<M>(whole)?;
                stored.prepare()?;
                Ok(stored.operator())
            }
            LevelMatrix::OfRanks(a) => {
                Ok(converted::<V, M>(a, self.executor, self.level)?.operator())
            }
        }
    }

    /// Itself if it is of that type already.
    fn to<M: Scalar>(&self, matrix: &Arc<Csr<V>>) -> Result<Arc<Csr<M>>> {
        let there = |matrix: &Arc<Csr<M>>| matrix.executor().shares_memory_with(self.executor);
        let shared: Arc<dyn Any + Send + Sync> = Arc::clone(matrix) as _;
        if let Some(same) = shared.downcast().ok().filter(there) {
            return Ok(same);
        }
        if let Some(kept) = matrix.narrow().filter(there) {
            return Ok(kept);
        }
        let made = self.made::<M>(matrix)?;
        if self.is_kept {
            matrix.keep_narrow(&made);
        }
        Ok(made)
    }

    fn made<M: Scalar>(&self, matrix: &Csr<V>) -> Result<Arc<Csr<M>>> {
        if let Some(narrow) = self.overflows.watched(matrix, self.level)? {
            return Ok(narrow);
        }
        let narrow = matrix.convert::<M>()?;
        check(&narrow, self.level)?;
        let narrow = narrow.into_executor(self.executor)?;
        Ok(Arc::new(match self.is_plain {
            true => narrow.plain(),
            false => narrow,
        }))
    }
}

/// Fails if a value did not fit.
fn check<M: Scalar>(narrow: &Csr<M>, level: usize) -> Result<()> {
    match narrow.check_finite() {
        Err(Error::NonFiniteEntry { row, column }) => Err(Error::LevelOverflow {
            level,
            row,
            column,
            kind: M::KIND,
        }),
        other => other,
    }
}

/// Names the place that did not fit, if there is one.
type Check = Box<dyn Fn() -> Result<()>>;

/// Matrices that a device has stored in narrower types, noting whether anything did not fit: the
/// host asks once for all of them.
#[derive(Default)]
pub(super) struct Overflows {
    found: RefCell<Option<Buffer<u32>>>,
    checks: RefCell<Vec<Check>>,
}

impl Overflows {
    /// The matrix of a level in another type; none for one of the host.
    fn watched<V: Scalar, M: Scalar>(
        &self,
        matrix: &Csr<V>,
        level: usize,
    ) -> Result<Option<Arc<Csr<M>>>> {
        let mut found = self.found.borrow_mut();
        let Some(values) = convert_noting(matrix.values_buffer(), &mut found)? else {
            return Ok(None);
        };
        let narrow = Arc::new(Csr::of_buffers(matrix.pattern(), values));
        let kept = Arc::clone(&narrow);
        let checks = &mut self.checks.borrow_mut();
        checks.push(Box::new(move || check(&kept, level)));
        Ok(Some(narrow))
    }

    /// Fails, naming the first place found, if anything did not fit.
    pub fn check(&self) -> Result<()> {
        match &*self.found.borrow() {
            Some(found) if found.get(0)? != 0 => {
                self.checks.borrow().iter().try_for_each(|check| check())
            }
            _ => Ok(()),
        }
    }
}

macro_rules! stores {
    ($($x:ty, $y:ty: [$($unit:ident $m:ty),*];)*) => {$(
        impl Stores<$y> for $x {
            fn stored(matrix: Rounded<'_, Self::Wide>) -> Result<Arc<dyn LinOp<$x, $y>>> {
                match matrix.unit {
                    $(Unit::$unit => matrix.ready::<$m, $x, $y>(),)*
                    #[allow(unreachable_patterns)]
                    wider => unreachable!("{} is wider than the vectors", wider.name()),
                }
            }
        }
    )*};
}

stores! {
    f64, f64: [Double f64, Single f32, Half f16, Bfloat bf16];
    f64, f32: [Single f32, Half f16, Bfloat bf16];
    f32, f64: [Single f32, Half f16, Bfloat bf16];
    f64, f16: [Half f16];
    f16, f64: [Half f16];
    f64, bf16: [Bfloat bf16];
    bf16, f64: [Bfloat bf16];
    f32, f32: [Single f32, Half f16, Bfloat bf16];
    f32, f16: [Half f16];
    f16, f32: [Half f16];
    f32, bf16: [Bfloat bf16];
    bf16, f32: [Bfloat bf16];
    f16, f16: [Half f16];
    bf16, bf16: [Bfloat bf16];
    c64, c64: [Double c64, Single c32];
    c64, c32: [Single c32];
    c32, c64: [Single c32];
    c32, c32: [Single c32];
}
