//! How fast the device is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vcycle_gpu::{Argument, Device, Error, Shape};

use crate::{NODES, ONE, Outcome, kernel};

/// Bytes of measured copies: large, but there on small devices.
fn bytes(device: &Device) -> Result<usize, Error> {
    Ok((device.free_memory()? / 8).min(4 << 30) & !255)
}

/// Best of a few, gigabytes per second, each byte counted `times` times.
fn speed(bytes: usize, times: f64, milliseconds: impl FnMut() -> Result<f64, Error>) -> Outcome {
    let mut milliseconds = milliseconds;
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        best = best.min(milliseconds()?);
    }
    Ok(format!(
        "{:.1} GB/s of {} MiB",
        times * bytes as f64 / best / 1e6,
        bytes >> 20
    ))
}

pub fn copy_speed(device: &Arc<Device>) -> Outcome {
    let bytes = bytes(device)?;
    let (to, from) = (device.allocate(bytes)?, device.allocate(bytes)?);
    device.clear(&from)?;
    speed(bytes, 2.0, || {
        device.time(|| device.copy(&to, &from, bytes))
    })
}

pub fn kernel_speed(device: &Arc<Device>) -> Outcome {
    let bytes = bytes(device)?;
    let (to, from) = (device.allocate(bytes)?, device.allocate(bytes)?);
    device.clear(&from)?;
    let (copy, count) = (kernel(device, "copy")?, (bytes / 8) as u32);
    let shape = Shape {
        blocks: count.div_ceil(256),
        threads: 256,
    };
    let arguments = [
        Argument::from(&to),
        Argument::from(&from),
        Argument::U32(count),
    ];
    speed(bytes, 2.0, || {
        device.time(|| device.launch(&copy, shape, &arguments))
    })
}

pub fn transfer_speed(device: &Arc<Device>) -> Outcome {
    let mut host = vec![1u8; 256 << 20];
    let memory = device.allocate(host.len())?;
    let timed = |work: &mut dyn FnMut() -> Result<(), Error>| {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    let up = speed(host.len(), 1.0, || {
        timed(&mut || device.upload(&memory, &host))
    })?;
    let down = speed(host.len(), 1.0, || {
        timed(&mut || device.download(&mut host, &memory))
    })?;
    let mut place = device.readback(host.len())?;
    let pinned = speed(host.len(), 1.0, || {
        timed(&mut || {
            device.read_begin(&mut place, &memory)?;
            place.wait().map(drop)
        })
    })?;
    Ok(format!(
        "upload through staging {up}; download through staging {down}; download {pinned}"
    ))
}

pub fn launch_time(device: &Arc<Device>) -> Outcome {
    const LAUNCHES: usize = 20_000;
    let nothing = kernel(device, "nothing")?;
    device.launch(&nothing, ONE, &[])?;
    device.synchronize()?;
    let start = Instant::now();
    (0..LAUNCHES).try_for_each(|_| device.launch(&nothing, ONE, &[]))?;
    let queued = start.elapsed();
    device.synchronize()?;
    let each = |time: Duration| time.as_secs_f64() * 1e6 / LAUNCHES as f64;
    let start_to_end = each(start.elapsed());
    let start = Instant::now();
    for _ in 0..1000 {
        device.launch(&nothing, ONE, &[])?;
        device.synchronize()?;
    }
    let round_trip = start.elapsed().as_secs_f64() * 1e3;
    Ok(format!(
        "{:.3} us to queue, {start_to_end:.3} us until done, each of {LAUNCHES}; \
         {round_trip:.3} us launch and wait",
        each(queued)
    ))
}

pub fn graph_time(device: &Arc<Device>) -> Outcome {
    const REPLAYS: usize = 200;
    let nothing = kernel(device, "nothing")?;
    let graph =
        device.capture(|| (0..NODES).try_for_each(|_| device.launch(&nothing, ONE, &[])))?;
    device.replay(&graph)?;
    device.synchronize()?;
    let start = Instant::now();
    let milliseconds = device.time(|| (0..REPLAYS).try_for_each(|_| device.replay(&graph)))?;
    let host = start.elapsed().as_secs_f64() * 1e6;
    let nodes = (REPLAYS * NODES) as f64;
    let (device_time, host_time) = (milliseconds * 1e3 / nodes, host / nodes);
    Ok(format!(
        "{device_time:.3} us device time, {host_time:.3} us host time, each node"
    ))
}
