//! Flow in a network of fractures: the reduced system of Berrone and others (2013), applied without being formed.
//!
//! Unknowns are fluxes `u` on both sides of every trace, where two fractures meet. `h = A^-1 C u` are the heads that they make
//! on the fractures. Heads shall agree on traces, `J h = 0`, and fluxes balance, `F u - alpha S h = 0`; the least-squares
//! problem of both has the matrix `(J A^-1 C)^T J A^-1 C + (F - alpha S A^-1 C)^T (F - alpha S A^-1 C)`.

use vcycle::linop::{Factory, MatrixFree, Size};
use vcycle::matrix::Duplicates;
use vcycle::precond::{BlockDirect, ChebyshevBase, Polynomial};
use vcycle::scalar::Field;
use vcycle::solver::{Cg, Solver};
use vcycle::stop::{Outcome, Stop};
use vcycle::vector::Coefficient;

use crate::prelude::*;
use crate::reproduce::experiment::{Experiment, Scope};
use crate::reproduce::record::Value;

/// What fluxes are weighed against heads by.
const ALPHA: f64 = 1.0;

/// The matrices of a network.
struct Network {
    /// `A^-1`, block by block.
    heads: Arc<dyn LinOp<f64>>,
    /// `C`, `J`, `S` and `F`, each with its transpose.
    sources: [Csr<f64>; 2],
    jumps: [Csr<f64>; 2],
    sums: [Csr<f64>; 2],
    fluxes: [Csr<f64>; 2],
}

/// Row, column and value.
type Triplets = Vec<(usize, usize, f64)>;

/// A matrix and its transpose.
fn both(entries: Triplets, executor: &Executor, size: [usize; 2]) -> Result<[Csr<f64>; 2]> {
    let index = |of: fn(&(usize, usize, f64)) -> usize| entries.iter().map(of).map(|i| i as u32);
    let (rows, columns) = (
        index(|entry| entry.0).collect(),
        index(|entry| entry.1).collect(),
    );
    let values = entries.iter().map(|entry| entry.2).collect();
    let size = Size::new(size[0], size[1]);
    let a = Csr::from_triplets(executor, size, rows, columns, values, Duplicates::Sum)?;
    let transposed = a.transpose()?;
    Ok([a, transposed])
}

impl Network {
    /// Fractures of `side` by `side` unknowns; each meets the next one and the third next, along a line of its middle.
    fn new(fractures: usize, side: usize, executor: &Executor) -> Result<Self> {
        let (square, traces) = (side * side, 2 * fractures);
        let (rows, points) = (fractures * square, traces * side);
        let [mut sources, mut jumps, mut sums, mut fluxes]: [Triplets; 4] = Default::default();
        for trace in 0..traces {
            let (from, step) = (trace % fractures, [1, 3][trace / fractures]);
            let to = (from + step) % fractures;
            for place in 0..side {
                let point = trace * side + place;
                // Across the middle of one, along that of the other.
                let ends = [
                    from * square + place * side + side / 2,
                    to * square + side / 2 * side + place,
                ];
                for (half, end) in ends.into_iter().enumerate() {
                    sources.push((end, 2 * point + half, 1.0));
                    jumps.push((point, end, [1.0, -1.0][half]));
                    sums.push((point, end, 1.0));
                    fluxes.push((point, 2 * point + half, 1.0));
                }
            }
        }
        let stiffness = (0..fractures).flat_map(|fracture| stiffness(fracture * square, side));
        let [a, _] = both(stiffness.collect(), executor, [rows, rows])?;
        let mut blocks = BlockDirect::default();
        blocks.block_rows = square;
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        Ok(Self {
            heads: blocks.generate(&a, &Workspace::new())?,
            sources: both(sources, executor, [rows, 2 * points])?,
            jumps: both(jumps, executor, [points, rows])?,
            sums: both(sums, executor, [points, rows])?,
            fluxes: both(fluxes, executor, [points, 2 * points])?,
        })
    }

    fn unknowns(&self) -> usize {
        self.sources[0].size().cols
    }

    /// `y` is the matrix of the least-squares problem times `u`.
    fn apply(&self, u: &Vector<f64>, y: &mut Vector<f64>, ws: &Workspace) -> vcycle::Result<()> {
        let executor = u.executor();
        let zeros = |rows| Vector::<f64>::zeros(executor, rows, 1);
        let (rows, points) = (self.heads.size().rows, self.jumps[0].size().rows);
        let (mut source, mut head) = (zeros(rows)?, zeros(rows)?);
        self.sources[0].apply(u, &mut source, ws)?;
        self.heads.apply(&source, &mut head, ws)?;
        let (mut jump, mut sum, mut flux) = (zeros(points)?, zeros(points)?, zeros(points)?);
        self.jumps[0].apply(&head, &mut jump, ws)?;
        self.sums[0].apply(&head, &mut sum, ws)?;
        self.fluxes[0].apply(u, &mut flux, ws)?;
        let alpha = || Coefficient::constant(f64::from_f64(ALPHA));
        flux.axpy(-alpha(), &sum)?;
        // The transposes, in reverse order.
        self.fluxes[1].apply(&flux, y, ws)?;
        self.jumps[1].apply(&jump, &mut source, ws)?;
        self.sums[1].apply(&flux, &mut head, ws)?;
        source.axpy(-alpha(), &head)?;
        self.heads.apply(&source, &mut head, ws)?;
        let mut back = Vector::zeros_like(y)?;
        self.sources[1].apply(&head, &mut back, ws)?;
        y.axpy(Coefficient::one(), &back)
    }

