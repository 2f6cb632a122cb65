//! A first look at a device: `smoke cuda:0`. Every check prints PASS or FAIL and the next follows.

mod speed;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use vcycle_gpu::{Argument, Device, Error, Kernel, Memory, Shape, Source};

type Outcome = Result<String, Box<dyn std::error::Error>>;

const KERNELS: &str = r#"
#ifdef __OPENCL_VERSION__
#define KERNEL __kernel void
#define GLOBAL __global
#define INDEX get_global_id(0)
#else
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define INDEX ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)
#endif
KERNEL nothing(void) {}
KERNEL scale_add(GLOBAL double *y, GLOBAL const double *x, double a, float b, int shift,
                 unsigned int n, ADD add) {
  unsigned long i = INDEX;
  if (i < n) y[i] = a * x[i] + b * y[i] + shift + add;
}
KERNEL copy(GLOBAL double *y, GLOBAL const double *x, unsigned int n) {
  unsigned long i = INDEX;
  if (i < n) y[i] = x[i];
}
KERNEL add_one(GLOBAL int *counter) { if (INDEX == 0) counter[0] += 1; }
"#;

const ONE: Shape = Shape {
    blocks: 1,
    threads: 32,
};
const NODES: usize = 100;

struct Smoke {
    device: Arc<Device>,
    failed: bool,
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cuda:0".into());
    for found in vcycle_gpu::discover() {
        match found.devices {
            Ok(devices) => println!("{}: {devices:#?}", found.driver),
            Err(error) => println!("{}: {error}", found.driver),
        }
    }
    let device = match Device::open(&name) {
        Ok(device) => device,
        Err(error) => {
            println!("FAIL open {name}: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("PASS open {name}: {:#?}", device.properties());
    let mut smoke = Smoke {
        device,
        failed: false,
    };
    smoke.run();
    println!("counts: {:#?}", smoke.device.counts());
    if smoke.failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

impl Smoke {
    fn run(&mut self) {
        self.check("a device that is not there", no_such_device);
        self.check("free memory", |device| {
            Ok(format!("{} bytes", device.free_memory()?))
        });
        self.check("upload and download", round_trip);
        self.check("compile", compile);
        self.check("a kernel's result", correctness);
        self.check("compile error", compile_error);
        self.check("no kernel of that name", no_kernel);
        self.check("out of memory", out_of_memory);
        self.check("memory after out of memory", round_trip);
        self.check("graph", graph);
        self.check("allocation while recording", |device| {
            spoiled(device, &|| device.allocate(3 << 20).map(drop))
        });
        self.check("waiting while recording", |device| {
            spoiled(device, &|| device.synchronize())
        });
        self.check("upload while recording", |device| {
            let memory = device.allocate(1024)?;
            spoiled(device, &|| device.upload(&memory, &[1; 1024]))
        });
        self.check("graph after refusals", graph);
        self.check("compiling while recording", compile_recorded);
        self.check("another thread while recording", other_thread);
        self.check("asynchronous read-back", readback);
        self.check("copy within the device", speed::copy_speed);
        self.check("copy by a kernel", speed::kernel_speed);
        self.check("transfers", speed::transfer_speed);
        self.check("time of launches", speed::launch_time);
        self.check("time of graph nodes", speed::graph_time);
        self.check(
            "a kernel that writes nowhere (last: the device is lost)",
            lost,
        );
    }

    fn check(&mut self, name: &str, work: impl FnOnce(&Arc<Device>) -> Outcome) {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&self.device)));
        let outcome = outcome.unwrap_or_else(|_| Err("panic".into()));
        self.failed |= outcome.is_err();
        match outcome {
            Ok(said) => println!("PASS {name}: {said}"),
            Err(error) => println!("FAIL {name}: {error}"),
        }
    }
}

fn source(text: &str) -> Source {
    Source {
        file: "smoke.c".into(),
        text: text.into(),
        defines: vec!["ADD=long".into()],
    }
}

fn kernel(device: &Device, name: &str) -> Result<Kernel, Error> {
    device.kernel(&source(KERNELS), name)
}

fn expect(holds: bool, said: String) -> Outcome {
    if holds { Ok(said) } else { Err(said.into()) }
}

fn no_such_device(_: &Arc<Device>) -> Outcome {
    match Device::open("cuda:99") {
        Err(error @ Error::NoDevice { .. }) => Ok(error.to_string()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("it was opened".into()),
    }
}

fn round_trip(device: &Arc<Device>) -> Outcome {
    let sent: Vec<u8> = (0..50_000_001u32).map(|i| (i % 251) as u8).collect();
    let memory = device.allocate(sent.len())?;
    device.upload(&memory, &sent)?;
    let mut received = vec![0; sent.len()];
    device.download(&mut received, &memory)?;
    let aligned = memory.address() % 256 == 0;
    device.clear(&memory)?;
    let mut cleared = vec![1; 1000];
    device.download(&mut cleared, &memory)?;
    let same = sent == received && cleared.iter().all(|byte| *byte == 0);
    expect(
        same && aligned,
        format!("{} bytes, same {same}, aligned {aligned}", sent.len()),
    )
}

fn compile(device: &Arc<Device>) -> Outcome {
    let start = Instant::now();
    kernel(device, "nothing")?;
    Ok(format!("{:.1} ms", start.elapsed().as_secs_f64() * 1e3))
}

fn correctness(device: &Arc<Device>) -> Outcome {
    let n = 100_003;
    let x: Vec<f64> = (0..n).map(f64::from).collect();
    let (from, to) = (upload(device, &x)?, upload(device, &vec![2.0; x.len()])?);
    let arguments = [
        Argument::from(&to),
        Argument::from(&from),
        Argument::F64(0.5),
        Argument::F32(3.0),
        Argument::I32(-7),
        Argument::U32(n as u32),
        Argument::I64(1 << 40),
    ];
    let shape = Shape {
        blocks: (n as u32).div_ceil(256),
        threads: 256,
    };
    device.launch(&kernel(device, "scale_add")?, shape, &arguments)?;
    let got = values(device, &to, x.len())?;
    let wrong = (0..x.len()).find(|&i| got[i] != 0.5 * x[i] - 1.0 + (1u64 << 40) as f64);
    expect(wrong.is_none(), format!("first wrong value: {wrong:?}"))
}

fn upload(device: &Arc<Device>, values: &[f64]) -> Result<Memory, Error> {
    let memory = device.allocate(8 * values.len())?;
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    device.upload(&memory, &bytes)?;
    Ok(memory)
}

fn values(device: &Device, memory: &Memory, count: usize) -> Result<Vec<f64>, Error> {
    let mut bytes = vec![0; 8 * count];
    device.download(&mut bytes, memory)?;
    let values = bytes
        .chunks_exact(8)
        .map(|part| part.try_into().expect("eight bytes"));
    Ok(values.map(f64::from_ne_bytes).collect())
}

fn compile_error(device: &Arc<Device>) -> Outcome {
    match device.kernel(
        &source(&format!("{KERNELS}\nint wrong = missing;")),
        "wrong",
    ) {
        Err(error @ Error::Compile { .. }) => Ok(error.to_string()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("it compiled".into()),
    }
}

fn no_kernel(device: &Arc<Device>) -> Outcome {
    match kernel(device, "missing") {
        Err(error @ Error::NoKernel { .. }) => Ok(error.to_string()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("it was found".into()),
    }
}

fn out_of_memory(device: &Arc<Device>) -> Outcome {
    match device.allocate(10 << 40) {
        Err(error @ Error::OutOfMemory { .. }) => Ok(error.to_string()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("it was allocated".into()),
    }
}

/// A counter in device memory, and what adds one to it.
struct Counter {
    memory: Memory,
    add_one: Kernel,
}

impl Counter {
    fn new(device: &Arc<Device>) -> Result<Self, Error> {
        let memory = device.allocate(4)?;
        device.clear(&memory)?;
        let add_one = kernel(device, "add_one")?;
        Ok(Self { memory, add_one })
    }

    fn add(&self, device: &Device) -> Result<(), Error> {
        device.launch(&self.add_one, ONE, &[Argument::from(&self.memory)])
    }

    fn read(&self, device: &Device) -> Result<i32, Error> {
        let mut bytes = [0; 4];
        device.download(&mut bytes, &self.memory)?;
        Ok(i32::from_ne_bytes(bytes))
    }
}

fn graph(device: &Arc<Device>) -> Outcome {
    let counter = Counter::new(device)?;
    let graph = device.capture(|| (0..NODES).try_for_each(|_| counter.add(device)))?;
    let before = counter.read(device)?;
    (0..3).try_for_each(|_| device.replay(&graph))?;
    let after = counter.read(device)?;
    let said = format!(
        "{before} before, {after} after, {} launches",
        graph.launches
    );
    expect((before, after, graph.launches) == (0, 300, 100), said)
}

/// Records something that cannot be: an error, and recording works again afterwards.
fn spoiled(device: &Arc<Device>, refused: &dyn Fn() -> Result<(), Error>) -> Outcome {
    let counter = Counter::new(device)?;
    let captured = device.capture(|| counter.add(device).and_then(|()| refused()));
    let said = match captured {
        Ok(_) => return Err("it was recorded".into()),
        Err(error) => error.to_string(),
    };
    counter.add(device)?;
    let again = device.capture(|| counter.add(device))?;
    device.replay(&again)?;
    device.synchronize()?;
    let count = counter.read(device)?;
    expect(count == 2, format!("{said} (count {count} of 2)"))
}

fn compile_recorded(device: &Arc<Device>) -> Outcome {
    let counter = Counter::new(device)?;
    let fresh = source(&format!("{KERNELS}// Compiled while recording.\n"));
    let graph = device.capture(|| {
        let add_one = device.kernel(&fresh, "add_one")?;
        device.launch(&add_one, ONE, &[Argument::from(&counter.memory)])
    })?;
    device.replay(&graph)?;
    let count = counter.read(device)?;
    expect(count == 1, format!("count {count} of 1"))
}

fn other_thread(device: &Arc<Device>) -> Outcome {
    let (recorded, direct) = (Counter::new(device)?, Counter::new(device)?);
    let graph = device.capture(|| {
        recorded.add(device)?;
        let beside = || {
            direct.add(device)?;
            device.allocate(5 << 20)?;
            device.synchronize()?;
            direct.read(device)
        };
        let count = std::thread::scope(|scope| scope.spawn(beside).join());
        let count = count.expect("the other thread does not panic")?;
        println!("  the other thread counted {count} of 1");
        recorded.add(device)
    })?;
    device.replay(&graph)?;
    let counts = (recorded.read(device)?, direct.read(device)?);
    expect(counts == (2, 1), format!("counts {counts:?} of (2, 1)"))
}

fn readback(device: &Arc<Device>) -> Outcome {
    let counter = Counter::new(device)?;
    let mut place = device.readback(4)?;
    counter.add(device)?;
    device.read_begin(&mut place, &counter.memory)?;
    counter.add(device)?;
    let count = i32::from_ne_bytes(place.wait()?.try_into()?);
    expect(count == 1, format!("count {count} of 1"))
}

fn lost(device: &Arc<Device>) -> Outcome {
    let add_one = kernel(device, "add_one")?;
    device.launch(&add_one, ONE, &[Argument::Address(1 << 12)])?;
    match device.synchronize() {
        Err(error @ Error::Lost { .. }) => Ok(error.to_string()),
        Err(error) => Err(error.into()),
        Ok(()) => Err("nothing was noticed".into()),
    }
}
