//! The specification of a problem, taken apart.

use crate::prelude::*;

/// The name in front of a specification.
pub(super) fn name_of(text: &str) -> &str {
    text.split_once(':').map_or(text, |(name, _)| name)
}

pub(super) fn part<'a>(
    parts: &[&'a str],
    index: usize,
    parameter: &'static str,
) -> Result<&'a str> {
    match parts.get(index) {
        None | Some(&"") => bad(parameter, "is missing".to_owned()),
        Some(part) => Ok(part),
    }
}

/// `N` for equal extents, or extents with `x` between them; ones behind them.
pub(super) fn extents(text: &str, dimension: usize) -> Result<[usize; 3]> {
    let found = text.split('x').map(|extent| whole("size", extent));
    let found = found.collect::<Result<Vec<_>>>()?;
    let mut size = [1; 3];
    match found[..] {
        [extent] => size[..dimension].fill(extent),
        _ if found.len() == dimension => size[..dimension].copy_from_slice(&found),
        _ => {
            let count = found.len();
            let reason = format!("`{text}` has {count} extents, not {dimension}");
            return bad("size", reason);
        }
    }
    Ok(size)
}

/// The whole number behind a letter: `o3`.
pub(super) fn lettered(text: &str, letter: char, parameter: &'static str) -> Result<usize> {
    match text.strip_prefix(letter) {
        Some(number) => whole(parameter, number),
        None => bad(
            parameter,
            format!("`{text}` does not begin with `{letter}`"),
        ),
    }
}

/// Fails unless `value` lies in a range; a NaN does not.
pub(super) fn check_range<V: PartialOrd + std::fmt::Display + std::fmt::Debug>(
    parameter: &'static str,
    value: V,
    low: V,
    high: V,
) -> Result<()> {
    match value >= low && value <= high {
        true => Ok(()),
        false => bad(
            parameter,
            format!("{value} is not between {low:?} and {high:?}"),
        ),
    }
}

pub(super) fn bad<V>(parameter: &'static str, reason: String) -> Result<V> {
    Err(Error::BadParameter { parameter, reason })
}

fn whole(parameter: &'static str, text: &str) -> Result<usize> {
    text.parse().or_else(|_| {
        bad(
            parameter,
            format!("`{text}` is not a whole number in range"),
        )
    })
}
