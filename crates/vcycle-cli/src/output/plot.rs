//! A convergence plot of braille dots.

const WIDTH: usize = 60;
const HEIGHT: usize = 10;
/// Dots of one braille character: two columns of four.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// The logarithm of the residuals over the iterations, a line a row; empty if there is nothing
/// to see.
pub fn convergence(history: &[f64]) -> Vec<String> {
    let visible = history
        .iter()
        .filter(|residual| residual.is_finite() && **residual > 0.0);
    let logs: Vec<f64> = visible.map(|residual| residual.log10()).collect();
    if logs.len() < 2 {
        return Vec::new();
    }
    let top = logs.iter().copied().fold(f64::MIN, f64::max).ceil();
    let bottom = logs.iter().copied().fold(f64::MAX, f64::min).floor();
    let bottom = bottom.min(top - 1.0);
    let cells = draw(&logs, top, bottom);
    let line = |(row, cells): (usize, &Vec<u32>)| {
        let value = top - (top - bottom) * row as f64 / (HEIGHT - 1) as f64;
        let label = match row % 3 {
            0 => format!("1e{value:+03.0}"),
            _ => " ".repeat(5),
        };
        format!("{label} ┤{}", text(cells))
    };
    let mut lines: Vec<String> = cells.iter().enumerate().map(line).collect();
    lines.push(format!("      └{}", "─".repeat(WIDTH)));
    let last = (logs.len() - 1).to_string();
    lines.push(format!(
        "       0{last:>width$} iterations",
        width = WIDTH - 1
    ));
    lines
}

fn draw(logs: &[f64], top: f64, bottom: f64) -> Vec<Vec<u32>> {
    let (columns, rows) = (2 * WIDTH, 4 * HEIGHT);
    let mut cells = vec![vec![0; WIDTH]; HEIGHT];
    let height = |log: f64| ((top - log) / (top - bottom) * (rows - 1) as f64).round() as usize;
    let mut previous = height(logs[0]);
    for x in 0..columns {
        let place = x as f64 / (columns - 1) as f64 * (logs.len() - 1) as f64;
        let (left, share) = (place as usize, place.fract());
        let right = (left + 1).min(logs.len() - 1);
        let y = height(logs[left] * (1.0 - share) + logs[right] * share);
        for dot in previous.min(y)..=previous.max(y) {
            cells[dot / 4][x / 2] |= DOTS[dot % 4][x % 2];
        }
        previous = y;
    }
    cells
}

fn text(cells: &[u32]) -> String {
    let dots = |dots: &u32| char::from_u32(0x2800 + dots).expect("a braille character");
    let line: String = cells.iter().map(dots).collect();
    line.trim_end_matches('\u{2800}').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_residual_falls_from_left_to_right() {
        let history: Vec<f64> = (0..9).map(|k| 10f64.powi(-k)).collect();
        let lines = convergence(&history);
        assert_eq!(lines.len(), HEIGHT + 2);
        let length = |row: usize| lines[row].chars().count();
        assert!((1..HEIGHT).all(|row| length(row) > length(row - 1)));
        assert!(lines[0].starts_with("1e+00") && lines[9].starts_with("1e-08"));
    }

    #[test]
    fn nothing_finite_is_no_plot() {
        assert!(convergence(&[1.0]).is_empty());
        assert!(convergence(&[f64::NAN, 0.0, f64::INFINITY]).is_empty());
        assert!(!convergence(&[1.0, 1.0]).is_empty());
    }
}
