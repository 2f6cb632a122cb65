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

FUNCTION u64 sum_taken(u64 n, u64 first, GLOBAL const u32 *counts) {
    u64 sum = 0;
    for (u32 k = 0; k < TAKES; ++k)
        sum += first + k < n ? counts[first + k] : 0;
    return sum;
}

KERNEL sum_tiles(u64 n, GLOBAL const u32 *RESTRICT counts, GLOBAL u64 *RESTRICT sums) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    const u64 first = (u64)block_of_grid() * TILE_OF_BLOCK;
    u64 total, sum = 0;
    for (u32 k = thread_of_block(); k < TILE_OF_BLOCK; k += BLOCK)
        sum += first + k < n ? counts[first + k] : 0;
    scan_block(sum, &total, scratch);
    if (thread_of_block() == 0)
        sums[block_of_grid()] = total;
}

// One block turns sums of tiles into those before them; the sum of all stands at the end.
KERNEL scan_sums(u64 tiles, GLOBAL u64 *sums) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    u64 before = 0, total;
    for (u64 first = 0; first < tiles; first += BLOCK) {
        const u64 tile = first + thread_of_block();
        const u64 own = tile < tiles ? sums[tile] : 0;
        const u64 sum = scan_block(own, &total, scratch);
        if (tile < tiles)
            sums[tile] = before + sum - own;
        before += total;
    }
    if (thread_of_block() == 0)
        sums[tiles] = before;
}

KERNEL scan_tiles(u64 n, GLOBAL const u32 *RESTRICT counts, GLOBAL const u64 *RESTRICT sums,
                  GLOBAL u64 *RESTRICT offsets) {
    LOCAL_ARRAY(u64, scratch, BLOCK);
    u64 total;
    const u64 first = (u64)block_of_grid() * TILE_OF_BLOCK + thread_of_block() * TAKES;
    const u64 own = sum_taken(n, first, counts);
    u64 sum = sums[block_of_grid()] + scan_block(own, &total, scratch) - own;
    for (u32 k = 0; k < TAKES; ++k)
        if (first + k < n) {
            offsets[first + k] = sum;
            sum += counts[first + k];
            if (first + k + 1 == n)
                offsets[n] = sum;
        }
    if (n == 0 && thread_of_block() == 0)
        offsets[0] = 0;
}

KERNEL lengths(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *RESTRICT out) {
    FOR_ITEMS(row, rows) out[row] = (u32)(offsets[row + 1] - offsets[row]);
}
