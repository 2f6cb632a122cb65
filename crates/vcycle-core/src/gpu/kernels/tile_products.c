// Products of matrices in tiles of 4 by 4 with bitmaps (mBSR), after AmgT (Lu et al. 2024): C = A B in values of type T.
//
// Bit 4 r + c of the map of a tile tells whether row r has an entry in column c; all 16 values are stored, row by row. The tiles of C are known.
//
// A block of threads has two rows of tiles of C, which read the same tiles of B where both have a tile in a column of A: eight rows of A by four, times four rows of B
// by eight columns, is one small product (mma_tile). Sums of SIZE tiles of each row are in local memory; rows with more tiles are made window after window. A tile of B goes to
// different sums than its neighbours, and the rows of B come one after the other: sums are formed in the order of the columns of A, without atomics.
//
// Tensor cores multiply where one of both tiles of A has DENSE entries or more; AmgT has 10. Else every entry of A is multiplied with the row of B that it meets.

#include "sorted.h"
#pragma block 128

#define NONE 0xffffffffu
#define SLOTS 16
// Threads that multiply together, and tiles of B that a block multiplies with at a time.
#define TOGETHER 32
#define STEP (BLOCK / TOGETHER * 2)

// ---- 8 by 4 times 4 by 8
//
// mma_tile(totals, a, b, scratch) is totals += a b, on tensor cores for f64 where kernels can use them. Of each 32 threads number 4 g + t has row g and column t of
// a, row t and column g of b, and in totals row g, columns 2 t and 2 t + 1. All threads of a block have to call it, with MMA_SCRATCH numbers in local memory.

#define IS_f64 1
#if PASTE(IS_, T) && defined(DIALECT_CUDA) && !defined(DIALECT_HIP) && __CUDA_ARCH__ >= 800
#define MMA_SCRATCH 1
FUNCTION void mma_tile(f64 *totals, f64 a, f64 b, f64 *scratch) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(totals[0]), "+d"(totals[1])
        : "d"(a), "d"(b));
}
#else // through local memory: all of a, then all of b
#define MMA_SCRATCH (2 * BLOCK)
FUNCTION void mma_tile(PRIVATE T *totals, T a, T b, LOCAL T *scratch) {
    const u32 own = thread_of_block() % TOGETHER, g = own / 4, t = own % 4;
    LOCAL T *team = scratch + (thread_of_block() - own);
    BARRIER();
    team[own] = a;
    team[BLOCK + own] = b;
    BARRIER();
    for (u32 i = 0; i < 2; ++i)
        for (u32 q = 0; q < 4; ++q)
            totals[i] += team[4 * g + q] * team[BLOCK + 4 * (2 * t + i) + q];
}
#endif

// ---- the product

// The entries of the product of two tiles.
FUNCTION u32 map_product(u32 a, u32 b) {
    u32 map = 0;
    FOR(q, 4) map |= (a >> q & 0x1111u) * (b >> 4 * q & 15u);
    return map;
}

// How many of some sorted columns are before another one.
FUNCTION u32 columns_before(GLOBAL const u32 *columns, u32 n, u32 column) {
    u32 low = 0;
    while (n > 0) {
        const u32 middle = n / 2;
        const bool before = columns[low + middle] < column;
        low += before ? middle + 1 : 0;
        n = before ? n - middle - 1 : middle;
    }
    return low;
}

// Adds the entries of a row of A, times two neighbours of the rows of a tile of B that they meet.
FUNCTION void add_entries(const LOCAL T *row, u32 map, GLOBAL const T *tile, PRIVATE T *totals) {
    FOR(q, 4)
        if (map >> q & 1)
            FOR(i, 2) totals[i] += row[q] * tile[q * 4 + i];
}

#define TILES_OF(m)                                                                                \
    GRAPH_OF(m), GLOBAL const u16 *RESTRICT m##_maps, GLOBAL const T *RESTRICT m##_values

