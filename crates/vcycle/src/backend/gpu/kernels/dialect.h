// The words kernels are written in. One source for three compilers: NVRTC, HIPRTC and OpenCL C.
//
// Kernels are C99 plus these words. Compile-time constants come as definitions:
//   WIDTH   threads of a sub-group (32 on NVIDIA, 64 on AMD, 16 or 32 elsewhere)
//   BLOCK   threads of a block
//   and the value types of a program, each one of f64 f32 f16 bf16.

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIPCC_RTC__)
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
#define LOCAL_ARRAY(type, name, size) __shared__ type name[size]
#define RESTRICT __restrict__
#define FUNCTION static __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)

FUNCTION u32 thread_of_block(void) { return threadIdx.x; }
FUNCTION u32 block_of_grid(void) { return blockIdx.x; }
FUNCTION u32 blocks_of_grid(void) { return gridDim.x; }
#define BARRIER() __syncthreads()
#define FENCE() __threadfence()
FUNCTION u32 atomic_increment(GLOBAL u32 *counter) { return atomicAdd(counter, 1u); }

#ifdef __HIP_DEVICE_COMPILE__
#define SHUFFLE_XOR(value, mask) __shfl_xor(value, mask)
#define SHUFFLE_DOWN(value, distance) __shfl_down(value, distance)
#define SHUFFLE(value, lane) __shfl(value, lane)
#else
#define SHUFFLE_XOR(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
#define SHUFFLE_DOWN(value, distance) __shfl_down_sync(0xffffffffu, value, distance)
#define SHUFFLE(value, lane) __shfl_sync(0xffffffffu, value, lane)
#endif

#else // OpenCL C 3

typedef uchar u8;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARRAY(type, name, size) __local type name[size]
#define RESTRICT restrict
#define FUNCTION static inline
#define KERNEL __kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) SUB_GROUP void
#ifdef cl_intel_required_subgroup_size
#define SUB_GROUP __attribute__((intel_reqd_sub_group_size(WIDTH)))
#else
#define SUB_GROUP
#endif

FUNCTION u32 thread_of_block(void) { return (u32)get_local_id(0); }
FUNCTION u32 block_of_grid(void) { return (u32)get_group_id(0); }
FUNCTION u32 blocks_of_grid(void) { return (u32)get_num_groups(0); }
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define FENCE() atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)
FUNCTION u32 atomic_increment(GLOBAL u32 *counter) { return atomic_inc(counter); }

#define SHUFFLE_XOR(value, mask) sub_group_shuffle_xor(value, mask)
#define SHUFFLE_DOWN(value, distance) sub_group_shuffle_down(value, distance)
#define SHUFFLE(value, lane) sub_group_shuffle(value, lane)

#endif

FUNCTION u64 thread_of_grid(void) { return (u64)block_of_grid() * BLOCK + thread_of_block(); }
FUNCTION u64 threads_of_grid(void) { return (u64)blocks_of_grid() * BLOCK; }
FUNCTION u32 lane(void) { return thread_of_block() & (WIDTH - 1); }
