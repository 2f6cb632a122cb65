//! Charts as SVG, without any dependency: bars of several series, stacked bars, and lines over a logarithmic axis.
//!
//! [`bars`] and [`panels`] make files of their own; [`stacked`] and [`lines`] make pieces of a page, whose class `plot` takes
//! size and text colour from its style.

mod bars;
mod lines;

pub use bars::{BarRow, bars, stacked};
pub use lines::{Curve, Panel, lines, panels};

/// Colours of one series after the other, as CSS writes them.
pub const COLOURS: [&str; 10] = [
    "#9aa5b1", "#2f6fb5", "#d98324", "#4f9a5b", "#a85ba8", "#8a6d3b", "#d6604d", "#16a0ad",
    "#c19c00", "#cd5c96",
];

/// The text with its special characters written out.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A number with as many digits as a reader needs.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if value.fract() == 0.0 && size < 1e15 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.2e}"),
    }
}

/// What the colours of a plot stand for, as a paragraph of a page.
pub fn key<'n>(names: impl IntoIterator<Item = (&'n str, &'n str)>) -> String {
    let one = |(name, colour): (&str, &str)| {
        let name = escape(name);
        format!("<span><i style=\"background:{colour}\"></i>{name}</span>")
    };
    let all: String = names.into_iter().map(one).collect();
    format!("<p class=\"key\">{all}</p>")
}

/// The beginning of a file with a white background.
fn file(width: f64, height: f64, font: u32) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"{font}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    )
}

/// The beginning of a piece of a page.
fn piece(width: f64, height: f64) -> String {
    format!(
        "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"14\">"
    )
}

/// Fails unless every element is closed in its turn.
///
/// # Panics
/// For markup that is not well formed; it is meant for tests.
#[doc(hidden)]
pub fn assert_well_formed(markup: &str) {
    let mut open = Vec::new();
    for tag in markup.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{text}");
        let name = tag.trim_start_matches('/').split_whitespace().next();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "{tag}"),
            (_, true) => {}
            _ => open.push(name),
        }
        assert!(tag.matches('"').count() % 2 == 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
}
