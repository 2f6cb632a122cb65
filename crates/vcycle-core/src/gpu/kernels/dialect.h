// The words kernels are written in. One source for three compilers: NVRTC, HIPRTC and OpenCL C.
//
// Kernels are C99 plus these words. Compile-time constants come as definitions:
//   WIDTH   threads of a sub-group (32 on NVIDIA, 64 on AMD, 16 or 32 elsewhere)
//   BLOCK   threads of a block, a power of two
//   IN_FLIGHT  loads of a thread that should be on their way together
//   and the value types of a program, each one of f64 f32 f16 bf16 c64 c32.
//
// Values are stored in one of these types and computed in f64, f32, c64 or c32, their arithmetic type:
//   ARITH(T)                    the arithmetic type of a storage type
//   WIDER(A, B)                 the wider of two arithmetic types
//   LOAD(T, p, i)               p[i] in the arithmetic type of T; exact
//   STORE(A, T, p, i, value)    p[i] = value of arithmetic type A, rounded to nearest even, once
//   LOADS(N, T, p, i, values)   N neighbours, the i-th such group of an aligned array, in as few
//   STORES(N, A, T, p, i, values)   instructions as there can be; N = 2, 4, of halves also 8
//   GROUP(T), COMMON_GROUP(S, T)    the N of 16 bytes; of the wider one of two types
//   ROUND(A, T, value)          the value as LOAD gives it after STORE
//   CONVERT(A, B, value)        from one arithmetic type to another; not from complex to real
// Values of all arithmetic types are added by + and -, and (A)0 is zero. The rest has words in kernels that
// complex numbers are for, too; for real ones they are what C has:
//   MULTIPLY(A, a, b), OVER(A, a, b), CONJ(A, a), SQUARE(A, a)   the last one is |a|^2, of type A
//   OF_REAL(A, r), REAL_PART(A, a), IS_ZERO(A, a), IS_ONE(A, a), IS_COMPLEX(A)
//   REAL(A)                     the type of real parts
//   MAGNITUDE(A, a)             |a|, of complex numbers |re| + |im|, of type REAL(A)
//   VOLATILE_AT(A, p, i)        p[i] of a volatile array
//   LOAD_ONCE(W, p)             *p of W, one of f64 u8 u16 u32, not kept in the cache nearest to the
//                               threads where that can be said; PAIR_ONCE(p, i, values) for LOADS of
//                               two f64
//   PREFETCH(p)                 what stands at p will be loaded soon; nothing where that cannot be said
// A kernel begins with KERNEL, or with
//   KERNEL_OF(blocks)           where so many blocks should fit a multiprocessor: it may use all the
//                               registers that leaves, not just as many as most kernels do well with
// Threads work together with
//   TILE_SUM(A, value, width, scratch)   the sum over `width` neighbouring threads, in each of them;
//                               `width` is a power of two, at most WIDTH
//   BLOCK_SUM(A, value, scratch)         the sum over the block, in its first thread
//   LAST_BLOCK(counter, scratch)         whether all other blocks have come here before
// which all threads of a block have to call, with `scratch` an array of BLOCK values in local
// memory. Sums are always formed in the same order, the same one for any WIDTH.
//   TILE(threads)               `threads` neighbours that meet in TILE_SYNC while others do not; 1 on
//                               devices where they cannot. A power of two, at most WIDTH
//   TILE_SYNC(tile)             what the tile wrote before is seen by all of it
//   ATOMIC_ADD, _MIN, _MAX, _OR (pointer, value), ATOMIC_CAS(pointer, expected, value)
//                               of u32 in global or local memory; each gives the value before
//   BITS_SET(flags)             how many bits of a u32 are set
//   FOR_ITEMS(i, n)             i from 0 to n - 1, shared by all threads of the grid

#if defined(__HIP__) || defined(__HIPCC__) || defined(__HIPCC_RTC__)
#define DIALECT_HIP 1
#endif
#if defined(DIALECT_HIP) || defined(__CUDACC__)
#define DIALECT_CUDA 1
#endif

#ifdef DIALECT_CUDA

typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define GLOBAL
#define LOCAL
#define PRIVATE
#define LOCAL_ARRAY(type, name, size) __shared__ type name[size]
#define RESTRICT __restrict__
#define FUNCTION static __device__ __forceinline__ __attribute__((unused))
#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)

