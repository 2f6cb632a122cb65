//! Sets up one attempt after the other until one can be.

use std::borrow::Cow;
use std::time::Instant;

use vcycle_core::operations::HostStages;
use vcycle_core::stop::late;

use super::super::Wide;
use super::super::attempt::Attempt;
use super::super::case::Case;
use super::super::chain::{is_of_matrix, wants_digits, wants_matching, worth_reporting};
use super::super::costs::analysis;
use super::super::memory::check_attempt;
use super::super::ready::{Made, Ready};
use super::super::rules::include_factorisation;
use super::super::set_up::report_once;
use super::Tries;
use crate::error::{Error, Result};

impl<T: Wide> Tries<'_, T> {
    /// Sets up the first attempt that can be, and nothing more.
    pub fn prepare(mut self, columns: usize) -> Result<Ready<T>> {
        self.check_memory(columns)?;
        let Some((place, made)) = self.set_up_from(0)? else {
            return Err(self.failed());
        };
        Ok(Ready {
            made,
            symmetrised: self.setting.symmetrised,
            chain: self.chain.into_owned(),
            place,
            nullspace: self.setting.nullspace.map(Cow::into_owned),
            messages: self.messages,
            setup: self.setup,
        })
    }

    /// Whether memory suffices for the first attempt; what is kept has its memory already.
    pub(super) fn check_memory(&self, columns: usize) -> Result<()> {
        match self.has_memory {
            true => Ok(()),
            false => check_attempt(&self.chain.attempts[0], self.setting.system, columns),
        }
    }

    /// Sets up the first attempt from a place on that can be; none where all fail.
    pub(super) fn set_up_from(&mut self, from: usize) -> Result<Option<(usize, Made<T>)>> {
        let (mut next, mut last) = (Some(from), None);
        while let Some(place) = next {
            if self.count > 0 && last != Some(place) {
                self.reconsider(place);
            }
            self.count += usize::from(last != Some(place));
            last = next;
            let attempt = self.chain.attempts[place].clone();
            if !attempt.reason.is_empty() {
                self.messages.push(attempt.announcement(self.count));
            }
            match self.set_up(&attempt) {
                Ok(made) => return Ok(Some((place, made))),
                Err(error) => {
                    if !self.may_go_on_after(&error)? {
                        return Err(error);
                    }
                    next = self.after_failure(place, &error)?;
                    let before = self.failure.take();
                    self.failure = Some(worth_reporting(before, error));
                }
            }
        }
        Ok(None)
    }

    /// Looks for order and fill of factors after an attempt has failed, if that was not worth while before, and puts the
    /// factorisation where it belongs among the attempts that are left.
    fn reconsider(&mut self, place: usize) {
        let (system, config) = (self.setting.system, &*self.setting.config);
        let (Some(found), Ok(a)) = (&mut self.open, system.matrix.whole()) else {
            return;
        };
        if self.chain.attempts[..place].iter().any(Attempt::is_direct) {
            return;
        }
        let a = self.setting.symmetrised.as_deref().unwrap_or(a);
        let (begin, near) = (Instant::now(), system.near_nullspace.as_ref());
        let next = &self.chain.attempts[place];
        self.setting.analysed = analysis(config, near, found, next, a, self.setting.ws);
        if self.setting.analysed.is_some() {
            let case = Case {
                config,
                known: near,
                found,
            };
            let attempts = &mut self.chain.to_mut().attempts;
            let mut left = attempts.split_off(place);
            include_factorisation(&mut left, &case);
            attempts.extend(left);
            self.open = None;
        }
        self.setup += begin.elapsed();
    }

    /// Until when a set-up may go on.
    fn end_of_setup(&self) -> Option<Instant> {
        let limit = self.setting.stop.time?;
        self.begin.checked_add(limit + late(limit))
    }

    fn set_up(&mut self, attempt: &Attempt) -> Result<Made<T>> {
        let begin = Instant::now();
        let _stage = self.setting.ws.stage("set-up", 0);
        let host_stages = HostStages::watch();
        let team = self.setting.system.matrix.executor().team();
        let limited = self.setting.ws.end_by(self.end_of_setup(), team);
        let made = T::set_up(&mut self.setting, attempt, &mut self.messages);
        drop(limited);
        let made = self.setting.system.matrix.agree(made);
        report_once(
            &mut self.messages,
            host_stages.report(self.setting.ws.log()),
        );
        self.setup += begin.elapsed();
        made
    }

    /// Whether another attempt may be set up after one that failed, but for want of time. Ranks go on where the matrix is the cause on one of them,
    /// not the lack of memory or of a rank.
    fn may_go_on_after(&self, error: &Error) -> Result<bool> {
        let a = &self.setting.system.matrix;
        let is_late = matches!(error, Error::OutOfTime);
        a.any(a.shared().is_none() && !is_late || is_of_matrix(error))
    }

    /// The attempt to go on with after a set-up that failed: the same in double precision or after matching where that may help,
    /// else the next one.
    fn after_failure(&mut self, place: usize, error: &Error) -> Result<Option<usize>> {
        let attempt = &self.chain.attempts[place];
        let name = attempt.name();
        self.messages
            .push(format!("{name}: set-up failed: {error}"));
        let system = self.setting.system;
        let may_match = system.matrix.shared().is_none()
            && !self.setting.config.preconditioner.is_auto()
            && self.setting.config.matching.is_none()
            && wants_matching(error);
        let matched = attempt.matched().filter(|_| may_match);
        let again = match system.matrix.any(wants_digits(error))? {
            true => self.in_double(place).or(matched),
            false => matched,
        };
        Ok(match again {
            Some(again) => {
                self.chain.to_mut().attempts[place] = again;
                Some(place)
            }
            None => Some(place + 1).filter(|&next| next < self.chain.attempts.len()),
        })
    }

    /// An attempt with all numbers in double precision, if they were not.
    fn in_double(&mut self, place: usize) -> Option<Attempt> {
        let attempt = &self.chain.attempts[place];
        let doubled = attempt.in_double();
        let precision = self.setting.config.precision;
        let is_narrow = precision.is_some_and(|precision| !precision.is_double());
        if is_narrow {
            self.setting.config.to_mut().precision = None;
            self.setting.stored = None;
        }
        (is_narrow || doubled.what() != attempt.what()).then_some(doubled)
    }
}
