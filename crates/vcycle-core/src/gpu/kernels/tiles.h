// Rows of a matrix that LANES neighbouring threads share, and lists of rows.
//
// The rows of a warp go together: threads that meet in partial masks would do so one row after the
// other, each time with all others waiting. Whatever has threads of a row meet (ROW_SYNC, what all
// make of their values, flags) has to be reached by all threads of a warp. With APART rows go their own
// way all the same.

#pragma default LANES 1
#define ROW_THREADS TILE(LANES)
#define BLOCK_ROWS (BLOCK / ROW_THREADS)
// Whether a condition holds for any thread that has to come along.
#if defined(DIALECT_CUDA) && !defined(DIALECT_HIP) && LANES > 1 && !defined(APART)
#define GO_TOGETHER 1
#define ANY(condition) __any_sync(0xffffffffu, condition)
#else
#define ANY(condition) (condition)
#endif
// What the threads of a row wrote before is seen by all of them; one alone waits for nobody.
#if LANES == 1
#define ROW_SYNC()
#elif defined(GO_TOGETHER)
#define ROW_SYNC() __syncwarp()
#else
#define ROW_SYNC() TILE_SYNC(ROW_THREADS)
#endif
#define NONE 0xffffffffu
// In OpenCL a `long long` may be wider.
#define U64(literal) ((u64)literal##ull)

FUNCTION u32 part_of_row(void) { return thread_of_block() % ROW_THREADS; }
FUNCTION u32 row_of_block(void) { return thread_of_block() / ROW_THREADS; }
FUNCTION bool leads_row(void) { return part_of_row() == 0; }