FUNCTION u32 thread_of_block(void) { return threadIdx.x; }
FUNCTION u32 block_of_grid(void) { return blockIdx.x; }
FUNCTION u32 blocks_of_grid(void) { return gridDim.x; }
#define BARRIER() __syncthreads()
#define FENCE() __threadfence()
FUNCTION u32 atomic_increment(GLOBAL u32 *counter) { return atomicAdd(counter, 1u); }
#define ATOMIC_ADD(pointer, value) atomicAdd(pointer, (u32)(value))
#define ATOMIC_MIN(pointer, value) atomicMin(pointer, (u32)(value))
#define ATOMIC_MAX(pointer, value) atomicMax(pointer, (u32)(value))
#define ATOMIC_OR(pointer, value) atomicOr(pointer, (u32)(value))
#define ATOMIC_CAS(pointer, expected, value) atomicCAS(pointer, (u32)(expected), (u32)(value))
#define BITS_SET(flags) ((u32)__popc(flags))
#define TILES 1
FUNCTION u32 bits_of_f32(float value) { return __float_as_uint(value); }
FUNCTION float f32_of_bits(u32 bits) { return __uint_as_float(bits); }
FUNCTION u64 bits_of_f64(double value) { return (u64)__double_as_longlong(value); }
FUNCTION float square_root_f32(float value) { return sqrtf(value); }
FUNCTION double square_root_f64(double value) { return sqrt(value); }

#define SHUFFLES 1
#ifdef DIALECT_HIP
#define PREFETCH(p) ((void)0)
#define LOAD_ONCE(W, p) (*(p))
#define KERNEL_OF(blocks) KERNEL
// Threads of a wavefront go in step; only the compiler has to be held back.
#define TILE_SYNC(tile)                                                                            \
    do {                                                                                           \
        __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");                                     \
        __builtin_amdgcn_wave_barrier();                                                           \
    } while (0)
#define SHUFFLE_XOR(value, mask) __shfl_xor(value, mask)
#define SHUFFLE(value, lane) __shfl(value, lane)
FUNCTION float widen_f16(u16 bits) { return (float)__builtin_bit_cast(_Float16, bits); }
FUNCTION u16 narrow_f32_f16(float value) { return __builtin_bit_cast(u16, (_Float16)value); }
#else
#define PREFETCH(p) asm volatile("prefetch.global.L2 [%0];" ::"l"(p))
#define LOAD_ONCE(W, p) PASTE(load_once_, W)(p)
#define LOAD_ONCE_OF(W, R, suffix, letter)                                                         \
    FUNCTION W load_once_##W(const W *p) {                                                         \
        R value;                                                                                   \
        asm("ld.global.nc.L1::no_allocate." suffix " %0, [%1];" : letter(value) : "l"(p));         \
        return (W)value;                                                                           \
    }
