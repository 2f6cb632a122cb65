//! A picture of where the entries of a matrix stand.

use std::fmt::Write;

use vcycle::matrix::Pattern;

/// Cells along the longer side.
const CELLS: usize = 128;
/// Shades of density.
const SHADES: usize = 5;

/// An SVG of the density of entries; darker where there are more. It takes the text colour of
/// the page.
pub fn svg(pattern: &Pattern) -> String {
    let size = pattern.size();
    let longer = size.rows.max(size.cols).max(1);
    let cells = longer.min(CELLS);
    let cell = |index: usize| index * cells / longer;
    let mut density = vec![0usize; cells * cells];
    for row in 0..size.rows {
        for &column in &pattern.columns()[pattern.range(row)] {
            density[cell(row) * cells + cell(column as usize)] += 1;
        }
    }
    let most = density.iter().copied().max().unwrap_or(0).max(1);
    let mut svg = format!(
        r#"<svg class="spy" role="img" aria-label="entries of the matrix" viewBox="0 0 {cells} {cells}">"#
    );
    for shade in 1..=SHADES {
        let path = shade_path(&density, cells, |count| level(count, most) == shade);
        let opacity = shade as f64 / SHADES as f64;
        let _ = write!(
            svg,
            r#"<path d="{path}" fill="currentColor" fill-opacity="{opacity}"/>"#
        );
    }
    svg + "</svg>"
}

/// Shade of a cell, 0 for an empty one; logarithmic, so that single entries can be seen.
fn level(count: usize, most: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let share = (count as f64).ln_1p() / (most as f64).ln_1p();
    ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES)
}

/// The outline of the cells of one shade, runs of a row joined.
fn shade_path(density: &[usize], cells: usize, shaded: impl Fn(usize) -> bool) -> String {
    let mut path = String::new();
    for (y, row) in density.chunks(cells).enumerate() {
        let mut x = 0;
        while x < cells {
            let run = row[x..].iter().take_while(|&&count| shaded(count)).count();
            if run > 0 {
                let _ = write!(path, "M{x} {y}h{run}v1h-{run}z");
            }
            x += run.max(1);
        }
    }
    path
}
