//! The facts that a method is chosen by, of all rows of a system.

use std::sync::Arc;

use std::fmt::{Display, Formatter};

use crate::error::Result;
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Distributed, Facts};
use crate::multigrid::NearNullspace;
use crate::scalar::{Field, Scalar, c64};

/// Beside a strongly dominant diagonal entry is at most this part of it.
const STRONG: f64 = 0.8;

/// What a factorisation takes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Factorisation {
    /// Multiplications.
    pub operations: f64,
    /// Numbers that the factors hold.
    pub fill: usize,
}

impl Display for Factorisation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (operations, fill) = (self.operations, self.fill as f64);
        write!(
            f,
            "factors of {fill:.1e} numbers by {operations:.0e} multiplications are predicted to be the quickest"
        )
    }
}

/// What is known of a matrix when a method is chosen for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Findings {
    /// Its facts.
    pub facts: Facts,
    /// Whether it is a stencil on a grid.
    pub stencil: bool,
    /// Whether it is singular, with a nullspace that is known.
    pub singular: bool,
    /// Whether ranks share its rows.
    pub ranks: bool,
    /// What a factorisation takes, where that was looked for.
    pub factorisation: Option<Factorisation>,
}

impl From<Facts> for Findings {
    fn from(facts: Facts) -> Self {
        Self {
            facts,
            stencil: false,
            singular: false,
            ranks: false,
            factorisation: None,
        }
    }
}

/// Where a matrix on a device is symmetric with a positive diagonal, which is found out there, its size is all that counts:
/// nothing is copied.
pub(super) fn of_whole<T: Scalar>(a: &Csr<T>, near: Option<&NearNullspace>) -> Facts {
    let on_device = a.executor().has_kernels_for(T::KIND);
    if !on_device || !matches!(a.symmetric_and_positive(), Ok([true, true])) {
        return a.facts();
    }
    let mut facts = definite::<T>(a.size(), a.nonzeros(), a.executor().is_device());
    facts.jumps = near.is_none() && a.has_jumps().unwrap_or(false);
    facts
}

/// The matrix with the symmetry that it has but for rounding, and a message, where it is on the host.
pub(super) fn symmetrised<T: Scalar>(
    a: &Csr<T>,
    facts: &Facts,
) -> Result<Option<(Arc<Csr<T>>, String)>> {
    if !facts.rounded || a.executor().is_device() {
        return Ok(None);
    }
    let opposite = match facts.complex && facts.hermitian {
        true => "A^H",
        false => "A^T",
    };
    let mean = a.symmetrised(facts.hermitian)?;
    Ok(mean.map(|(mean, apart)| {
        let part = apart / facts.largest;
        let message = format!(
            "entries differ from those opposite by up to {part:.0e} of the largest: solved as (A + {opposite})/2"
        );
        (Arc::new(mean), message)
    }))
}

/// What counts of a matrix that is known to be symmetric with a positive diagonal.
pub(super) fn definite<T: Scalar>(size: Size, nonzeros: usize, on_device: bool) -> Facts {
    let mut facts = Csr::<T>::identity(&Executor::reference(), 1).facts();
    (facts.rows, facts.columns, facts.nonzeros) = (size.rows, size.cols, nonzeros);
    // It was not looked for.
    facts.strongly_dominant_rows = 0.0;
    facts.on_device = on_device;
    facts
}

/// The same of a matrix that ranks share, which build levels in rounds, as devices do.
pub(super) fn definite_of_ranks<T: Scalar>(a: &Distributed<T>) -> Result<Facts> {
    let rows = a.rows().total() as usize;
    Ok(definite::<T>(
        Size::square(rows),
        a.total_nonzeros()? as usize,
        true,
    ))
}

/// The facts of the rows of all ranks.
pub(super) fn of_ranks<T: Scalar>(a: &Distributed<T>) -> Result<Facts> {
    let team = a.team();
    let mut facts = definite_of_ranks(a)?;
    let hermitian = a.symmetric_and_positive()?[0];
    (facts.hermitian, facts.symmetric) = (hermitian, hermitian && !facts.complex);
    facts.symmetric_pattern = hermitian || {
        let ones = vec![T::from_c64(c64::new(1.0, 0.0)); a.local().nonzeros()];
        team.agree(a.with_values(ones))?.symmetric_and_positive()?[0]
    };
    let own = OwnRows::of(a);
    let mut counts = own.counts.map(|count| count as f64);
    team.sum(&mut counts)?;
    let [missing, zero, negative, dominant, strong] = counts;
    (facts.missing_diagonal, facts.zero_diagonal) = (missing as usize, zero as usize);
    facts.negative_diagonal = negative as usize;
    let rows = facts.rows.max(1) as f64;
    (facts.dominant_rows, facts.strongly_dominant_rows) = (dominant / rows, strong / rows);
    facts.largest = team.largest(own.largest)?;
    facts.smallest = -team.largest(-own.smallest)?;
    Ok(facts)
}

/// What is counted in the rows of a rank.
struct OwnRows {
    /// Missing, zero and negative diagonal entries; dominant and strongly dominant rows.
    counts: [usize; 5],
    smallest: f64,
    largest: f64,
}

impl OwnRows {
    fn of<T: Scalar>(a: &Distributed<T>) -> Self {
        let (local, first) = (a.local(), a.columns().own().start);
        let mut own = Self {
            counts: [0; 5],
            smallest: f64::INFINITY,
            largest: 0.0,
        };
        for row in 0..local.size().rows {
            let (mut diagonal, mut beside) = (None, 0.0);
            let (columns, values) = local.row(row);
            for (&column, value) in columns.iter().zip(values) {
                let (value, size) = (value.to_c64(), value.to_c64().modulus());
                match column as usize == first + row {
                    true => diagonal = Some((value.re, size)),
                    false => beside += size,
                }
                if size > 0.0 && size < f64::INFINITY {
                    own.smallest = own.smallest.min(size);
                    own.largest = own.largest.max(size);
                }
            }
            let size = diagonal.map_or(0.0, |(_, size)| size);
            let holds = [
                diagonal.is_none(),
                diagonal.is_some_and(|(_, size)| size == 0.0),
                diagonal.is_some_and(|(real, size)| size != 0.0 && real < 0.0),
                size >= beside,
                STRONG * size >= beside,
            ];
            for (count, holds) in own.counts.iter_mut().zip(holds) {
                *count += usize::from(holds);
            }
        }
        own
    }
}