KERNEL tile_product(u64 strips, TILES_OF(a), TILES_OF(b), GRAPH_OF(c), GLOBAL u16 *RESTRICT c_maps,
                    GLOBAL T *RESTRICT c_values) {
    LOCAL_ARRAY(T, sums, 2 * SIZE *SLOTS);
    LOCAL_ARRAY(u32, columns, 2 * SIZE);
    LOCAL_ARRAY(u32, maps, 2 * SIZE);
    LOCAL_ARRAY(u32, places, 2 * BLOCK);
    LOCAL_ARRAY(T, factor, 2 * SLOTS);
    LOCAL_ARRAY(T, scratch, MMA_SCRATCH);
    LOCAL_ARRAY(u32, bounds, 4);
    const u32 member = thread_of_block(), g = member % TOGETHER / 4, t = member % 4;
    // Bounds of tiles in the window are told in turns, so that nobody waits until they are read.
    u32 turn = 0;
    if (member < 4)
        bounds[member] = 0;
    for (u64 pair = block_of_grid(); pair < (strips + 1) / 2; pair += blocks_of_grid()) {
        u64 from[2], until[2];
        FOR(s, 2) {
            from[s] = c_offsets[min(2 * pair + s, strips)];
            until[s] = c_offsets[min(2 * pair + s + 1, strips)];
        }
        // Columns of the window: from `begin` to one before `end`.
        u32 begin = 0;
        while (from[0] < until[0] || from[1] < until[1]) {
            u32 end = NONE, n[2];
            FOR(s, 2)
                if (until[s] - from[s] > SIZE)
                    end = min(end, c_columns[from[s] + SIZE]);
            FOR(s, 2) {
                const u32 most = (u32)min(until[s] - from[s], (u64)SIZE);
                n[s] = columns_before(c_columns + from[s], most, end);
                for (u32 k = member; k < n[s]; k += BLOCK) {
                    columns[s * SIZE + k] = c_columns[from[s] + k];
                    maps[s * SIZE + k] = 0;
                }
                for (u32 k = member; k < n[s] * SLOTS; k += BLOCK)
                    sums[s * SIZE * SLOTS + k] = 0;
            }
            // The next tiles of A, and their columns.
            u64 left[2], left_end[2];
            u32 next[2];
            FOR(s, 2) {
                left[s] = a_offsets[min(2 * pair + s, strips)];
                left_end[s] = a_offsets[min(2 * pair + s + 1, strips)];
                next[s] = left[s] < left_end[s] ? a_columns[left[s]] : NONE;
            }
            for (u32 k = min(next[0], next[1]); k != NONE; k = min(next[0], next[1])) {
                const u64 right = b_offsets[k];
                const u32 all = (u32)(b_offsets[k + 1] - right);
                u64 tile[2];
                u32 map[2];
                FOR(s, 2) {
                    const bool is_there = next[s] == k;
                    tile[s] = left[s];
                    map[s] = is_there ? a_maps[left[s]] : 0;
                    left[s] += is_there;
                    if (is_there)
                        next[s] = left[s] < left_end[s] ? a_columns[left[s]] : NONE;
                }
                // What the threads that fetch a tile have.
                const u32 own_map = member < SLOTS ? map[0] : map[1];
                const u64 own_tile = member < SLOTS ? tile[0] : tile[1];
                const u32 row_map = (g < 4 ? map[0] : map[1]) >> g % 4 * 4;
                const bool is_dense = max(BITS_SET(map[0]), BITS_SET(map[1])) >= DENSE;
                for (u32 first = 0; first < all; first += BLOCK, turn ^= 2) {
                    const u32 some = min(all - first, (u32)BLOCK);
                    BARRIER();
                    if (member < 2 * SLOTS)
                        factor[member] = own_map ? a_values[own_tile * SLOTS + member % SLOTS] : (T)0;
                    const u64 at = right + first + member;
                    const u32 column = member < some ? b_columns[at] : NONE;
                    const bool is_inside = member < some && column >= begin && column < end;
                    if (is_inside && (member == 0 || b_columns[at - 1] < begin))
                        bounds[turn] = member;
                    if (is_inside && (member + 1 == some || b_columns[at + 1] >= end))
                        bounds[turn + 1] = member + 1;
                    FOR(s, 2) {
                        const u32 found = is_inside ? map_product(map[s], b_maps[at]) : 0;
                        u32 place = NONE;
                        if (found) {
                            place = s * SIZE + place_of(columns + s * SIZE, n[s], column);
                            maps[place] |= found;
                        }
                        places[s * BLOCK + member] = place;
                    }
                    BARRIER();
                    if (member < 2)
                        bounds[(turn ^ 2) + member] = 0;
                    GLOBAL const T *tiles = b_values + (right + first) * SLOTS;
                    const T own = factor[member % TOGETHER];
                    const u32 last = bounds[turn + 1];
                    for (u32 step = bounds[turn] / 2 * 2; step < last; step += IN_FLIGHT * STEP) {
                        // Of two tiles of B a thread has row t and column g, of the product row g and columns 2 t and 2 t + 1.
                        const u32 two = step + member / TOGETHER * 2;
                        T values[IN_FLIGHT];
                        FOR(k, IN_FLIGHT) {
                            const u32 mine = two + k * STEP + g / 4;
                            values[k] = is_dense && mine < last ? tiles[mine * SLOTS + t * 4 + g % 4] : (T)0;
                        }
                        FOR(k, IN_FLIGHT) {
                            const u32 its = two + k * STEP + t / 2;
                            const u32 place = its < last ? places[g / 4 * BLOCK + its] : NONE;
                            T totals[2] = {0, 0};
                            if (is_dense)
                                mma_tile(totals, own, values[k], scratch);
                            else if (place != NONE)
                                add_entries(factor + g * 4, row_map, tiles + its * SLOTS + t % 2 * 2,
                                            totals);
                            if (place != NONE)
                                FOR(i, 2) sums[place * SLOTS + g % 4 * 4 + t % 2 * 2 + i] += totals[i];
                        }
                    }
                }
            }
            BARRIER();
            FOR(s, 2) {
                for (u32 k = member; k < n[s] * SLOTS; k += BLOCK)
                    c_values[from[s] * SLOTS + k] = sums[s * SIZE * SLOTS + k];
                for (u32 k = member; k < n[s]; k += BLOCK)
                    c_maps[from[s] + k] = (u16)maps[s * SIZE + k];
                from[s] += n[s];
            }
            begin = end;
            BARRIER();
        }
    }
}