LOAD_ONCE_OF(u8, u32, "u8", "=r")
LOAD_ONCE_OF(u16, u16, "u16", "=h")
LOAD_ONCE_OF(u32, u32, "u32", "=r")
#define KERNEL_OF(blocks) extern "C" __global__ void __launch_bounds__(BLOCK, blocks)
#define TILE_SYNC(tile) __syncwarp(tile_mask(tile))
#define SHUFFLE_XOR(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
#define SHUFFLE(value, lane) __shfl_sync(0xffffffffu, value, lane)
FUNCTION float widen_f16(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
FUNCTION u16 narrow_f32_f16(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

#else // OpenCL C 3

#define PREFETCH(p) ((void)0)
#define LOAD_ONCE(W, p) (*(p))

typedef uchar u8;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define GLOBAL __global
#define LOCAL __local
#define PRIVATE __private
#define LOCAL_ARRAY(type, name, size) __local type name[size]
#define RESTRICT restrict
#define FUNCTION static inline __attribute__((unused))
#define KERNEL __kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) SUB_GROUP void
#define KERNEL_OF(blocks) KERNEL
#ifdef cl_intel_required_subgroup_size
#define SUB_GROUP __attribute__((intel_reqd_sub_group_size(WIDTH)))
#else
#define SUB_GROUP
#endif

FUNCTION u32 thread_of_block(void) { return (u32)get_local_id(0); }
FUNCTION u32 block_of_grid(void) { return (u32)get_group_id(0); }
FUNCTION u32 blocks_of_grid(void) { return (u32)get_num_groups(0); }
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
FUNCTION u32 atomic_increment(volatile GLOBAL u32 *counter) { return atomic_inc(counter); }
#define ATOMIC_ADD(pointer, value) atomic_add(pointer, (u32)(value))
#define ATOMIC_MIN(pointer, value) atomic_min(pointer, (u32)(value))
#define ATOMIC_MAX(pointer, value) atomic_max(pointer, (u32)(value))
#define ATOMIC_OR(pointer, value) atomic_or(pointer, (u32)(value))
#define ATOMIC_CAS(pointer, expected, value) atomic_cmpxchg(pointer, (u32)(expected), (u32)(value))
#define BITS_SET(flags) popcount((u32)(flags))
FUNCTION u32 bits_of_f32(float value) { return as_uint(value); }
FUNCTION float f32_of_bits(u32 bits) { return as_float(bits); }
FUNCTION u64 bits_of_f64(double value) { return as_ulong(value); }
// OpenCL allows an error of three units for singles; through doubles the root is the nearest one.
FUNCTION float square_root_f32(float value) { return (float)sqrt((double)value); }
FUNCTION double square_root_f64(double value) { return sqrt(value); }
FUNCTION float widen_f16(u16 bits) { return vload_half(0, (const PRIVATE half *)&bits); }
FUNCTION u16 narrow_f32_f16(float value) {
    u16 bits;
    vstore_half_rte(value, 0, (PRIVATE half *)&bits);
    return bits;
}

#if defined(__NV_CL_C_VERSION) // no sub-groups and no fences, but inline assembly
#define FENCE() asm volatile("membar.gl;" ::: "memory")
#define TILES 1
#define TILE_SYNC(tile) asm volatile("bar.warp.sync %0;" ::"r"(tile_mask(tile)) : "memory")
#define SHUFFLES 1
#define SHUFFLE_OF_WORDS(name, mode)                                                               \
    FUNCTION u32 __attribute__((overloadable)) name(u32 value, u32 which) {                        \
        u32 out;                                                                                   \
        asm volatile("shfl.sync." mode ".b32 %0, %1, %2, 0x1f, 0xffffffff;"                        \
                     : "=r"(out) : "r"(value), "r"(which));                                        \
        return out;                                                                                \
    }                                                                                              \
    FUNCTION i32 __attribute__((overloadable)) name(i32 value, u32 which) {                        \
        return as_int(name(as_uint(value), which));                                                \
    }                                                                                              \
    FUNCTION float __attribute__((overloadable)) name(float value, u32 which) {                    \
        return as_float(name(as_uint(value), which));                                              \
    }                                                                                              \
    FUNCTION double __attribute__((overloadable)) name(double value, u32 which) {                  \
        uint2 words = as_uint2(value);                                                             \
        return as_double((uint2)(name(words.x, which), name(words.y, which)));                     \
    }
SHUFFLE_OF_WORDS(shuffle_xor, "bfly")
SHUFFLE_OF_WORDS(shuffle_from, "idx")
#define SHUFFLE_XOR(value, mask) shuffle_xor(value, mask)
#define SHUFFLE(value, lane) shuffle_from(value, lane)
#else
#define FENCE() atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)
#if defined(cl_khr_subgroup_shuffle) && defined(cl_intel_required_subgroup_size)
#define SHUFFLES 1
#define SHUFFLE_XOR(value, mask) sub_group_shuffle_xor(value, mask)
#define SHUFFLE(value, lane) sub_group_shuffle(value, lane)
#endif
#endif

#endif

FUNCTION u64 thread_of_grid(void) { return (u64)block_of_grid() * BLOCK + thread_of_block(); }
FUNCTION u64 threads_of_grid(void) { return (u64)blocks_of_grid() * BLOCK; }
FUNCTION u32 lane(void) { return thread_of_block() & (WIDTH - 1); }

#ifdef TILES
#define TILE(threads) (threads)
FUNCTION u32 tile_mask(u32 threads) {
    return threads >= 32 ? 0xffffffffu : ((1u << threads) - 1) << (lane() & ~(threads - 1));
}
#else
#define TILE(threads) 1
#define TILE_SYNC(tile)
#endif

// ---- types by name

typedef float f32;
typedef u16 f16;
typedef u16 bf16;
typedef double f64;
#ifdef LOAD_ONCE_OF
LOAD_ONCE_OF(f64, f64, "f64", "=d")
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define PASTE3_(a, b, c) a##b##_##c
#define PASTE3(a, b, c) PASTE3_(a, b, c)

// ---- complex numbers: x is the real part, y the imaginary one

#define is_complex_f32 0
#define is_complex_f64 0
#define is_complex_c32 1
#define is_complex_c64 1
#define IS_COMPLEX(A) PASTE(is_complex_, A)
#define MULTIPLY(A, a, b) PASTE(multiply_, A)(a, b)
#define OVER(A, a, b) PASTE(over_, A)(a, b)
#define CONJ(A, a) PASTE(conj_, A)(a)
#define SQUARE(A, a) PASTE(square_, A)(a)
#define OF_REAL(A, r) PASTE(of_real_, A)(r)
#define REAL_PART(A, a) PASTE(real_part_, A)(a)
#define IS_ZERO(A, a) PASTE(is_zero_, A)(a)
#define IS_ONE(A, a) PASTE(is_one_, A)(a)
#define VOLATILE_AT(A, p, i) PASTE(volatile_at_, A)(p, i)
#define REAL(A) PASTE(real_, A)
#define MAGNITUDE(A, a) PASTE(magnitude_, A)(a)
#define real_f32 f32
#define real_f64 f64
#define real_c32 f32
#define real_c64 f64

// Of real numbers these are expressions, so that compilers fuse products and sums as they do without.
#define multiply_f32(a, b) ((a) * (b))
#define over_f32(a, b) ((a) / (b))
#define conj_f32(a) (a)
#define square_f32(a) ((a) * (a))
#define of_real_f32(r) ((f32)(r))
#define real_part_f32(a) (a)
#define is_zero_f32(a) ((a) == 0)
#define is_one_f32(a) ((a) == 1)
#define magnitude_f32(a) ((a) < 0 ? -(a) : (a))
#define volatile_at_f32(p, i) ((p)[i])
#define shuffled_f32(value, mask) SHUFFLE_XOR(value, mask)
#define multiply_f64(a, b) ((a) * (b))
#define over_f64(a, b) ((a) / (b))
#define conj_f64(a) (a)
#define square_f64(a) ((a) * (a))
#define of_real_f64(r) ((f64)(r))
#define real_part_f64(a) (a)
#define is_zero_f64(a) ((a) == 0)
#define is_one_f64(a) ((a) == 1)
#define magnitude_f64(a) ((a) < 0 ? -(a) : (a))
#define volatile_at_f64(p, i) ((p)[i])
#define shuffled_f64(value, mask) SHUFFLE_XOR(value, mask)

#ifdef DIALECT_CUDA
#define COMPLEX_TYPE(C, R, bytes)                                                                  \
    struct alignas(bytes) C {                                                                      \
        R x, y;                                                                                    \
        C() = default;                                                                             \
        __device__ C(R re) : x(re), y(0) {}                                                        \
        __device__ C(R re, R im) : x(re), y(im) {}                                                 \
    };                                                                                             \
    FUNCTION C make_##C(R x, R y) { return C(x, y); }                                              \
    FUNCTION C operator+(C a, C b) { return C(a.x + b.x, a.y + b.y); }                             \
    FUNCTION C operator-(C a, C b) { return C(a.x - b.x, a.y - b.y); }                             \
    FUNCTION C operator-(C a) { return C(-a.x, -a.y); }                                            \
    FUNCTION C &operator+=(C &a, C b) { return a = a + b; }                                        \
    FUNCTION C &operator-=(C &a, C b) { return a = a - b; }
COMPLEX_TYPE(c32, f32, 8)
COMPLEX_TYPE(c64, f64, 16)
#else
typedef float2 c32;
FUNCTION c32 make_c32(f32 x, f32 y) { return (c32)(x, y); }
typedef double2 c64;
FUNCTION c64 make_c64(f64 x, f64 y) { return (c64)(x, y); }
#endif

#define COMPLEX_WORDS(C, R)                                                                        \
    FUNCTION C multiply_##C(C a, C b) {                                                            \
        return make_##C(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                             \
    }                                                                                              \
    FUNCTION C over_##C(C a, C b) {                                                                \
        R square = b.x * b.x + b.y * b.y;                                                          \
        return make_##C((a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square);       \
    }                                                                                              \
    FUNCTION C conj_##C(C a) { return make_##C(a.x, -a.y); }                                       \
    FUNCTION C square_##C(C a) { return make_##C(a.x * a.x + a.y * a.y, 0); }                      \
    FUNCTION C of_real_##C(R r) { return make_##C(r, 0); }                                         \
    FUNCTION R real_part_##C(C a) { return a.x; }                                                  \
    FUNCTION bool is_zero_##C(C a) { return a.x == 0 && a.y == 0; }                                \
    FUNCTION bool is_one_##C(C a) { return a.x == 1 && a.y == 0; }                                 \
    FUNCTION R magnitude_##C(C a) { return (a.x < 0 ? -a.x : a.x) + (a.y < 0 ? -a.y : a.y); }      \
    FUNCTION C volatile_at_##C(const volatile GLOBAL C *p, u64 i) {                                \
        return make_##C(p[i].x, p[i].y);                                                           \
    }   \
    FUNCTION C square_root_##C(C a) {                                                              \
        R size = square_root_##R(a.x * a.x + a.y * a.y);                                           \
        R re = square_root_##R((size + a.x) / 2), im = square_root_##R((size - a.x) / 2);          \
        return make_##C(re, a.y < 0 ? -im : im);                                                   \
    }                                                                                              \
    FUNCTION C widen_##C(C a) { return a; }                                                        \
    FUNCTION C narrow_##C##_##C(C a) { return a; }                                                 \
    FUNCTION void loads_##C##_1(GLOBAL const C *p, u64 i, PRIVATE C *v) { v[0] = p[i]; }           \
    FUNCTION void loads_##C##_2(GLOBAL const C *p, u64 i, PRIVATE C *v) {                          \
        v[0] = p[2 * i];                                                                           \
        v[1] = p[2 * i + 1];                                                                       \
    }
