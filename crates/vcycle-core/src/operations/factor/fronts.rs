//! Methods in which a row depends on rows before it (colouring, incomplete factors), done front by front.

use vcycle_kernels::compiled_fn;

use crate::executor::Element;
use crate::gpu::kernels::{colours, ilu0};
use crate::gpu::{BLOCK, Launch};
use crate::launch::prelude::*;
use crate::operations::on_real_device;

/// Rows of a front that one block works on alone, at most, as `kernels/fronts.h` has it.
const WIDE: usize = 1024;
/// Wide fronts between two looks at what is left.
const WIDE_FRONTS: usize = 16;
/// Narrow fronts of one launch.
const NARROW_FRONTS: usize = 256;
/// Launches of them, about 45 ms, after which the host is faster: rows depend on each other one by one.
const NARROW_LAUNCHES: usize = 64;

/// A colour for every row of a pattern, the first one that no row before it has which is `coupled` to it in either direction. None, too,
/// where rows wait for each other too often.
pub fn colours(
    pattern: &Pattern,
    coupled: impl FnOnce() -> Result<Arc<Pattern>>,
) -> Result<Option<Vec<u32>>> {
    let queue = queue_of!(pattern.executor());
    let pattern = &*coupled()?;
    let mut colours = queue.uninit(pattern.size().rows)?;
    let mut fronts = Fronts::new(queue, pattern.size().rows)?;
    colours::fronts_start(fronts.rows(), pattern, fronts.parts()?)?.items(&queue, fronts.rows())?;
    let is_done =
        fronts.run(|turns, fronts| colours::colours_front(turns, pattern, fronts, &mut colours))?;
    Ok(is_done.then(|| colours.into_vec()))
}

compiled_fn! {
    /// The values of the incomplete factors on the pattern of `a`, whose rows have their diagonal entry at the given places. Behind
    /// a zero pivot they are not finite. None, too, where rows wait for each other too often.
    pub fn ilu0[any T: Scalar](a: &Csr<T>, diagonal: &[usize]) -> Result<Option<Vec<<T as Scalar>::Arith>>> {
        let made = on_real_device::<T, _>(a.executor(), |queue| {
            let mut values = queue.convert::<T, T::Arith>(a.values_buffer())?;
            let diagonal = Buffer::from_vec(queue.executor, diagonal.to_vec());
            let pattern = a.pattern();
            let mut fronts = Fronts::new(queue, a.size().rows)?;
            ilu0::fronts_start(fronts.rows(), pattern, fronts.parts()?)?
                .with(&[("ACC", <T::Arith as Element>::NAME)])
                .items(&queue, fronts.rows())?;
            let transposed = pattern.transpose()?;
            let is_done = fronts.run(|turns, fronts| {
                ilu0::ilu0_front(turns, &transposed, fronts, pattern, &diagonal, &mut values)
            })?;
            Ok(is_done.then(|| values.into_vec()))
        })?;
        Ok(made.flatten())
    }
}

/// Rows that wait for those before them.
struct Fronts<'q> {
    queue: Queue<'q>,
    waits: Buffer<u32>,
    order: Buffer<u32>,
    /// Where the front begins and ends in the order, and where the order ends.
    state: Buffer<u32>,
}

/// What `FRONTS` of the kernels stands for.
type FrontsParts = (Write<u32>, Write<u32>, Write<u32>, Write<u32>);

impl<'q> Fronts<'q> {
    fn new(queue: Queue<'q>, rows: usize) -> Result<Self> {
        Ok(Self {
            queue,
            waits: queue.uninit(rows)?,
            order: queue.uninit(rows)?,
            state: queue.zeros(3)?,
        })
    }

    fn rows(&self) -> usize {
        self.order.len()
    }

    fn parts(&mut self) -> Result<FrontsParts> {
        let (waits, order) = (self.waits.pointer_mut()?, self.order.pointer_mut()?);
        let counter = self.queue.gpu.counter();
        Ok((waits, order, self.state.pointer_mut()?, counter))
    }

    /// A kernel for front after front, so many turns in a launch. Whether fronts were few enough.
    fn run(
        &mut self,
        mut kernel: impl FnMut(usize, FrontsParts) -> Result<Launch>,
    ) -> Result<bool> {
        let rows = self.rows();
        let most = self.queue.most_blocks();
        let wide = rows.div_ceil(BLOCK as usize).min(most);
        // Before the first front it is empty.
        let (mut done, mut width, mut narrow) = (0, 0, 0);
        while done < rows && narrow < NARROW_LAUNCHES {
            let (turns, blocks, launches) = match (1..=WIDE).contains(&width) {
                true => (NARROW_FRONTS, 1, 1),
                false => (1, wide, WIDE_FRONTS),
            };
            let kernel = kernel(turns, self.parts()?)?;
            for _ in 0..launches {
                kernel.run(self.queue.gpu, blocks)?;
            }
            let state = self.state.host()?;
            (done, width) = (state[0] as usize, (state[1] - state[0]) as usize);
            narrow += usize::from(blocks == 1);
        }
        Ok(done == rows)
    }
}
