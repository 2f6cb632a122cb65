//! Lagrange polynomials on Gauss-Lobatto nodes, and their integrals over the unit interval.

/// The integrals that tensor-product elements are made of. All are exact: Gauss quadrature with
/// one point more than the order integrates products of two basis functions.
pub struct Basis {
    /// The nodes, from 0 to 1.
    pub nodes: Vec<f64>,
    /// `∫ φa`.
    pub load: Vec<f64>,
    /// `∫ φa φb`.
    pub mass: Vec<Vec<f64>>,
    /// `∫ φa' φb'`.
    pub stiffness: Vec<Vec<f64>>,
    /// `∫ φa' φb`.
    pub gradient: Vec<Vec<f64>>,
}

impl Basis {
    /// Order 0 is the constant on a single node: the missing axis of a problem in the plane.
    pub fn new(order: usize) -> Self {
        let nodes = lobatto_nodes(order);
        let quadrature = gauss(order + 1);
        let count = nodes.len();
        let table: Vec<Vec<(f64, f64)>> = (0..count)
            .map(|a| {
                quadrature
                    .iter()
                    .map(|q| lagrange(&nodes, a, q.0))
                    .collect()
            })
            .collect();
        let integrate = |f: &dyn Fn(usize) -> f64| -> f64 {
            (0..quadrature.len()).map(|q| quadrature[q].1 * f(q)).sum()
        };
        let pairs = |f: &dyn Fn((f64, f64), (f64, f64)) -> f64| -> Vec<Vec<f64>> {
            let entry = |a: usize, b: usize| integrate(&|q| f(table[a][q], table[b][q]));
            (0..count)
                .map(|a| (0..count).map(|b| entry(a, b)).collect())
                .collect()
        };
        Self {
            load: (0..count).map(|a| integrate(&|q| table[a][q].0)).collect(),
            mass: pairs(&|a, b| a.0 * b.0),
            stiffness: pairs(&|a, b| a.1 * b.1),
            gradient: pairs(&|a, b| a.1 * b.0),
            nodes,
        }
    }
}

/// `∫ ∂i a ∂j b` over a unit cell, for its nodes `a` and `b` with a basis along each axis: a product over the axes.
pub fn slopes(bases: [&Basis; 3], [a, b]: [[usize; 3]; 2], [i, j]: [usize; 2]) -> f64 {
    let along = |axis: usize| {
        let (basis, a, b) = (bases[axis], a[axis], b[axis]);
        match (axis == i, axis == j) {
            (true, true) => basis.stiffness[a][b],
            (true, false) => basis.gradient[a][b],
            (false, true) => basis.gradient[b][a],
            (false, false) => basis.mass[a][b],
        }
    };
    (0..3).map(along).product()
}

/// The ends of the unit interval and the extrema of the Legendre polynomial between them.
fn lobatto_nodes(order: usize) -> Vec<f64> {
    if order == 0 {
        return vec![0.0];
    }
    let n = order as f64;
    let inner = |index: usize| {
        newton(-chebyshev(index, n), |x| {
            let (p, dp) = legendre(order, x);
            dp * (1.0 - x * x) / (2.0 * x * dp - n * (n + 1.0) * p)
        })
    };
    let mut nodes = vec![0.0];
    nodes.extend((1..order).map(|index| 0.5 * (1.0 + inner(index))));
    nodes.push(1.0);
    nodes
}

/// Points and weights of Gauss quadrature over the unit interval.
fn gauss(count: usize) -> Vec<(f64, f64)> {
    (0..count)
        .map(|index| {
            let guess =
                -(std::f64::consts::PI * (index as f64 + 0.75) / (count as f64 + 0.5)).cos();
            let x = newton(guess, |x| {
                let (p, dp) = legendre(count, x);
                p / dp
            });
            let (_, dp) = legendre(count, x);
            (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * dp * dp))
        })
        .collect()
}

fn chebyshev(index: usize, n: f64) -> f64 {
    (std::f64::consts::PI * index as f64 / n).cos()
}

/// Ten steps, each doubling the digits, from a guess that has one already.
fn newton(guess: f64, step: impl Fn(f64) -> f64) -> f64 {
    (0..10).fold(guess, |x, _| x - step(x))
}

/// The Legendre polynomial of degree `n > 0` and its derivative, inside (-1, 1).
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut p) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (before, p) = (p, ((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k);
    }
    (p, n as f64 * (x * p - before) / (x * x - 1.0))
}

/// The Lagrange polynomial of node `a` and its derivative, at `x`.
fn lagrange(nodes: &[f64], a: usize, x: f64) -> (f64, f64) {
    let others = || (0..nodes.len()).filter(move |&other| other != a);
    let factor = |other: usize| (x - nodes[other]) / (nodes[a] - nodes[other]);
    let value = others().map(factor).product();
    let derivative = others()
        .map(|k| {
            let rest: f64 = others().filter(|&other| other != k).map(factor).product();
            rest / (nodes[a] - nodes[k])
        })
        .sum();
    (value, derivative)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-14
    }

    #[test]
    fn linear_elements_are_the_well_known_ones() {
        let basis = Basis::new(1);
        assert!(close(basis.mass[0][0], 1.0 / 3.0) && close(basis.mass[0][1], 1.0 / 6.0));
        assert!(close(basis.stiffness[0][0], 1.0) && close(basis.stiffness[0][1], -1.0));
        assert!(close(basis.gradient[0][0], -0.5) && close(basis.gradient[1][0], 0.5));
    }

    #[test]
    fn cubic_nodes_are_at_one_over_root_five() {
        let basis = Basis::new(3);
        assert!(close(basis.nodes[1], 0.5 - 0.5 / 5f64.sqrt()));
        assert!(close(basis.load[0], 1.0 / 12.0) && close(basis.load[1], 5.0 / 12.0));
    }

    #[test]
    fn constants_have_length_one_and_no_slope_for_every_order() {
        for order in 0..=8 {
            let basis = Basis::new(order);
            let mass: f64 = basis.mass.iter().flatten().sum();
            assert!(close(mass, 1.0) && close(basis.load.iter().sum(), 1.0));
            for row in &basis.stiffness {
                assert!(row.iter().sum::<f64>().abs() < 1e-12);
            }
        }
    }
}
