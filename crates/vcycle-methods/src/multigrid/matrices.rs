//! The matrices that a set-up makes, wherever their rows are.

use std::borrow::Cow;
use std::ops::Range;

use super::coarsen::{Nearby, NextNumbers};
use super::coarsest::KeptFactors;
use super::format::LevelFormat;
use super::interpolate::{shared_radius, spectral_radius};
use super::number::{as_real, in_blocks, of_real};
use super::report::LevelPart;
use crate::matrix::{
    Bsr, Galerkin, LocalNumbers, Overlap, galerkin, galerkin_in_blocks, galerkin_shared,
};
use crate::operations::entries::has_empty_rows;
use crate::prelude::*;

/// A matrix of a set-up: here as a whole, or shared by ranks. All ranks call together what is made of the latter.
#[derive(Clone, Debug)]
pub(super) enum LevelMatrix<V: Scalar = f64> {
    Here(Arc<Csr<V>>),
    OfRanks(Arc<Distributed<V>>),
}

/// The rows that stages look at: all, or own ones with some of other ranks nearby. What is made of them has the bits that
/// it has without ranks.
pub(super) struct Near<'a, V: Scalar> {
    pub matrix: Cow<'a, Csr<V>>,
    pub rows: Nearby,
}

impl<V: Scalar> Near<'_, V> {
    /// Own rows.
    pub fn own(&self) -> Range<usize> {
        self.rows.own(self.matrix.size().rows)
    }

    /// Whether some couplings of own rows of any rank are not strong.
    pub fn are_some_weak(&self, a: &Pattern, strength: &Pattern) -> Result<bool> {
        let Some(halo) = self.rows.halo() else {
            return Ok(strength.nonzeros() + a.size().rows < a.nonzeros());
        };
        let own = halo.own();
        let entries = |of: &Pattern| -> Result<usize> {
            let offsets = of.buffers().0;
            Ok(offsets.get(own.end)? - offsets.get(own.start)?)
        };
        let mut counts = [entries(strength)? + own.len(), entries(a)?].map(|n| n as f64);
        halo.team().sum(&mut counts)?;
        Ok(counts[0] < counts[1])
    }
}

impl<V: Field + Mixes<V, V>> LevelMatrix<V> {
    /// Whether ranks share it.
    pub fn is_of_ranks(&self) -> bool {
        matches!(self, Self::OfRanks(_))
    }

    /// Where its vectors are.
    pub fn executor(&self) -> &Executor {
        match self {
            Self::Here(a) => a.executor(),
            Self::OfRanks(a) => a.executor(),
        }
    }

    /// The rows that are here.
    pub fn local(&self) -> &Arc<Csr<V>> {
        match self {
            Self::Here(a) => a,
            Self::OfRanks(a) => a.local(),
        }
    }

    /// Rows of all ranks.
    pub fn rows(&self) -> usize {
        match self {
            Self::Here(a) => a.size().rows,
            Self::OfRanks(a) => a.rows().total() as usize,
        }
    }

    /// Entries of all ranks.
    pub fn nonzeros(&self) -> Result<usize> {
        match self {
            Self::Here(a) => Ok(a.nonzeros()),
            Self::OfRanks(a) => Ok(a.total_nonzeros()? as usize),
        }
    }

    /// What this rank has of it.
    pub fn part(&self) -> Option<LevelPart> {
        match self {
            Self::Here(_) => None,
            Self::OfRanks(a) => Some(LevelPart {
                rows: a.size().rows,
                nonzeros: a.local().nonzeros(),
                neighbours: a.columns().neighbours(),
                sent: a.columns().sent_count(),
            }),
        }
    }

    /// As an operator.
    pub fn operator(&self) -> Arc<dyn LinOp<V>> {
        match self {
            Self::Here(a) => Arc::clone(a) as _,
            Self::OfRanks(a) => Arc::clone(a) as _,
        }
    }

    /// A result, or the failure of any rank.
    pub fn agree<R>(&self, made: Result<R>) -> Result<R> {
        match self {
            Self::Here(_) => made,
            Self::OfRanks(a) => a.team().agree(made),
        }
    }

