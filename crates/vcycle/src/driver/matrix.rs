//! The matrix of a system, whose rows are on one rank or on many.

use std::any::Any;
use std::sync::Arc;

use super::entries::{Moduli, has_sign, is_negative};
use super::facts;
use super::modes;
use crate::communicator::{Communicator, Traffic};
use crate::configuration::{Config, MatrixFormat, Sort};
use crate::error::{ConfigError, Error, Result};
use crate::executor::Executor;
use crate::linop::{LinOp, Size, check_size};
use crate::matrix::{Csr, Distributed, Facts, Format, Nodes, Numbering};
use crate::multigrid::NearNullspace;
use crate::scalar::{Field, Kind, Scalar};
use crate::structured::{StencilMatrix, StructMg};
use vcycle_core::matrix::{Arrangement, StoredMatrix, WorkingScalar};
use vcycle_methods::precision::{Unit, bad_precision};

/// The rows that this rank has of a matrix: all of them, or a part. Ranks that share a matrix call everything together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SystemMatrix<T> {
    /// All rows.
    Whole(Arc<Csr<T>>),
    /// The rows of one rank of several.
    Shared(Arc<Distributed<T>>),
}

impl<T> From<Arc<Csr<T>>> for SystemMatrix<T> {
    fn from(matrix: Arc<Csr<T>>) -> Self {
        Self::Whole(matrix)
    }
}

impl<T> From<Arc<Distributed<T>>> for SystemMatrix<T> {
    fn from(matrix: Arc<Distributed<T>>) -> Self {
        Self::Shared(matrix)
    }
}

impl<T: Scalar> SystemMatrix<T> {
    /// Where it is.
    pub fn executor(&self) -> &Executor {
        match self {
            Self::Whole(a) => a.executor(),
            Self::Shared(a) => a.executor(),
        }
    }

    /// Rows and columns of this rank: the size of its vectors.
    pub fn size(&self) -> Size {
        match self {
            Self::Whole(a) => a.size(),
            Self::Shared(a) => a.size(),
        }
    }

    /// Rows of this rank.
    pub fn rows(&self) -> usize {
        self.size().rows
    }

    /// Rows of all ranks.
    pub fn total_rows(&self) -> usize {
        match self {
            Self::Whole(a) => a.size().rows,
            Self::Shared(a) => a.rows().total() as usize,
        }
    }

    /// Entries of this rank.
    pub fn nonzeros(&self) -> usize {
        match self {
            Self::Whole(a) => a.nonzeros(),
            Self::Shared(a) => a.local().nonzeros(),
        }
    }

    /// The matrix where this rank has all rows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where several ranks share them.
    pub fn whole(&self) -> Result<&Arc<Csr<T>>> {
        match self {
            Self::Whole(a) => Ok(a),
            Self::Shared(_) => Err(Error::Unsupported {
                component: "what needs all entries".to_owned(),
                operation: "matrices whose rows several ranks share".to_owned(),
            }),
        }
    }

    /// The part of this rank where several ranks share the rows.
    pub fn shared(&self) -> Option<&Arc<Distributed<T>>> {
        match self {
            Self::Whole(_) => None,
            Self::Shared(a) => Some(a),
        }
    }

    /// The same with other values for the entries of this rank, in the order they are stored in.
    ///
    /// # Errors
    /// For another number of values, on any rank.
    pub fn with_values(&self, values: Vec<T>) -> Result<Self> {
        Ok(match self {
            Self::Whole(a) => Self::Whole(Arc::new(Csr::with_pattern(a.pattern(), values)?)),
            Self::Shared(a) => Self::Shared(Arc::new(a.team().agree(a.with_values(values))?)),
        })
    }

    /// For products.
    pub(super) fn operator(&self) -> &dyn LinOp<T>
    where
        T: WorkingScalar,
    {
        match self {
            Self::Whole(a) => a.as_ref(),
            Self::Shared(a) => a.as_ref(),
        }
    }

    pub(super) fn team(&self) -> Option<&Arc<dyn Communicator>> {
        self.shared().map(|a| a.team())
    }

    /// Ends a stage: where it has failed on one rank, it fails on all.
    pub(super) fn agree<R>(&self, result: Result<R>) -> Result<R> {
        match self.team() {
            None => result,
            Some(team) => team.agree(result),
        }
    }

    /// Whether it holds on any rank.
    pub(super) fn any(&self, holds: bool) -> Result<bool> {
        self.team().map_or(Ok(holds), |team| team.any(holds))
    }

    /// What this rank has sent so far.
    pub(super) fn traffic(&self) -> Traffic {
        self.team()
            .map_or_else(Default::default, |team| team.traffic())
    }

    /// Ranks that share the memory of this machine.
    pub(super) fn ranks_here(&self) -> Result<usize> {
        self.team()
            .map_or(Ok(1), |team| Ok(team.on_this_machine()?.1))
    }

