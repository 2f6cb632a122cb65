//! Whether the coefficient of a stencil matrix has islands.

use super::StencilMatrix;
use super::lines::map_lines;
use crate::error::Result;

/// Diagonal entries of neighbours that differ by this factor are far apart.
const RATIO: f64 = 300.0;
/// So many cells have, on average, one that is far from its next one.
const CELLS: usize = 200;
/// One step along each axis.
const STEPS: [[i8; 3]; 3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

impl StencilMatrix<f64> {
    /// Whether the diagonal jumps along all axes, as that of a diffusion does whose coefficient is large in some blocks
    /// of cells and small in others. Every such block has an error of its own that smoothing leaves, and cells that hold
    /// several of them cannot correct it: cycles alone converge slowly on large grids. Layers, which jump along one axis, are
    /// no islands, and matrices with several unknowns a cell are not looked at.
    #[doc(hidden)]
    pub fn has_islands(&self) -> Result<bool> {
        if self.unknowns() > 1 {
            return Ok(false);
        }
        let jumps = match self.operand().jumps(RATIO)? {
            Some(jumps) => jumps,
            None => self.jumps_on_host(),
        };
        let jumps = self.jumps_of_all(jumps)?;
        let (cells, size) = (self.grid_of_all().cells(), self.grid_of_all().size());
        let mut axes = (0..3).filter(|&axis| size[axis] > 1);
        Ok(cells > 1 && axes.all(|axis| CELLS * jumps[axis] > cells))
    }

    /// What ranks that share the grid have counted together.
    fn jumps_of_all(&self, own: [usize; 3]) -> Result<[usize; 3]> {
        let Some(part) = self.part() else {
            return Ok(own);
        };
        let mut sums = own.map(|count| count as f64);
        part.team().sum(&mut sums)?;
        Ok(sums.map(|sum| sum as usize))
    }

    /// How many own cells are far from the next one along each axis.
    fn jumps_on_host(&self) -> [usize; 3] {
        let all = std::iter::once(0..self.grid().lines());
        let found = map_lines(self.executor(), self.bytes(), all, |lines| {
            let is_own = |line: &usize| self.part().is_none_or(|part| part.is_own_line(*line));
            lines
                .filter(is_own)
                .map(|line| STEPS.map(|step| self.jumps_of_line(line, step)))
                .fold([0; 3], sums)
        });
        found.into_iter().fold([0; 3], sums)
    }

    /// How many cells of a line are far from the one a step away.
    fn jumps_of_line(&self, line: usize, step: [i8; 3]) -> usize {
        let Some(other) = self.grid().neighbour(line, step) else {
            return 0;
        };
        let (length, along) = (self.grid().length(), usize::from(step[0] != 0));
        let centre = self.stencil().centre();
        let [here, there] = [line, other].map(|line| self.line_of([0, 0], line, centre));
        let is_far = |x: usize| {
            let (here, there) = (here[x].abs(), there[x + along].abs());
            here > RATIO * there || there > RATIO * here
        };
        (0..length - along).filter(|&x| is_far(x)).count()
    }
}

fn sums(one: [usize; 3], other: [usize; 3]) -> [usize; 3] {
    [0, 1, 2].map(|axis| one[axis] + other[axis])
}

#[cfg(test)]
mod tests {
    use vcycle_core::testing::device;

    use crate::executor::Executor;
    use crate::gallery;

    #[test]
    fn blocks_are_islands_and_layers_are_not() {
        let mut places = vec![Executor::reference(), Executor::cpu()];
        places.extend(device());
        for (spec, expected) in [
            ("jump7:32,1e6", true),
            ("jump7:32,1e3", true),
            ("jump7:32,100", false),
            ("poisson7:8", false),
            ("rhd:16", false),
            ("rhd-3T:8", false),
        ] {
            for executor in &places {
                let a = gallery::build_stencil(spec, &Executor::reference()).unwrap();
                let a = a.copy_to(executor).unwrap();
                assert_eq!(a.has_islands().unwrap(), expected, "{spec} {executor:?}");
            }
        }
        let mut layers = gallery::build_stencil("poisson7:8", &Executor::reference()).unwrap();
        let half = layers.values().len() / 2;
        layers.values_mut()[half..]
            .iter_mut()
            .for_each(|value| *value *= 1e6);
        assert!(!layers.has_islands().unwrap());
    }
}
