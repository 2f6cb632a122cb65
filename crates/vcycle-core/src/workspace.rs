//! Scratch memory and observers of one solve.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use crate::arrays::{Scalars, Vector};
use crate::communicator::{Communicator, PAUSE, SharedClock};
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::log::{Log, StageGuard};
use crate::scalar::Scalar;

/// What one solve needs besides its operators: scratch vectors and the observers of the run.
///
/// Operators are immutable and shared between threads; whatever they must write to while they
/// are applied comes from here. Scratch goes back to the pool when its guard is dropped, so that
/// from the second application on nothing is allocated.
///
/// ```
/// use vcycle::{executor::{Executor, Workspace}, vector::Vector};
/// let ws = Workspace::new();
/// let cpu = Executor::cpu();
/// let first = ws.vector::<f64>(&cpu, 100, 1)?;
/// drop(first);
/// let again = ws.vector::<f64>(&cpu, 100, 1)?; // the same memory
/// assert_eq!(again.rows(), 100);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Default)]
pub struct Workspace {
    pool: RefCell<HashMap<Key, Vec<Box<dyn Any>>>>,
    log: Log,
    watchful: bool,
    /// From when on no product begins.
    end: Cell<Option<Instant>>,
    /// When observers were asked last whether to go on, where they are.
    asked: Cell<Option<Instant>>,
    /// How ranks find out together that the end has come.
    clock: RefCell<Option<SharedClock>>,
}

/// Scratch is interchangeable when type, shape and executor are the same.
type Key = (TypeId, usize, usize);

/// What a [`Workspace`] can lend.
pub trait Pooled: Sized + 'static {
    /// Makes a new one.
    fn allocate(executor: &Executor, rows: usize, cols: usize) -> Result<Self>;
    /// The executor it lives on.
    fn executor(&self) -> &Executor;
}

impl<T: Scalar> Pooled for Vector<T> {
    fn allocate(executor: &Executor, rows: usize, cols: usize) -> Result<Self> {
        Self::zeros(executor, rows, cols)
    }
    fn executor(&self) -> &Executor {
        self.executor()
    }
}

impl<T: Scalar> Pooled for Scalars<T> {
    fn allocate(executor: &Executor, _rows: usize, cols: usize) -> Result<Self> {
        Self::filled(executor, cols, T::Arith::default())
    }
    fn executor(&self) -> &Executor {
        self.executor()
    }
}

impl Workspace {
    /// An empty workspace without observers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A workspace that reports stages and iterations to `log`.
    pub fn with_log(log: Log) -> Self {
        Self {
            log,
            ..Self::default()
        }
    }

    /// A workspace for finding out where infinities come from: composed operators look for them
    /// after every stage, and fail naming it.
    pub fn watchful() -> Self {
        Self {
            watchful: true,
            ..Self::default()
        }
    }

    /// Whether operators are to look for infinities.
    pub fn is_watchful(&self) -> bool {
        self.watchful
    }

