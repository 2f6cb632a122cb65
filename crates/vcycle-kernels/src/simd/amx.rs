//! Tiles of bf16 (AMX): up to 16 rows of 32 numbers times 32 rows of up to 16, summed in f32.
//!
//! Intrinsics for these few instructions are not stable, so that they stand in assembly.

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::marker::PhantomData;

/// Columns of a tile of the first factor, which are rows of the second one.
pub(crate) const DEPTH: usize = 32;
/// Rows of a tile, and columns of sums.
pub(crate) const SIDE: usize = 16;

/// Whether the processor has tiles of bf16 and the system lets this process use them, for which it is asked.
pub(super) fn is_there() -> bool {
    const BF16: u32 = 1 << 22;
    const TILES: u32 = 1 << 24;
    let features = __cpuid_count(7, 0).edx;
    features & BF16 != 0 && features & TILES != 0 && is_permitted()
}

/// Asks Linux to save tiles when threads take turns; it refuses where it cannot.
#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    const ARCH_PRCTL: isize = 158;
    const REQUEST_PERMISSION: usize = 0x1023;
    const TILE_DATA: usize = 18;
    let result: isize;
    // SAFETY: the call takes two numbers, no memory, and changes nothing but what this process may use. The system overwrites
    // no more than the result and two registers.
    unsafe {
        asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

/// The shapes of all tiles, as the processor takes them.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    first_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// Tiles of this thread in shape for products of so many rows and columns, until it is dropped.
pub(crate) struct Tiles {
    columns: usize,
    /// They are those of one thread.
    of_thread: PhantomData<*const ()>,
}

impl Tiles {
    /// For up to 16 rows and columns.
    ///
    /// # Safety
    /// The host [has tiles](is_there), and the thread has no other `Tiles`.
    pub(crate) unsafe fn new(rows: usize, columns: usize) -> Self {
        assert!((1..=SIDE).contains(&rows) && (1..=SIDE).contains(&columns));
        let mut shapes = Shapes {
            palette: 1,
            first_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        // Sums, first and second factor, in which two rows stand in one.
        let sums = (4 * columns) as u16;
        shapes.row_bytes[..3].copy_from_slice(&[sums, 2 * DEPTH as u16, sums]);
        shapes.rows[..3].copy_from_slice(&[rows as u8, rows as u8, DEPTH as u8 / 2]);
        // SAFETY: the host has tiles, a condition of this function, and these shapes fit them.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const shapes, options(nostack, readonly)) };
        Self {
            columns,
            of_thread: PhantomData,
        }
    }

    /// `sums = A B`. Of `A` there are `whole` tiles of 32 columns side by side, with rows `apart` bytes apart, and a last one, with rows one after the other. `B` has the rows for
    /// all of these in pairs: a number of one row, that of the next one, and so on. Of a sum that is smaller than any
    /// normal number nothing is left.
    ///
    /// # Safety
    /// All that is described is readable, and `sums` has room for the rows and columns that the tiles have.
    #[inline]
    pub(crate) unsafe fn multiply(
        &self,
        (a, apart, whole): (*const u16, usize, usize),
        last: *const u16,
        b: *const u16,
        sums: *mut f32,
    ) {
        let b_apart = 4 * self.columns;
        // SAFETY: the tiles have their shape since `new`, and nothing else in this program changes it: compilers do not use tiles. What is read
        // and written is there, a condition of this function. Tiles are not kept from one call to the next.
        unsafe {
            asm!(
                "tilezero tmm0",
                "test {whole}, {whole}",
                "jz 3f",
                "2:",
                "tileloadd tmm1, [{a} + {apart}*1]",
                "tileloadd tmm2, [{b} + {b_apart}*1]",
                "tdpbf16ps tmm0, tmm1, tmm2",
                "add {a}, 64",
                "add {b}, {b_tile}",
                "dec {whole}",
                "jnz 2b",
                "3:",
                "tileloadd tmm1, [{last} + {row}*1]",
                "tileloadd tmm2, [{b} + {b_apart}*1]",
                "tdpbf16ps tmm0, tmm1, tmm2",
                "tilestored [{sums} + {b_apart}*1], tmm0",
                a = inout(reg) a => _,
                b = inout(reg) b => _,
                whole = inout(reg) whole => _,
                apart = in(reg) apart,
                b_apart = in(reg) b_apart,
                b_tile = in(reg) b_apart * (DEPTH / 2),
                last = in(reg) last,
                row = in(reg) 2 * DEPTH,
                sums = in(reg) sums,
                out("tmm0") _, out("tmm1") _, out("tmm2") _,
                options(nostack),
            );
        }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: the host has tiles, as `new` asks; with none in use threads take turns faster.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}
