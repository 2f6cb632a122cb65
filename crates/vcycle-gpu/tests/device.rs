//! Everything a device does, on every device of `VCYCLE_TEST_DEVICES` (separated by commas), or on
//! all OpenCL processors where that is not set.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;
use std::{env, fs, thread};

use vcycle_gpu::testing::devices;
use vcycle_gpu::{Argument, Device, Error, Kernel, Memory, Result, Shape, Source};

const TEXT: &str = r#"
#ifdef __OPENCL_VERSION__
#define KERNEL __kernel
#define GLOBAL __global
#define LONG long
#define INDEX ((int)get_global_id(0))
#else
#define KERNEL extern "C" __global__
#define GLOBAL
#define LONG long long
#define INDEX ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#endif

KERNEL void add(GLOBAL float *x, float value, int count) {
    int i = INDEX;
    if (i < count) x[i] += SCALE * value;
}

KERNEL void kinds(GLOBAL double *out, GLOBAL float *null, int a, unsigned int b, LONG c, unsigned LONG d,
                  float e, double f) {
    if (INDEX == 0) out[0] = (null == 0) + a + b + (double)c + (double)d + e + f;
}
"#;

const COUNT: usize = 1000;
const SHAPE: Shape = Shape {
    blocks: 8,
    threads: 128,
};

/// The environment before a device was asked for: loaders of OpenCL cut the list of drivers in
/// `OCL_ICD_FILENAMES` where it stands, and processes begun after that know the first one only.
fn environment() -> &'static [(OsString, OsString)] {
    static ENVIRONMENT: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| env::vars_os().collect())
}

fn on_every_device(test: impl Fn(&Arc<Device>)) {
    environment();
    for name in devices() {
        test(&Device::open(&name).unwrap());
    }
}

/// Programs differ by `SCALE`, so that a test can have one of its own.
fn source(scale: &str) -> Source {
    Source {
        file: "device_test.c".into(),
        text: TEXT.into(),
        defines: vec![format!("SCALE={scale}")],
    }
}

fn adder(device: &Device) -> Kernel {
    device.kernel(&source("1.0f"), "add").unwrap()
}

fn add(device: &Device, kernel: &Kernel, to: &Memory, value: f32) -> Result<()> {
    let count = Argument::I32((to.bytes() / 4) as i32);
    let arguments = [to.into(), Argument::F32(value), count];
    // SAFETY: the kernel adds to as many numbers as the memory has.
    unsafe { device.launch(kernel, SHAPE, &arguments) }
}

fn zeros(device: &Arc<Device>) -> Memory {
    let memory = device.allocate(4 * COUNT).unwrap();
    device.clear(&memory).unwrap();
    memory
}

fn floats(device: &Device, memory: &Memory) -> Vec<f32> {
    let mut bytes = vec![0; memory.bytes()];
    device.download(&mut bytes, memory).unwrap();
    bytes
        .chunks_exact(4)
        .map(|four| f32::from_ne_bytes(four.try_into().unwrap()))
        .collect()
}

#[test]
fn properties_make_sense() {
    on_every_device(|device| {
        let properties = device.properties();
        assert!(devices().contains(&properties.name));
        assert!(!properties.model.is_empty() && !properties.driver.is_empty());
        assert!(properties.memory > 1 << 20 && properties.compute_units > 0);
        assert!(properties.max_block >= 128 && properties.local_memory >= 16 << 10);
        let free = device.free_memory().unwrap();
        assert!(free > 0 && free <= properties.memory);
        println!("{properties:?}");
    });
}

