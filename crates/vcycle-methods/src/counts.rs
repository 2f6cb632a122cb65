//! How large counts in options and files may be.
//!
//! The size of a matrix bounds most of what a count asks for. Sweeps, steps, powers and degrees it does not bound: one digit too many would make
//! a solve without end.

/// The largest value of a parameter of that name; none where nothing but the matrix bounds it.
pub fn most(parameter: &str) -> Option<u64> {
    match parameter {
        // Powers of a pattern.
        "power" | "isai" => Some(100),
        "sweeps" | "pre-sweeps" | "post-sweeps" | "coarsest-sweeps" | "steps" | "energy-steps"
        | "estimation-steps" | "iterations" | "corrections" | "vectors" => Some(10_000),
        "degree" => Some(100_000),
        // As many as a matrix may have rows: products with these stay in range.
        "block-size" | "step-size" | "aggregate-size" => Some(u32::MAX.into()),
        _ => None,
    }
}

/// Fails for more than [`most`].
pub fn check(parameter: &str, value: u64) -> Result<(), String> {
    match most(parameter) {
        Some(most) if value > most => Err(format!("at most {most} is possible")),
        _ => Ok(()),
    }
}
