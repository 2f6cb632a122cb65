//! Large arrays in large pages.
//!
//! A solve waits for memory, and with pages of 4 KiB for the tables of pages, too. A program gets large ones by its
//! allocator, which a library cannot choose for it:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: vcycle::memory::LargePages = vcycle::memory::LargePages;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};

/// From this many bytes on an array is worth it.
const LARGE: usize = 4 * 1024 * 1024;

/// The allocator of the system, which is asked for large pages where arrays are large.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

// SAFETY: every call is passed on to `System`; the advice about pages changes neither addresses nor contents.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout` is not of size zero, a condition of `GlobalAlloc::alloc`.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout` is not of size zero, a condition of `GlobalAlloc::alloc_zeroed`.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `memory` came from `System` with this layout, and the new size is not zero, conditions of
        // `GlobalAlloc::realloc`.
        advised(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `System` with this layout, a condition of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The same memory, in large pages if it is large and not used yet.
fn advised(memory: *mut u8, size: usize) -> *mut u8 {
    #[cfg(target_os = "linux")]
    if size >= LARGE && !memory.is_null() {
        const PAGE: usize = 4096;
        const HUGE_PAGE: i32 = 14;
        unsafe extern "C" {
            fn madvise(address: *mut u8, length: usize, advice: i32) -> i32;
        }
        let before = memory.addr() % PAGE;
        // SAFETY: whole pages around memory of ours; the advice changes nothing but its speed.
        unsafe { madvise(memory.wrapping_sub(before), size + before, HUGE_PAGE) };
    }
    memory
}