    /// Whether it is symmetric, Hermitian where it is complex, and whether its diagonal is positive.
    pub fn symmetric_and_positive(&self) -> Result<[bool; 2]> {
        match self {
            Self::Here(a) => a.symmetric_and_positive(),
            Self::OfRanks(a) => a.symmetric_and_positive(),
        }
    }

    /// An estimate of the spectral radius of `D^-1 A`.
    pub fn radius(&self) -> Result<f64> {
        match self {
            Self::Here(a) => spectral_radius(a),
            Self::OfRanks(a) => shared_radius(a),
        }
    }

    /// The conjugate transpose.
    pub fn adjoint(&self) -> Result<Self> {
        Ok(match self {
            Self::Here(a) => Self::Here(Arc::new(a.adjoint()?)),
            Self::OfRanks(a) => Self::OfRanks(Arc::new(a.adjoint()?)),
        })
    }

    /// Every value times a number.
    pub fn scale(self, factor: f64) -> Result<Self> {
        if factor == 1.0 {
            return Ok(self);
        }
        let factor = V::from_f64(factor);
        Ok(match self {
            Self::Here(a) => Self::Here(Arc::new(a.scale(factor)?)),
            Self::OfRanks(a) => Self::OfRanks(Arc::new(a.scale(factor)?)),
        })
    }

    /// Own rows and, of other ranks, `rings` around them, in whole nodes of `block` rows.
    pub fn near(&self, rings: usize, block: usize) -> Result<Near<'_, V>> {
        Ok(match self {
            Self::Here(a) => Near {
                matrix: Cow::Borrowed(a),
                rows: Nearby::default(),
            },
            Self::OfRanks(a) => {
                let Overlap { halo, matrix } = a.surrounded(rings, block)?;
                Near {
                    matrix: Cow::Owned(matrix),
                    rows: Nearby::of(&halo),
                }
            }
        })
    }

    /// Its rows where those of another matrix are.
    pub fn near_as(&self, rows: &Nearby) -> Result<Near<'_, V>> {
        let matrix = match (self, rows.halo()) {
            (Self::OfRanks(a), Some(halo)) => Cow::Owned(a.rows_near(halo, halo)?),
            _ => Cow::Borrowed(self.local().as_ref()),
        };
        Ok(Near {
            matrix,
            rows: rows.clone(),
        })
    }

    /// A matrix of the same rows, of which the own ones are given, with columns that have numbers over ranks.
    pub fn of_rows(
        &self,
        own: Csr<V>,
        numbered: Option<(&LocalNumbers, &NextNumbers)>,
    ) -> Result<Self> {
        match (self, numbered) {
            (Self::OfRanks(a), Some((numbers, next))) => {
                let (executor, rows) = (a.executor(), a.rows());
                let made = Distributed::of_numbered(executor, rows, &next.partition, numbers, own)?;
                Ok(Self::OfRanks(Arc::new(made)))
            }
            _ => Ok(Self::Here(Arc::new(own))),
        }
    }

    /// Ones on the diagonal of rows without entries: those of modes that depend on others in their group, to which nothing
    /// is restricted.
    pub fn without_empty_rows(self) -> Result<Self> {
        Ok(match self {
            Self::OfRanks(a) => {
                let a = Arc::unwrap_or_clone(a);
                Self::OfRanks(Arc::new(a.without_empty_rows()?))
            }
            Self::Here(a) => {
                let (rows, empty) = (a.size().rows, |row| a.pattern().range(row).is_empty());
                if has_empty_rows(a.pattern())? == Some(false) || !(0..rows).any(empty) {
                    return Ok(Self::Here(a));
                }
                let ones = Csr::identity(a.executor(), rows);
                let ones = ones.filter(|row, _, _: V| empty(row))?;
                Self::Here(Arc::new(a.add(V::one(), V::one(), &ones)?))
            }
        })
    }
}

/// The matrices of one level, in double precision, real or complex.
#[derive(Debug)]
pub(super) struct Matrices<V: Scalar = f64> {
    /// Of this level.
    pub a: LevelMatrix<V>,
    /// To and from the next one; none on the coarsest level.
    pub transfer: Option<Transfer<V>>,
    /// The spectral radius of `D^-1 A` with the diagonal `D`, if it is known. No scaling of rows
    /// and columns changes it.
    pub radius: Option<f64>,
    /// What a factorisation of the level can take over from others.
    pub factors: KeptFactors,
}

