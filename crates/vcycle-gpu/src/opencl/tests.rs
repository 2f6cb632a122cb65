//! Devices that are opened and closed again.

use std::ffi::c_void;
use std::sync::atomic::{AtomicIsize, Ordering};

use super::api::{Callback, LOADER, Text};
use super::device::BLOCKS_LEFT;
use super::*;
use crate::device::Device;
use crate::prelude::*;
use crate::testing::devices;

const TEXT: &str = "__kernel void set(__global int *x, __global int *null) { x[0] = null == 0; }";

/// Has the device make one of everything that it gives back at its end.
fn use_all(device: &Arc<Device>) -> Result<()> {
    let source = Source {
        file: "set.c".into(),
        text: TEXT.into(),
        defines: Vec::new(),
    };
    let (memory, kernel) = (device.allocate(64)?, device.kernel(&source, "set")?);
    device.upload(&memory, &[0; 64])?;
    let arguments = [Argument::from(&memory), Argument::Address(0)];
    let shape = Shape {
        blocks: 1,
        threads: 1,
    };
    // SAFETY: the kernel has two pointers and writes four bytes.
    let launch = || unsafe { device.launch(&kernel, shape, &arguments) };
    let task = device.host_task(Arc::new(|| ()))?;
    let graph = device.capture(|| {
        device.begin_host_task(&task)?;
        launch()?;
        device.end_host_task(&task)
    })?;
    device.replay(&graph)?;
    device.begin_host_task(&task)?;
    device.time(launch)?;
    let coming = device.download_begin(&memory, 4)?;
    drop((coming, device.host_block(10)?));
    Ok(())
}

/// What is there of contexts, queues, programs, kernels, events and memory.
static LIVE: [AtomicIsize; 6] = [const { AtomicIsize::new(0) }; 6];

fn live() -> [isize; 6] {
    std::array::from_fn(|kind| LIVE[kind].load(Ordering::SeqCst))
}

/// Functions that count what they make or release.
macro_rules! counted {
    ($counting:ident: $($kind:literal $step:literal $field:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        unsafe extern "C" fn $field($($argument: $type),*) -> $result {
            LIVE[$kind].fetch_add($step, Ordering::SeqCst);
            // SAFETY: what the caller has promised of the same function.
            unsafe { (api().unwrap().$field)($($argument),*) }
        }
        $counting.$field = $field;
    )*};
}

/// The functions of the library, with those counted that make something or release it.
fn counting() -> &'static OpenClApi {
    let mut counting = OpenClApi::load(&LOADER).unwrap();
    counted! {
        counting:
        0 1 create_context(a: *const isize, b: u32, c: *const Object, d: Callback, e: *mut c_void, f: *mut i32) -> Object;
        0 -1 release_context(a: Object) -> i32;
        1 1 create_queue(a: Object, b: Object, c: *const u64, d: *mut i32) -> Object;
        1 -1 release_queue(a: Object) -> i32;
        2 1 create_program_with_source(a: Object, b: u32, c: *const Text, d: *const usize, e: *mut i32) -> Object;
        2 1 create_program_with_binary(a: Object, b: u32, c: *const Object, d: *const usize, e: *const *const u8,
            f: *mut i32, g: *mut i32) -> Object;
        2 -1 release_program(a: Object) -> i32;
        3 1 create_kernel(a: Object, b: Text, c: *mut i32) -> Object;
        3 1 clone_kernel(a: Object, b: *mut i32) -> Object;
        3 -1 release_kernel(a: Object) -> i32;
        4 1 enqueue_marker(a: Object, b: u32, c: *const Object, d: *mut Object) -> i32;
        4 -1 release_event(a: Object) -> i32;
        5 1 svm_alloc(a: Object, b: u64, c: usize, d: u32) -> *mut c_void;
        5 -1 svm_free(a: Object, b: *mut c_void) -> ();
    }
    Box::leak(Box::new(counting))
}

#[test]
fn nothing_is_left_of_a_device_that_was_closed() {
    let name = devices().into_iter().find_map(|name| {
        let number = name.strip_prefix("opencl:")?;
        number.parse::<usize>().ok()
    });
    let Some(number) = name else { return };
    let api = counting();
    for _ in 0..50 {
        let driver: Box<dyn Driver> = Box::new(opened(api, number).unwrap());
        let device = Arc::new_cyclic(|own| Device::new(driver, own.clone()));
        use_all(&device).unwrap();
        assert!(live().iter().all(|count| *count > 0), "{:?}", live());
        drop(device);
        assert_eq!((live(), BLOCKS_LEFT.load(Ordering::SeqCst)), ([0; 6], 0));
    }
}
