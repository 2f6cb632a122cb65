//! Fixed-point sweeps of incomplete factors.

use vcycle_kernels::compiled_fn;

use crate::gpu::{Launch, kernels::sweeps as kernels};
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::on_real_device;

/// Which factors are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factorisation {
    /// `L` with a unit diagonal and `U`, side by side on the pattern of the matrix.
    Lu,
    /// `L` of `L L^T`, on the pattern of the lower triangle that is given.
    Cholesky,
}

/// How factors are swept.
#[derive(Clone, Copy, Debug)]
pub struct Sweeping {
    /// What is made.
    pub factorisation: Factorisation,
    /// How often all entries are made anew.
    pub sweeps: usize,
    /// The part of the norm of the start that counts as rounding: residuals below may grow.
    pub exact: f64,
}

compiled_fn! {
    /// The values of the factors of `a`, whose rows have their diagonal entry at the given places, swept from `start`, or from `a` itself.
    /// The inner one is none where a sweep enlarges the residual or a pivot has no root.
    pub fn swept[any T: Scalar](
        a: &Csr<T>,
        diagonal: &[usize],
        start: &mut Option<Vec<<T as Scalar>::Arith>>,
        sweeping: Sweeping,
    ) -> Result<Option<Option<Vec<<T as Scalar>::Arith>>>> {
        on_real_device::<T, _>(a.executor(), |queue| {
            let values = queue.convert::<T, T::Arith>(a.values_buffer())?;
            let start = match start.take() {
                Some(start) => Buffer::from_vec(queue.executor, start),
                None => values.clone(),
            };
            let diagonal = Buffer::from_vec(queue.executor, diagonal.to_vec());
            let sweeps = Sweeps::new(queue, a.pattern(), values, diagonal, sweeping.factorisation)?;
            let factors = match sweeps.guarded(start, sweeping)? {
                Some(values) => sweeps.divided(values)?,
                None => None,
            };
            Ok(factors.map(Buffer::into_vec))
        })
    }
}

/// A matrix whose factors are looked for.
pub(crate) struct Sweeps<'a, A> {
    queue: Queue<'a>,
    pattern: &'a Pattern,
    values: Buffer<A>,
    diagonal: Buffer<usize>,
    factorisation: Factorisation,
}

type Places = (u64, Read<u64>, Read<u32>, Read<u64>);

impl<'a, A: Scalar> Sweeps<'a, A> {
    /// With values on a pattern whose rows have their diagonal entry at the given places.
    pub(crate) fn new(
        queue: Queue<'a>,
        pattern: &'a Pattern,
        values: Buffer<A>,
        diagonal: Buffer<usize>,
        factorisation: Factorisation,
    ) -> Result<Self> {
        queue.gpu.real(A::KIND)?;
        Ok(Self {
            queue,
            pattern,
            values,
            diagonal,
            factorisation,
        })
    }

    /// As `guarded` of `precond/par_ilu.rs`.
    pub(crate) fn guarded(
        &self,
        mut values: Buffer<A>,
        sweeping: Sweeping,
    ) -> Result<Option<Buffer<A>>> {
        let mut next = self.queue.uninit::<A>(values.len())?;
        let exact = sweeping.exact * self.distance(&values, None)?;
        let mut least = f64::INFINITY;
        for done in 0..=sweeping.sweeps {
            self.sweep(&values, &mut next)?;
            let residual = self.distance(&values, Some(&next))?;
            if !(residual < least || residual <= exact) {
                return Ok(None);
            }
            if done < sweeping.sweeps {
                std::mem::swap(&mut values, &mut next);
            }
            least = residual;
        }
        Ok(Some(values))
    }

    fn sweep(&self, old: &Buffer<A>, next: &mut Buffer<A>) -> Result<()> {
        match self.factorisation {
            Factorisation::Lu => {
                self.launch(kernels::sweep_lu(self.places()?, &self.values, old, next)?)
            }
            Factorisation::Cholesky => self.launch(kernels::sweep_cholesky(
                self.places()?,
                &self.values,
                old,
                next,
            )?),
        }
    }

    /// The norm of a difference on the pattern, scaled to a unit diagonal.
    fn distance(&self, x: &Buffer<A>, y: Option<&Buffer<A>>) -> Result<f64> {
        let queue = self.queue;
        let mut partials = queue.uninit::<f64>(queue.most_blocks())?;
        let mut norm = queue.uninit::<f64>(1)?;
        let counter = queue.gpu.counter();
        self.launch(kernels::sweep_distance(
            self.places()?,
            &self.values,
            x,
            y,
            &mut partials,
            counter,
            &mut norm,
        )?)?;
        norm.get(0)
    }

    /// The factors themselves: what was swept, over pivots or their roots. None where a pivot has no root.
    pub(crate) fn divided(&self, mut values: Buffer<A>) -> Result<Option<Buffer<A>>> {
        let (queue, rows) = (self.queue, self.pattern.size().rows);
        let roots = self.factorisation == Factorisation::Cholesky;
        let (mut pivots, mut found) = (queue.uninit::<A>(rows)?, queue.zeros::<u32>(1)?);
        kernels::sweep_pivots(
            rows,
            &self.diagonal,
            &values,
            roots,
            &mut pivots,
            &mut found,
        )?
        .rows(&queue, (rows, 1))?;
        self.launch(kernels::sweep_divide(
            self.places()?,
            &pivots,
            roots,
            &mut values,
        )?)?;
        Ok((found.get(0)? == 0).then_some(values))
    }

    /// What `PATTERN` of the kernels stands for: rows, offsets, columns and places of the diagonal.
    fn places(&self) -> Result<Places> {
        let (rows, offsets, columns) = self.pattern.pass()?;
        Ok((rows, offsets, columns, (&self.diagonal).pass()?))
    }

    /// A kernel for all rows.
    fn launch(&self, kernel: Launch) -> Result<()> {
        kernel.rows(&self.queue, shape(self.pattern))
    }
}
