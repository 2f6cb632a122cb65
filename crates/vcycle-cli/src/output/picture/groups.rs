//! Groups of cells, coloured, with the boundaries of coarser groups around them.

use std::fmt::Write;

use vcycle::multigrid::CoarseMaps;
use vcycle::multigrid::coarsen::NONE;

use super::lattice::{EMPTY, Lattice};
use crate::output::format::count;

/// Of groups; no two neighbours have the same unless there are more colours needed.
const COLOURS: [&str; 7] = [
    "#a8d5f2", "#f9d39b", "#b9e3b2", "#e3c0ec", "#f6b8ae", "#d9dfb0", "#cdd3dc",
];
/// Lines around the groups of each level drawn: colour and width.
const LINES: [(&str, f64); 3] = [("#5d6b7d", 0.8), ("#1d3f72", 2.2), ("#a01c2c", 4.0)];

/// What each sign of a picture stands for: the sign and the words.
pub type Key = Vec<(String, String)>;

/// The picture and its key.
pub fn draw(lattice: &Lattice, maps: &CoarseMaps) -> (String, Key) {
    let groups = maps.numbers(1);
    let mut drawing = cells(lattice, &groups);
    let mut key = vec![(
        "<rect x=\"4\" y=\"1\" width=\"20\" height=\"16\" fill=\"#a8d5f2\"/>".to_owned(),
        format!("{} unknowns", count(groups.len())),
    )];
    for (level, (colour, width)) in (1..=maps.maps.len()).zip(LINES) {
        let groups = maps.numbers(level);
        let line = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"");
        let path = boundaries(lattice, &groups);
        let _ = write!(
            drawing,
            "<path d=\"{path}\" {line} stroke-linecap=\"square\"/>"
        );
        key.push((
            format!("<path d=\"M2 9h24\" {line}/>"),
            format!("groups of level {level}: {}", count(distinct(&groups))),
        ));
    }
    (drawing, key)
}

fn distinct(groups: &[u32]) -> usize {
    let most = groups.iter().filter(|group| **group != NONE).max();
    most.map_or(0, |most| *most as usize + 1)
}

/// The cells of all groups, a path a colour.
fn cells(lattice: &Lattice, groups: &[u32]) -> String {
    let colours = colours(lattice, groups);
    let mut paths = vec![String::new(); COLOURS.len() + 1];
    for (point, &group) in groups.iter().enumerate() {
        let colour = match group {
            NONE => COLOURS.len(),
            group => colours[group as usize],
        };
        let [left, right, top, bottom] = lattice.cell(point);
        let _ = write!(
            paths[colour],
            "M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}z"
        );
    }
    let fills = COLOURS.iter().chain(&["#fff"]);
    let path = |(path, fill): (&String, &&str)| {
        format!("<path d=\"{path}\" fill=\"{fill}\" shape-rendering=\"crispEdges\"/>")
    };
    paths.iter().zip(fills).map(path).collect()
}

/// One group after the other takes the first colour that no neighbour has.
fn colours(lattice: &Lattice, groups: &[u32]) -> Vec<usize> {
    let mut around = vec![Vec::new(); distinct(groups)];
    for point in 0..groups.len() {
        for (_, near) in crossings(lattice, groups, point) {
            let pair = [groups[point], near];
            if !pair.contains(&NONE) {
                around[pair[0] as usize].push(pair[1] as usize);
                around[pair[1] as usize].push(pair[0] as usize);
            }
        }
    }
    let mut colours = vec![usize::MAX; around.len()];
    for group in 0..around.len() {
        let taken = |colour: &usize| around[group].iter().any(|&near| colours[near] == *colour);
        let free = (0..COLOURS.len()).find(|colour| !taken(colour));
        colours[group] = free.unwrap_or(group % COLOURS.len());
    }
    colours
}

/// The sides of the cell of a point, right and above, that part its group from another.
fn crossings(
    lattice: &Lattice,
    groups: &[u32],
    point: usize,
) -> impl Iterator<Item = (usize, u32)> {
    let group = groups[point];
    let near = lattice.neighbours(point).into_iter().enumerate();
    near.filter(|(_, near)| *near != EMPTY)
        .map(|(side, near)| (side, groups[near]))
        .filter(move |(_, near)| *near != group)
}

/// Lines between cells of different groups.
fn boundaries(lattice: &Lattice, groups: &[u32]) -> String {
    let mut path = String::new();
    for point in 0..groups.len() {
        let [left, right, top, bottom] = lattice.cell(point);
        for (side, _) in crossings(lattice, groups, point) {
            let _ = match side {
                0 => write!(path, "M{right:.1} {top:.1}V{bottom:.1}"),
                _ => write!(path, "M{left:.1} {top:.1}H{right:.1}"),
            };
        }
    }
    path
}
