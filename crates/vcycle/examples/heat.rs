//! Implicit time steps of the heat equation, `(I + dt K) u_new = u_old`: one set-up, updated for every step.
//!
//! `cargo run --release --example heat -- 200`

use std::sync::Arc;

use vcycle::config::{Config, Sequence, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::matrix::Csr;
use vcycle::vector::Vector;

/// Steps that become longer and longer.
pub fn main() -> vcycle::Result<()> {
    let size = std::env::args()
        .nth(1)
        .and_then(|argument| argument.parse().ok());
    let n: usize = size.unwrap_or(40);
    let (cpu, ws) = (Executor::cpu(), Workspace::new());
    let k = gallery::build(&format!("poisson5:{n}"), &cpu)?.matrix;
    let identity = Csr::identity(&cpu, n * n);

    let config = Config::from_toml("solver = \"cg\"\npreconditioner = \"amg\"")?;
    let mut steps = Sequence::new(config);
    let mut u = Vector::filled(&cpu, n * n, 1, 1.0)?;
    let mut dt = 1.0;
    for step in 1..=5 {
        let a = k.add(dt, 1.0, &identity)?;
        let solution = steps.solve(&System::new(Arc::new(a)), &u, &ws)?;
        println!("step {step}, dt = {dt:.1}: {}", solution.outcome);
        println!("  {}", solution.messages.join("\n  "));
        assert!(solution.outcome.converged());
        (u, dt) = (solution.x, 1.5 * dt);
    }
    Ok(())
}
