//! Buffers that are borrowed, moved and refused.

use super::*;
use crate::assert_refused;

#[test]
fn impossible_size_is_a_typed_error() {
    let result = Buffer::filled(&Executor::reference(), usize::MAX / 16, 0.0_f64);
    assert_refused!(result, OutOfMemory { .. });
}

#[test]
fn what_is_borrowed_is_copied_before_it_changes() {
    let theirs = std::sync::Arc::new(vec![1_u32, 2, 3]);
    let (address, owner) = (theirs.as_ptr() as u64, std::sync::Arc::clone(&theirs));
    // SAFETY: the owner is what holds the values.
    let ours = unsafe { Buffer::borrowed(&Executor::reference(), address, 3, Box::new(owner)) };
    let mut ours: Buffer<u32> = ours.unwrap();
    let kept = ours.clone();
    assert_eq!((ours.address().unwrap(), ours.len()), (address, 3));
    ours.host_mut().unwrap()[0] = 7;
    assert_eq!(ours.into_vec(), [7, 2, 3]);
    assert_eq!(kept.in_place().unwrap(), *theirs);
    drop(kept);
    assert_eq!(std::sync::Arc::strong_count(&theirs), 1);
}

#[test]
fn what_is_borrowed_of_a_device_is_left_alone() {
    let Some(executor) = crate::testing::device() else {
        return;
    };
    let theirs = Buffer::from_vec(&executor, (0..100).collect::<Vec<u32>>());
    let address = theirs.address().unwrap();
    // A part that begins where kernels do not expect it is copied.
    for first in [0, 4, 64] {
        let (part, owner) = (address + 4 * first, Box::new(theirs.clone()));
        // SAFETY: the owner shares the memory.
        let ours = unsafe { Buffer::borrowed(&executor, part, 36, owner) };
        let mut ours: Buffer<u32> = ours.unwrap();
        assert_eq!(ours.address().unwrap() == part, first != 4);
        assert_eq!(ours.host().unwrap()[0], first as u32);
        ours.host_mut().unwrap()[0] = 1000;
        assert_ne!(ours.address().unwrap(), part);
    }
    assert!(theirs.to_vec().into_iter().eq(0..100));
}

#[test]
fn moving_between_executors_keeps_values() {
    let here = Buffer::from_vec(&Executor::reference(), vec![1_u32, 2, 3]);
    let there = here.copy_to(&Executor::cpu()).unwrap();
    assert_eq!(there.executor().name(), "cpu");
    assert_eq!(there.into_vec(), vec![1, 2, 3]);
}
