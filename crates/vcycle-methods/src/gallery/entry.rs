//! What a catalogue says of a problem, and a specification as it is read by that.

use super::finite_element::{self, Domain};
use super::grid::{check_rows, size_label};
use super::problem::Problem;
use super::spec::{bad, check_range, extents, lettered, part};
use crate::prelude::*;
use crate::structured::{Grid, Offset, Stencil, StencilMatrix};
use vcycle_core::size::Extent;

/// One line of a catalogue.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The name before the colon.
    pub name: &'static str,
    /// The form of a specification.
    pub usage: &'static str,
    /// What the problem is, in a line.
    pub description: &'static str,
    /// A small instance.
    pub example: &'static str,
    /// Extents of a size.
    pub(super) dimension: usize,
    /// The numbers behind the size.
    pub(super) parameters: &'static [Parameter],
    /// Further parts of a specification, which are no numbers.
    pub(super) texts: usize,
    /// The unknowns of a node.
    pub(super) unknowns: usize,
    /// Which nodes share entries, where the weights do not show it.
    pub(super) neighbours: fn(Offset) -> bool,
    pub(super) make: Make,
}

/// A number in a specification.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) range: [f64; 2],
    /// What it is where it is left out.
    pub(super) usual: Option<f64>,
}

/// The matrix of a specification, for a box of cells and the neighbours of each.
type MakeCells = fn(&Given<'_>, (Grid, Stencil), &Executor) -> Result<StencilMatrix<f64>>;

/// How a problem is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Make {
    /// All rows are one stencil: the weight of a shift, for the numbers of the specification.
    Weights(fn(&[f64], Offset) -> f64),
    /// Diffusion between cells of two materials.
    Jump,
    /// High-order elements on a domain of blocks.
    Elements(&'static Domain),
    /// Rows of its own, with the nodes that it has for a size.
    Rows(
        fn([usize; 3]) -> [usize; 3],
        fn(&Given<'_>, &Executor) -> Result<Problem>,
    ),
    /// A stencil for every cell of a box.
    Cells(MakeCells),
    /// The five-point Laplacian with other values: of an entry in a row and column.
    Complex(fn(&Given<'_>, [usize; 2], f64) -> c64),
}

/// `name:size,number,...` as an entry of a catalogue reads it.
pub(super) struct Given<'a> {
    pub(super) entry: &'static Entry,
    /// The specification itself.
    pub(super) text: &'a str,
    /// Points or cells along the axes; for elements their order and the refinements.
    pub(super) size: [usize; 3],
    pub(super) numbers: Vec<f64>,
    /// The part behind the numbers, if there is one.
    pub(super) folder: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// Reads the parts one at a time.
    pub(super) fn read(text: &'a str, entry: &'static Entry) -> Result<Self> {
        let rest = text.split_once(':').map_or("", |(_, rest)| rest);
        let parts: Vec<&str> = rest.split(',').collect();
        let numbers = entry.parameters.len();
        if let Some(extra) = parts.get(1 + numbers + entry.texts) {
            return bad("parameters", format!("`{extra}` is one too many"));
        }
        let size = match entry.make {
            Make::Elements(_) => [
                lettered(part(&parts, 0, "order")?, 'o', "order")?,
                lettered(part(&parts, 1, "levels")?, 'l', "levels")?,
                1,
            ],
            _ => extents(part(&parts, 0, "size")?, entry.dimension)?,
        };
        let number = |(at, parameter): (usize, &Parameter)| {
            let value = match parameter.usual {
                Some(usual) if at + 1 >= parts.len() => usual,
                _ => {
                    let text = part(&parts, at + 1, parameter.name)?;
                    text.parse()
                        .or_else(|_| bad(parameter.name, format!("`{text}` is not a number")))?
                }
            };
            let [low, high] = parameter.range;
            check_range(parameter.name, value, low, high)?;
            Ok(value)
        };
        let read = entry.parameters.iter().enumerate().map(number);
        Ok(Self {
            entry,
            text,
            size,
            numbers: read.collect::<Result<_>>()?,
            folder: parts.get(1 + numbers).copied(),
        })
    }

    /// The grid of a problem with a row for each point.
    pub(super) fn grid(&self) -> Grid {
        Grid::unchecked(self.size)
    }

    /// The specification with all its numbers.
    pub(super) fn name(&self) -> String {
        self.name_with(&self.numbers)
    }

    /// The specification with these numbers.
    pub(super) fn name_with(&self, numbers: &[f64]) -> String {
        let size = size_label(&self.size[..self.entry.dimension]);
        let numbers = numbers.iter().map(|number| format!(",{number}"));
        format!("{}:{size}{}", self.entry.name, numbers.collect::<String>())
    }

    /// The nodes along the axes, but for elements of high order.
    pub(super) fn nodes(&self) -> Option<[usize; 3]> {
        match self.entry.make {
            Make::Elements(_) => None,
            Make::Rows(nodes, _) => Some(nodes(self.size)),
            Make::Weights(_) | Make::Jump | Make::Cells(_) | Make::Complex(_) => Some(self.size),
        }
    }

    /// Rows and entries.
    pub(super) fn extent(&self, most_rows: usize) -> Result<Extent> {
        let nodes = match (self.nodes(), self.entry.make) {
            (None, Make::Elements(domain)) => return finite_element::extent(domain, self.size),
            (nodes, _) => nodes.unwrap_or_default(),
        };
        let unknowns = self.entry.unknowns;
        let rows = check_rows("size", nodes, unknowns, most_rows)?;
        let is_neighbour = |&&offset: &&Offset| match self.entry.make {
            Make::Weights(weight) => weight(&self.numbers, offset) != 0.0,
            _ => (self.entry.neighbours)(offset),
        };
        let along = |axis: usize, step: i8| nodes[axis] - usize::from(step.unsigned_abs());
        let pairs = |&[x, y, z]: &Offset| along(0, x) * along(1, y) * along(2, z);
        let neighbours = Stencil::full(3).within(Grid::unchecked(nodes));
        let neighbours = neighbours.offsets().iter().filter(is_neighbour);
        let couplings: usize = neighbours.map(pairs).sum();
        Ok(Extent::real(rows, couplings * unknowns * unknowns))
    }
}
