//! A matrix as a solver multiplies with it: in the precision and the format it is to be stored in.

use std::any::Any;

use super::bsr::in_blocks;
use super::format::arranged;
use super::{Distributed, Format, Mbsr, choose_format};
use crate::error::ConfigError;
use crate::linop::LinOp;
use crate::prelude::*;

/// How the entries of a matrix are arranged for products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// As [`choose_format`] says.
    Auto,
    /// In one format; of compressed rows a device may find blocks.
    As(Format),
    /// In compressed rows, with which a device multiplies row by row.
    Rows,
    /// In dense blocks of so many rows and columns.
    Blocks(usize),
    /// In tiles of 4 by 4 with bitmaps ([`Mbsr`]).
    Tiles,
}

/// A matrix as a solve uses it.
#[derive(Clone, Debug)]
pub struct StoredMatrix<W: Scalar> {
    /// For products.
    pub operator: Arc<dyn LinOp<W>>,
    /// Its entries in rows, for the set-up of preconditioners.
    pub entries: Arc<dyn LinOp<W>>,
    /// How the operator is arranged; not `Auto`.
    pub arrangement: Arrangement,
}

/// A type solvers work in, with the matrix stored in any precision.
pub trait WorkingScalar: Mixes<Self, Self> {
    /// The type systems are given in.
    type Wide: Scalar;

    /// `a` for vectors of this type, stored in `kind` and `arrangement`; shared where it is already. Being no generic
    /// function it is compiled with this crate, for all formats.
    ///
    /// # Errors
    /// For an entry that does not fit, and a format that would need too much padding.
    fn store_matrix(
        a: &Arc<Csr<Self::Wide>>,
        kind: Kind,
        arrangement: Arrangement,
    ) -> Result<StoredMatrix<Self>>;

    /// The same for a matrix that ranks share, which call it together.
    ///
    /// # Errors
    /// For an entry that does not fit, and when another rank has failed.
    fn store_shared(a: &Arc<Distributed<Self::Wide>>, kind: Kind) -> Result<Arc<dyn LinOp<Self>>>;
}

macro_rules! working {
    ($($working:ty, $wide:ty: [$($kind:ident $m:ty),*];)*) => {$(
        impl WorkingScalar for $working {
            type Wide = $wide;

            fn store_matrix(
                a: &Arc<Csr<$wide>>,
                kind: Kind,
                arrangement: Arrangement,
            ) -> Result<StoredMatrix<Self>> {
                match kind {
                    $(Kind::$kind => stored(rounded::<$wide, $m>(a)?, arrangement),)*
                    other => Err(Error::Conversion { from: <$wide>::KIND, to: other }),
                }
            }

            fn store_shared(
                a: &Arc<Distributed<$wide>>,
                kind: Kind,
            ) -> Result<Arc<dyn LinOp<Self>>> {
                match kind {
                    $(Kind::$kind => Ok(rounded_shared::<$wide, $m>(a)?),)*
                    other => Err(Error::Conversion { from: <$wide>::KIND, to: other }),
                }
            }
        }
    )*};
}

working! {
    f64, f64: [F64 f64, F32 f32, F16 f16, Bf16 bf16];
    f32, f64: [F64 f64, F32 f32, F16 f16, Bf16 bf16];
    c64, c64: [C64 c64, C32 c32];
    c32, c64: [C64 c64, C32 c32];
}

/// `a` with values of type `M`: itself if it is so already, else rounded.
fn rounded<S: Scalar, M: Scalar>(a: &Arc<Csr<S>>) -> Result<Arc<Csr<M>>> {
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(a) as _;
    if let Ok(same) = shared.downcast::<Csr<M>>() {
        return Ok(same);
    }
    let narrow = a.convert::<M>()?;
    check_finite(&narrow, |row, column| (row as u64, column as u64))?;
    Ok(Arc::new(narrow))
}

/// The same for a matrix that ranks share.
fn rounded_shared<S: Scalar, M: Scalar>(a: &Arc<Distributed<S>>) -> Result<Arc<Distributed<M>>> {
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(a) as _;
    if let Ok(same) = shared.downcast::<Distributed<M>>() {
        return Ok(same);
    }
    let narrow = a.convert::<M>()?;
    let (first, columns) = (a.rows().range(a.team().rank()).start, a.columns());
    let place = |row: usize, column: usize| (first + row as u64, columns.global(column));
    a.team().agree(check_finite(narrow.local(), place))?;
    Ok(Arc::new(narrow))
}

/// Fails for an entry that did not fit, which has some place in the whole matrix.
fn check_finite<M: Scalar>(
    narrow: &Csr<M>,
    place: impl Fn(usize, usize) -> (u64, u64),
) -> Result<()> {
    match narrow.check_finite() {
        Err(Error::NonFiniteEntry { row, column }) => {
            let ((row, column), kind) = (place(row, column), M::KIND);
            Err(ConfigError::Conflict(format!(
                "entry ({row}, {column}) overflows in {kind}; store the matrix in a wider range (bf or sp)"
            ))
            .into())
        }
        other => other,
    }
}

/// The entries as they are to be arranged.
fn stored<M, W>(entries: Arc<Csr<M>>, arrangement: Arrangement) -> Result<StoredMatrix<W>>
where
    M: Mixes<W, W>,
    W: Scalar,
{
    let on_device = entries.executor().is_device();
    let arrangement = match arrangement {
        Arrangement::Auto if on_device => Arrangement::As(Format::Csr),
        Arrangement::Auto => Arrangement::As(choose_format(entries.pattern())),
        given => given,
    };
    let entries = match arrangement {
        Arrangement::Rows if on_device => Arc::new(entries.on_device_in(None)?),
        Arrangement::Tiles if on_device => Arc::new(entries.in_tiles()?),
        _ => entries,
    };
    let operator: Arc<dyn LinOp<W>> = match arrangement {
        Arrangement::Auto => unreachable!("decided above"),
        Arrangement::Rows => arranged(&entries, Format::Csr)?,
        Arrangement::As(format) => arranged(&entries, format)?,
        Arrangement::Blocks(size) => in_blocks(&entries, size)?,
        Arrangement::Tiles if on_device => arranged(&entries, Format::Csr)?,
        Arrangement::Tiles => Arc::new(Mbsr::from_csr(&entries)?),
    };
    Ok(StoredMatrix {
        operator,
        entries,
        arrangement,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_named_and_equal_storage_is_shared() {
        let a = Arc::new(Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 1e6]));
        let store =
            |kind| <f64 as WorkingScalar>::store_matrix(&a, kind, Arrangement::As(Format::Csr));
        let error = store(Kind::F16).err().unwrap().to_string();
        assert!(error.starts_with("entry (1, 1) overflows in f16"));
        assert!(store(Kind::Bf16).is_ok());
        assert!(store(Kind::C64).is_err());
        assert!(Arc::ptr_eq(&rounded::<f64, f64>(&a).unwrap(), &a));
    }

    #[test]
    fn auto_is_decided() {
        let a = Arc::new(Csr::<f64>::identity(&Executor::reference(), 100));
        let stored =
            <f32 as WorkingScalar>::store_matrix(&a, Kind::F16, Arrangement::Auto).unwrap();
        assert_eq!(stored.arrangement, Arrangement::As(Format::Ell));
    }
}