#[test]
fn kernels_are_timed_by_their_names() {
    on_every_device(|device| {
        // One of its own: other tests launch kernels meanwhile.
        let device = &Device::open_again(&device.properties().name).unwrap();
        let (memory, kernel) = (zeros(device), adder(device));
        let work = || {
            add(device, &kernel, &memory, 1.0)?;
            add(device, &kernel, &memory, 1.0)
        };
        let (times, span) = device.kernel_times::<Error>(work).unwrap();
        assert_eq!((times.len(), times[0].launches), (1, 2));
        assert_eq!(&*times[0].name, "add");
        assert!(times[0].milliseconds >= 0.0 && span >= 0.0);
        let nothing = device.kernel_times::<Error>(|| Ok(())).unwrap();
        assert_eq!(nothing, (Vec::new(), 0.0));
    });
}

#[test]
fn what_was_asked_for_is_made_ready() {
    on_every_device(|device| {
        let name = &device.properties().name;
        let one = Device::open_again(name).unwrap();
        one.kernel(&source("5.0f"), "add").unwrap();
        one.record_requests();
        let ask = |device: &Arc<Device>| {
            device.kernel(&source("4.0f"), "add").unwrap();
            drop(device.readback(5000).unwrap());
            [3000, 3000, 70_000].map(|bytes| device.allocate(bytes).unwrap())
        };
        ask(&one);
        let requests = one.requests();
        assert_eq!(requests.kernels, [(source("4.0f"), "add".to_owned())]);
        assert_eq!(requests.memory.len(), 3);
        let other = Device::open_again(name).unwrap();
        other.prefetch(&requests);
        let before = (other.builds(), other.counts());
        assert_eq!((before.0.loaded, before.0.compiled), (1, 0));
        other.record_requests();
        let memory = ask(&other);
        assert_eq!((other.builds(), other.counts()), before);
        assert_eq!(
            (other.requests().memory, other.requests().pinned),
            (vec![], vec![])
        );
        add(&other, &adder(&other), &memory[2], 1.0).unwrap();
        other.cache_text(name, "text");
        assert_eq!(one.cached_text(name).unwrap(), "text");
        assert!(one.cached_text("other").is_none());
    });
}

#[test]
fn every_open_is_the_same_device() {
    on_every_device(|device| {
        let again = Device::open(&device.properties().name).unwrap();
        assert!(Arc::ptr_eq(device, &again));
    });
}

#[test]
fn missing_number_lists_what_there_is() {
    on_every_device(|device| {
        let name = &device.properties().name;
        let error = Device::open(&format!("{name}99")).unwrap_err();
        assert!(matches!(error, Error::NoDevice { .. }), "{error}");
        assert!(error.to_string().contains(name.as_str()), "{error}");
    });
}

#[test]
fn bytes_come_back() {
    on_every_device(|device| {
        for bytes in [0, 1, 1000, (16 << 20) + 3, (40 << 20) + 5] {
            let sent: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect();
            let memory = device.allocate(bytes).unwrap();
            let copy = device.allocate(bytes).unwrap();
            device.upload(&memory, &sent).unwrap();
            device.copy(&copy, &memory, bytes).unwrap();
            device.clear(&memory).unwrap();
            let mut came = vec![1; bytes];
            device.download(&mut came, &copy).unwrap();
            assert!(came == sent, "{bytes} bytes");
            device.download(&mut came, &memory).unwrap();
            assert!(came.iter().all(|&byte| byte == 0), "{bytes} bytes");
        }
    });
}

#[test]
fn kernels_compute() {
    on_every_device(|device| {
        let memory = zeros(device);
        add(device, &adder(device), &memory, 1.5).unwrap();
        add(
            device,
            &device.kernel(&source("2.0f"), "add").unwrap(),
            &memory,
            1.0,
        )
        .unwrap();
        let nothing = Shape { blocks: 0, ..SHAPE };
        // SAFETY: nothing is launched.
        unsafe { device.launch(&adder(device), nothing, &[]) }.unwrap();
        assert_eq!(floats(device, &memory), vec![3.5; COUNT]);
    });
}