    /// Fails where another matrix has not the entries of this one at the same places.
    pub(super) fn check_pattern(&self, other: &Self) -> Result<()> {
        let (before, after) = match (self, other) {
            (Self::Whole(before), Self::Whole(after)) => (before, after),
            (Self::Shared(before), Self::Shared(after)) => (before.local(), after.local()),
            (Self::Whole(_), Self::Shared(_)) | (Self::Shared(_), Self::Whole(_)) => {
                return Err(another_pattern());
            }
        };
        let checked = check_size("update of values", before.size(), after.size());
        let same = before.pattern().same_as(after.pattern());
        self.agree(checked.and_then(|()| if same { Ok(()) } else { Err(another_pattern()) }))
    }

    /// What a method is chosen by.
    pub(super) fn facts(&self, near: Option<&NearNullspace>) -> Result<Facts> {
        match self {
            Self::Whole(a) => Ok(facts::of_whole(a, near)),
            Self::Shared(a) => facts::of_ranks(a),
        }
    }

    /// What counts of a matrix that is known to be symmetric with a positive diagonal.
    pub(super) fn definite_facts(&self) -> Result<Facts> {
        Ok(match self {
            Self::Whole(a) => {
                facts::definite::<T>(a.size(), a.nonzeros(), a.executor().is_device())
            }
            Self::Shared(a) => facts::definite_of_ranks(a)?,
        })
    }

    /// Whether every diagonal entry is negative.
    pub(super) fn is_negative(&self) -> Result<bool> {
        match self {
            Self::Whole(a) => is_negative(a),
            Self::Shared(a) => {
                let diagonal = a.local().diagonal_from(a.columns().own().start);
                let own = diagonal.iter().take(a.size().rows);
                let other = own.into_iter().any(|entry| entry.to_c64().re >= 0.0);
                Ok(a.rows().total() > 0 && !a.team().any(other)?)
            }
        }
    }

    /// A multiple of the matrix.
    pub(super) fn scaled(&self, factor: f64) -> Result<Self> {
        let factor = T::Arith::from_f64(factor);
        Ok(match self {
            Self::Whole(a) => Self::Whole(Arc::new(a.scale(factor)?)),
            Self::Shared(a) => Self::Shared(Arc::new(a.team().agree(a.scale(factor))?)),
        })
    }

    /// The largest modulus of an entry where that of the first one is not ordinary.
    pub(super) fn extreme_entry(&self) -> Result<Option<f64>> {
        let own = match self {
            Self::Whole(a) => a.as_ref(),
            Self::Shared(a) => a.local(),
        };
        let entries = Moduli::of(own);
        if !self.any(entries.begin_extreme())? {
            return Ok(None);
        }
        let largest = entries.largest();
        let largest = match self.team() {
            None => largest,
            Some(team) => team.largest(largest)?,
        };
        Ok((largest > 0.0 && largest < f64::INFINITY).then_some(largest))
    }

    /// What is wrong with the diagonal, a sentence each, where the host has all of it.
    pub(super) fn defects(&self) -> Vec<String> {
        match self {
            Self::Whole(a) if a.is_at_hand() && !a.diagonal().iter().all(has_sign) => {
                a.defects().sentences()
            }
            Self::Whole(_) | Self::Shared(_) => Vec::new(),
        }
    }

    /// The unknowns of nodes as the entries show them. Rows that ranks share keep their numbers.
    pub(super) fn nodes(&self) -> Result<Option<Nodes>> {
        match self {
            Self::Whole(a) => Ok(a.is_at_hand().then(|| Nodes::find(a)).flatten()),
            Self::Shared(a) => Ok(a
                .unknowns_of_a_node()?
                .map(|size| Nodes::regular(a.size().rows, size, Numbering::NodeByNode))),
        }
    }

    /// The unknowns of nodes as vectors of the near-nullspace show them, on all ranks alike.
    pub(super) fn implied_nodes(&self, near: &NearNullspace) -> Result<Option<Nodes>> {
        let own = modes::nodes(near);
        let Some(team) = self.team() else {
            return Ok(own);
        };
        let own = own.filter(|nodes| nodes.numbering() == Numbering::NodeByNode);
        let size = match self.rows() {
            0 => u64::MAX,
            _ => own.map_or(0, |nodes| nodes.block_size() as u64),
        };
        let all = team.all_numbers(size)?;
        let mut found = all.into_iter().filter(|&size| size != u64::MAX);
        let first = found.next().unwrap_or(0);
        let is_known = first > 0 && found.all(|size| size == first);
        let nodes = || Nodes::regular(self.rows(), first as usize, Numbering::NodeByNode);
        Ok(is_known.then(nodes))
    }