#define COMPLEX_STORES(A, C)                                                                       \
    FUNCTION void stores_##A##_##C##_1(GLOBAL C *p, u64 i, const PRIVATE A *v) {                   \
        p[i] = narrow_##A##_##C(v[0]);                                                             \
    }                                                                                              \
    FUNCTION void stores_##A##_##C##_2(GLOBAL C *p, u64 i, const PRIVATE A *v) {                   \
        p[2 * i] = narrow_##A##_##C(v[0]);                                                         \
        p[2 * i + 1] = narrow_##A##_##C(v[1]);                                                     \
    }
COMPLEX_WORDS(c32, f32)
FUNCTION c32 narrow_f32_c32(f32 a) { return make_c32(a, 0); }
COMPLEX_STORES(c32, c32)
COMPLEX_STORES(f32, c32)
COMPLEX_WORDS(c64, f64)
FUNCTION c64 narrow_c32_c64(c32 a) { return make_c64(a.x, a.y); }
FUNCTION c32 narrow_c64_c32(c64 a) { return make_c32((f32)a.x, (f32)a.y); }
FUNCTION c64 narrow_f64_c64(f64 a) { return make_c64(a, 0); }
FUNCTION c64 narrow_f32_c64(f32 a) { return make_c64(a, 0); }
FUNCTION c32 narrow_f64_c32(f64 a) { return make_c32((f32)a, 0); }
COMPLEX_STORES(c32, c64)
COMPLEX_STORES(c64, c32)
COMPLEX_STORES(c64, c64)
COMPLEX_STORES(f32, c64)
COMPLEX_STORES(f64, c64)
COMPLEX_STORES(f64, c32)
#ifdef SHUFFLES
#define COMPLEX_SHUFFLE(C)                                                                         \
    FUNCTION C shuffled_##C(C a, u32 mask) {                                                       \
        return make_##C(SHUFFLE_XOR(a.x, mask), SHUFFLE_XOR(a.y, mask));                           \
    }
