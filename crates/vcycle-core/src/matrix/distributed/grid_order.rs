//! A numbering of grids whose consecutive points form compact boxes.

/// A grid is cut until a part has at most this share of its points.
const PARTS: u64 = 64;
/// Or at most so many.
const LEAST: u64 = 64;

/// The points of a grid in the order of recursive bisection: the box is cut across its longest side, and the points of
/// one half come before those of the other. Boxes are twice as long along x as across, because products are faster with
/// long lines of points; small ones keep the order of the grid.
///
/// Ranks that share the points in this order, about as many for each, have boxes of the grid, or a few next to each
/// other, so they have fewer neighbours beside their rows than slabs have. The order does not depend on how many ranks
/// there are.
///
/// ```
/// use vcycle::matrix::GridOrder;
/// let order = GridOrder::new([8, 8, 8]);
/// // The first of four ranks has a box of 8 by 4 by 4 points.
/// assert!((0..128).all(|place| order.point(place) / 8 % 8 < 4 && order.point(place) / 64 < 4));
/// assert!((0..512).all(|point| order.point(order.place(point)) == point));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GridOrder {
    size: [u64; 3],
    leaf: u64,
}

/// A box of points, the first of which has some place.
struct Part {
    first: [u64; 3],
    size: [u64; 3],
    place: u64,
}

impl GridOrder {
    /// Of points along x, y and z: point `(i, j, k)` has the number `i + nx (j + ny k)`.
    pub fn new(size: [usize; 3]) -> Self {
        let size = size.map(|points| points as u64);
        let all: u64 = size.iter().product();
        Self {
            size,
            leaf: (all / PARTS).max(LEAST),
        }
    }

    /// The place of a point in this order.
    pub fn place(&self, point: u64) -> u64 {
        let [nx, ny, _] = self.size;
        let at = [point % nx, point / nx % ny, point / (nx * ny)];
        let part = self.part(|part, axis, half| at[axis] < part.first[axis] + half);
        let within = [0, 1, 2].map(|axis| at[axis] - part.first[axis]);
        part.place + within[0] + part.size[0] * (within[1] + part.size[1] * within[2])
    }

    /// The point at a place.
    pub fn point(&self, place: u64) -> u64 {
        let part = self.part(|part, axis, half| place < part.place + part.half_points(axis, half));
        let [nx, ny, _] = part.size;
        let within = place - part.place;
        let within = [within % nx, within / nx % ny, within / (nx * ny)];
        let at = [0, 1, 2].map(|axis| part.first[axis] + within[axis]);
        at[0] + self.size[0] * (at[1] + self.size[1] * at[2])
    }

    /// Cuts until a part is small; `is_first` chooses the half to go on with.
    fn part(&self, is_first: impl Fn(&Part, usize, u64) -> bool) -> Part {
        let mut part = Part {
            first: [0; 3],
            size: self.size,
            place: 0,
        };
        while part.size.iter().product::<u64>() > self.leaf {
            let [nx, ny, nz] = part.size;
            let axis = match nx > 2 * ny.max(nz) {
                true => 0,
                false if ny > nz => 1,
                false => 2,
            };
            let half = part.size[axis] / 2;
            if is_first(&part, axis, half) {
                part.size[axis] = half;
            } else {
                part.place += part.half_points(axis, half);
                part.first[axis] += half;
                part.size[axis] -= half;
            }
        }
        part
    }
}

impl Part {
    /// Points of the first half, if it is cut across an axis.
    fn half_points(&self, axis: usize, half: u64) -> u64 {
        self.size.iter().product::<u64>() / self.size[axis] * half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_a_place() {
        for size in [[1, 1, 1], [13, 1, 1], [20, 9, 1], [11, 17, 10]] {
            let order = GridOrder::new(size);
            let points: usize = size.iter().product();
            let mut seen = vec![false; points];
            for point in 0..points as u64 {
                let place = order.place(point);
                assert_eq!(order.point(place), point);
                assert!(!std::mem::replace(&mut seen[place as usize], true));
            }
        }
    }

    #[test]
    fn ranks_have_boxes() {
        let order = GridOrder::new([32, 32, 32]);
        let own: Vec<u64> = (0..4096).map(|place| order.point(place)).collect();
        let extent = |points: &[u64], along: u64| {
            let along: Vec<u64> = points.iter().map(|point| point / along % 32).collect();
            along.iter().max().unwrap() - along.iter().min().unwrap() + 1
        };
        assert_eq!([1, 32, 1024].map(|along| extent(&own, along)), [32, 16, 8]);
    }
}
