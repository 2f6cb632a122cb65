//! How large the matrix of a specification is, before it is made.

use super::finite_element;
use super::grid::check_rows_below;
use super::spec::Spec;
use crate::error::Result;
use vcycle_core::size::Extent;

/// A step to a neighbour, at most one along each axis.
type Shift = [isize; 3];

/// Which neighbours a point has, itself among them.
type Neighbours = fn(Shift) -> bool;

const STAR: Neighbours = |shift| steps(shift) <= 1;
const EDGES: Neighbours = |shift| steps(shift) <= 2;
const BOX: Neighbours = |_| true;
/// Corners of the tetrahedra of a cube: all steps go up, or all go down.
const TETRAHEDRA: Neighbours =
    |shift| shift.iter().all(|&step| step >= 0) || shift.iter().all(|&step| step <= 0);

fn steps(shift: Shift) -> usize {
    shift.iter().map(|step| step.unsigned_abs()).sum()
}

/// The points of a grid, their neighbours and the unknowns of each; `None` for a problem that is on none.
///
/// # Errors
/// For a size that cannot be.
pub(super) fn shape(spec: &Spec<'_>) -> Result<Option<([usize; 3], Neighbours, usize)>> {
    let plane = || -> Result<[usize; 3]> {
        let [nx, ny] = spec.size()?;
        Ok([nx, ny, 1])
    };
    Ok(Some(match spec.name {
        "poisson5" => (plane()?, STAR, 1),
        "poisson9" => (plane()?, BOX, 1),
        "aniso5" => {
            let theta = spec.number_or(2, "theta", 0.0)?;
            let along_axes = theta.rem_euclid(90.0) == 0.0;
            (plane()?, if along_axes { STAR } else { BOX }, 1)
        }
        "poisson7" | "aniso7" | "jump7" | "convdiff7" | "rhd" | "oil" => (spec.size()?, STAR, 1),
        "poisson27" | "laplace27" | "laplace27e8" => (spec.size()?, BOX, 1),
        "weather" => (spec.size()?, EDGES, 1),
        "rhd-3T" => (spec.size()?, STAR, 3),
        "oil-4C" => (spec.size()?, STAR, 4),
        "solid-3D" => (spec.size()?, TETRAHEDRA, 3),
        "tet" => {
            let [cells] = spec.size()?;
            ([cells.saturating_sub(1); 3], TETRAHEDRA, 1)
        }
        "elasticity" => {
            let [nx, ny, nz]: [usize; 3] = spec.size()?;
            let nodes = [nx, ny.saturating_add(1), nz.saturating_add(1)];
            (nodes, BOX, 3)
        }
        _ => return Ok(None),
    }))
}

/// Rows and entries; `None` for a problem that shows them only when it is made.
///
/// # Errors
/// For a size that cannot be, or has more rows than can be numbered.
pub(super) fn extent(spec: &Spec<'_>, most_rows: usize) -> Result<Option<Extent>> {
    if let "beam" | "lshape" = spec.name {
        return finite_element::extent(spec).map(Some);
    }
    let Some((size, neighbours, unknowns)) = shape(spec)? else {
        return Ok(None);
    };
    let rows = check_rows_below("size", size, unknowns, most_rows)?;
    let entries = couplings(size, neighbours) * unknowns * unknowns;
    Ok(Some(Extent::real(rows, entries)))
}

/// How many pairs of neighbours there are in a box of points.
fn couplings(size: [usize; 3], neighbours: Neighbours) -> usize {
    let along = |axis: usize, step: isize| size[axis].saturating_sub(step.unsigned_abs());
    let shifts = (0..27).map(|code: isize| [code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1]);
    let kept = shifts.filter(|&shift| neighbours(shift));
    kept.map(|[x, y, z]| along(0, x) * along(1, y) * along(2, z))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::gallery::{build, catalogue};

    fn sized(text: &str) -> Result<Option<Extent>> {
        extent(&Spec::parse(text), u32::MAX as usize)
    }

    #[test]
    fn sizes_are_known_before_problems_are_made() {
        let larger = [
            "aniso5:9x7,0.1",
            "beam:o3,l2",
            "lshape:o2,l4",
            "oil-4C:6x5x7",
        ];
        let examples = catalogue().iter().map(|entry| entry.example);
        for text in examples.chain(larger) {
            let Some(told) = sized(text).unwrap() else {
                continue;
            };
            let made = build(text, &Executor::reference()).unwrap().matrix;
            assert_eq!(told.rows, made.size().rows, "{text}");
            let ratio = told.entries as f64 / made.nonzeros() as f64;
            // Problems of several unknowns have blocks that are not full.
            assert!((0.95..2.6).contains(&ratio), "{text}: {ratio}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_as_it_is_when_made() {
        assert!(sized("poisson7:0").is_err());
        assert!(sized("poisson7:2000").is_err());
        assert!(sized("elasticity:1x18446744073709551615x1").is_err());
        assert!(sized("beam:o9,l1").is_err());
        assert_eq!(sized("unheard-of:3").unwrap(), None);
    }
}