COMPLEX_SHUFFLE(c32)
COMPLEX_SHUFFLE(c64)
#endif

// ---- arithmetic types and groups

#define arith_c64 c64
#define arith_c32 c32
#define arith_f64 f64
#define arith_f32 f32
#define arith_f16 f32
#define arith_bf16 f32
#define ARITH(T) PASTE(arith_, T)

#define wider_f32_f32 f32
#define wider_f32_f64 f64
#define wider_f64_f32 f64
#define wider_f64_f64 f64
#define wider_f32_c32 c32
#define wider_f32_c64 c64
#define wider_f64_c32 c64
#define wider_f64_c64 c64
#define wider_c32_c32 c32
#define wider_c32_c64 c64
#define wider_c64_c32 c64
#define wider_c64_c64 c64
#define WIDER(A, B) PASTE3(wider_, A, B)

#define group_c64 1
#define group_c32 2
#define group_f64 2
#define group_f32 4
#define group_f16 8
#define group_bf16 8
#define GROUP(T) PASTE(group_, T)
#define common_1_1 1
#define common_1_2 1
#define common_2_1 1
#define common_4_1 1
#define common_8_1 1
#define common_2_2 2
#define common_2_4 2
#define common_2_8 2
#define common_4_2 2
#define common_4_4 4
#define common_4_8 4
#define common_8_2 2
#define common_8_4 4
#define common_8_8 8
#define COMMON_GROUP(S, T) PASTE3(common_, GROUP(S), GROUP(T))

#define LOAD(T, pointer, index) PASTE(widen_, T)((pointer)[index])
#define STORE(A, T, pointer, index, value) ((pointer)[index] = PASTE3(narrow_, A, T)(value))
#define CONVERT(A, B, value) PASTE3(narrow_, A, B)(value)
#define ROUND(A, T, value) PASTE(widen_, T)(PASTE3(narrow_, A, T)(value))
#define LOADS(N, T, pointer, index, values) PASTE3(loads_, T, N)(pointer, index, values)
#define STORES(N, A, T, pointer, index, values)                                                    \
    PASTE(PASTE3(stores_, A, T), PASTE(_, N))(pointer, index, values)
#define SQUARE_ROOT(A, value) PASTE(square_root_, A)(value)
#define TILE_SUM(A, value, width, scratch) PASTE(tile_sum_, A)(value, width, scratch)
#define BLOCK_SUM(A, value, scratch) PASTE(block_sum_, A)(value, scratch)
#define LAST_BLOCK(counter, scratch) last_block(counter, (LOCAL u32 *)(scratch))

// ---- loops

// With a constant `count`: without branches, so that arrays indexed with `k` stay in registers.
#define FOR(k, count) _Pragma("unroll") for (u32 k = 0; k < (count); k++)
#define FOR_ITEMS(i, n) for (u64 i = thread_of_grid(); i < (n); i += threads_of_grid())
// Before a loop: four turns at a time, so that their loads are on their way together.
#define UNROLL_4 _Pragma("unroll 4")

// Blocks take turns at tiles of an array: STEPS groups a thread. In a tile
//   FOR_STEPS(step, group, first, groups) load...
//   FOR_STEPS(step, group, first, groups) compute and store...
// has all loads on their way before the first value is used.
#define STEPS 2
#define FOR_TILES(first, groups)                                                                   \
    for (u64 first = (u64)block_of_grid() * (STEPS * BLOCK) + thread_of_block(); first < groups;   \
         first += (u64)blocks_of_grid() * (STEPS * BLOCK))
