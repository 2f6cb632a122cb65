//! What a solve asks a device for, prepared when the same is done again.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use vcycle_gpu::{Device, Requests};

use super::{line, parse};
use crate::executor::Executor;

const MEMORY: &str = "memory";
const PINNED: &str = "pinned";

/// What an earlier process asked the device for that did the same, made ready by a thread: kernels are loaded and memory is
/// at hand when they are asked for. What this one asks for is kept for the next one.
#[derive(Debug)]
pub struct Again {
    device: Arc<Device>,
    purpose: String,
    likely: Requests,
    thread: Option<JoinHandle<()>>,
}

impl Again {
    /// Begins to prepare what `purpose` took before: whatever tells it from others. None on processors.
    pub fn begin(executor: &Executor, purpose: String) -> Option<Self> {
        let device = executor.device()?;
        if device.properties().is_cpu {
            return None;
        }
        let device = Arc::clone(device);
        let kept = device.cached_text(&purpose).unwrap_or_default();
        let likely = read(&kept, &device);
        let (own, work) = (Arc::clone(&device), likely.clone());
        let prepare = move || own.prefetch(&work);
        // Where there is no room for a thread, nothing is prepared.
        let thread = thread::Builder::new().spawn(prepare).ok();
        Some(Self {
            device,
            purpose,
            likely,
            thread,
        })
    }

    /// From here on is what will be prepared the next time.
    pub fn note(&self) {
        self.device.record_requests();
    }

    /// Keeps what was asked for beyond what was prepared.
    pub fn keep(&self) {
        let mut all = self.likely.clone();
        let asked = self.device.requests();
        for kernel in asked.kernels {
            if !all.kernels.contains(&kernel) {
                all.kernels.push(kernel);
            }
        }
        complete(&mut all.memory, &asked.memory);
        complete(&mut all.pinned, &asked.pinned);
        if all != self.likely {
            self.device.cache_text(&self.purpose, &written(&all));
        }
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        // One that panicked has prepared less.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Adds what is missing for as many of each size as were asked for: no more, as some may have been asked for before they were ready.
fn complete(known: &mut Vec<usize>, asked: &[usize]) {
    for (place, size) in asked.iter().enumerate() {
        let count = |all: &[usize]| all.iter().filter(|&other| other == size).count();
        if count(known) < count(&asked[..=place]) {
            known.push(*size);
        }
    }
}

/// A line each: the name of a kernel and its program, or a number of bytes.
fn written(asked: &Requests) -> String {
    let kernels = asked.kernels.iter();
    let kernels =
        kernels.filter_map(|(program, name)| Some(format!("{name} {}\n", line(program)?)));
    let bytes = |what: &'static str, all: &[usize]| {
        let lines = all.iter().map(|bytes| format!("{what} {bytes}\n"));
        lines.collect::<String>()
    };
    kernels.collect::<String>() + &bytes(MEMORY, &asked.memory) + &bytes(PINNED, &asked.pinned)
}

fn read(text: &str, device: &Device) -> Requests {
    let properties = device.properties();
    let width = properties.sub_groups.first().copied().unwrap_or(1);
    let mut asked = Requests::default();
    for (what, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
        match what {
            MEMORY => asked.memory.extend(rest.parse::<usize>()),
            PINNED => asked.pinned.extend(rest.parse::<usize>()),
            name => {
                let program = parse(rest, width, properties.is_cpu);
                let kernel = program.map(|program| (program, name.to_owned()));
                asked.kernels.extend(kernel);
            }
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::device;
    use crate::vector::Vector;

    #[test]
    fn what_came_late_is_not_kept_twice() {
        let mut known = vec![512, 256, 512];
        complete(&mut known, &[512, 256, 256, 1024]);
        assert_eq!(known, [512, 256, 512, 256, 1024]);
        complete(&mut known, &[512, 1024]);
        assert_eq!(known.len(), 5);
    }

    #[test]
    fn what_was_asked_for_is_read_again() {
        let Some(executor) = device() else { return };
        let device = executor.device().unwrap();
        device.record_requests();
        let one = Vector::<f64>::filled(&executor, 100, 1, 1.0).unwrap();
        let mut other = Vector::<f64>::zeros_like(&one).unwrap();
        other.axpy(crate::vector::Coefficient::one(), &one).unwrap();
        let mut asked = device.requests();
        asked.memory.push(512);
        asked.pinned.push(1024);
        assert!(!asked.kernels.is_empty());
        assert_eq!(read(&written(&asked), device), asked);
    }
}