impl<V: Scalar> Matrices<V> {
    /// A level without a next one yet.
    pub fn new(a: LevelMatrix<V>) -> Self {
        Self {
            a,
            transfer: None,
            radius: None,
            factors: KeptFactors::default(),
        }
    }
}

/// The transfer operators between a level and the next.
#[derive(Clone, Debug)]
pub(super) struct Transfer<V: Scalar = f64> {
    pub restriction: LevelMatrix<V>,
    pub prolongation: LevelMatrix<V>,
}

impl<V: Field + Mixes<V, V>> Transfer<V> {
    /// `R A P`, and its symbolic phase if that is to be kept: that of products in blocks is not.
    pub fn coarse(
        &self,
        a: &LevelMatrix<V>,
        (block, format): (Size, LevelFormat),
        keep: bool,
    ) -> Result<(LevelMatrix<V>, Option<Galerkin>)> {
        use LevelMatrix::{Here, OfRanks};
        let (product, symbolic) = match (&self.restriction, a, &self.prolongation) {
            (OfRanks(r), OfRanks(a), OfRanks(p)) => {
                let by_rows = block == Size::square(1);
                let product = match by_rows {
                    true => galerkin_shared(r, a, p)?,
                    false => galerkin_in_blocks(r, a, p, block, |r, a, p| {
                        match by_blocks(r, a, p, block)? {
                            Some(product) => Ok(product),
                            None => galerkin(r, a, p),
                        }
                    })?,
                };
                (OfRanks(Arc::new(product)), None)
            }
            (r, a, p) => {
                let (r, a, p) = (r.local(), a.local(), p.local());
                let (product, symbolic) = product((r, a, p), (block, format), keep)?;
                (Here(Arc::new(product)), symbolic)
            }
        };
        Ok((product.without_empty_rows()?, symbolic))
    }
}

/// `R A P` of whole matrices. Devices find their blocks themselves, or multiply in tiles.
fn product<V: Scalar>(
    (r, a, p): (&Csr<V>, &Csr<V>, &Csr<V>),
    (block, format): (Size, LevelFormat),
    keep: bool,
) -> Result<(Csr<V>, Option<Galerkin>)> {
    if let Some(product) = by_blocks(r, a, p, block)? {
        return Ok((product, None));
    }
    if let (Some(r), Some(a), Some(p)) = (as_real(r), as_real(a), as_real(p))
        && let Some(product) = format.galerkin(r, a, p)?
    {
        return Ok((of_real(product)?, None));
    }
    let is_in_blocks = block != Size::square(1) && meet_in_blocks(r, a, p)?;
    if is_in_blocks || !keep {
        return Ok((galerkin(r, a, p)?, None));
    }
    let symbolic = Galerkin::symbolic(r, a, p)?;
    let product = symbolic.numeric(r, a, p)?;
    Ok((product, Some(symbolic)))
}

/// `R A P` by blocks that are larger than an entry, if matrices of the host are made of these.
fn by_blocks<V: Scalar>(r: &Csr<V>, a: &Csr<V>, p: &Csr<V>, block: Size) -> Result<Option<Csr<V>>> {
    if !a.executor().is_device()
        && let Some((a, p)) = in_blocks(a, p, block)
        && let Some(r) = as_real(r)
        && let Ok(r) = Bsr::from_csr(r, block.transposed())
    {
        return of_real(r.multiply(&a.multiply(&p)?)?.rows()?).map(Some);
    }
    Ok(None)
}

/// Whether a device multiplies with all three in blocks that meet each other: then it forms their product in these. The cycles
/// need to know the blocks, too.
fn meet_in_blocks<V: Scalar>(r: &Csr<V>, a: &Csr<V>, p: &Csr<V>) -> Result<bool> {
    let blocks = (r.device_block()?, a.device_block()?, p.device_block()?);
    let meet = |one: usize, other: usize| one.is_multiple_of(other) || other.is_multiple_of(one);
    Ok(match blocks {
        (Some(r), Some(a), Some(p)) => meet(r.cols, a.rows) && meet(a.cols, p.rows),
        _ => false,
    })
}
