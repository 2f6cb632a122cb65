use super::*;

fn pattern(queue: &Queue<'_>, lengths: &[usize], columns: &[u32]) -> Pattern {
    let mut offsets = vec![0];
    for length in lengths {
        offsets.push(offsets[offsets.len() - 1] + length);
    }
    let cols = columns.iter().max().map_or(0, |&most| most as usize + 1);
    let buffers = (
        Buffer::from_vec(queue.executor, offsets),
        Buffer::from_vec(queue.executor, columns.to_vec()),
    );
    Pattern::of_buffers(Size::new(lengths.len(), cols), buffers.0, buffers.1)
}

/// A layout on the host, as the kernel reads it.
struct Read {
    threads: usize,
    order: Vec<u32>,
    starts: Vec<u32>,
    marks: Vec<u32>,
    bases: Vec<u32>,
    codes: Vec<u8>,
    /// Row, entries, number and of how many.
    parts: Vec<[u32; 4]>,
    long_columns: Vec<u32>,
}

impl Read {
    fn new(slices: &Slices) -> Self {
        let all = || (0..slices.rows as u32).collect();
        let table = slices.parts.as_ref().map(|parts| parts.table.to_vec());
        let parts = table.unwrap_or_default();
        let columns = slices.parts.as_ref().map(|parts| parts.columns.to_vec());
        Self {
            threads: slices.threads,
            order: slices.order.as_ref().map_or_else(all, Buffer::to_vec),
            starts: slices
                .starts
                .to_vec()
                .into_iter()
                .flat_map(|pair| [pair as u32, (pair >> 32) as u32])
                .collect(),
            marks: match &slices.marks {
                Marks::Short(marks) => marks.to_vec().into_iter().map(u32::from).collect(),
                Marks::Long(marks) => marks.to_vec(),
            },
            bases: slices.bases.to_vec(),
            codes: slices.codes.to_vec(),
            parts: parts.as_chunks().0.to_vec(),
            long_columns: columns.unwrap_or_default(),
        }
    }

    /// First step, first unit, width and bytes of codes of a slice.
    fn extent(&self, slice: usize) -> [usize; 4] {
        let at = |k: usize| self.starts[2 * slice + k] as usize;
        let width = at(2) - at(0);
        [at(0), at(1), width, (at(3) - at(1)) / width.max(1)]
    }

    /// The row, column and value of all entries that a lane has.
    fn lane(&self, lane: usize, values: &[f64]) -> Vec<(u32, u32, f64)> {
        let (slice, own) = (lane / LANES, lane % LANES);
        let (at, part) = (own / self.threads, own % self.threads);
        let slot = slice * (LANES / self.threads) + at;
        let [first, unit, width, bytes] = self.extent(slice);
        if slot >= self.order.len() {
            return Vec::new();
        }
        let is_present = |step: &usize| match self.threads == 1 && bytes == 0 {
            true => self.marks[slot] >> step & 1 == 1,
            false => step * self.threads + part < self.marks[slot] as usize,
        };
        let entry = |step: usize| {
            let from = unit * UNIT + (step * LANES + own) * bytes;
            let mut code = [0; 4];
            code[..bytes].copy_from_slice(&self.codes[from..from + bytes]);
            let base = self.bases[first + step].wrapping_add(at as u32);
            let column = base.wrapping_add(u32::from_le_bytes(code));
            let value = values[(first + step) * LANES + own];
            (self.order[slot], column, value)
        };
        (0..width).filter(is_present).map(entry).collect()
    }

    /// The same for a part, whose values begin with `first`.
    fn part(&self, part: usize, values: &[f64]) -> Vec<(u32, u32, f64)> {
        let [row, count, ..] = self.parts[part];
        let own = part * CHUNK..part * CHUNK + count as usize;
        let columns = self.long_columns[own.clone()].iter();
        let pairs = columns.zip(&values[own]);
        pairs
            .map(|(&column, &value)| (row, column, value))
            .collect()
    }
}

