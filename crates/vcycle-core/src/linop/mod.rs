//! Linear operators and the factories that make them.

mod any_factory;
mod converted;
mod defaults;
mod forward;
mod identity;
mod matrix_free;
mod product;
mod sum;
#[cfg(test)]
mod tests;
mod transposed;

use std::borrow::Cow;
use std::fmt::Debug;

pub use crate::arrays::Sweep;
pub use crate::error::check_size;
pub use crate::size::Size;
pub use any_factory::{AnyFactory, LevelScalar};
pub use converted::{Converted, InPrecision};
pub use identity::Identity;
pub use matrix_free::MatrixFree;
pub use product::Product;
pub use sum::Sum;
pub use transposed::Transposed;
pub use vcycle_kernels::Transpose;

use crate::prelude::*;

/// A linear map from vectors of `X` to vectors of `Y`.
///
/// Operators are immutable and may be shared between threads; what they write to while they are
/// applied comes from the [`Workspace`] of the solve. Only [`size`](LinOp::size),
/// [`executor`](LinOp::executor) and [`apply`](LinOp::apply) have to be written; the rest has
/// defaults that a faster operator overrides.
pub trait LinOp<X: Scalar, Y: Scalar = X>: std::any::Any + Debug + Send + Sync {
    /// Rows and columns.
    fn size(&self) -> Size;

    /// Where the operator lives; its operands must live there too.
    fn executor(&self) -> &Executor;

    /// `y = A x`. The old contents of `y` are not read.
    fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, ws: &Workspace) -> Result<()>;

    /// `y = A x`, and column by column the products of `x` with `y` where that saves a pass over memory; says
    /// whether they were made.
    fn apply_dot(
        &self,
        x: &Vector<X>,
        y: &mut Vector<Y>,
        dots: &mut Scalars<Y>,
        ws: &Workspace,
    ) -> Result<bool> {
        let _ = dots;
        self.apply(x, y, ws)?;
        Ok(false)
    }

    /// `y = alpha A x + beta y`.
    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, Y>,
        x: &Vector<X>,
        beta: Coefficient<'_, Y>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        let apply = |product: &mut Vector<Y>| self.apply(x, product, ws);
        defaults::apply_advanced(&apply, alpha, beta, y, ws)
    }

    /// `r = b - A x`.
    fn residual(
        &self,
        b: &Vector<Y>,
        x: &Vector<X>,
        r: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        r.copy_from(b)?;
        self.apply_advanced(Coefficient::real(-1.0), x, Coefficient::one(), r, ws)
    }

    /// `y = alpha d (b - A x) + beta x + gamma y` with the diagonal matrix, the right-hand side and
    /// the weights of a [`Sweep`].
    fn relax(
        &self,
        sweep: Sweep<'_, Y>,
        x: &Vector<X>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()>
    where
        Y: Mixes<Y, Y>,
    {
        let residual = |r: &mut Vector<Y>| self.residual(sweep.b, x, r, ws);
        sweep.compose(self.size(), &residual, x, y, ws)
    }

    /// `sweeps` times `x += M (b - A x)`, with this operator as `M`: steps towards the solution of
    /// `A x = b`.
    fn improve(
        &self,
        sweeps: usize,
        a: &dyn LinOp<Y, X>,
        b: &Vector<X>,
        x: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        let add = |r: &Vector<X>, x: &mut Vector<Y>| {
            self.apply_advanced(Coefficient::one(), r, Coefficient::one(), x, ws)
        };
        defaults::improve(&add, sweeps, a, b, x, ws)
    }

    /// Whether so many sweeps of [`improve`](LinOp::improve) are faster where they leave their result in another vector
    /// than the guess: [`improve_out_of_place`](LinOp::improve_out_of_place).
    fn prefers_out_of_place(&self, _sweeps: usize) -> bool {
        false
    }

    /// What [`improve`](LinOp::improve) makes of `guess`, in `x`; the guess is lost.
    fn improve_out_of_place(
        &self,
        sweeps: usize,
        a: &dyn LinOp<Y, X>,
        b: &Vector<X>,
        guess: &mut Vector<Y>,
        x: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        x.copy_from(guess)?;
        self.improve(sweeps, a, b, x, ws)
    }

    /// `y = A^T x`, or `A^H x` for [`Transpose::Conjugate`].
    fn apply_transposed(
        &self,
        _mode: Transpose,
        _x: &Vector<Y>,
        _y: &mut Vector<X>,
        _ws: &Workspace,
    ) -> Result<()> {
        Err(defaults::no_transpose(self.label()))
    }

    /// What messages call the operator: a name a user has met. That of its type unless given.
    fn label(&self) -> &'static str {
        defaults::type_name(std::any::type_name::<Self>())
    }

    /// How the entries are stored for products, in the words of reports, if that is more than the [`label`](Self::label) says: `csr`, or
    /// `bsr 3x3` where a device multiplies in blocks.
    fn stored_as(&self) -> Option<String> {
        None
    }

    /// The entries, for components that need them; `None` for matrix-free operators.
    fn csr(&self) -> Option<Cow<'_, Csr<X>>> {
        None
    }

    /// The rows of this rank, and which of their columns is that of the first row: all rows and 0 where no ranks share
    /// the matrix. `None` for matrix-free operators.
    fn rows_here(&self) -> Option<(Cow<'_, Csr<X>>, usize)> {
        self.csr().map(|entries| (entries, 0))
    }

    /// Bytes held and moved.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    /// Whether [`apply`](LinOp::apply) is nothing but a copy; solvers then skip it.
    fn is_identity(&self) -> bool {
        false
    }
}