#define FOR_STEPS(step, group, first, groups)                                                      \
    FOR(step, STEPS)                                                                               \
    for (u64 group = first + step * BLOCK, once = 1; once && group < groups; once = 0)

// A thread with every `stride`-th value of an array takes LEAPS of them at a time, again with all loads before the first use:
//   for (u64 first = ...; first < n; first += LEAPS * stride) {
//     FOR_LEAPS(leap, i, first, stride, n) load...
//     FOR_LEAPS(leap, i, first, stride, n) compute and store...
//   }
#define LEAPS 4
#define FOR_LEAPS(leap, i, first, stride, n)                                                       \
    FOR(leap, LEAPS)                                                                               \
    for (u64 i = first + leap * (stride), once = 1; once && i < n; once = 0)

// The place of a number among the increasing ones of a range, or the end of the range.
FUNCTION u64 place_in(GLOBAL const u32 *numbers, u64 begin, u64 end, u32 number) {
    u64 low = begin, high = end;
    while (low < high) {
        const u64 middle = (low + high) / 2;
        if (numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && numbers[low] == number ? low : end;
}

// ---- conversions of one value

FUNCTION f32 widen_f32(f32 value) { return value; }
FUNCTION f32 widen_bf16(u16 bits) { return f32_of_bits((u32)bits << 16); }
FUNCTION f32 narrow_f32_f32(f32 value) { return value; }
FUNCTION u16 narrow_f32_bf16(f32 value) {
    u32 bits = bits_of_f32(value);
    u32 nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (u16)((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16) | 0x40 : nearest);
}

FUNCTION f64 widen_f64(f64 value) { return value; }
FUNCTION f64 narrow_f64_f64(f64 value) { return value; }
FUNCTION f64 narrow_f32_f64(f32 value) { return value; }
FUNCTION f32 narrow_f64_f32(f64 value) { return (f32)value; }
// With the last bit set where something was cut off, so that only the next rounding counts.
FUNCTION f32 round_to_odd(f64 value) {
    f32 nearest = (f32)value;
    f64 back = nearest;
    u32 bits = bits_of_f32(nearest);
    u32 finite = (bits & 0x7fffffff) < 0x7f800000;
    u32 away = (back < 0 ? -back : back) > (value < 0 ? -value : value);
    return f32_of_bits(finite && back != value ? (bits - away) | 1 : bits);
}
FUNCTION u16 narrow_f64_f16(f64 value) { return narrow_f32_f16(round_to_odd(value)); }
FUNCTION u16 narrow_f64_bf16(f64 value) { return narrow_f32_bf16(round_to_odd(value)); }

// ---- groups of neighbours

#define LOADS_2(T, V)                                                                              \
    FUNCTION void loads_##T##_2(GLOBAL const T *p, u64 i, PRIVATE T *v) {                          \
        V pair = ((GLOBAL const V *)p)[i];                                                         \
        v[0] = pair.x;                                                                             \
        v[1] = pair.y;                                                                             \
    }
#define STORES_2(A, T, V)                                                                          \
    FUNCTION void stores_##A##_##T##_2(GLOBAL T *p, u64 i, const PRIVATE A *v) {                   \
        V pair;                                                                                    \
        pair.x = (T)v[0];                                                                          \
        pair.y = (T)v[1];                                                                          \
        ((GLOBAL V *)p)[i] = pair;                                                                 \
    }

// One value, beside complex doubles.
#define LOADS_1(T)                                                                                 \
    FUNCTION void loads_##T##_1(GLOBAL const T *p, u64 i, PRIVATE ARITH(T) *v) { v[0] = LOAD(T, p, i); }
LOADS_1(f32)
LOADS_1(f16)
LOADS_1(bf16)
LOADS_1(f64)

LOADS_2(f32, float2)
FUNCTION void loads_f32_4(GLOBAL const f32 *p, u64 i, PRIVATE f32 *v) {
    float4 four = ((GLOBAL const float4 *)p)[i];
    v[0] = four.x;
    v[1] = four.y;
    v[2] = four.z;
    v[3] = four.w;
}

#define STORES_OF_SINGLES(A)                                                                       \
    STORES_2(A, f32, float2)                                                                       \
    FUNCTION void stores_##A##_f32_4(GLOBAL f32 *p, u64 i, const PRIVATE A *v) {                   \
        float4 four;                                                                               \
        four.x = (f32)v[0];                                                                        \
        four.y = (f32)v[1];                                                                        \
        four.z = (f32)v[2];                                                                        \
        four.w = (f32)v[3];                                                                        \
        ((GLOBAL float4 *)p)[i] = four;                                                            \
    }