/// A layout that has all entries in their places; none without a device.
fn check(lengths: &[usize], columns: &[u32]) -> Option<Read> {
    let executor = device()?;
    let queue = Queue::of(&executor).unwrap();
    let pattern = pattern(&queue, lengths, columns);
    let survey = Survey::new(&queue, &pattern).unwrap();
    let slices = Slices::new(&queue, &pattern, &survey).unwrap();
    let values: Vec<f64> = (0..columns.len()).map(|place| place as f64).collect();
    let on_device = Buffer::from_vec(&executor, values.clone());
    let placed = slices.place(&queue, &pattern, &on_device).unwrap().to_vec();
    let read = Read::new(&slices);
    let (in_slices, in_parts) = placed.split_at(slices.step_count * LANES);
    let lanes = (read.starts.len() / 2 - 1) * LANES;
    let mut found: Vec<_> = (0..lanes)
        .flat_map(|lane| read.lane(lane, in_slices))
        .collect();
    found.extend((0..read.parts.len()).flat_map(|part| read.part(part, in_parts)));
    found.sort_by_key(|entry| (entry.0, entry.1));
    let rows = (0..lengths.len()).flat_map(|row| vec![row as u32; lengths[row]]);
    let expected = rows.zip(columns).zip(values).map(|((r, &c), v)| (r, c, v));
    assert_eq!(found, expected.collect::<Vec<_>>());
    Some(read)
}

/// The columns of rows that begin with 0.
fn counted_up(lengths: &[usize]) -> Vec<u32> {
    lengths.iter().flat_map(|&n| 0..n as u32).collect()
}

#[test]
fn bands_and_grids_need_no_columns() {
    let columns: Vec<u32> = (1..641).flat_map(|row| [row - 1, row + 69_999]).collect();
    let Some(read) = check(&[2; 640], &columns) else {
        return;
    };
    let found = (read.threads, read.codes.len(), read.bases.len());
    assert_eq!(found, (1, 0, 40));
    assert!(read.order.is_sorted());
    let (n, mut lengths, mut columns) = (96_i64, Vec::new(), Vec::new());
    for row in 0..n * n {
        let (x, y) = (row % n, row / n);
        let all = [(0, -1), (-1, 0), (0, 0), (1, 0), (0, 1)].map(|(i, j)| (x + i, y + j));
        let inside = all
            .iter()
            .filter(|(x, y)| (0..n).contains(x) && (0..n).contains(y));
        let before = columns.len();
        columns.extend(inside.map(|(x, y)| (y * n + x) as u32));
        lengths.push(columns.len() - before);
    }
    let read = check(&lengths, &columns).unwrap();
    assert_eq!((read.codes.len(), read.marks[0]), (0, 0b1110));
    assert_eq!(read.marks[n as usize + 1], 0b11111);
}

#[test]
fn columns_have_as_many_bytes_as_a_slice_needs() {
    let near = |row: u32| 7 * row;
    let far = |row: u32| 1000 * row;
    let wild = |row: u32| (row.wrapping_mul(0x9e37_79b9)) / 3;
    let columns = (0..32).map(near);
    let columns = columns.chain((0..32).map(far)).chain((0..32).map(wild));
    let Some(read) = check(&[1; 96], &columns.collect::<Vec<_>>()) else {
        return;
    };
    assert_eq!(read.starts, [0, 0, 1, 1, 2, 3, 3, 7]);
}

#[test]
fn rows_are_sorted_divided_and_shared_by_their_length() {
    let lengths: Vec<usize> = (0..600).map(|row| 1 + 20 * (row % 2)).collect();
    let columns = counted_up(&lengths);
    let Some(read) = check(&lengths, &columns) else {
        return;
    };
    assert!(!read.order.is_sorted());
    assert!(read.bases.len() * LANES < 4 * columns.len() / 3);

    let mut lengths = vec![1; 5000];
    lengths[..4].copy_from_slice(&[3, 5000, 0, 3]);
    let read = check(&lengths, &counted_up(&lengths)).unwrap();
    assert!(!read.order.contains(&1));
    let parts = [[1, 2048, 0, 3], [1, 2048, 1, 3], [1, 904, 2, 3]];
    assert_eq!(read.parts, parts);

    let columns: Vec<u32> = (0..300).flat_map(|row| row..row + 100).collect();
    assert!(check(&[100; 300], &columns).unwrap().threads > 1);
    check(&[], &[]);
}