    /// The matrix with its rows numbered node by node.
    pub(super) fn renumbered(&self, nodes: &Nodes) -> Result<Self> {
        Ok(Self::Whole(Arc::new(nodes.gather_matrix(self.whole()?)?)))
    }

    /// The matrix as a stencil where it is, if the solver is to be chosen for structured multigrid: whether it is symmetric
    /// is seen sooner so. What is wrong with other matrices is reported where they are set up. Of rows that ranks share it is the
    /// cells of this rank and those around them.
    ///
    /// On devices one unknown a cell: with several the kernels take 20 s to compile, and algebraic multigrid is as fast
    /// (elasticity:60x60x60 on an H200 220 ms, structured 180).
    pub(super) fn stencil(&self, config: &Config) -> Option<StencilMatrix<f64>> {
        let parameters = match config.preconditioner.sort() {
            Sort::StructMg(parameters) => parameters,
            Sort::Auto => &StructMg::default(),
            Sort::None | Sort::Amg(_) | Sort::Iterations | Sort::OfEntries => return None,
        };
        if !config.solver.is_auto() || T::KIND != Kind::F64 {
            return None;
        }
        let any: &dyn Any = match self {
            Self::Whole(a) => a.as_ref(),
            Self::Shared(a) => a.as_ref(),
        };
        if let Some(a) = any.downcast_ref::<Distributed<f64>>() {
            return parameters.stencil_of_ranks(a).ok()?;
        }
        let a = any.downcast_ref::<Csr<f64>>()?;
        match a.executor().is_device() {
            false => Some(parameters.stencil::<f64>(a).ok()?.into_owned()),
            true => {
                let found = parameters.stencil_there(a).ok()?;
                found.filter(|stencil| stencil.unknowns() == 1)
            }
        }
    }

    /// The matrix for vectors of `W`, stored in `unit`, of the rows of one rank in a format too.
    ///
    /// # Errors
    /// For an entry that does not fit, a format that would need too much padding, and complex matrices in half precision.
    pub(super) fn stored<W: WorkingScalar<Wide = T>>(
        &self,
        unit: Unit,
        format: Option<MatrixFormat>,
        block_size: usize,
    ) -> Result<StoredMatrix<W>> {
        let kind = unit.kind(W::KIND.is_complex());
        let unknown = || bad_precision(unit.name(), "complex matrices are stored in dp or sp");
        let kind = kind.ok_or_else(unknown)?;
        match self {
            Self::Whole(a) => W::store_matrix(a, kind, arrangement(format, block_size)?),
            Self::Shared(a) => {
                let operator = W::store_shared(a, kind)?;
                Ok(StoredMatrix {
                    entries: Arc::clone(&operator),
                    operator,
                    arrangement: Arrangement::As(Format::Csr),
                })
            }
        }
    }
}

/// How a matrix is stored in a format, where a node has `block_size` unknowns.
fn arrangement(
    format: Option<MatrixFormat>,
    block_size: usize,
) -> Result<Arrangement, ConfigError> {
    Ok(match format {
        None => Arrangement::As(Format::Csr),
        Some(MatrixFormat::Auto) => Arrangement::Auto,
        Some(MatrixFormat::Csr) => Arrangement::Rows,
        Some(MatrixFormat::Ell) => Arrangement::As(Format::Ell),
        Some(MatrixFormat::Sellp) => Arrangement::As(Format::SellP),
        Some(MatrixFormat::Hybrid) => Arrangement::As(Format::Hybrid),
        Some(MatrixFormat::Coo) => Arrangement::As(Format::Coo),
        Some(MatrixFormat::Dense) => Arrangement::As(Format::Dense),
        Some(MatrixFormat::Bsr) if block_size == 1 => {
            let reason = "format: `bsr` is for several unknowns a node; tell how many (block size)";
            return Err(ConfigError::Conflict(reason.to_owned()));
        }
        Some(MatrixFormat::Bsr) => Arrangement::Blocks(block_size),
        Some(MatrixFormat::Mbsr) => Arrangement::Tiles,
    })
}

/// The format of a matrix in reports.
pub(super) fn format_of<W: WorkingScalar>(matrix: &StoredMatrix<W>) -> MatrixFormat {
    let is_in_blocks = |stored: String| stored.starts_with("bsr");
    match matrix.arrangement {
        Arrangement::Tiles => MatrixFormat::Mbsr,
        _ if matrix.operator.stored_as().is_some_and(is_in_blocks) => MatrixFormat::Bsr,
        Arrangement::Auto => MatrixFormat::Auto,
        Arrangement::As(format) => format.into(),
        Arrangement::Rows => MatrixFormat::Csr,
        Arrangement::Blocks(_) => MatrixFormat::Bsr,
    }
}

fn another_pattern() -> Error {
    Error::InvalidStructure {
        format: "csr",
        reason: "update of values: the pattern is not that of the set-up".to_owned(),
    }
}
