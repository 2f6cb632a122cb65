//! Rows numbered anew, so that consecutive ones are near each other.

use std::sync::Arc;

use vcycle::config::{System, Wide};
use vcycle::gallery;
use vcycle::matrix::{Csr, GridOrder, Permutation, recursive_bisection};
use vcycle::multigrid::NearNullspace;
use vcycle::vector::Vector;

use crate::args::PartitionKind;
use crate::error::{CliError, Result};

/// The order of a grid's points.
pub fn of_grid(problem: &str) -> Result<(GridOrder, usize)> {
    let grid = match gallery::is_problem(problem) {
        true => gallery::grid(problem)?,
        false => None,
    };
    let (size, unknowns) = grid.ok_or_else(|| {
        let reason = format!("`{problem}` is on no grid that can be cut into boxes; use graph");
        CliError::option("--partition", reason)
    })?;
    Ok((GridOrder::new(size), unknowns))
}

/// The order that a partition asks for; none where rows stay as they are.
pub fn order<T: Wide>(
    kind: PartitionKind,
    source: &str,
    a: &Csr<T>,
    near: Option<&NearNullspace>,
) -> Result<Option<Permutation>> {
    match kind {
        PartitionKind::Rows => Ok(None),
        PartitionKind::Graph => {
            let block = near.map_or(1, NearNullspace::block_size);
            Ok(Some(recursive_bisection(a.pattern(), block)?))
        }
        PartitionKind::Boxes => {
            let (order, unknowns) = of_grid(source)?;
            let unknowns = unknowns as u64;
            let row = |place: u64| order.point(place / unknowns) * unknowns + place % unknowns;
            let rows = (0..a.size().rows as u64).map(|place| row(place) as u32);
            Ok(Some(Permutation::new(rows.collect())?))
        }
    }
}

/// A system and its right-hand side in another order.
pub fn renumbered<T: Wide>(
    system: &System<T>,
    b: &Vector<T>,
    order: &Permutation,
) -> Result<(System<T>, Vector<T>)> {
    let moved = |vector: &Vector<T>| -> vcycle::Result<Vector<T>> {
        let mut moved = vector.clone();
        order.apply(vector, &mut moved)?;
        Ok(moved)
    };
    let of_order = |values: &Vec<f64>| {
        let rows = order.order().iter();
        rows.map(|&row| values[row as usize]).collect()
    };
    let matrix = system.matrix.whole()?.permute_symmetric(order)?;
    let mut other = System::new(Arc::new(matrix));
    if let Some(near) = &system.near_nullspace {
        let vectors = near.vectors().iter().map(of_order).collect();
        other.near_nullspace = Some(NearNullspace::new(near.block_size(), vectors)?);
    }
    other.guess = system.guess.as_ref().map(moved).transpose()?;
    Ok((other, moved(b)?))
}
