//! How the matrix is stored for the products of a solve.

use std::any::Any;
use std::sync::Arc;

use super::sequence::Kept;
use super::tries::Tries;
use super::{Solution, System};
use crate::configuration::{Config, MatrixFormat};
use crate::error::ConfigError;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Size};
use crate::matrix::{Bsr, Csr, Ell, Hybrid, SellP, choose_format};
use crate::scalar::{Mixes, Scalar, bf16, c32, c64, f16};
use crate::vector::Vector;
use vcycle_methods::precision::{Unit, bad_precision};

/// A matrix as a solve uses it.
pub struct StoredMatrix<W: Scalar> {
    /// For products.
    pub(super) operator: Arc<dyn LinOp<W>>,
    /// Its entries in rows, for the set-up of preconditioners.
    pub(super) entries: Arc<dyn LinOp<W>>,
    /// The format of the operator; not `auto`.
    pub(super) format: MatrixFormat,
}

/// A type solvers work in, with the matrix stored in any precision.
pub trait Working: Mixes<Self, Self> {
    /// `a` for vectors of this type, stored in `unit` and `format`; shared where it is already.
    /// A node has `block_size` unknowns.
    ///
    /// # Errors
    /// For an entry that does not fit, a format that would need too much padding, and complex
    /// matrices in half precision.
    fn store_matrix<S: Scalar>(
        a: &Arc<Csr<S>>,
        unit: Unit,
        format: MatrixFormat,
        block_size: usize,
    ) -> Result<StoredMatrix<Self>>;
}

/// A type systems are given in: `f64` or [`c64`].
pub trait Wide: Working {
    /// [`solve_system`](super::solve_system) for this type, perhaps with what was kept of an earlier
    /// solve. Being no generic function it is compiled here once, with all solvers, and not again
    /// by every crate that calls it.
    ///
    /// # Errors
    /// As [`solve_system`](super::solve_system).
    fn solve_system(
        config: &Config,
        system: &System<Self>,
        b: &Vector<Self>,
        kept: Option<&mut Kept>,
        ws: &Workspace,
    ) -> Result<Solution<Self>>;
}

macro_rules! wide {
    ($($wide:ty, $narrow:ty;)*) => {$(
        impl Wide for $wide {
            fn solve_system(
                config: &Config,
                system: &System<Self>,
                b: &Vector<Self>,
                kept: Option<&mut Kept>,
                ws: &Workspace,
            ) -> Result<Solution<Self>> {
                match config.precision.unwrap_or_default().working {
                    Unit::Double => Tries::<Self, Self>::new(config, system, kept, ws)?.solve(b),
                    _ => Tries::<Self, $narrow>::new(config, system, kept, ws)?.solve(b),
                }
            }
        }
    )*};
}

wide! { f64, f32; c64, c32; }

macro_rules! working {
    ($($real:ty, $complex:ty;)*) => {$(
        impl Working for $real {
            fn store_matrix<S: Scalar>(
                a: &Arc<Csr<S>>,
                unit: Unit,
                format: MatrixFormat,
                block_size: usize,
            ) -> Result<StoredMatrix<Self>> {
                match unit {
                    Unit::Double => arrange(rounded::<S, f64>(a)?, format, block_size),
                    Unit::Single => arrange(rounded::<S, f32>(a)?, format, block_size),
                    Unit::Half => arrange(rounded::<S, f16>(a)?, format, block_size),
                    Unit::Bfloat => arrange(rounded::<S, bf16>(a)?, format, block_size),
                }
            }
        }

        impl Working for $complex {
            fn store_matrix<S: Scalar>(
                a: &Arc<Csr<S>>,
                unit: Unit,
                format: MatrixFormat,
                block_size: usize,
            ) -> Result<StoredMatrix<Self>> {
                match unit {
                    Unit::Double => arrange(rounded::<S, c64>(a)?, format, block_size),
                    Unit::Single => arrange(rounded::<S, c32>(a)?, format, block_size),
                    Unit::Half | Unit::Bfloat => Err(bad_precision(
                        unit.name(),
                        "complex matrices are stored in dp or sp",
                    ).into()),
                }
            }
        }
    )*};
}

working! { f64, c64; f32, c32; }

/// `a` with values of type `M`: itself if it is so already, else rounded.
fn rounded<S: Scalar, M: Scalar>(a: &Arc<Csr<S>>) -> Result<Arc<Csr<M>>> {
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(a) as _;
    if let Ok(same) = shared.downcast::<Csr<M>>() {
        return Ok(same);
    }
    let narrow = a.convert::<M>()?;
    match narrow.check_finite() {
        Err(Error::NonFiniteEntry { row, column }) => Err(ConfigError::Conflict(format!(
            "entry ({row}, {column}) overflows in {}; store the matrix in a wider range (bf or sp)",
            M::KIND
        ))
        .into()),
        Err(other) => Err(other),
        Ok(()) => Ok(Arc::new(narrow)),
    }
}

/// The entries in `format`.
fn arrange<M, W>(
    entries: Arc<Csr<M>>,
    format: MatrixFormat,
    block_size: usize,
) -> Result<StoredMatrix<W>>
where
    M: Mixes<W, W>,
    W: Scalar,
{
    let format = match format {
        MatrixFormat::Auto => choose_format(entries.pattern()).into(),
        given => given,
    };
    let operator: Arc<dyn LinOp<W>> = match format {
        MatrixFormat::Auto | MatrixFormat::Csr => Arc::clone(&entries) as _,
        MatrixFormat::Ell => Arc::new(Ell::from_csr(&entries)?),
        MatrixFormat::Sellp => Arc::new(SellP::from_csr(&entries)?),
        MatrixFormat::Hybrid => Arc::new(Hybrid::from_csr(&entries)?),
        MatrixFormat::Bsr if block_size == 1 => {
            let reason = "format: `bsr` is for several unknowns a node; tell how many (block size)";
            return Err(ConfigError::Conflict(reason.to_owned()).into());
        }
        MatrixFormat::Bsr => Arc::new(Bsr::from_csr(&entries, Size::square(block_size))?),
    };
    Ok(StoredMatrix {
        operator,
        entries,
        format,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;

    #[test]
    fn overflow_is_named_and_equal_storage_is_shared() {
        let a = Arc::new(Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 1e6]));
        let store = |unit| <f64 as Working>::store_matrix(&a, unit, MatrixFormat::Csr, 1);
        let error = store(Unit::Half).err().unwrap().to_string();
        assert!(error.starts_with("entry (1, 1) overflows in f16"));
        assert!(store(Unit::Bfloat).is_ok());
        assert!(Arc::ptr_eq(&rounded::<f64, f64>(&a).unwrap(), &a));
    }

    #[test]
    fn auto_is_decided() {
        let a = Arc::new(Csr::<f64>::identity(&Executor::reference(), 100));
        let stored = <f32 as Working>::store_matrix(&a, Unit::Half, MatrixFormat::Auto, 1).unwrap();
        assert_eq!(stored.format, MatrixFormat::Ell);
    }
}
