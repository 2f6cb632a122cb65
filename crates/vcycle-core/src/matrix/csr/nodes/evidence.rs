//! What the entries of a sample of nodes say for a grouping of unknowns.

use super::super::norms::modulus;
use super::LARGEST;
use crate::communicator::Communicator;
use crate::prelude::*;

/// Nodes that are looked at first, and in all.
const FIRST_LOOK: usize = 24;
const SAMPLE: usize = 240;
/// A sum is zero if it is less than this beside the sum of its moduli; single precision rounds less.
const VANISHES: f64 = 1e-4;
/// Couplings below this, beside the diagonal, are rounding.
const ROUNDING: f64 = 1e-10;
/// Components are coupled if the moduli are more than this beside the diagonal.
const COUPLED: f64 = 1e-4;
/// Entries that differ by more than this, relatively, are not symmetric.
const ASYMMETRIC: f64 = 1e-6;
/// The least share of sums that vanish, of rows with couplings, and of entries in the blocks of nodes.
/// Rows beside a boundary where unknowns were removed annihilate no constants, and couplings that are
/// zero by symmetry may not be stored.
const LEAST_VANISHING: f64 = 0.4;
const LEAST_COUPLED: f64 = 0.5;
const LEAST_FILL: f64 = 0.5;
/// After the first look, half of that.
const HOPELESS: f64 = 0.5 * LEAST_VANISHING;

/// To which node and component a row belongs.
pub(in crate::matrix) trait Labels {
    fn block_size(&self) -> usize;
    fn nodes(&self) -> usize;
    fn row(&self, node: usize, component: usize) -> Option<usize>;
    fn place(&self, row: usize) -> (usize, usize);

    /// Which row of the matrix it is, if it is at hand: a rank has some of the rows, with the columns of all.
    fn at_hand(&self, row: usize) -> Option<usize> {
        Some(row)
    }
}

/// The entries of a row that is at hand.
fn row_at_hand<'a, T: Scalar>(
    a: &'a Csr<T>,
    labels: &impl Labels,
    row: usize,
) -> (&'a [u32], &'a [T]) {
    labels.at_hand(row).map_or((&[], &[]), |place| a.row(place))
}

/// What was counted.
#[derive(Debug, Default)]
pub(in crate::matrix) struct Evidence {
    rows: usize,
    coupled_rows: usize,
    /// Sums over the entries of another component, and those of them that vanish.
    sums: usize,
    vanishing: usize,
    entries: usize,
    /// Entries that the blocks of nodes have.
    slots: usize,
    /// Rows in which something was seen that no grouping explains.
    refutations: usize,
}

impl Evidence {
    pub fn of<T: Scalar>(a: &Csr<T>, labels: &impl Labels) -> Self {
        let nodes = labels.nodes();
        let sample = nodes.min(SAMPLE);
        let mut found = Self::default();
        let mut neighbours = Vec::new();
        for number in 0..sample {
            // Numbers without a common period with the grid of the problem: equidistant ones may all lie on
            // its boundary.
            let spread = (number as f64 * 0.618_033_988_749_894_9).fract();
            let node = match nodes > sample {
                true => ((spread * nodes as f64) as usize).min(nodes - 1),
                false => number,
            };
            found.see_node(a, labels, node, &mut neighbours);
            let hopeless = (found.vanishing as f64) < HOPELESS * found.sums as f64;
            if found.refutations > 0 || nodes > sample && number == FIRST_LOOK && hopeless {
                return Self {
                    refutations: 1,
                    ..Self::default()
                };
            }
        }
        found
    }

    /// What all ranks have counted, each for nodes of its own. All ranks call it together.
    pub fn of_all(mut self, team: &dyn Communicator) -> Result<Self> {
        let counts = [
            &mut self.rows,
            &mut self.coupled_rows,
            &mut self.sums,
            &mut self.vanishing,
            &mut self.entries,
            &mut self.slots,
            &mut self.refutations,
        ];
        let mut sums = counts.each_ref().map(|count| **count as f64);
        team.sum(&mut sums)?;
        for (count, sum) in counts.into_iter().zip(sums) {
            *count = sum as usize;
        }
        Ok(self)
    }

    /// The share of sums that vanish, if that and everything else is enough.
    pub fn verdict(&self) -> Option<f64> {
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        let vanishing = share(self.vanishing, self.sums);
        let is_enough = self.refutations == 0
            && vanishing >= LEAST_VANISHING
            && share(self.coupled_rows, self.rows) >= LEAST_COUPLED
            && share(self.entries, self.slots) >= LEAST_FILL;
        is_enough.then_some(vanishing)
    }

    fn see_node<T: Scalar>(
        &mut self,
        a: &Csr<T>,
        labels: &impl Labels,
        node: usize,
        neighbours: &mut Vec<usize>,
    ) {
        let size = labels.block_size();
        let (mut rows, mut entries) = (0, 0);
        neighbours.clear();
        for row in (0..size).filter_map(|component| labels.row(node, component)) {
            let (columns, values) = row_at_hand(a, labels, row);
            let stored = columns
                .iter()
                .zip(values)
                .filter(|(_, v)| modulus(**v) > 0.0);
            let before = neighbours.len();
            neighbours.extend(stored.map(|(&column, _)| labels.place(column as usize).0));
            let count = neighbours.len() - before;
            // Of a row with a diagonal entry only, a boundary condition, nothing can be learned.
            if count > 1 {
                self.see_row(a, labels, row);
                (rows, entries) = (rows + 1, entries + count);
            }
        }
        neighbours.sort_unstable();
        neighbours.dedup();
        self.entries += entries;
        self.slots += rows * size * neighbours.len();
    }

    fn see_row<T: Scalar>(&mut self, a: &Csr<T>, labels: &impl Labels, row: usize) {
        let own = labels.place(row).1;
        let (mut sums, mut moduli) = ([0.0; LARGEST], [0.0; LARGEST]);
        let (columns, values) = row_at_hand(a, labels, row);
        let mut diagonal = 0.0;
        for (&column, &value) in columns.iter().zip(values) {
            let (size, component) = (modulus(value), labels.place(column as usize).1);
            sums[component] += value.to_c64().re;
            moduli[component] += size;
            if column as usize == row {
                diagonal = size;
            }
        }
        self.rows += 1;
        let mut coupling = 0.0;
        for component in (0..labels.block_size()).filter(|component| *component != own) {
            let all = moduli[component];
            coupling += all;
            if all > ROUNDING * diagonal {
                self.sums += 1;
                self.vanishing += usize::from(sums[component].abs() <= VANISHES * all);
            }
        }
        self.coupled_rows += usize::from(coupling > COUPLED * diagonal);
        self.refutations += usize::from(!is_symmetric(a, labels, row, diagonal));
    }
}

/// Whether the entry farthest from the diagonal has its like opposite to it, as far as that is at hand.
fn is_symmetric<T: Scalar>(a: &Csr<T>, labels: &impl Labels, row: usize, diagonal: f64) -> bool {
    let (columns, values) = row_at_hand(a, labels, row);
    let Some((&column, &value)) = columns.iter().zip(values).next_back() else {
        return true;
    };
    let Some(there) = labels.at_hand(column as usize) else {
        return true;
    };
    let opposite = a.entry(there, row).unwrap_or_default();
    let difference = (value.to_c64() - opposite.to_c64()).modulus();
    difference <= ASYMMETRIC * modulus(value).max(diagonal)
}
