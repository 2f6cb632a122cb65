// Arrays of indices.

KERNEL fill(u64 n, u32 value, GLOBAL u32 *RESTRICT out) {
    FOR_ITEMS(i, n) out[i] = value;
}

KERNEL widen_indices(u64 n, GLOBAL const u32 *RESTRICT in, GLOBAL u64 *RESTRICT out) {
    FOR_ITEMS(i, n) out[i] = in[i];
}

KERNEL narrow_indices(u64 n, GLOBAL const u64 *RESTRICT in, GLOBAL u32 *RESTRICT out) {
    FOR_ITEMS(i, n) out[i] = in[i] < 0xffffffffu ? (u32)in[i] : 0xffffffffu;
}

// ---- sums over all before

// The type of what is summed: u32, or u64 for two numbers side by side.
#ifndef COUNT
#define COUNT u32
#endif
// Values that a thread takes of a tile, one after the other.
#define TAKES 8
#define TILE_OF_BLOCK (TAKES * BLOCK)

// The sums over a thread and those before it in the block, of all in `total`.
FUNCTION u64 scan_block(u64 value, PRIVATE u64 *total, LOCAL u64 *scratch) {
    const u32 thread = thread_of_block();
    BARRIER();
    scratch[thread] = value;
    BARRIER();
    for (u32 distance = 1; distance < BLOCK; distance *= 2) {
        const u64 before = thread >= distance ? scratch[thread - distance] : 0;
        BARRIER();
        scratch[thread] += before;
        BARRIER();
    }
    *total = scratch[BLOCK - 1];
    const u64 sum = scratch[thread];
    BARRIER();
    return sum;
}

// A block for every tile; the last one turns sums of tiles into those before them, and tells that of all.
KERNEL sum_tiles(u64 n, GLOBAL const COUNT *RESTRICT counts, GLOBAL u64 *sums, GLOBAL u64 *RESTRICT all,
                 GLOBAL u32 *counter) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    const u64 first = (u64)block_of_grid() * TILE_OF_BLOCK;
    u64 total, sum = 0;
    for (u32 k = thread_of_block(); k < TILE_OF_BLOCK; k += BLOCK)
        sum += first + k < n ? counts[first + k] : 0;
    scan_block(sum, &total, scratch);
    if (thread_of_block() == 0)
        sums[block_of_grid()] = total;
    if (!LAST_BLOCK(counter, scratch))
        return;
    u64 before = 0;
    for (u64 begin = 0; begin < blocks_of_grid(); begin += BLOCK) {
        const u64 tile = begin + thread_of_block();
        const u64 own = tile < blocks_of_grid() ? sums[tile] : 0;
        const u64 through = scan_block(own, &total, scratch);
        if (tile < blocks_of_grid())
            sums[tile] = before + through - own;
        before += total;
    }
    if (thread_of_block() == 0)
        *all = before;
}

// Where there is one tile `sums` is null, and the sum of all is told here. The tile goes through local memory, so that neighbours
// read and write neighbours.
KERNEL scan_tiles(u64 n, GLOBAL const COUNT *RESTRICT counts, GLOBAL const u64 *RESTRICT sums,
                  GLOBAL u64 *RESTRICT all, GLOBAL u64 *RESTRICT offsets) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    LOCAL_ARRAY(u64, tile, TILE_OF_BLOCK);
    const u32 thread = thread_of_block();
    const u64 first = (u64)block_of_grid() * TILE_OF_BLOCK;
    for (u32 k = thread; k < TILE_OF_BLOCK; k += BLOCK)
        tile[k] = first + k < n ? counts[first + k] : 0;
    BARRIER();
    u64 own = 0, total;
    for (u32 k = 0; k < TAKES; ++k)
        own += tile[thread * TAKES + k];
    const u64 begin = sums ? sums[block_of_grid()] : 0;
    u64 sum = begin + scan_block(own, &total, scratch) - own;
    for (u32 k = 0; k < TAKES; ++k) {
        const u64 count = tile[thread * TAKES + k];
        tile[thread * TAKES + k] = sum;
        sum += count;
    }
    BARRIER();
    for (u32 k = thread; k < TILE_OF_BLOCK; k += BLOCK)
        if (first + k < n)
            offsets[first + k] = tile[k];
    if (thread == 0 && first + TILE_OF_BLOCK >= n)
        offsets[n] = begin + total;
    if (thread == 0 && !sums)
        *all = total;
}

KERNEL lengths(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *RESTRICT out) {
    FOR_ITEMS(row, rows) out[row] = (u32)(offsets[row + 1] - offsets[row]);
}