/// What an operator costs in memory and in memory traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes held.
    pub held: usize,
    /// Bytes one application moves for the operator itself, vectors not counted.
    pub moved: usize,
}

impl Footprint {
    /// So many bytes held, and moved by an application.
    pub fn new(held: usize, moved: usize) -> Self {
        Self { held, moved }
    }

    /// All of them moved by an application.
    pub fn of_bytes(bytes: usize) -> Self {
        Self::new(bytes, bytes)
    }
}

impl std::iter::Sum for Footprint {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |total, part| {
            Self::new(total.held + part.held, total.moved + part.moved)
        })
    }
}

/// Parameters that become an operator once a matrix is given.
pub trait Factory<T: Scalar>: Debug + Send + Sync {
    /// Binds the parameters to `a`. Stages of the set-up are reported to the workspace's log.
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>>;
}

/// The entries of `a`, or an error that names who needs them.
pub fn entries<'a, T: Scalar>(
    a: &'a dyn LinOp<T>,
    component: &'static str,
) -> Result<Cow<'a, Csr<T>>> {
    a.csr().ok_or_else(|| lacking(a, component))
}

/// The rows of this rank and the column of the first, or an error that names who needs them.
pub fn rows_here<'a, T: Scalar>(
    a: &'a dyn LinOp<T>,
    component: &'static str,
) -> Result<(Cow<'a, Csr<T>>, usize)> {
    a.rows_here().ok_or_else(|| lacking(a, component))
}

/// Why there are no entries.
fn lacking<T: Scalar>(a: &dyn LinOp<T>, component: &'static str) -> Error {
    match a.executor().team() {
        None => Error::NeedsEntries { component },
        Some(_) => Error::unsupported(
            component,
            "matrices whose rows several ranks share; `schwarz` applies it to the rows of each rank",
        ),
    }
}

/// Fails, naming `component`, unless `a` is square.
pub fn check_square<T: Scalar>(a: &dyn LinOp<T>, component: &'static str) -> Result<()> {
    crate::error::check_square(component, a.size())
}

/// Fails unless `y = A x` fits in sizes and place.
pub fn check_apply<X: Scalar, Y: Scalar>(
    operation: &'static str,
    size: Size,
    executor: &Executor,
    x: &Vector<X>,
    y: &Vector<Y>,
) -> Result<()> {
    let vectors = [(x.size(), x.executor()), (y.size(), y.executor())];
    check_vectors(operation, size, executor, vectors)
}

/// [`check_apply`] without the types of the vectors.
fn check_vectors(
    operation: &'static str,
    size: Size,
    executor: &Executor,
    [(x, place_of_x), (y, place_of_y)]: [(Size, &Executor); 2],
) -> Result<()> {
    check_size(operation, Size::new(size.cols, y.cols), x)?;
    check_size(operation, Size::new(size.rows, x.cols), y)?;
    executor.check_same(place_of_x, operation)?;
    executor.check_same(place_of_y, operation)
}