#[test]
fn arguments_of_all_kinds_arrive() {
    on_every_device(|device| {
        if !device.properties().fp64 {
            return;
        }
        let memory = device.allocate(8).unwrap();
        let arguments = [
            Argument::from(&memory),
            Argument::Address(0),
            Argument::I32(-10),
            Argument::U32(3_000_000_000),
            Argument::I64(-(1 << 40)),
            Argument::U64(1 << 50),
            Argument::F32(0.5),
            Argument::F64(0.25),
        ];
        let kernel = device.kernel(&source("1.0f"), "kinds").unwrap();
        // SAFETY: the kernel has these arguments, and writes eight bytes.
        unsafe { device.launch(&kernel, SHAPE, &arguments) }.unwrap();
        let mut bytes = [0; 8];
        device.download(&mut bytes, &memory).unwrap();
        let sum = 1.0 - 10.0 + 3e9 - 2_f64.powi(40) + 2_f64.powi(50) + 0.75;
        assert_eq!(f64::from_ne_bytes(bytes), sum);
    });
}

#[test]
fn compile_errors_name_file_and_line() {
    on_every_device(|device| {
        let mut wrong = source("1.0f");
        wrong.text = format!("\n\nint wrong = nowhere;\n{TEXT}").into();
        let error = device.kernel(&wrong, "add").unwrap_err();
        let Error::Compile { file, log, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(file, "device_test.c");
        assert!(log.contains("nowhere"), "{log}");
        assert!(
            log.contains("device_test.c:3") || log.contains("device_test.c(3)"),
            "{log}"
        );
    });
}

#[test]
fn missing_kernel_is_named() {
    on_every_device(|device| {
        let error = device.kernel(&source("1.0f"), "subtract").unwrap_err();
        assert_eq!(error.to_string(), "device_test.c has no kernel `subtract`");
    });
}

#[test]
fn too_much_memory_is_refused_and_nothing_else() {
    on_every_device(|device| {
        let before = zeros(device);
        let asked = device.properties().memory + 1;
        let error = device.allocate(asked).unwrap_err();
        let Error::OutOfMemory {
            bytes, free, total, ..
        } = error
        else {
            panic!("{error}")
        };
        assert!(bytes >= asked && free < bytes && total == device.properties().memory);
        assert!(matches!(
            device.check_room(asked),
            Err(Error::OutOfMemory { .. })
        ));
        device.check_room(COUNT).unwrap();
        add(device, &adder(device), &before, 2.0).unwrap();
        assert_eq!(floats(device, &before), vec![2.0; COUNT]);
        assert!(device.allocate(1 << 20).is_ok());
    });
}

#[test]
fn recorded_work_runs_when_replayed() {
    on_every_device(|device| {
        let (memory, copy) = (zeros(device), zeros(device));
        let kernel = adder(device);
        let graph = device.capture(|| {
            add(device, &kernel, &memory, 1.0)?;
            add(device, &kernel, &memory, 2.0)?;
            device.copy(&copy, &memory, 4 * COUNT)
        });
        let graph = graph.unwrap();
        assert_eq!(graph.launches, 2);
        assert_eq!(floats(device, &memory), vec![0.0; COUNT]);
        for _ in 0..3 {
            device.replay(&graph).unwrap();
        }
        device.clear(&memory).unwrap();
        assert_eq!(floats(device, &copy), vec![9.0; COUNT]);
        assert_eq!(floats(device, &memory), vec![0.0; COUNT]);
    });
}

#[test]
fn a_graph_keeps_the_memory_it_uses() {
    on_every_device(|device| {
        // One of its own: the pool has nothing but what this test gives it.
        let device = &Device::open_again(&device.properties().name).unwrap();
        let (memory, kernel) = (zeros(device), adder(device));
        let graph = device.capture(|| add(device, &kernel, &memory, 1.0));
        let graph = graph.unwrap();
        let used = memory.address();
        drop(memory);
        let other = zeros(device);
        assert_ne!(other.address(), used);
        device.replay(&graph).unwrap();
        assert_eq!(floats(device, &other), vec![0.0; COUNT]);
        drop(graph);
        assert_eq!(device.allocate(4 * COUNT).unwrap().address(), used);
    });
}

#[test]
fn memory_that_is_dropped_while_it_is_recorded_stays() {
    on_every_device(|device| {
        let kernel = adder(device);
        let (count, memory) = (Arc::new(()), Arc::new(zeros(device)));
        let owner = Box::new((Arc::clone(&count), Arc::clone(&memory)));
        // SAFETY: the owner has the memory.
        let ours = unsafe { device.adopt(memory.address(), memory.bytes(), owner) }.unwrap();
        let graph = device.capture(|| {
            add(device, &kernel, &ours, 1.0)?;
            drop(ours);
            Ok::<(), Error>(())
        });
        let graph = graph.unwrap();
        assert_eq!(Arc::strong_count(&count), 2);
        device.replay(&graph).unwrap();
        drop(graph);
        assert_eq!(Arc::strong_count(&count), 1);
        assert_eq!(floats(device, &memory), vec![1.0; COUNT]);
    });
}

#[test]
fn graphs_of_other_devices_are_refused() {
    on_every_device(|device| {
        let other = Device::open_again(&device.properties().name).unwrap();
        let (memory, kernel) = (zeros(&other), adder(&other));
        let graph = other.capture(|| add(&other, &kernel, &memory, 1.0));
        let refused = device.replay(&graph.unwrap());
        assert!(
            matches!(refused, Err(Error::Unsupported { .. })),
            "{refused:?}"
        );
    });
}

#[test]
#[should_panic(expected = "memory of another device")]
fn memory_of_other_devices_is_refused() {
    environment();
    let Some(name) = devices().into_iter().next() else {
        panic!("memory of another device: there is none")
    };
    let device = Device::open(&name).unwrap();
    let other = Device::open_again(&name).unwrap();
    drop(device.clear(&zeros(&other)));
}

#[test]
fn a_block_is_used_again_after_its_copies() {
    on_every_device(|device| {
        let device = &Device::open_again(&device.properties().name).unwrap();
        let (memory, kernel) = (zeros(device), adder(device));
        let block = device.host_block(4 * COUNT).unwrap();
        for _ in 0..300 {
            add(device, &kernel, &memory, 1.0).unwrap();
        }
        // SAFETY: the memory has as many bytes, and nobody else has the block.
        unsafe { device.copy_out(&block, 0, memory.address(), 4 * COUNT) }.unwrap();
        drop(block);
        let next = device.host_block(4 * COUNT).unwrap();
        // SAFETY: nobody else has the block.
        let bytes = unsafe { next.bytes() };
        bytes.fill(7);
        device.synchronize().unwrap();
        assert!(bytes.iter().all(|&byte| byte == 7));
    });
}

#[test]
fn waiting_cannot_be_recorded() {
    on_every_device(|device| {
        let memory = zeros(device);
        let kernel = adder(device);
        let graph = device.capture(|| {
            add(device, &kernel, &memory, 1.0)?;
            device.synchronize()
        });
        assert!(graph.is_err());
        let graph = device
            .capture(|| add(device, &kernel, &memory, 1.0))
            .unwrap();
        device.replay(&graph).unwrap();
        assert_eq!(floats(device, &memory), vec![1.0; COUNT]);
    });
}

#[test]
fn failing_work_records_nothing() {
    on_every_device(|device| {
        let graph = device.capture(|| device.kernel(&source("1.0f"), "subtract").map(|_| ()));
        assert!(matches!(graph, Err(Error::NoKernel { .. })));
        let memory = zeros(device);
        add(device, &adder(device), &memory, 1.0).unwrap();
        assert_eq!(floats(device, &memory), vec![1.0; COUNT]);
    });
}

#[test]
fn other_threads_work_while_one_records() {
    on_every_device(|device| {
        let (mine, theirs) = (zeros(device), zeros(device));
        let kernel = adder(device);
        let (begun, done) = (Barrier::new(2), Barrier::new(2));
        let graph = thread::scope(|scope| {
            scope.spawn(|| {
                begun.wait();
                for _ in 0..100 {
                    add(device, &kernel, &theirs, 1.0).unwrap();
                }
                assert_eq!(floats(device, &theirs), vec![100.0; COUNT]);
                done.wait();
            });
            let graph = device.capture(|| {
                begun.wait();
                (0..50).try_for_each(|_| add(device, &kernel, &mine, 1.0))?;
                done.wait();
                Ok::<(), Error>(())
            });
            graph.unwrap()
        });
        assert_eq!(graph.launches, 50);
        assert_eq!(floats(device, &mine), vec![0.0; COUNT]);
        device.replay(&graph).unwrap();
        assert_eq!(floats(device, &mine), vec![50.0; COUNT]);
        assert_eq!(floats(device, &theirs), vec![100.0; COUNT]);
    });
}

#[test]
fn threads_share_a_kernel() {
    on_every_device(|device| {
        let kernel = adder(device);
        thread::scope(|scope| {
            for value in [1.0, 2.0, 3.0] {
                let kernel = &kernel;
                scope.spawn(move || {
                    let memory = zeros(device);
                    for _ in 0..200 {
                        add(device, kernel, &memory, value).unwrap();
                    }
                    assert_eq!(floats(device, &memory), vec![200.0 * value; COUNT]);
                });
            }
        });
    });
}

#[test]
fn results_are_read_later() {
    on_every_device(|device| {
        let memory = zeros(device);
        let kernel = adder(device);
        let mut readback = device.readback(4).unwrap();
        for step in 1..=3 {
            add(device, &kernel, &memory, 1.0).unwrap();
            device.read_begin(&mut readback, &memory).unwrap();
            add(device, &kernel, &memory, 10.0).unwrap();
            let came = f32::from_ne_bytes(readback.wait().unwrap().try_into().unwrap());
            assert_eq!(came, step as f32 + 10.0 * (step - 1) as f32);
        }
    });
}

#[test]
fn times_are_of_the_device() {
    on_every_device(|device| {
        let memory = zeros(device);
        let kernel = adder(device);
        let some = device.time(|| (0..500).try_for_each(|_| add(device, &kernel, &memory, 1.0)));
        assert!(some.unwrap() > 0.0);
        let bandwidth = device.copy_bandwidth().unwrap();
        println!("{}: {:.1} GB/s", device.properties().name, bandwidth * 1e-9);
        assert!(bandwidth > 1e7 && bandwidth < 1e14);
    });
}

#[test]
fn memory_of_others_is_used_in_place_and_let_go_of() {
    on_every_device(|device| {
        let (kernel, theirs) = (adder(device), Arc::new(zeros(device)));
        let owner = Box::new(Arc::clone(&theirs));
        // SAFETY: the owner is the memory itself.
        let ours = unsafe { device.adopt(theirs.address(), theirs.bytes(), owner) }.unwrap();
        assert!(ours.is_adopted() && !theirs.is_adopted());
        add(device, &kernel, &ours, 2.0).unwrap();
        assert_eq!(Arc::strong_count(&theirs), 2);
        drop(ours);
        assert_eq!(Arc::strong_count(&theirs), 1);
        assert!(floats(device, &theirs).iter().all(|&value| value == 2.0));
    });
}

#[test]
fn memory_of_the_host_is_not_adopted() {
    on_every_device(|device| {
        let host = [0_u8; 64];
        // SAFETY: refused, so nobody looks there.
        let refused = unsafe { device.adopt(host.as_ptr() as u64, 64, Box::new(())) };
        assert!(
            matches!(refused, Err(Error::Elsewhere { .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn streams_of_others_are_waited_for() {
    environment();
    for name in devices() {
        let [ours, other] = [(); 2].map(|()| Device::open_again(&name).unwrap());
        let Some(stream) = other.vendor_stream().unwrap() else {
            // SAFETY: refused.
            let refused = unsafe { ours.wait_for(1) };
            assert!(
                matches!(refused, Err(Error::Unsupported { .. })),
                "{refused:?}"
            );
            continue;
        };
        // SAFETY: a stream of the device, which is there until the end.
        assert_order(&other, &ours, || unsafe { ours.wait_for(stream) });
        // SAFETY: as before.
        assert_order(&ours, &other, || unsafe { ours.hold_up(stream) });
    }
}

/// That what is queued second waits for the first, which the host keeps busy where it can.
fn assert_order(first: &Arc<Device>, second: &Arc<Device>, order: impl Fn() -> Result<()>) {
    if !first.has_host_tasks() {
        return order().unwrap();
    }
    let [is_done, was_done] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (done, before) = (Arc::clone(&is_done), Arc::clone(&was_done));
    let work = move || {
        thread::sleep(Duration::from_millis(100));
        done.store(true, SeqCst);
    };
    let look = move || before.store(is_done.load(SeqCst), SeqCst);
    let work = first.host_task(Arc::new(work)).unwrap();
    let look = second.host_task(Arc::new(look)).unwrap();
    let queue = |device: &Device, task| {
        device.begin_host_task(task)?;
        device.end_host_task(task)
    };
    queue(first, &work).unwrap();
    order().unwrap();
    queue(second, &look).unwrap();
    second.synchronize().unwrap();
    assert!(was_done.load(SeqCst));
}

/// Counts are of the whole device: a process of its own sees no other test's.
#[test]
fn counts_and_builds_of_a_process() {
    let Ok(name) = env::var("VCYCLE_TEST_CHILD") else {
        return;
    };
    let device = &Device::open(&name).unwrap();
    let kernel = adder(device);
    device.kernel(&source("1.0f"), "add").unwrap();
    let memory = zeros(device);
    let start = device.counts();
    add(device, &kernel, &memory, 1.0).unwrap();
    let graph = device
        .capture(|| add(device, &kernel, &memory, 1.0))
        .unwrap();
    device.replay(&graph).unwrap();
    drop(device.allocate(5000).unwrap());
    drop(device.allocate(5000).unwrap());
    floats(device, &memory);
    let counts = device.counts() - start;
    assert_eq!(
        (counts.launches, counts.replays, counts.allocations),
        (1, 1, 1)
    );
    assert_eq!(
        (counts.synchronizations, counts.downloaded),
        (1, 4 * COUNT as u64)
    );
    let builds = device.builds();
    assert!(builds.seconds > 0.0);
    println!(
        "compiled {} loaded {} in {:.3} s",
        builds.compiled, builds.loaded, builds.seconds
    );
}

/// What the test above prints in a process with a folder for compiled kernels of its own.
fn builds_of_a_process(device: &Device, cache: &Path) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "counts_and_builds_of_a_process", "--nocapture"])
        .env_clear()
        .envs(environment().iter().cloned())
        .env("VCYCLE_TEST_CHILD", &device.properties().name)
        .env("VCYCLE_CACHE", cache)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{printed}");
    printed
}

#[test]
fn compiled_kernels_are_kept_on_disk() {
    on_every_device(|device| {
        let folder = device.properties().name.replace(':', "-");
        let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{folder}"));
        let _ = fs::remove_dir_all(&cache);
        assert!(builds_of_a_process(device, &cache).contains("compiled 1 loaded 0"));
        assert!(builds_of_a_process(device, &cache).contains("compiled 0 loaded 1"));
        for file in fs::read_dir(&cache).unwrap() {
            fs::write(file.unwrap().path(), "damaged").unwrap();
        }
        assert!(builds_of_a_process(device, &cache).contains("compiled 1 loaded 0"));
        assert!(builds_of_a_process(device, &cache).contains("compiled 0 loaded 1"));
        let nowhere = cache.join("file");
        fs::write(&nowhere, "a file is no folder").unwrap();
        assert!(builds_of_a_process(device, &nowhere).contains("compiled 1 loaded 0"));
    });
}
