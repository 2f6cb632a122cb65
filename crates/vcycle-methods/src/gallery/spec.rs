//! The specification of a problem, taken apart.

use std::ops::RangeInclusive;

use crate::error::{Error, Result};

/// `name:part,part,...`; the parts are read, and found wrong, one at a time.
pub(super) struct Spec<'a> {
    pub(super) name: &'a str,
    parts: Vec<&'a str>,
}

impl<'a> Spec<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        Self {
            name,
            parts: rest.split(',').collect(),
        }
    }

    /// The specification again.
    pub(super) fn text(&self) -> String {
        format!("{}:{}", self.name, self.parts.join(","))
    }

    /// The part at `index` as it stands, if there is one.
    pub(super) fn text_or_none(&self, index: usize) -> Option<&'a str> {
        self.parts.get(index).copied()
    }

    /// Fails if there are more than `count` parts.
    pub(super) fn at_most(&self, count: usize) -> Result<()> {
        match self.parts.get(count) {
            None => Ok(()),
            Some(extra) => bad("parameters", format!("`{extra}` is one too many")),
        }
    }

    /// The size, `N` for `D` equal extents or `D` extents with `x` between them.
    pub(super) fn size<const D: usize>(&self) -> Result<[usize; D]> {
        let text = self.part(0, "size")?;
        let extents = text
            .split('x')
            .map(|extent| whole("size", extent))
            .collect::<Result<Vec<_>>>()?;
        match extents[..] {
            [extent] => Ok([extent; D]),
            _ => extents.try_into().or_else(|extents: Vec<_>| {
                let found = extents.len();
                bad("size", format!("`{text}` has {found} extents, not {D}"))
            }),
        }
    }

    /// The number at `index`.
    pub(super) fn number(&self, index: usize, parameter: &'static str) -> Result<f64> {
        let text = self.part(index, parameter)?;
        text.parse()
            .or_else(|_| bad(parameter, format!("`{text}` is not a number")))
    }

    /// The number at `index`, or `default` where there is none.
    pub(super) fn number_or(
        &self,
        index: usize,
        parameter: &'static str,
        default: f64,
    ) -> Result<f64> {
        if index < self.parts.len() {
            self.number(index, parameter)
        } else {
            Ok(default)
        }
    }

    /// The whole number at `index`, written after a letter: `o3`.
    pub(super) fn lettered(
        &self,
        index: usize,
        letter: char,
        parameter: &'static str,
    ) -> Result<usize> {
        let text = self.part(index, parameter)?;
        match text.strip_prefix(letter) {
            Some(number) => whole(parameter, number),
            None => bad(
                parameter,
                format!("`{text}` does not begin with `{letter}`"),
            ),
        }
    }

    fn part(&self, index: usize, parameter: &'static str) -> Result<&'a str> {
        match self.parts.get(index) {
            None | Some(&"") => bad(parameter, "is missing".to_owned()),
            Some(part) => Ok(part),
        }
    }
}

/// Fails unless `value` lies in `range`; a NaN does not.
pub(super) fn check_range<V: PartialOrd + std::fmt::Display + std::fmt::Debug>(
    parameter: &'static str,
    value: V,
    range: RangeInclusive<V>,
) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = range.into_inner();
    bad(
        parameter,
        format!("{value} is not between {low:?} and {high:?}"),
    )
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
