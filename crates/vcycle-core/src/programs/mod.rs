//! The programs that devices are likely to be given, known in advance.
//!
//! A program is a file of kernels with definitions: types, threads of a row, sizes of tables. `listed.txt` has those that
//! solves of the gallery needed on a GPU (`vcycle kernels list --device cuda:0`). They are compiled into an archive ([`programs`]).
//! Where there is none, `asked.txt` tells what is likely to follow: what some problems asked for with default options, in that
//! order (`vcycle kernels list --device cuda:0 --problem poisson7:64`). All cores compile it once the first program has to be ([`expect`]).

mod again;

use vcycle_gpu::{Properties, Source};

use crate::executor::Executor;
use crate::gpu::{File, kernels, source};

pub use again::Again;

const LISTED: &str = include_str!("listed.txt");
const ASKED: &str = include_str!("asked.txt");
/// What the programs of a problem begin with.
const PROBLEM: &str = "## ";

/// The listed programs for an architecture such as `sm_90` or `gfx90a`.
///
/// ```
/// let programs = vcycle::programs::programs("sm_90");
/// assert!(programs.iter().any(|program| program.file == "vector.c"));
/// ```
pub fn programs(target: &str) -> Vec<Source> {
    parsed(LISTED, target)
}

/// Tells a device what it is likely to be given; nothing happens on processors.
pub fn expect(executor: &Executor) {
    if let Executor::Gpu(gpu) = executor {
        gpu.device().expect_programs(likely);
    }
}

/// A line of the list for what a device was given; none for other files than those of this library.
pub fn line(program: &Source) -> Option<String> {
    let file = file(&program.file)?;
    let value = |name| {
        let mut found = program.defines.iter();
        found.find_map(|define| define.strip_prefix(name))
    };
    let block = value("BLOCK=")?;
    let given = ["WIDTH=", "BLOCK=", "IN_FLIGHT="];
    let own = program.defines.iter();
    let own = own.filter(|define| !given.iter().any(|name| define.starts_with(name)));
    let words = [file.name, block].into_iter();
    let words: Vec<&str> = words.chain(own.map(String::as_str)).collect();
    Some(words.join(" "))
}

/// A file of kernels by its name.
fn file(name: &str) -> Option<File> {
    kernels::FILES
        .iter()
        .find(|file| file.name == name)
        .copied()
}

fn likely(properties: &Properties) -> Vec<Vec<Source>> {
    match properties.is_cpu {
        true => Vec::new(),
        false => {
            // Before the first problem is what the file says of itself.
            let problems = ASKED.split(PROBLEM).skip(1);
            let programs = |asked| parsed(asked, &properties.architecture);
            problems.map(programs).collect()
        }
    }
}

fn parsed(list: &str, target: &str) -> Vec<Source> {
    let lines = list.lines();
    let programs = lines.filter_map(|line| parse(line, width(target), false));
    programs.collect()
}

/// Threads of a sub-group: AMD's chips for computing have twice as many as all others.
fn width(target: &str) -> usize {
    match target.starts_with("gfx9") {
        true => 64,
        false => 32,
    }
}

/// `products.c 128 THREADS=1 SIZE=0`: file, threads of a block, definitions. None for anything else.
fn parse(line: &str, width: usize, is_cpu: bool) -> Option<Source> {
    let mut words = line.split(' ');
    let file = file(words.next()?)?;
    let block = words.next()?.parse().ok()?;
    let defines: Option<Vec<(&str, &str)>> = words.map(|word| word.split_once('=')).collect();
    Some(source(File { block, ..file }, &defines?, width, is_cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_program_and_comes_back() {
        let lines: Vec<&str> = LISTED
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        assert!(lines.len() > 100);
        for text in lines {
            let program = parse(text, 32, false).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(line(&program).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_problems_ask_for_is_listed() {
        let listed: Vec<&str> = LISTED.lines().collect();
        let problems: Vec<&str> = ASKED.split(PROBLEM).skip(1).collect();
        assert!(problems.len() > 5);
        for problem in problems {
            assert!(problem.lines().skip(1).all(|line| listed.contains(&line)));
            assert_eq!(parsed(problem, "sm_90").len(), problem.lines().count() - 1);
        }
    }

    /// Files of which no program has been listed on a GPU since they are there. A solve that needs a new file belongs into
    /// `commands/kernels.txt` of the program, or the file among these.
    const UNLISTED: &[&str] = &[
        "batch_narrow.c",
        "columns.c",
        "isai.c",
        "mbsr.c",
        "parts.c",
        "tile_products.c",
        "word_products.c",
    ];

    #[test]
    fn no_file_of_kernels_is_forgotten() {
        let is_listed = |name: &str| {
            let start = format!("{name} ");
            LISTED.lines().any(|line| line.starts_with(&start))
        };
        for File { name, .. } in kernels::FILES {
            assert_ne!(is_listed(name), UNLISTED.contains(name), "{name}");
        }
    }

    #[test]
    fn sub_groups_are_those_of_the_chips() {
        let define = |target| programs(target)[0].defines[0].clone();
        assert_eq!(define("sm_90"), "WIDTH=32");
        assert_eq!(define("gfx90a"), "WIDTH=64");
        assert_eq!(define("gfx1100"), "WIDTH=32");
    }
}
