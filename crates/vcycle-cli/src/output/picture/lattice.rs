//! Points of the plane that stand in rows and columns.

/// Marks a place where no point stands.
pub const EMPTY: usize = usize::MAX;

/// Points by row and column, in pixels; y grows downwards.
pub struct Lattice {
    /// For both axes the places of columns and rows.
    axes: [Vec<f64>; 2],
    /// For both axes where cells begin and end: halfway between the places.
    edges: [Vec<f64>; 2],
    /// Column and row of every point.
    place: Vec<[usize; 2]>,
    /// The point of every place, columns fastest.
    at: Vec<usize>,
}

impl Lattice {
    /// Scales the points so that the longer side takes `side`.
    pub fn new(points: &[[f64; 2]], side: f64) -> Self {
        let raw = [0, 1].map(|axis| distinct(points.iter().map(|point| point[axis])));
        let place: Vec<[usize; 2]> = points
            .iter()
            .map(|point| [0, 1].map(|axis| raw[axis].partition_point(|&x| x < point[axis])))
            .collect();
        let columns = raw[0].len();
        let mut at = vec![EMPTY; columns * raw[1].len()];
        for (point, &[column, row]) in place.iter().enumerate() {
            at[column + columns * row] = point;
        }
        let ends = [0, 1].map(|axis| ends(&edges(&raw[axis])));
        let [wide, high] = ends.map(|[low, high]| high - low);
        let scale = side / wide.max(high).max(0.0);
        let axes: [Vec<f64>; 2] = [
            raw[0].iter().map(|x| (x - ends[0][0]) * scale).collect(),
            raw[1].iter().map(|y| (ends[1][1] - y) * scale).collect(),
        ];
        let edges = [edges(&axes[0]), edges(&axes[1])];
        Self {
            axes,
            edges,
            place,
            at,
        }
    }

    /// Width and height.
    pub fn size(&self) -> [f64; 2] {
        [0, 1].map(|axis| {
            let [first, last] = ends(&self.edges[axis]);
            (last - first).abs()
        })
    }

    /// The distance of neighbours, on average.
    pub fn spacing(&self) -> f64 {
        let [width, height] = self.size();
        (width * height / self.at.len() as f64).sqrt()
    }

    /// Where a point is.
    pub fn point(&self, point: usize) -> [f64; 2] {
        let [column, row] = self.place[point];
        [self.axes[0][column], self.axes[1][row]]
    }

    /// Left, right, top and bottom of the cell of a point.
    pub fn cell(&self, point: usize) -> [f64; 4] {
        let [column, row] = self.place[point];
        let [xs, ys] = &self.edges;
        let (top, bottom) = (ys[row].min(ys[row + 1]), ys[row].max(ys[row + 1]));
        [xs[column], xs[column + 1], top, bottom]
    }

    /// The next points to the right and above, or [`EMPTY`].
    pub fn neighbours(&self, point: usize) -> [usize; 2] {
        let ([column, row], columns) = (self.place[point], self.axes[0].len());
        let at = |place: usize| self.at.get(place).copied().unwrap_or(EMPTY);
        let right = at(column + 1 + columns * row);
        let is_last = column + 1 == columns;
        let right = if is_last { EMPTY } else { right };
        [right, at(column + columns * (row + 1))]
    }
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Halfway between neighbours, and as far beyond the ends.
fn edges(places: &[f64]) -> Vec<f64> {
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return Vec::new();
    };
    let half = |pair: Option<&[f64]>| pair.map_or(0.5, |pair| (pair[1] - pair[0]) / 2.0);
    let mut edges = vec![first - half(places.windows(2).next())];
    edges.extend(places.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0));
    edges.push(last + half(places.windows(2).last()));
    edges
}

fn ends(edges: &[f64]) -> [f64; 2] {
    [edges.first(), edges.last()].map(|end| end.copied().unwrap_or(0.0))
}