// Memory of a row, so many numbers: local, or its part of what the kernel is given.
#define LOCAL_ROW_MEMORY(T, name, given, size)                                                     \
    LOCAL_ARRAY(T, name##_of_block, BLOCK_ROWS *(size));                                           \
    LOCAL T *name = name##_of_block + row_of_block() * (size);
#define GIVEN_ROW_MEMORY(T, name, given, size)                                                     \
    GLOBAL T *name = given + ((u64)block_of_grid() * BLOCK_ROWS + row_of_block()) * (size);

// Blocks take turns at rows `first` and the next ones; all threads of a block go together.
#define FOR_BLOCKS_OF_ROWS(first, n)                                                               \
    for (u64 first = (u64)block_of_grid() * BLOCK_ROWS; first < (n);                               \
         first += (u64)blocks_of_grid() * BLOCK_ROWS)
// The same for one row at a time; at the end the last one is done again by threads that have none, unless
// rows are APART.
#ifdef APART
#define FOR_ROWS(row, n)                                                                           \
    for (u64 row = (u64)block_of_grid() * BLOCK_ROWS + row_of_block(); row < (n);                  \
         row += (u64)blocks_of_grid() * BLOCK_ROWS)
#else
#define FOR_ROWS(row, n)                                                                           \
    for (u64 first_ = (u64)block_of_grid() * BLOCK_ROWS, row;                                      \
         first_ < (n) && (row = min(first_ + row_of_block(), (u64)(n) - 1), true);                 \
         first_ += (u64)blocks_of_grid() * BLOCK_ROWS)
#define IS_REPEATED(n) (first_ + row_of_block() >= (n))
#endif
// The entries of a row, shared by its threads.
#define FOR_ENTRIES(place, offsets, row)                                                           \
    for (u64 place = (offsets)[row] + part_of_row(), end_ = (offsets)[(row) + 1]; place < end_;     \
         place += ROW_THREADS)

// ROW_THREADS of them at a time, as often as any row needs; a thread may be beyond the end.
#define FOR_CHUNKS(chunk, begin, end)                                                              \
    for (u64 chunk = (begin); ANY(chunk < (end)); chunk += ROW_THREADS)

// What all threads of a row make of their values; `scratch` has BLOCK of them, and none of another
// type, for other rows go their own way.
#ifdef GO_TOGETHER
#define ROW_FOLD(T, name, combined)                                                                \
    FUNCTION T name(T value, LOCAL T *scratch) {                                                   \
        const u32 lead = lane() & ~(ROW_THREADS - 1);                                              \
        T all = SHUFFLE(value, lead);                                                              \
        for (u32 k = 1; k < ROW_THREADS; k++) {                                                    \
            const T next = SHUFFLE(value, lead + k);                                               \
            all = combined;                                                                        \
        }                                                                                          \
        return all;                                                                                \
    }
#else
#define ROW_FOLD(T, name, combined)                                                                \
    FUNCTION T name(T value, LOCAL T *scratch) {                                                   \
        LOCAL T *own = scratch + (thread_of_block() - part_of_row());                              \
        ROW_SYNC();                                                                                \
        own[part_of_row()] = value;                                                                \
        ROW_SYNC();                                                                                \
        T all = own[0];                                                                            \
        for (u32 k = 1; k < ROW_THREADS; k++) {                                                    \
            const T next = own[k];                                                                 \
            all = combined;                                                                        \
        }                                                                                          \
        return all;                                                                                \
    }
#endif
ROW_FOLD(f64, row_largest, next > all ? next : all)
ROW_FOLD(f64, row_sum, all + next)
ROW_FOLD(f32, row_largest_f32, next > all ? next : all)
ROW_FOLD(u64, row_largest_u64, next > all ? next : all)
ROW_FOLD(u32, row_smallest_u32, next < all ? next : all)
ROW_FOLD(u32, row_count, all + next)

// The flags of all threads of a row, a bit each; those before this thread.
#ifdef GO_TOGETHER
FUNCTION u32 row_flags(u32 flag, LOCAL u32 *scratch) {
    const u32 own = __ballot_sync(0xffffffffu, flag) >> (lane() & ~(ROW_THREADS - 1));
    return ROW_THREADS == 32 ? own : own & ((1u << (ROW_THREADS % 32)) - 1);
}
#else
FUNCTION u32 row_flags(u32 flag, LOCAL u32 *scratch) {
    LOCAL u32 *own = scratch + (thread_of_block() - part_of_row());
    ROW_SYNC();
    own[part_of_row()] = flag;
    ROW_SYNC();
    u32 flags = 0;
    for (u32 k = 0; k < ROW_THREADS; k++)
        flags |= own[k] << k;
    return flags;
}
#endif
FUNCTION u32 flags_before(u32 flags) { return flags & ((1u << part_of_row()) - 1); }

// The largest value of a block; all its threads have to come here.
FUNCTION f64 block_largest(f64 value, LOCAL f64 *scratch) {
    for (u32 width = BLOCK / 2; width > 0; width /= 2) {
        BARRIER();
        scratch[thread_of_block()] = value;
        BARRIER();
        const f64 other = scratch[thread_of_block() ^ width];
        value = other > value ? other : value;
    }
    return value;
}

// A list of rows, without one all of them, and the list that is made for the next round.
#define LIST GLOBAL const u32 *RESTRICT list, GLOBAL const u32 *RESTRICT size
#define NEXT GLOBAL u32 *RESTRICT next, GLOBAL u32 *next_size

// Adds a value to a list where it is wanted; all threads of a block have to come here, with
// `scratch` two numbers. The order of the list is any.
FUNCTION void append(bool wanted, u32 value, GLOBAL u32 *list, GLOBAL u32 *size,
                     LOCAL u32 *scratch) {
    BARRIER();
    if (thread_of_block() == 0)
        scratch[0] = 0;
    BARRIER();
    const u32 place = wanted ? ATOMIC_ADD(scratch, 1) : 0;
    BARRIER();
    if (thread_of_block() == 0)
        scratch[1] = scratch[0] != 0 ? ATOMIC_ADD(size, scratch[0]) : 0;
    BARRIER();
    if (wanted)
        list[scratch[1] + place] = value;
}

// The place of a column in a sorted row, or the end of the row.
FUNCTION u64 find_entry(GLOBAL const u64 *offsets, GLOBAL const u32 *columns, u64 row, u32 column) {
    return place_in(columns, offsets[row], offsets[row + 1], column);
}

// The place of the coupling of a neighbour back to a row, or the end of the neighbour's row. In rows
// of a stencil the first entry has its opposite in the last place, and so on: `k` is the entry of
// the row that couples it with the neighbour.
FUNCTION u64 find_back(GLOBAL const u64 *offsets, GLOBAL const u32 *columns, u32 near, u32 row,
                       u32 k) {
    const u64 begin = offsets[near], end = offsets[near + 1];
    if (begin == end)
        return end;
    const u64 guess = end - begin > k ? end - 1 - k : begin;
    return columns[guess] == row ? guess : find_entry(offsets, columns, near, row);
}

// A number without any relation to the index; `seed` has been mixed by the host.
FUNCTION u32 mix32(u32 x) {
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}
FUNCTION u32 scramble_wide(u64 index, u64 seed) {
    return mix32(mix32((u32)index ^ (u32)seed) ^ (u32)(seed >> 32) ^ (u32)(index >> 32));
}
FUNCTION u64 mix64(u64 x) {
    x += U64(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * U64(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * U64(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

// Numbers in -1..1 that look random.
FUNCTION f64 scattered(u64 row) {
    const u64 bits = (row + 1) * (row + 1) * U64(0x9e3779b97f4a7c15) >> 32;
    return (f64)bits / 2147483648.0 - 1;
}

#define INFINITE ((f64)f32_of_bits(0x7f800000u))
FUNCTION f64 modulus(f64 value) { return value < 0 ? -value : value; }

// A product that is rounded before anything is added to it, as on the host.
#if defined(DIALECT_CUDA) && !defined(DIALECT_HIP)
FUNCTION f64 product(f64 a, f64 b) { return __dmul_rn(a, b); }
#else
#ifdef DIALECT_HIP
#define NO_CONTRACTION _Pragma("clang fp contract(off)")
#else
#define NO_CONTRACTION _Pragma("OPENCL FP_CONTRACT OFF")
#endif
FUNCTION f64 product(f64 a, f64 b) {
    NO_CONTRACTION
    return a * b;
}
#endif

// ---- values of a matrix: real, unless a program is for complex NUMBERs

#ifndef NUMBER
#define NUMBER f64
#endif
#if IS_COMPLEX(NUMBER)
FUNCTION NUMBER product_of(NUMBER a, NUMBER b) {
    return make_c64(product(a.x, b.x) - product(a.y, b.y), product(a.x, b.y) + product(a.y, b.x));
}
FUNCTION f64 size_of(NUMBER a) { return square_root_f64(product(a.x, a.x) + product(a.y, a.y)); }
FUNCTION NUMBER row_sum_of(NUMBER a, LOCAL f64 *scratch) {
    return make_c64(row_sum(a.x, scratch), row_sum(a.y, scratch));
}
#else
#define product_of(a, b) product(a, b)
#define size_of(a) modulus(a)
#define row_sum_of(a, scratch) row_sum(a, scratch)
#endif
