//! Kernels on GPUs, from one source for three vendors.
//!
//! `kernels/` holds the sources, written in the C dialect of `kernels/dialect.h` and compiled at run
//! time for the types they are used with; [`launch`](crate::launch) launches them. The run-time layer below is
//! the crate `vcycle-gpu`.

mod call;
mod host_callbacks;
pub(crate) mod kernels;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use vcycle_gpu::{Device, Kernel, Memory, Properties, Source};

pub(crate) use self::call::{Bits, Given, Launch, Null, Passes, Read, Write, number, word};
pub(crate) use self::host_callbacks::{HostCallbacks, MessageBuffer};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::scalar::Kind;

/// Threads of a block, unless a file says otherwise.
pub(crate) const BLOCK: u32 = 256;

/// Most partial sums of a reduction, over all blocks and columns.
pub(crate) const PARTIAL_SUMS: usize = 16_384;
/// Bytes of one of them: a complex number of two doubles.
const SUM_BYTES: usize = 16;

/// A device and the kernels of this backend.
pub struct Gpu {
    device: Arc<Device>,
    kernels: Mutex<HashMap<Key, Kernel>>,
    /// Partial sums of reductions and a counter, zero between them. Kernels run one after the
    /// other, so that all share it.
    reduction: Memory,
    rank: Option<GpuRank>,
    /// Whether MPI takes memory of the device.
    sends_memory: bool,
}

/// The rest of a rank that has a device.
struct GpuRank {
    /// What does set-ups, and knows the team.
    host: Arc<Host>,
    /// The same device and stream without the team.
    alone: Arc<Gpu>,
    /// Sends messages of recorded work; none where the device cannot wait for the host.
    callbacks: Option<HostCallbacks>,
}

/// File, threads of a block, kernel and definitions.
type Key = (&'static str, u32, &'static str, Vec<Define>);

/// A compile-time constant of a program: name and value.
pub type Define = (&'static str, &'static str);

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.device.properties().name)
    }
}

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// Its name, for messages.
    pub name: &'static str,
    /// The source with what it includes, without `dialect.h`, which is put before it when it is compiled.
    pub text: &'static str,
    /// Threads of a block.
    pub block: u32,
    /// Definitions for launches that say nothing.
    pub defaults: &'static [Define],
}

const DIALECT: &str = include_str!("kernels/dialect.h");

impl Gpu {
    /// Opens a device by its name, such as `cuda:0`.
    pub fn open(name: &str) -> Result<Self> {
        Self::of(Device::open(name)?, None)
    }

    /// The device of one rank, with a stream of its own, and what does set-ups there.
    pub fn of_rank(name: &str, host: &Arc<Host>) -> Result<Self> {
        let device = Device::open_again(name)?;
        let rank = GpuRank {
            host: Arc::clone(host),
            alone: Arc::new(Self::of(Arc::clone(&device), None)?),
            callbacks: None,
        };
        Self::of(device, Some(rank))
    }

    fn of(device: Arc<Device>, rank: Option<GpuRank>) -> Result<Self> {
        check_precisions(device.properties())?;
        let reduction = device.allocate(SUM_BYTES * PARTIAL_SUMS + 8)?;
        device.clear(&reduction)?;
        Ok(Self {
            device,
            kernels: Mutex::default(),
            reduction,
            rank,
            sends_memory: false,
        })
    }

    /// The same where messages of a rank go from device to device, or not.
    #[must_use]
    pub(crate) fn sending_memory(mut self, sends_memory: bool) -> Self {
        self.sends_memory = sends_memory;
        if let Some(rank) = &mut self.rank {
            let alone = Arc::get_mut(&mut rank.alone);
            alone.expect("nobody has it yet").sends_memory = sends_memory;
        }
        self
    }

    /// Whether messages of a rank go from device to device.
    pub(crate) fn sends_memory(&self) -> bool {
        self.sends_memory
    }

    /// The same where work of a rank that sends messages can be recorded.
    ///
    /// # Errors
    /// When the device has no memory.
    pub(crate) fn recording_messages(mut self) -> Result<Self> {
        if let Some(rank) = &mut self.rank
            && let Some(team) = rank.host.team()
        {
            rank.callbacks = Some(HostCallbacks::new(&self.device, team)?);
        }
        Ok(self)
    }

    /// What sends messages of recorded work of a rank, where it can be recorded.
    pub(crate) fn callbacks(&self) -> Option<&HostCallbacks> {
        self.rank.as_ref()?.callbacks.as_ref()
    }

    /// What does set-ups where the device is one of a rank.
    pub fn rank(&self) -> Option<&Arc<Host>> {
        self.rank.as_ref().map(|rank| &rank.host)
    }

