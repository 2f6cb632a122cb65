//! Iterations one after the other: recorded once on devices, with fewer and fewer columns.

use super::Run;
use crate::operations::strided::copy_columns;
use crate::prelude::*;

/// An iteration of a method with `V` vectors and `S` scalars that last from one to the next; says whether all columns have ended.
type Body<'b, T, const V: usize, const S: usize> = dyn FnMut(
        &mut Run<'_, T>,
        &mut [Scratch<'_, Vector<T>>; V],
        &mut [Scratch<'_, Scalars<T>>; S],
    ) -> Result<bool>
    + 'b;

impl<'r, T: Scalar> Run<'r, T> {
    /// Does iterations until `body` says that all columns have ended.
    ///
    /// `body` queues one iteration: operator applications, vector operations and questions to the
    /// monitor, the same ones on the same memory every time, and no decision of the host but to
    /// stop. On a device it is called twice, run once, recorded once, and then replayed while the
    /// device judges the residual itself and the host looks at what it says one iteration later.
    ///
    /// Once half of the columns have ended they leave: from then on `body` gets vectors and scalars of the others, and a run whose right-hand
    /// side and guess have these columns alone.
    pub fn repeat<const V: usize, const S: usize>(
        &mut self,
        vectors: [Scratch<'r, Vector<T>>; V],
        scalars: [Scratch<'r, Scalars<T>>; S],
        mut body: impl FnMut(
            &mut Run<'_, T>,
            &mut [Scratch<'_, Vector<T>>; V],
            &mut [Scratch<'_, Scalars<T>>; S],
        ) -> Result<bool>,
    ) -> Result<()> {
        self.repeat_block(vectors, scalars, &mut body)
    }

    fn repeat_block<const V: usize, const S: usize>(
        &mut self,
        mut vectors: [Scratch<'_, Vector<T>>; V],
        mut scalars: [Scratch<'_, Scalars<T>>; S],
        body: &mut Body<'_, T, V, S>,
    ) -> Result<()> {
        let mut iteration = |run: &mut Self| body(run, &mut vectors, &mut scalars);
        let Some(staying) = self.repeat_while_wide(&mut iteration)? else {
            return Ok(());
        };
        let ws = self.ws;
        let b = fewer_columns(self.b, &staying, ws)?;
        let mut x = fewer_columns(self.x, &staying, ws)?;
        let vectors = try_map(vectors, |vector| fewer_columns(&vector, &staying, ws))?;
        let scalars = try_map(scalars, |old| fewer_scalars(&old, &staying, &b, ws))?;
        let wide = self.monitor.narrow(&staying)?;
        let repeated = Run {
            b: &b,
            x: &mut x,
            a: self.a,
            preconditioner: self.preconditioner,
            zero_guess: self.zero_guess,
            monitor: &mut *self.monitor,
            ws,
        }
        .repeat_block(vectors, scalars, body);
        self.monitor.widen(wide)?;
        repeated?;
        let all: Vec<_> = (0..staying.len()).collect();
        copy_columns((&x, &all), (self.x, &staying))
    }

    /// Iterates until all columns have ended, or until so many that the others are to go on alone: returns the places of these.
    fn repeat_while_wide(
        &mut self,
        iteration: &mut dyn FnMut(&mut Self) -> Result<bool>,
    ) -> Result<Option<Vec<usize>>> {
        if self.monitor.defer(self.b.executor())? {
            let repeated = self.repeat_deferred(iteration);
            self.monitor.resume()?;
            match repeated? {
                Repeated::Ended => return Ok(None),
                Repeated::Wide(staying) => return Ok(Some(staying)),
                Repeated::Unrecorded => {}
            }
        }
        while !iteration(self)? {
            if let Some(staying) = self.monitor.staying() {
                return Ok(Some(staying));
            }
        }
        Ok(None)
    }

    fn repeat_deferred(
        &mut self,
        iteration: &mut dyn FnMut(&mut Self) -> Result<bool>,
    ) -> Result<Repeated> {
        iteration(self)?;
        if self.monitor.look(self.ws.log())? {
            return Ok(Repeated::Ended);
        }
        // What waits for the host cannot be recorded; it is queued anew each time.
        let recording = match self.ws.log().times_stages() {
            true => None,
            false => self.b.executor().record(|| iteration(self).map(drop)),
        };
        let executor = self.b.executor();
        // Messages of ranks are sent by recorded work, on all of them, or by this thread. All have recorded before one replays: what
        // recording takes of a device may wait for the streams of others.
        if executor.team().is_some() && executor.any(recording.is_none())? {
            let has_ended = self.monitor.settle(self.ws.log())?;
            return Ok(match has_ended {
                true => Repeated::Ended,
                false => Repeated::Unrecorded,
            });
        }
        loop {
            match &recording {
                Some(recording) => recording.replay()?,
                None => drop(iteration(self)?),
            }
            if self.monitor.look(self.ws.log())? || self.is_at_limit()? {
                return Ok(Repeated::Ended);
            }
            // What the host knows may be an iteration old: after the wait it may no longer be worth it.
            if self.monitor.staying().is_some() {
                let has_ended = self.monitor.settle(self.ws.log())?;
                let staying = self.monitor.staying();
                match staying {
                    _ if has_ended => return Ok(Repeated::Ended),
                    Some(staying) => return Ok(Repeated::Wide(staying)),
                    None => {}
                }
            }
        }
    }
}

/// How iterations that a device judges have come to an end.
enum Repeated {
    /// All columns have ended.
    Ended,
    /// So many have ended that the others, by their places, are to go on alone.
    Wide(Vec<usize>),
    /// They go on without the device's judgement, as ranks cannot record them.
    Unrecorded,
}

/// Some columns of a vector.
fn fewer_columns<'w, T: Scalar>(
    x: &Vector<T>,
    staying: &[usize],
    ws: &'w Workspace,
) -> Result<Scratch<'w, Vector<T>>> {
    let mut fewer = ws.vector(x.executor(), x.rows(), staying.len())?;
    let all: Vec<_> = (0..staying.len()).collect();
    copy_columns((x, staying), (&mut fewer, &all))?;
    Ok(fewer)
}

/// The numbers of some columns, those of `like`.
fn fewer_scalars<'w, T: Scalar>(
    all: &Scalars<T>,
    staying: &[usize],
    like: &Vector<T>,
    ws: &'w Workspace,
) -> Result<Scratch<'w, Scalars<T>>> {
    let mut fewer = ws.scalars(like)?;
    let numbers = all.host()?;
    let staying: Vec<_> = staying.iter().map(|&place| numbers[place]).collect();
    fewer.write(&staying)?;
    Ok(fewer)
}

fn try_map<A, B, const N: usize>(all: [A; N], map: impl Fn(A) -> Result<B>) -> Result<[B; N]> {
    let mut all = all.into_iter();
    super::take_all(|| map(all.next().expect("as many")))
}