#define LOADS_OF_HALVES(T)                                                                         \
    FUNCTION void unpack_##T(u32 word, PRIVATE f32 *v) {                                           \
        v[0] = widen_##T((u16)word);                                                               \
        v[1] = widen_##T((u16)(word >> 16));                                                       \
    }                                                                                              \
    FUNCTION void loads_##T##_2(GLOBAL const T *p, u64 i, PRIVATE f32 *v) {                        \
        unpack_##T(((GLOBAL const u32 *)p)[i], v);                                                 \
    }                                                                                              \
    FUNCTION void loads_##T##_4(GLOBAL const T *p, u64 i, PRIVATE f32 *v) {                        \
        uint2 words = ((GLOBAL const uint2 *)p)[i];                                                \
        unpack_##T(words.x, v);                                                                    \
        unpack_##T(words.y, v + 2);                                                                \
    }                                                                                              \
    FUNCTION void loads_##T##_8(GLOBAL const T *p, u64 i, PRIVATE f32 *v) {                        \
        uint4 words = ((GLOBAL const uint4 *)p)[i];                                                \
        unpack_##T(words.x, v);                                                                    \
        unpack_##T(words.y, v + 2);                                                                \
        unpack_##T(words.z, v + 4);                                                                \
        unpack_##T(words.w, v + 6);                                                                \
    }
LOADS_OF_HALVES(f16)
LOADS_OF_HALVES(bf16)

#define STORES_OF_HALVES(A, T)                                                                     \
    FUNCTION u32 pack_##A##_##T(const PRIVATE A *v) {                                              \
        return narrow_##A##_##T(v[0]) | (u32)narrow_##A##_##T(v[1]) << 16;                         \
    }                                                                                              \
    FUNCTION void stores_##A##_##T##_2(GLOBAL T *p, u64 i, const PRIVATE A *v) {                   \
        ((GLOBAL u32 *)p)[i] = pack_##A##_##T(v);                                                  \
    }                                                                                              \
    FUNCTION void stores_##A##_##T##_4(GLOBAL T *p, u64 i, const PRIVATE A *v) {                   \
        uint2 words;                                                                               \
        words.x = pack_##A##_##T(v);                                                               \
        words.y = pack_##A##_##T(v + 2);                                                           \
        ((GLOBAL uint2 *)p)[i] = words;                                                            \
    }                                                                                              \
    FUNCTION void stores_##A##_##T##_8(GLOBAL T *p, u64 i, const PRIVATE A *v) {                   \
        uint4 words;                                                                               \
        words.x = pack_##A##_##T(v);                                                               \
        words.y = pack_##A##_##T(v + 2);                                                           \
        words.z = pack_##A##_##T(v + 4);                                                           \
        words.w = pack_##A##_##T(v + 6);                                                           \
        ((GLOBAL uint4 *)p)[i] = words;                                                            \
    }

STORES_OF_SINGLES(f32)
STORES_OF_HALVES(f32, f16)
STORES_OF_HALVES(f32, bf16)
LOADS_2(f64, double2)
#ifdef LOAD_ONCE_OF
FUNCTION void PAIR_ONCE(const f64 *p, u64 i, f64 *v) {
    asm("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];"
        : "=d"(v[0]), "=d"(v[1])
        : "l"(p + 2 * i));
}
#else
#define PAIR_ONCE(p, i, values) loads_f64_2(p, i, values)
#endif
FUNCTION void loads_f64_4(GLOBAL const f64 *p, u64 i, PRIVATE f64 *v) {
    loads_f64_2(p, 2 * i, v);
    loads_f64_2(p, 2 * i + 1, v + 2);
}
#define STORES_OF_DOUBLES(A)                                                                       \
    STORES_2(A, f64, double2)                                                                      \
    FUNCTION void stores_##A##_f64_4(GLOBAL f64 *p, u64 i, const PRIVATE A *v) {                   \
        stores_##A##_f64_2(p, 2 * i, v);                                                           \
        stores_##A##_f64_2(p, 2 * i + 1, v + 2);                                                   \
    }
STORES_OF_DOUBLES(f32)
STORES_OF_DOUBLES(f64)
STORES_OF_SINGLES(f64)
STORES_OF_HALVES(f64, f16)
STORES_OF_HALVES(f64, bf16)

// ---- sums over threads

// Neighbours are added first, then pairs of neighbours, and so on: one tree for every WIDTH.
#if defined(SHUFFLES) && BLOCK <= WIDTH * WIDTH
#define TILE_SUM_OF(A)                                                                             \
    FUNCTION A tile_sum_##A(A value, u32 width, LOCAL A *scratch) {                                \
        for (u32 mask = 1; mask < width; mask *= 2)                                                \
            value += shuffled_##A(value, mask);                                                    \
        return value;                                                                              \
    }                                                                                              \
    FUNCTION A block_sum_##A(A value, LOCAL A *scratch) {                                          \
        value = tile_sum_##A(value, WIDTH, scratch);                                               \
        BARRIER();                                                                                 \
        if (lane() == 0)                                                                           \
            scratch[thread_of_block() / WIDTH] = value;                                            \
        BARRIER();                                                                                 \
        value = lane() < BLOCK / WIDTH ? scratch[lane()] : (A)0;                                   \
        return tile_sum_##A(value, WIDTH, scratch);                                                \
    }