    /// From `end` on products and steps of set-ups fail, until the guard is dropped: a single application of an operator may
    /// take longer than the time that is allowed. An earlier end stays in force. The ranks of a team call it together.
    #[must_use = "the end is taken back when this is dropped"]
    pub fn end_by(
        &self,
        end: Option<Instant>,
        team: Option<&Arc<dyn Communicator>>,
    ) -> EndGuard<'_> {
        let before = (self.end.get(), self.asked.get());
        let ends = [before.0, end].into_iter().flatten();
        self.end.set(ends.min());
        if before.0.is_none() && end.is_some() {
            *self.clock.borrow_mut() = team.map(SharedClock::new);
        }
        EndGuard { ws: self, before }
    }

    /// [`end_by`](Self::end_by) for iterations, where products also fail once an observer requests the end. Ranks without a limit of
    /// time see such requests between iterations alone.
    #[must_use = "the end is taken back when this is dropped"]
    pub fn iterations_end_by(
        &self,
        end: Option<Instant>,
        team: Option<&Arc<dyn Communicator>>,
    ) -> EndGuard<'_> {
        let limited = self.end_by(end, team);
        if team.is_none() || end.is_some() {
            self.asked.set(Some(Instant::now()));
        }
        limited
    }

    /// When the time allowed is used up, for stages on threads of their own.
    pub fn deadline(&self) -> Option<Instant> {
        self.end.get()
    }

    /// Fails once the time allowed is used up or the end is requested, before a product or a step of a set-up. The ranks of a team
    /// that take it together fail together; what one does alone meanwhile does not fail, since the others would wait for it.
    #[inline]
    pub fn check_end(&self, team: Option<&Arc<dyn Communicator>>) -> Result<()> {
        match self.end.get().is_none() && self.asked.get().is_none() {
            true => Ok(()),
            false => self.look_for_end(team),
        }
    }

    fn look_for_end(&self, team: Option<&Arc<dyn Communicator>>) -> Result<()> {
        match (self.clock.borrow_mut().as_mut(), team) {
            (Some(clock), Some(team)) => clock.count(team, &|now| self.is_over(now)),
            (None, None) if self.is_over(Instant::now()) => Err(Error::OutOfTime),
            _ => Ok(()),
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let is_late = self.end.get().is_some_and(|end| now >= end);
        is_late || self.is_requested(now)
    }

    /// Whether an observer requests the end; they are asked ten times a second.
    fn is_requested(&self, now: Instant) -> bool {
        let is_time = |asked| now.duration_since(asked) >= PAUSE;
        if !self.asked.get().is_some_and(is_time) {
            return false;
        }
        self.asked.set(Some(now));
        self.log.wants_stop()
    }

    /// The observers of the run.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Opens a named stage of the run; it ends when the guard is dropped. `bytes` is what the
    /// stage moves through memory, for its bandwidth.
    pub fn stage(&self, name: &str, bytes: usize) -> StageGuard<'_> {
        self.log.stage(name, bytes)
    }

    /// [`stage`](Self::stage) where the bytes are to be counted only if somebody listens.
    pub fn stage_of(&self, name: &str, bytes: impl FnOnce() -> usize) -> StageGuard<'_> {
        self.log.stage_of(name, bytes)
    }

    /// A scratch vector; its contents are unspecified.
    pub fn vector<T: Scalar>(
        &self,
        executor: &Executor,
        rows: usize,
        cols: usize,
    ) -> Result<Scratch<'_, Vector<T>>> {
        self.take(executor, rows, cols)
    }

    /// A scratch vector of the shape and place of another; its contents are unspecified.
    pub fn vector_like<T: Scalar, S: Scalar>(
        &self,
        other: &Vector<S>,
    ) -> Result<Scratch<'_, Vector<T>>> {
        self.take(other.executor(), other.rows(), other.cols())
    }

    /// One scratch scalar per column of `like`; the contents are unspecified.
    pub fn scalars<T: Scalar>(&self, like: &Vector<T>) -> Result<Scratch<'_, Scalars<T>>> {
        self.take(like.executor(), 1, like.cols())
    }

    /// Lends anything poolable.
    pub fn take<P: Pooled>(
        &self,
        executor: &Executor,
        rows: usize,
        cols: usize,
    ) -> Result<Scratch<'_, P>> {
        let key = (TypeId::of::<P>(), rows, cols);
        let fits = |item: &dyn Any| {
            let item = item.downcast_ref::<P>();
            item.is_some_and(|item| item.executor().shares_memory_with(executor))
        };
        let item = match self.reuse(key, &fits) {
            Some(item) => item.downcast().ok(),
            None => Some(Box::new(P::allocate(executor, rows, cols)?)),
        };
        Ok(Scratch {
            item,
            key,
            home: self,
        })
    }

    /// Scratch of a shape that lives on an executor: ranks of a team have several.
    fn reuse(&self, key: Key, fits: &dyn Fn(&dyn Any) -> bool) -> Option<Box<dyn Any>> {
        let mut pool = self.pool.borrow_mut();
        let items = pool.get_mut(&key)?;
        let place = items.iter().rposition(|item| fits(item.as_ref()))?;
        Some(items.swap_remove(place))
    }

    fn put_back(&self, key: Key, item: Box<dyn Any>) {
        self.pool.borrow_mut().entry(key).or_default().push(item);
    }
}

/// An end of [`Workspace::end_by`], in force until this is dropped.
pub struct EndGuard<'w> {
    ws: &'w Workspace,
    before: (Option<Instant>, Option<Instant>),
}

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        let (end, asked) = self.before;
        self.ws.end.set(end);
        self.ws.asked.set(asked);
        if end.is_none() {
            *self.ws.clock.borrow_mut() = None;
        }
    }
}

/// Scratch lent by a [`Workspace`]; goes back when dropped.
pub struct Scratch<'w, P: Pooled> {
    item: Option<Box<P>>,
    key: Key,
    home: &'w Workspace,
}

impl<P: Pooled> Deref for Scratch<'_, P> {
    type Target = P;
    fn deref(&self) -> &P {
        self.item.as_ref().expect("held until dropped")
    }
}

impl<P: Pooled> DerefMut for Scratch<'_, P> {
    fn deref_mut(&mut self) -> &mut P {
        self.item.as_mut().expect("held until dropped")
    }
}

impl<P: Pooled> Drop for Scratch<'_, P> {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.home.put_back(self.key, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_refused;

    #[test]
    fn scratch_is_reused() {
        let ws = Workspace::new();
        let cpu = Executor::cpu();
        let first = ws.vector::<f64>(&cpu, 10, 2).unwrap();
        let address = first.host().unwrap().as_ptr();
        drop(first);
        let again = ws.vector::<f64>(&cpu, 10, 2).unwrap();
        assert_eq!(again.host().unwrap().as_ptr(), address);
        let another = ws.vector::<f64>(&cpu, 10, 2).unwrap();
        assert_ne!(another.host().unwrap().as_ptr(), address);
    }

    #[test]
    fn the_earlier_end_counts_until_it_is_taken_back() {
        let ws = Workspace::new();
        let outer = ws.end_by(Some(Instant::now()), None);
        drop(ws.end_by(None, None));
        assert_refused!(ws.check_end(None), OutOfTime);
        drop(outer);
        ws.check_end(None).unwrap();
    }
}
