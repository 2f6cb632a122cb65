//! Numbers that calls return and take.

/// Success.
pub const VCYCLE_OK: i32 = 0;
/// An invalid argument: a null pointer, a size, a type.
pub const VCYCLE_ERROR_ARGUMENT: i32 = 1;
/// A solver that was freed, or never made.
pub const VCYCLE_ERROR_HANDLE: i32 = 2;
/// An option that does not exist, or does not fit the matrix.
pub const VCYCLE_ERROR_OPTION: i32 = 3;
/// Arrays that are not a valid matrix, or entries or vectors that are not finite.
pub const VCYCLE_ERROR_MATRIX: i32 = 4;
/// Not enough memory. The solver is as it was before the call.
pub const VCYCLE_ERROR_MEMORY: i32 = 5;
/// A GPU, its driver or its compiler reports an error.
pub const VCYCLE_ERROR_DEVICE: i32 = 6;
/// A call in the wrong order, or one that changes a solver while another call uses it.
pub const VCYCLE_ERROR_STATE: i32 = 7;
/// An unsupported combination of matrix, options and call.
pub const VCYCLE_ERROR_UNSUPPORTED: i32 = 8;
/// A set-up that failed: a zero pivot, a singular matrix.
pub const VCYCLE_ERROR_SETUP: i32 = 9;
/// A bug of the library. Please report it.
pub const VCYCLE_ERROR_INTERNAL: i32 = 10;

/// Numbers: double.
pub const VCYCLE_F64: i32 = 0;
/// Numbers: float. They are converted to double precision for the computation unless the options say otherwise.
pub const VCYCLE_F32: i32 = 1;
/// Numbers: pairs of double, the real part first.
pub const VCYCLE_C64: i32 = 2;
/// Numbers: pairs of float, the real part first.
pub const VCYCLE_C32: i32 = 3;

/// Indices: int32_t.
pub const VCYCLE_I32: i32 = 0;
/// Indices: int64_t.
pub const VCYCLE_I64: i32 = 1;

/// The arrays of the matrix are used without a copy if possible: columns int32_t from 0 that increase in every row,
/// and numbers double or pairs of double. They must not change or be freed before the next vcycle_setup,
/// vcycle_update_values or vcycle_free. Without this flag they are copied.
pub const VCYCLE_BORROW: i32 = 1;
/// The arrays of the matrix, and all vectors, are in the memory of the GPU that the options name. They are used there,
/// without copies to the host; columns of every row increase, indices begin at 0, numbers are double.
pub const VCYCLE_DEVICE: i32 = 2;