    fn operator(self: &Arc<Self>, executor: &Executor) -> Arc<dyn LinOp<f64>> {
        let (network, unknowns) = (Arc::clone(self), self.unknowns());
        let size = Size::new(unknowns, unknowns);
        Arc::new(MatrixFree::<f64>::new(executor, size, move |u, y, ws| {
            network.apply(u, y, ws)
        }))
    }
}

/// Five points on a square; the head is known beyond one edge.
fn stiffness(first: usize, side: usize) -> Triplets {
    let mut entries = Triplets::new();
    for (j, i) in (0..side).flat_map(|j| (0..side).map(move |i| (j, i))) {
        let row = first + j * side + i;
        let before = entries.len();
        let neighbours = [
            (i > 0, row.wrapping_sub(1)),
            (i + 1 < side, row + 1),
            (j > 0, row.wrapping_sub(side)),
            (j + 1 < side, row + side),
        ];
        let inside = neighbours.into_iter().filter(|(is_inside, _)| *is_inside);
        entries.extend(inside.map(|(_, column)| (row, column, -1.0)));
        let edge = if j == 0 { 1.0 } else { 0.0 };
        entries.push((row, row, (entries.len() - before) as f64 + edge));
    }
    entries
}

/// Seconds and outcome of a solve by polynomials of a degree.
fn solve(network: &Arc<Network>, executor: &Executor, degree: usize) -> Result<(f64, Outcome)> {
    let operator = network.operator(executor);
    let mut polynomial = Polynomial::default();
    (polynomial.degree, polynomial.base) = (degree, ChebyshevBase::Identity);
    let solver = Solver::<f64>::new(Cg::default(), operator)?
        .preconditioned_by(&polynomial)?
        .stopping(Stop::relative(1e-8).max_iterations(5000));
    let b = Vector::filled(executor, network.unknowns(), 1, 1.0)?;
    let mut x = Vector::zeros_like(&b)?;
    let begin = std::time::Instant::now();
    let outcome = solver.solve(&b, &mut x)?;
    Ok((begin.elapsed().as_secs_f64(), outcome))
}

fn network(scope: &Scope, executor: &Executor) -> Result<Arc<Network>> {
    let (fractures, side) = scope.size([(6, 6), (12, 12), (40, 20)]);
    Ok(Arc::new(Network::new(fractures, side, executor)?))
}

/// Degrees of the paper.
pub(super) fn degrees(_: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let network = network(scope, &executor)?;
    let mut values = Vec::new();
    for degree in [3, 7, 15, 31, 63, 127, 255] {
        let (seconds, outcome) = solve(&network, &executor, degree)?;
        let row = format!("degree {degree}");
        let mut iterations = Value::iterations(&row, outcome.iterations).of_the_kind(true);
        if !outcome.converged() {
            iterations.note = outcome.status.to_string();
        }
        values.push(iterations);
        values.push(Value::new(&row, "solve", "s", seconds));
    }
    Ok(values)
}

/// One core and two.
pub(super) fn cores(_: &Experiment, scope: &Scope) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    let mut one = 0.0;
    for cores in [1, 2] {
        let executor = Executor::cpu_with_threads(cores)?;
        let network = network(scope, &executor)?;
        let (seconds, outcome) = solve(&network, &executor, 127)?;
        if cores == 1 {
            one = seconds;
        }
        let row = format!("{cores} times the cores");
        values.push(Value::iterations(&row, outcome.iterations).of_the_kind(true));
        let efficiency = 100.0 * one / (cores as f64 * seconds);
        values.push(Value::new(&row, "efficiency", "%", efficiency));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reduced_system_is_symmetric_and_positive() {
        let executor = Executor::reference();
        let network = Network::new(4, 3, &executor).unwrap();
        let applied = |u: &[f64]| {
            let u = Vector::from_column(&executor, u.to_vec());
            let mut y = Vector::zeros_like(&u).unwrap();
            network.apply(&u, &mut y, &Workspace::new()).unwrap();
            y.to_vec()
        };
        let vector = |period: usize| -> Vec<f64> {
            let entries = (0..network.unknowns()).map(|i| (i % period) as f64);
            entries.map(|entry| entry - (period / 2) as f64).collect()
        };
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (u, v) = (vector(5), vector(7));
        let (left, right) = (dot(&applied(&u), &v), dot(&u, &applied(&v)));
        assert!(
            (left - right).abs() <= 1e-10 * left.abs().max(1.0),
            "{left} {right}"
        );
        assert!(dot(&applied(&u), &u) > 0.0);
    }
}
