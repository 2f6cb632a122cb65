//! The time of a run by stages.

use std::fmt::{Display, Formatter};
use std::time::Duration;

use serde::Serialize;

use super::Observer;

/// Adds up calls, time and bytes of every stage, in the tree the stages form.
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
/// use vcycle::log::{Log, Profile};
/// let profile = Rc::new(RefCell::new(Profile::default()));
/// let log = Log::new().with(Rc::clone(&profile));
/// {
///     let _solve = log.stage("solve", 0);
///     for _ in 0..3 {
///         let _product = log.stage("product", 1000);
///     }
/// }
/// let profile = profile.borrow();
/// let product = &profile.stages()[0].children[0];
/// assert_eq!((product.name.as_str(), product.calls, product.bytes), ("product", 3, 3000));
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct Profile {
    stages: Vec<Stage>,
    /// For every open stage its position among its siblings, outermost first.
    #[serde(skip)]
    open: Vec<usize>,
}

/// One stage of a run, all its calls together.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// The name of the stage.
    pub name: String,
    /// The number of calls.
    pub calls: usize,
    /// Time of all calls, inner stages included.
    pub seconds: f64,
    /// Bytes moved by the stage itself, if it counts them.
    pub bytes: usize,
    /// The stages inside it.
    pub children: Vec<Stage>,
}

impl Stage {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            calls: 0,
            seconds: 0.0,
            bytes: 0,
            children: Vec::new(),
        }
    }

    /// Bandwidth in GB/s; `None` if the stage does not count its bytes.
    pub fn bandwidth(&self) -> Option<f64> {
        let known = self.bytes > 0 && self.seconds > 0.0;
        known.then(|| self.bytes as f64 / self.seconds * 1e-9)
    }
}

impl Profile {
    /// The outermost stages, in the order of their first call.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Every stage with its depth, outer before inner.
    pub fn rows(&self) -> Vec<(usize, &Stage)> {
        let mut rows = Vec::new();
        collect(&self.stages, 0, &mut rows);
        rows
    }

    fn children_of(&mut self, path: &[usize]) -> &mut Vec<Stage> {
        path.iter().fold(&mut self.stages, |siblings, &place| {
            &mut siblings[place].children
        })
    }
}

fn collect<'s>(stages: &'s [Stage], depth: usize, rows: &mut Vec<(usize, &'s Stage)>) {
    for stage in stages {
        rows.push((depth, stage));
        collect(&stage.children, depth + 1, rows);
    }
}

impl Observer for Profile {
    fn stage_begins(&mut self, name: &str) {
        let path = std::mem::take(&mut self.open);
        let siblings = self.children_of(&path);
        let known = siblings.iter().position(|stage| stage.name == name);
        let place = known.unwrap_or_else(|| {
            siblings.push(Stage::new(name));
            siblings.len() - 1
        });
        self.open = path;
        self.open.push(place);
    }

    fn stage_ends(&mut self, _name: &str, elapsed: Duration, bytes: usize) {
        let mut path = std::mem::take(&mut self.open);
        if let Some(place) = path.pop() {
            let stage = &mut self.children_of(&path)[place];
            stage.calls += 1;
            stage.seconds += elapsed.as_secs_f64();
            stage.bytes += bytes;
        }
        self.open = path;
    }

    fn times_stages(&self) -> bool {
        true
    }
}

impl Display for Profile {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let [stage, calls, seconds, speed] = ["stage", "calls", "seconds", "GB/s"];
        write!(f, "{stage:<32} {calls:>8} {seconds:>12} {speed:>8}")?;
        for (depth, stage) in self.rows() {
            let name = format!("{:indent$}{}", "", stage.name, indent = 2 * depth);
            let bandwidth = stage.bandwidth().map_or("-".into(), |b| format!("{b:.2}"));
            write!(
                f,
                "\n{name:<32} {:>8} {:>12.6} {bandwidth:>8}",
                stage.calls, stage.seconds
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(500);

    #[test]
    fn equal_names_in_different_places_are_kept_apart() {
        let mut profile = Profile::default();
        for outer in ["set-up", "solve", "solve"] {
            profile.stage_begins(outer);
            profile.stage_begins("product");
            profile.stage_ends("product", TICK, 1_000_000_000);
            profile.stage_ends(outer, 2 * TICK, 0);
        }
        let rows = profile.rows().into_iter();
        let rows: Vec<_> = rows
            .map(|(depth, stage)| (depth, &*stage.name, stage.calls))
            .collect();
        let expected = [
            (0, "set-up", 1),
            (1, "product", 1),
            (0, "solve", 2),
            (1, "product", 2),
        ];
        assert_eq!(rows, expected);
        assert_eq!(profile.stages()[1].seconds, 2.0);
        assert_eq!(profile.stages()[1].children[0].bandwidth(), Some(2.0));
        assert_eq!(profile.stages()[1].bandwidth(), None);
    }

    #[test]
    fn prints_a_line_a_stage() {
        let mut profile = Profile::default();
        profile.stage_begins("solve");
        profile.stage_ends("solve", TICK, 0);
        let text = profile.to_string();
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains("0.500000"));
    }
}