    /// The same device and stream without a team, where it is one of a rank.
    pub fn alone(&self) -> Option<&Arc<Self>> {
        self.rank.as_ref().map(|rank| &rank.alone)
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Threads of a sub-group.
    pub(crate) fn width(&self) -> usize {
        let widths = &self.device.properties().sub_groups;
        widths.first().copied().unwrap_or(1)
    }

    /// Partial sums of a reduction, at most [`PARTIAL_SUMS`] of them.
    pub(crate) fn partials<A>(&self) -> Write<A> {
        Write::new(self.reduction.address())
    }

    /// The counter of blocks of a reduction.
    pub(crate) fn counter(&self) -> Write<u32> {
        Write::new(self.reduction.address() + (SUM_BYTES * PARTIAL_SUMS) as u64)
    }

    /// A kernel of a file, compiled with the given definitions.
    fn kernel(&self, file: File, name: &'static str, defines: Vec<Define>) -> Result<Kernel> {
        let kernels = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (file.name, file.block, name, defines);
        if let Some(kernel) = kernels().get(&key) {
            return Ok(kernel.clone());
        }
        // Other threads go on meanwhile.
        let source = source(file, &key.3, self.width(), self.device.properties().is_cpu);
        let kernel = self.device.kernel(&source, name)?;
        kernels().insert(key, kernel.clone());
        Ok(kernel)
    }

    /// An error for what this backend has no kernel for.
    pub fn lacks(&self, component: &str, operation: &str) -> Error {
        Error::Unsupported {
            component: format!("{component} on {}", self.device.properties().name),
            operation: operation.to_owned(),
        }
    }

    /// The type a kernel has to be compiled for that is not for complex numbers.
    pub fn real(&self, kind: Kind) -> Result<&'static str> {
        match kind.is_complex() {
            true => Err(self.lacks("arithmetic", "complex numbers")),
            false => Ok(kind.name()),
        }
    }
}

/// A number as a definition.
pub(crate) fn literal(value: usize) -> &'static str {
    // Programs have few of them, so that each may stay for good.
    static LITERALS: Mutex<BTreeMap<usize, &str>> = Mutex::new(BTreeMap::new());
    let mut literals = LITERALS.lock().unwrap_or_else(PoisonError::into_inner);
    let made = || &*Box::leak(value.to_string().into_boxed_str());
    literals.entry(value).or_insert_with(made)
}

/// Whether something holds, as a definition.
pub(crate) fn flag(holds: bool) -> &'static str {
    if holds { "1" } else { "0" }
}

/// What a device is given to compile, for sub-groups of a width.
pub(crate) fn source<'a>(
    file: File,
    defines: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
    width: usize,
    is_cpu: bool,
) -> Source {
    // Compilers for processors take very long over many.
    let in_flight = if is_cpu { 1 } else { 4 };
    let mut all = vec![
        format!("WIDTH={width}"),
        format!("BLOCK={}", file.block),
        format!("IN_FLIGHT={in_flight}"),
    ];
    let own = defines.into_iter();
    let mut own: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
    // In one order, so that a program is the same however a launch lists them.
    own.sort();
    all.append(&mut own);
    Source {
        file: file.name.to_owned(),
        text: whole_text(file),
        defines: all,
    }
}

/// The text of a file after that of the dialect, the same one whenever it is asked for.
fn whole_text(file: File) -> Arc<str> {
    static TEXTS: Mutex<BTreeMap<(&str, usize), Arc<str>>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let text = texts.entry((file.name, file.text.as_ptr().addr()));
    let whole = || format!("{DIALECT}\n{}", file.text);
    Arc::clone(text.or_insert_with(|| whole().into()))
}

/// Fails for a device that cannot compute in double precision. Half precision is one of storage, which
/// every device has.
fn check_precisions(properties: &Properties) -> Result<()> {
    match properties.fp64 {
        true => Ok(()),
        false => Err(Error::Unsupported {
            component: format!("{} ({})", properties.name, properties.model),
            operation: "double precision, which solves are judged in".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_double_precision_is_refused_by_its_name() {
        let mut properties = Properties {
            name: "opencl:3".into(),
            model: "Pocket".into(),
            driver: "1.0".into(),
            architecture: "CL3.0".into(),
            memory: 1 << 30,
            compute_units: 4,
            local_memory: 1 << 15,
            max_block: 256,
            sub_groups: vec![16],
            fp64: false,
            fp16: true,
            is_cpu: false,
        };
        let message = check_precisions(&properties).unwrap_err().to_string();
        assert!(message.contains("opencl:3 (Pocket)"), "{message}");
        assert!(message.contains("double precision"), "{message}");
        (properties.fp64, properties.fp16) = (true, false);
        assert!(check_precisions(&properties).is_ok());
    }
}