#else
#define TILE_SUM_OF(A)                                                                             \
    FUNCTION A tile_sum_##A(A value, u32 width, LOCAL A *scratch) {                                \
        for (u32 mask = 1; mask < width; mask *= 2) {                                              \
            BARRIER();                                                                             \
            scratch[thread_of_block()] = value;                                                    \
            BARRIER();                                                                             \
            value += scratch[thread_of_block() ^ mask];                                            \
        }                                                                                          \
        return value;                                                                              \
    }                                                                                              \
    FUNCTION A block_sum_##A(A value, LOCAL A *scratch) {                                          \
        return tile_sum_##A(value, BLOCK, scratch);                                                \
    }
#endif
TILE_SUM_OF(f32)
TILE_SUM_OF(c32)
TILE_SUM_OF(f64)
TILE_SUM_OF(c64)

// What the block wrote before is seen by the block that is last, which sets the counter back.
FUNCTION bool last_block(GLOBAL u32 *counter, LOCAL u32 *scratch) {
    FENCE();
    BARRIER();
    if (thread_of_block() == 0) {
        scratch[0] = atomic_increment(counter) == blocks_of_grid() - 1;
        if (scratch[0])
            *counter = 0;
    }
    BARRIER();
    bool last = scratch[0];
    BARRIER();
    FENCE();
    return last;
}

// ---- coefficients of vector operations

// The parameters of a coefficient `factor * (n0 * n1 * n2) / (d0 * d1)`: pointers to one number
// of arithmetic type A per column, or null.
#define COEFFICIENT(A, name)                                                                       \
    A name##_factor, GLOBAL const A *name##_n0, GLOBAL const A *name##_n1,                         \
        GLOBAL const A *name##_n2, GLOBAL const A *name##_d0, GLOBAL const A *name##_d1
// The coefficient of one column. A zero numerator or divisor makes it zero, whatever the rest is.
#define EVALUATE(A, name, column)                                                                  \
    PASTE(evaluate_, A)(name##_factor, name##_n0, name##_n1, name##_n2, name##_d0, name##_d1, column)

#define EVALUATE_OF(A)                                                                             \
    FUNCTION A part_##A(GLOBAL const A *values, u32 column) {                                      \
        return values ? values[column] : of_real_##A(1);                                           \
    }                                                                                              \
    FUNCTION A evaluate_##A(A factor, GLOBAL const A *n0, GLOBAL const A *n1,                      \
                            GLOBAL const A *n2, GLOBAL const A *d0, GLOBAL const A *d1,            \
                            u32 column) {                                                          \
        A a = part_##A(n0, column), b = part_##A(n1, column), c = part_##A(n2, column);            \
        A divisor = multiply_##A(part_##A(d0, column), part_##A(d1, column));                      \
        A value = multiply_##A(multiply_##A(multiply_##A(factor, a), b), c);                       \
        bool zero = is_zero_##A(a) || is_zero_##A(b) || is_zero_##A(c) || is_zero_##A(value) ||    \
                    is_zero_##A(divisor);                                                          \
        return zero ? (A)0 : over_##A(value, divisor);                                             \
    }
EVALUATE_OF(f32)
EVALUATE_OF(c32)
EVALUATE_OF(f64)
EVALUATE_OF(c64)

// ---- sparse matrices

// Where rows begin and the columns of their entries, and values of a type; `SIZED_` with the number of rows before, `_OF` with a name before
// each array, as in `a_offsets`.
#define GRAPH GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns
#define CSR(T, values) GRAPH, GLOBAL const T *RESTRICT values
#define SIZED_GRAPH u64 rows, GRAPH
#define SIZED_CSR(T, values) u64 rows, GRAPH, GLOBAL const T *RESTRICT values
#define GRAPH_OF(m) GLOBAL const u64 *RESTRICT m##_offsets, GLOBAL const u32 *RESTRICT m##_columns
#define CSR_OF(T, m)                                                                               \
    GLOBAL const u64 *RESTRICT m##_offsets, GLOBAL const u32 *RESTRICT m##_columns,                \
        GLOBAL const T *RESTRICT m##_values
// A matrix whose rows are to be filled: where each begins is known.
#define NEW_GRAPH(m) GLOBAL const u64 *RESTRICT m##_offsets, GLOBAL u32 *RESTRICT m##_columns
#define NEW_CSR(T, m)                                                                              \
    GLOBAL const u64 *RESTRICT m##_offsets, GLOBAL u32 *RESTRICT m##_columns,                      \
        GLOBAL T *RESTRICT m##_values
