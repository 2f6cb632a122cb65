//! The facts of a matrix, for people.

use vcycle::matrix::Facts;

use super::format::{bytes, count};

/// The rows of a table: what, and how much.
pub fn rows(facts: &Facts) -> Vec<(&'static str, String)> {
    let kind = if facts.complex { "complex" } else { "real" };
    vec![
        (
            "size",
            format!("{} x {}", count(facts.rows), count(facts.columns)),
        ),
        (
            "entries",
            format!(
                "{} {kind}, {} of them zero",
                count(facts.nonzeros),
                count(facts.stored_zeros)
            ),
        ),
        (
            "entries a row",
            format!(
                "{} to {}, {:.2} on average, {} empty rows",
                count(facts.row_min),
                count(facts.row_max),
                facts.row_mean,
                count(facts.empty_rows)
            ),
        ),
        ("symmetry", symmetry(facts).to_owned()),
        (
            "diagonal",
            format!(
                "{} missing, {} zero, {} negative",
                count(facts.missing_diagonal),
                count(facts.zero_diagonal),
                count(facts.negative_diagonal)
            ),
        ),
        (
            "diagonally dominant",
            format!("{:.1} % of the rows", 100.0 * facts.dominant_rows),
        ),
        (
            "absolute values",
            format!("{:.3e} to {:.3e}", facts.smallest, facts.largest),
        ),
        ("narrower precision", narrower(facts)),
        ("bandwidth", count(facts.bandwidth)),
        ("memory", bytes(facts.bytes)),
    ]
}

fn symmetry(facts: &Facts) -> &'static str {
    match (facts.hermitian, facts.symmetric, facts.symmetric_pattern) {
        (true, _, _) if facts.complex => "Hermitian",
        (_, true, _) => "symmetric",
        (_, _, true) => "symmetric in pattern only",
        _ => "not symmetric",
    }
}

fn narrower(facts: &Facts) -> String {
    let fits = |fits: bool| if fits { "fits" } else { "overflows" };
    format!(
        "f32 and bf16: {}; f16: {}, {} entries underflow",
        fits(facts.fits_f32),
        fits(facts.fits_f16),
        count(facts.f16_underflows)
    )
}
