//! The judge of a running solve where the host does not wait.

use vcycle_gpu::{Memory, Readback};

use crate::gpu::{HostCallbacks, kernels::monitor as kernels};
use crate::launch::prelude::*;

/// Iterations whose norms are kept on the device: more than the host is ever behind.
const RING: usize = 8;

/// Numbers before the fields, and fields of a column; as in the kernels.
const HEAD: usize = 4;
const FIELDS: usize = 7;

/// What the kernels know of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ColumnState {
    /// 0 while it goes on.
    pub status: u8,
    /// The norm it is to reach; negative where there is none.
    pub goal: f64,
    /// The norm at which it has diverged.
    pub limit: f64,
    pub norm: f64,
    pub best: f64,
    pub best_iteration: usize,
    pub iterations: usize,
}

/// A condition on values; whatever breaks it ends with `status`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub status: u8,
    /// Whether values below zero break it.
    pub negative: bool,
    /// Whether zero breaks it.
    pub zero: bool,
}

/// Limits of a solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub iterations: usize,
    /// Iterations without progress; 0 for no limit.
    pub window: usize,
}

/// Judges the columns of a solve on a device, where their norms are: the state of all columns, and two places for copies of it.
#[derive(Debug)]
pub(crate) struct Judge {
    gpu: Arc<Gpu>,
    cols: usize,
    state: Memory,
    copies: [Readback; 2],
    requested: usize,
    received: usize,
}

/// What the host learns.
pub(crate) struct Snapshot {
    pub iteration: usize,
    pub columns: Vec<ColumnState>,
    numbers: Vec<f64>,
}

impl Snapshot {
    /// The stop requests of all ranks at that time.
    pub fn stop_requests(&self) -> [f64; 2] {
        [self.numbers[2], self.numbers[3]]
    }

    /// The norm of a column after one of the last iterations.
    pub fn norm(&self, iteration: usize, column: usize) -> f64 {
        let cols = self.columns.len();
        self.numbers[HEAD + FIELDS * cols + (iteration % RING) * cols + column]
    }
}

impl Judge {
    /// For so many columns; none on the host, which judges itself, and on ranks whose norms come through the host.
    pub fn of(executor: &Executor, cols: usize) -> Result<Option<Self>> {
        match executor {
            Executor::Gpu(gpu) if executor.team().is_none() || gpu.callbacks().is_some() => {
                Ok(Some(Self::new(gpu, cols)?))
            }
            _ => Ok(None),
        }
    }

    fn new(gpu: &Arc<Gpu>, cols: usize) -> Result<Self> {
        let bytes = 8 * length(cols);
        Ok(Self {
            state: gpu.device().allocate(bytes)?,
            copies: [gpu.device().readback(bytes)?, gpu.device().readback(bytes)?],
            gpu: Arc::clone(gpu),
            cols,
            requested: 0,
            received: 0,
        })
    }

    /// Begins with these columns after an iteration.
    pub fn begin(&mut self, iteration: usize, columns: &[ColumnState]) -> Result<()> {
        let going = columns.iter().filter(|column| column.status == 0).count();
        let mut numbers = vec![0.0; length(self.cols)];
        numbers[..2].copy_from_slice(&[iteration as f64, going as f64]);
        for (index, column) in columns.iter().enumerate() {
            for (field, value) in column.fields().into_iter().enumerate() {
                numbers[HEAD + field * self.cols + index] = value;
            }
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_ne_bytes()).collect();
        (self.requested, self.received) = (0, 0);
        Ok(self.gpu.device().upload(&self.state, &bytes)?)
    }

    /// Counts an iteration and judges its norms; what has ended is no longer `active`.
    pub fn judge<T: Scalar>(
        &self,
        norms: &Scalars<T>,
        active: &mut Scalars<T>,
        limits: Limits,
    ) -> Result<()> {
        let requests = self.gpu.callbacks();
        let requests = requests.map_or(0, HostCallbacks::stop_requests);
        kernels::judge::<T::Arith>(
            norms,
            self.state(),
            active,
            self.cols,
            RING,
            limits.iterations as f64,
            limits.window as f64,
            Read::new(requests),
        )?
        .run(&self.gpu, 1)
    }

    /// Ends the columns whose value breaks a condition.
    pub fn require<T: Scalar>(
        &self,
        values: &Scalars<T>,
        active: &mut Scalars<T>,
        condition: Condition,
    ) -> Result<()> {
        kernels::require::<T::Arith>(
            values,
            self.state(),
            active,
            self.cols,
            condition.status.into(),
            condition.negative,
            condition.zero,
        )?
        .run(&self.gpu, 1)
    }

    fn state(&self) -> Write<f64> {
        Write::new(self.state.address())
    }

    /// Asks for a copy of the state as it is at this place of the stream.
    pub fn request(&mut self) -> Result<()> {
        let copy = &mut self.copies[self.requested % 2];
        self.gpu.device().read_begin(copy, &self.state)?;
        self.requested += 1;
        Ok(())
    }

    /// Copies that were asked for and not received.
    pub fn pending(&self) -> usize {
        self.requested - self.received
    }

    /// Waits for the oldest copy that was not received.
    pub fn receive(&mut self) -> Result<Snapshot> {
        let bytes = self.copies[self.received % 2].wait()?;
        self.received += 1;
        self.gpu.callbacks().map_or(Ok(()), HostCallbacks::check)?;
        let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let numbers: Vec<f64> = bytes.chunks_exact(8).map(number).collect();
        let column =
            |index| ColumnState::from_fields(|field| numbers[HEAD + field * self.cols + index]);
        Ok(Snapshot {
            iteration: numbers[0] as usize,
            columns: (0..self.cols).map(column).collect(),
            numbers,
        })
    }
}

/// Numbers of a state.
fn length(cols: usize) -> usize {
    HEAD + (FIELDS + RING) * cols
}

impl ColumnState {
    fn fields(&self) -> [f64; FIELDS] {
        [
            self.status.into(),
            self.goal,
            self.limit,
            self.norm,
            self.best,
            self.best_iteration as f64,
            self.iterations as f64,
        ]
    }

    fn from_fields(field: impl Fn(usize) -> f64) -> Self {
        Self {
            status: field(0) as u8,
            goal: field(1),
            limit: field(2),
            norm: field(3),
            best: field(4),
            best_iteration: field(5) as usize,
            iterations: field(6) as usize,
        }
    }
}
