//! Generalised minimal residuals, also with a preconditioner that varies.

use super::per_column::PerColumn;
use super::{Run, check_restart, example, solver};
use crate::dense::LeastSquares;
use crate::prelude::*;
use crate::stop::Status;
use crate::vector::{Packed, Storage};

solver! {
    /// Generalised minimal residuals (Saad and Schultz 1986), restarted and preconditioned from the
    /// right.
    ///
    /// The residual is minimal over the Krylov space, whose basis is kept and orthogonalised by Gram–Schmidt, modified from
    /// group to group of vectors, a second time where much was taken away; the norm that is watched is that of the residual
    /// itself. When the space has `restart` dimensions the method starts afresh from the solution reached, which can slow it
    /// down or stall it.
    ///
    /// The basis is what the method reads most. `basis` stores it in fewer bits while everything is computed in the working precision
    /// (CB-GMRES: Aliaga, Anzt, Grützmacher, Quintana-Ortí and Tomás 2023). Rounded vectors span almost the same space, and every restart begins
    /// with the true residual, so that the solution is as accurate; `sp` and `i32` hardly need more iterations.
    ///
    /// **Choose it** for nonsymmetric or indefinite matrices, the more so the better the
    /// preconditioner is; take [`Fgmres`] if that varies.
    ///
    #[doc = example!("Gmres")]
    pub struct Gmres {
        /// Vectors kept before the method starts afresh.
        pub restart: usize = 50,
        /// What they are stored in: `working`, `sp`, `hp`, `i32` or `i16`.
        pub basis: Storage = Storage::Working,
    }
    name: "gmres", summary: "Generalised minimal residuals.", after_colon: &["restart", "basis"],
    needs: &[FixedPreconditioner], symmetry: Varying, memory: Memory::vectors(4);
    more memory: |own, _| Memory::vectors(own.basis.vectors(own.restart));
}

solver! {
    /// Flexible generalised minimal residuals (Saad 1993), restarted.
    ///
    /// [`Gmres`] that keeps the preconditioned vectors, so that the preconditioner may
    /// be another one in every iteration; twice the memory, which `basis` makes less of.
    ///
    /// **Choose it** for nonsymmetric matrices whose preconditioner is an iteration itself.
    ///
    #[doc = example!("Fgmres")]
    pub struct Fgmres {
        /// Vectors kept before the method starts afresh.
        pub restart: usize = 50,
        /// What they are stored in, and what the preconditioner made of them.
        pub basis: Storage = Storage::Working,
    }
    name: "fgmres", summary: "Flexible generalised minimal residuals.",
    after_colon: &["restart", "basis"], needs: &[], symmetry: Varying, memory: Memory::vectors(4);
    more memory: |own, _| Memory::vectors(own.basis.vectors(own.restart).saturating_mul(2));
}

impl Gmres {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        iterate(run, self.restart, self.basis, false)
    }
}

impl Fgmres {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        iterate(run, self.restart, self.basis, true)
    }
}

/// The iteration of [`Gmres`] and, `flexible`, of [`Fgmres`].
fn iterate<T: Scalar>(
    run: &mut Run<'_, T>,
    restart: usize,
    basis: Storage,
    flexible: bool,
) -> Result<()> {
    let restart = check_restart(restart, run)?;
    let mut space = Space::take(run, restart, basis, flexible)?;
    space.restarted(run, |space, run| space.cycle(run, restart))
}

/// The Krylov space and the projected problem of each column.
pub(super) struct Space<'w, T: Scalar> {
    /// Orthonormal basis.
    pub(super) v: Scratch<'w, Packed<T>>,
    /// What the preconditioner made of each of them, if flexible.
    z: Option<Scratch<'w, Packed<T>>>,
    /// The last vector of the basis, as it is stored.
    pub(super) w: Scratch<'w, Vector<T>>,
    /// What the preconditioner made of it.
    pub(super) preconditioned: Scratch<'w, Vector<T>>,
    pub(super) projected: Scratch<'w, PerColumn<T, LeastSquares<T::Arith>>>,
    pub(super) norm: Scratch<'w, Scalars<T>>,
}

