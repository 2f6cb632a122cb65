//! The facts of a matrix, for people.

use vcycle::matrix::Facts;

use super::format::{bytes, count};

/// The rows of a table: what, and how much.
pub fn rows(facts: &Facts) -> Vec<(&'static str, String)> {
    let kind = if facts.complex { "complex" } else { "real" };
    let [rows, columns, entries, zeros] = [
        facts.rows,
        facts.columns,
        facts.nonzeros,
        facts.stored_zeros,
    ]
    .map(count);
    let [least, most, empty] = [facts.row_min, facts.row_max, facts.empty_rows].map(count);
    let [missing, zero, negative] = [
        facts.missing_diagonal,
        facts.zero_diagonal,
        facts.negative_diagonal,
    ]
    .map(count);
    let (mean, dominant) = (facts.row_mean, 100.0 * facts.dominant_rows);
    let [smallest, largest] = [facts.smallest, facts.largest].map(|size| format!("{size:.3e}"));
    vec![
        ("size", format!("{rows} x {columns}")),
        ("entries", format!("{entries} {kind}, {zeros} of them zero")),
        (
            "entries a row",
            format!("{least} to {most}, {mean:.2} on average, {empty} empty rows"),
        ),
        ("symmetry", symmetry(facts).to_owned()),
        (
            "diagonal",
            format!("{missing} missing, {zero} zero, {negative} negative"),
        ),
        (
            "diagonally dominant",
            format!("{dominant:.1} % of the rows"),
        ),
        ("absolute values", format!("{smallest} to {largest}")),
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
