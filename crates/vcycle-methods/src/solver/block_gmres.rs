//! Generalised minimal residuals with a space that right-hand sides share.

use super::block_space::{CloneIn, Space};
use super::recycled::Recycled;
use super::{Run, check_restart, example, solver};
use crate::prelude::*;
use crate::stop::Status;

solver! {
    /// Block generalised minimal residuals (Vital 1990), restarted and preconditioned from the right.
    ///
    /// Every right-hand side minimises its residual over the space of all of them, so that fewer iterations are needed than by
    /// [`Gmres`](super::Gmres), which has a space for each. Vectors of the basis that depend on others are left out, and right-hand sides
    /// that have converged add none to the next space.
    ///
    /// **Choose it** for several right-hand sides of one matrix that [`Gmres`](super::Gmres) needs many iterations for; memory is the same.
    ///
    #[doc = example!("BlockGmres")]
    pub struct BlockGmres {
        /// Blocks of vectors kept before the method starts afresh, each with one for every right-hand side.
        pub restart: usize = 50,
    }
    name: "block-gmres",
    summary: "Generalised minimal residuals with a space that all right-hand sides share.",
    after_colon: &["restart"], needs: &[FixedPreconditioner], symmetry: Varying,
    memory: Memory::vectors(10);
    more memory: |own, _| Memory::vectors(own.restart);
}

impl BlockGmres {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        iterate(run, self.restart, &mut Recycled::nothing())
    }
}

/// The iteration of [`BlockGmres`] and, with a space that is kept, of [`GcroDr`](super::GcroDr).
pub(super) fn iterate<T: Scalar>(
    run: &mut Run<'_, T>,
    restart: usize,
    recycled: &mut Recycled<T>,
) -> Result<()> {
    let restart = check_restart(restart, run)?;
    let [mut r] = run.vectors()?;
    let [mut norm] = run.scalars()?;
    let mut ended = run.start(&mut r, &mut norm)?;
    if !ended {
        recycled.begin(run)?;
    }
    while !ended {
        r.scale(Coefficient::of(run.monitor.active()))?;
        let from_recycled = recycled.project(&mut r)?;
        let mut space = Space::new(run, r.clone_in(run)?)?;
        ended = grow(&mut space, run, restart, recycled, &mut norm)?;
        update(&space, run, recycled, &from_recycled)?;
        recycled.renew(run, &space)?;
        if !ended {
            run.residual(&mut r)?;
        }
    }
    Ok(())
}

/// Adds blocks until all columns have ended, which it says, or there are enough of them.
fn grow<'w, T: Scalar>(
    space: &mut Space<'w, T>,
    run: &mut Run<'w, T>,
    restart: usize,
    recycled: &Recycled<T>,
    norm: &mut Scalars<T>,
) -> Result<bool> {
    for _ in 0..restart {
        if !space.expand(run, |w| recycled.project(w))? {
            run.end_active(Status::NonFinite)?;
            return Ok(true);
        }
        let lengths = (0..run.b.cols()).map(|side| space.projected.residual(side));
        let lengths: Vec<T::Arith> = lengths.map(T::Arith::from_f64).collect();
        norm.write(&lengths)?;
        if run.done(norm)? {
            return Ok(true);
        }
        if space.is_closed() {
            // The matrix makes nothing new of the space, and the solution is not in it.
            run.end_active(Status::Breakdown)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds to the solution what the projected problem says, and what the recycled space has of the residual.
fn update<T: Scalar>(
    space: &Space<'_, T>,
    run: &mut Run<'_, T>,
    recycled: &Recycled<T>,
    from_recycled: &[T::Arith],
) -> Result<()> {
    let solution = space.projected.solve();
    let [mut sum, mut z] = run.vectors()?;
    space.combine(&solution, &mut sum)?;
    let correction: &Vector<T> = run.preconditioned(&sum, &mut z)?;
    run.x.axpy(Coefficient::one(), correction)?;
    recycled.add_to(run.x, from_recycled, &space.recycled_images, &solution)
}
