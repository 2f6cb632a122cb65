//! What a solver is made of, for people.

use std::ffi::c_char;

use vcycle::config::Config;
use vcycle::multigrid::Report;

use crate::failure::{Failure, ensure};
use crate::guard::check_pointer;
use crate::handle::{matrix, reading, vcycle_solver};

/// A level of multigrid.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vcycle_level {
    /// sizeof(vcycle_level), set by the caller.
    pub size: usize,
    /// Rows of its matrix.
    pub rows: i64,
    /// Entries of its matrix.
    pub entries: i64,
    /// Bytes of all its data.
    pub bytes: u64,
}

/// Writes the messages of the set-up and the last solve, one per line, to a buffer of length bytes, truncated if it is too
/// long and terminated by a zero. written, which may be NULL, gets the bytes that the whole text needs.
///
/// # Safety
/// buffer has length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_messages(
    solver: *const vcycle_solver,
    buffer: *mut c_char,
    length: usize,
    written: *mut usize,
) -> i32 {
    reading(solver, |solver, state| {
        let described = state.matrix.as_ref().and_then(|it| it.prepared.described());
        let mut lines = described.map_or_else(Vec::new, |(messages, ..)| messages.to_vec());
        lines.extend(solver.messages());
        // SAFETY: a condition of this function.
        unsafe { write(&lines.join("\n"), buffer, length, written) }
    })
}

/// Writes the configuration with every choice, and the levels of multigrid, in the same way as vcycle_messages.
///
/// # Safety
/// buffer has length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_summary(
    solver: *const vcycle_solver,
    buffer: *mut c_char,
    length: usize,
    written: *mut usize,
) -> i32 {
    reading(solver, |_, state| {
        let text = match matrix(state)?.prepared.described() {
            None => "no rows".to_owned(),
            Some((_, config, report)) => summary(config, report),
        };
        // SAFETY: a condition of this function.
        unsafe { write(&text, buffer, length, written) }
    })
}

/// Gets the size of a level of multigrid; level 0 is the finest. The report has the number of levels.
///
/// # Safety
/// Facts points to a vcycle_level whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcycle_get_level(
    solver: *const vcycle_solver,
    level: i32,
    facts: *mut vcycle_level,
) -> i32 {
    reading(solver, |_, state| {
        check_pointer(facts, "facts")?;
        // SAFETY: it is not null and points to a level of the caller.
        let size = unsafe { (*facts).size };
        let expected = size_of::<vcycle_level>();
        ensure!(size == expected, "`size` is not sizeof(vcycle_level)");
        let described = matrix(state)?.prepared.described();
        let levels = described.and_then(|(.., report)| Some(&report?.levels));
        let place = usize::try_from(level).unwrap_or(usize::MAX);
        let found = levels.and_then(|levels| levels.get(place));
        let found = found.ok_or_else(|| Failure::argument("there is no such level"))?;
        let found = vcycle_level {
            size,
            rows: found.rows as i64,
            entries: found.nonzeros as i64,
            bytes: found.bytes as u64,
        };
        // SAFETY: as above.
        unsafe { facts.write(found) };
        Ok(())
    })
}

/// Copies text to a buffer of the caller.
///
/// # Safety
/// There is room for `length` bytes at `buffer`, and for a number at `written` unless that is null.
unsafe fn write(
    text: &str,
    buffer: *mut c_char,
    length: usize,
    written: *mut usize,
) -> Result<(), Failure> {
    if !written.is_null() {
        check_pointer(written, "written")?;
        // SAFETY: a condition of this function.
        unsafe { written.write(text.len() + 1) };
    }
    if length == 0 {
        return Ok(());
    }
    check_pointer(buffer, "buffer")?;
    let room = text.len().min(length - 1);
    let is_whole = |count: &usize| text.is_char_boundary(*count);
    let count = (0..=room).rev().find(is_whole).unwrap_or(0);
    // SAFETY: there is room for so many bytes and one more, a condition of this function.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, count);
        buffer.add(count).write(0);
    }
    Ok(())
}

fn summary(config: &Config, report: Option<&Report>) -> String {
    let mut lines = vec![chosen(config)];
    lines.extend(report.into_iter().flat_map(levels));
    lines.join("\n")
}

fn chosen(config: &Config) -> String {
    let (solver, preconditioner) = (config.solver.name(), config.preconditioner.brief());
    let run = &config.run;
    let threads = run.threads.map(|threads| format!(", {threads} threads"));
    let place = run.device.clone() + &threads.unwrap_or_default();
    format!("solver {solver}, preconditioner {preconditioner}, on {place}")
}

fn levels(report: &Report) -> Vec<String> {
    let complexities = format!(
        "{} levels, operator complexity {:.2}, grid complexity {:.2}, coarsest {}",
        report.levels.len(),
        report.operator_complexity(),
        report.grid_complexity(),
        report.coarsest
    );
    let line = |(level, facts): (usize, &vcycle::multigrid::LevelFacts)| {
        format!(
            "level {level}: {} rows, {} entries, {}, {}, {}",
            facts.rows, facts.nonzeros, facts.precision, facts.format, facts.smoother
        )
    };
    let all = report.levels.iter().enumerate().map(line);
    std::iter::once(complexities).chain(all).collect()
}