impl<'w, T: Scalar> Space<'w, T> {
    pub(super) fn take(
        run: &Run<'w, T>,
        restart: usize,
        basis: Storage,
        flexible: bool,
    ) -> Result<Self> {
        let (ws, b) = (run.ws, run.b);
        let mut projected = PerColumn::<T, LeastSquares<T::Arith>>::take(ws, b)?;
        for column in projected.iter_mut() {
            column.reserve(restart);
        }
        let packed = |count: usize| -> Result<Scratch<'w, Packed<T>>> {
            let mut packed = ws.take::<Packed<T>>(b.executor(), b.rows(), b.cols())?;
            packed.prepare(basis, count)?;
            Ok(packed)
        };
        Ok(Self {
            v: packed(restart + 1)?,
            z: flexible.then(|| packed(restart)).transpose()?,
            w: ws.vector_like(b)?,
            preconditioned: ws.vector_like(b)?,
            projected,
            norm: ws.scalars(b)?,
        })
    }

    /// Improves the solution by one space after the other until all columns have ended. `cycle` grows a space from the residual in
    /// `w` and returns its dimension.
    pub(super) fn restarted(
        &mut self,
        run: &mut Run<'_, T>,
        mut cycle: impl FnMut(&mut Self, &mut Run<'_, T>) -> Result<usize>,
    ) -> Result<()> {
        let mut ended = run.start(&mut self.w, &mut self.norm)?;
        while !ended {
            let steps = cycle(self, run)?;
            self.update(run, steps)?;
            ended = run.monitor.all_ended();
            if !ended {
                run.residual(&mut self.w)?;
            }
        }
        Ok(())
    }

    /// Grows the space until all columns have ended or it is full.
    fn cycle(&mut self, run: &mut Run<'_, T>, restart: usize) -> Result<usize> {
        self.start()?;
        for step in 0..restart {
            self.expand(run, step)?;
            if self.judge(run, step)? {
                return Ok(step + 1);
            }
        }
        Ok(restart)
    }

    /// The residual in `w` becomes the first vector of the basis.
    pub(super) fn start(&mut self) -> Result<()> {
        self.v.project(0, &mut self.w)?;
        self.v.keep_unit(0, &mut self.w)?;
        let norms = self.v.numbers()?;
        for (column, &norm) in self.projected.iter_mut().zip(norms) {
            column.start(norm);
        }
        Ok(())
    }

    /// Takes the column of the Hessenberg matrix that was set, and announces the norms of the residual; says whether all columns have
    /// ended.
    pub(super) fn judge(&mut self, run: &mut Run<'_, T>, step: usize) -> Result<bool> {
        for (index, column) in self.projected.iter_mut().enumerate() {
            column.eliminate(step, run.monitor.is_active(index));
        }
        self.projected.send(&mut self.norm, |column| {
            T::Arith::from_real(column.residual(step + 1))
        })?;
        run.done(&self.norm)?;
        for (index, column) in self.projected.iter().enumerate() {
            if column.dimension() <= step {
                run.monitor.end(index, Status::Breakdown)?;
            }
        }
        Ok(run.monitor.all_ended())
    }

    /// One step of Arnoldi: `A M v_step` made orthonormal to the basis is its next vector.
    pub(super) fn expand(&mut self, run: &Run<'_, T>, step: usize) -> Result<()> {
        run.precondition(&self.w, &mut self.preconditioned)?;
        if let Some(z) = &mut self.z {
            z.keep(step, &mut self.preconditioned)?;
        }
        run.multiply(&self.preconditioned, &mut self.w)?;
        let count = step + 1;
        self.v.project(count, &mut self.w)?;
        self.receive(count, LeastSquares::set)?;
        let (projected, least) = (&self.projected, self.v.least_left());
        let again =
            |index| run.monitor.is_active(index) && projected[index].part_left(count) < least;
        if (0..run.b.cols()).any(again) {
            self.v.project_some(count, &mut self.w, again)?;
            self.receive(count, |column, row, value| match row == count {
                true => column.set(row, value),
                false => column.add(row, value),
            })?;
        }
        self.v.keep_unit(count, &mut self.w)
    }

    /// Hands each column its products with `count` vectors and the norm that is left.
    fn receive(
        &mut self,
        count: usize,
        take: impl Fn(&mut LeastSquares<T::Arith>, usize, T::Arith),
    ) -> Result<()> {
        let rows = self.v.numbers()?.chunks_exact(self.w.cols());
        for (row, numbers) in rows.take(count + 1).enumerate() {
            for (column, &number) in self.projected.iter_mut().zip(numbers) {
                take(column, row, number);
            }
        }
        Ok(())
    }

    /// Adds to the solution what the projected problems say.
    fn update(&mut self, run: &mut Run<'_, T>, steps: usize) -> Result<()> {
        self.projected.iter_mut().for_each(LeastSquares::solve);
        let projected = &self.projected;
        let solution = |step, column: usize| projected[column].solution(step);
        if let Some(z) = &mut self.z {
            return z.add_to(steps, solution, run.x);
        }
        self.w.fill(T::default())?;
        self.v.add_to(steps, solution, &mut self.w)?;
        let correction: &Vector<T> = run.preconditioned(&self.w, &mut self.preconditioned)?;
        self.projected.send(&mut self.norm, |column| {
            T::Arith::from_f64(if column.dimension() > 0 { 1.0 } else { 0.0 })
        })?;
        run.x.axpy(Coefficient::of(&self.norm), correction)
    }
}
