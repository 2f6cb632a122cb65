// The layout of sliced.c, made from row offsets and columns; in words of `setup/slices.rs`.
//
// Definitions: THREADS lanes for each row, LENGTH the type of row lengths, WORD that values are moved
// in.

#define LANES 32
#define HEIGHT (LANES / THREADS)
#define WINDOW 256
// Threads that share the steps of a slice.
#define SHARES 8

#define SLICES                                                                                     \
    u64 rows, GLOBAL const u32 *RESTRICT order, GLOBAL const u64 *RESTRICT offsets,                \
        GLOBAL const u32 *RESTRICT columns
FUNCTION u64 row_at(GLOBAL const u32 *order, u64 slot) { return order ? order[slot] : slot; }

// How many rows are longer than 8, 16 and so on up to 256; at the end the longest length.
KERNEL survey(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *out) {
    LOCAL_ARRAY(u32, own, 7);
    if (thread_of_block() < 7)
        own[thread_of_block()] = 0;
    BARRIER();
    FOR_ITEMS(row, rows) {
        const u32 length = (u32)(offsets[row + 1] - offsets[row]);
        for (u32 k = 0; k < 6 && length > 8u << k; ++k)
            ATOMIC_ADD(&own[k], 1);
        if (length > own[6])
            ATOMIC_MAX(&own[6], length);
    }
    BARRIER();
    if (thread_of_block() < 6 && own[thread_of_block()])
        ATOMIC_ADD(&out[thread_of_block()], own[thread_of_block()]);
    if (thread_of_block() == 6)
        ATOMIC_MAX(&out[6], own[6]);
}

// Long rows first in every window; of equal ones the first.
KERNEL sort_windows(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *RESTRICT order) {
    LOCAL_ARRAY(u32, lengths, WINDOW);
    for (u64 first = (u64)block_of_grid() * WINDOW; first < rows;
         first += (u64)blocks_of_grid() * WINDOW) {
        const u64 row = first + thread_of_block();
        const u32 count = (u32)min((u64)WINDOW, rows - first);
        BARRIER();
        const u32 own = row < rows ? (u32)(offsets[row + 1] - offsets[row]) : 0;
        lengths[thread_of_block()] = own;
        BARRIER();
        u32 rank = 0;
        for (u32 k = 0; k < count; ++k)
            rank += lengths[k] > own || (lengths[k] == own && k < thread_of_block());
        if (row < rows)
            order[first + rank] = (u32)row;
    }
}

// The steps of every slice.
KERNEL measure(u64 slices, SLICES, GLOBAL u32 *RESTRICT widths) {
    FOR_ITEMS(slice, slices) {
        u32 longest = 0;
        for (u64 slot = slice * HEIGHT; slot < min((slice + 1) * HEIGHT, rows); ++slot) {
            const u64 row = row_at(order, slot);
            longest = max(longest, (u32)(offsets[row + 1] - offsets[row]));
        }
        widths[slice] = (longest + THREADS - 1) / THREADS;
    }
}

// The least column of every step, less the place of its row, and the bytes that slices need for what
// is above; `spreads` are zeros before.
KERNEL find_bases(u64 slices, SLICES, GLOBAL const u64 *RESTRICT steps, GLOBAL u32 *RESTRICT bases,
                  GLOBAL u32 *spreads) {
    FOR_ITEMS(item, slices * SHARES) {
        const u64 slice = item / SHARES;
        u32 spread = 0;
        for (u64 step = steps[slice] + item % SHARES; step < steps[slice + 1]; step += SHARES) {
            i64 least = (i64)1 << 62, most = -least;
            for (u32 at = 0; at < HEIGHT && slice * HEIGHT + at < rows; ++at) {
                const u64 row = row_at(order, slice * HEIGHT + at);
                const u64 begin = offsets[row] + (step - steps[slice]) * THREADS;
                const u64 end = min(begin + THREADS, offsets[row + 1]);
                // Columns increase.
                if (begin < end) {
                    least = min(least, (i64)columns[begin] - at);
                    most = max(most, (i64)columns[end - 1] - at);
                }
            }
            bases[step] = (u32)least;
            spread = (u32)max((i64)spread, min(most - least, (i64)0x10000));
        }
        ATOMIC_MAX(&spreads[slice], spread);
    }
}

// Units of codes that slices need.
KERNEL count_units(u64 slices, GLOBAL const u64 *RESTRICT steps, GLOBAL const u32 *RESTRICT spreads,
                   GLOBAL u32 *RESTRICT units) {
    FOR_ITEMS(slice, slices) {
        const u32 spread = spreads[slice];
        const u32 bytes = spread == 0 ? 0 : spread < 0x100 ? 1 : spread < 0x10000 ? 2 : 4;
        units[slice] = bytes * (u32)(steps[slice + 1] - steps[slice]);
    }
}

KERNEL write_starts(u64 slices, GLOBAL const u64 *RESTRICT steps, GLOBAL const u64 *RESTRICT units,
                    GLOBAL u32 *RESTRICT starts) {
    FOR_ITEMS(slice, slices + 1) {
        starts[2 * slice] = (u32)steps[slice];
        starts[2 * slice + 1] = (u32)units[slice];
    }
}

KERNEL write_lengths(SLICES, GLOBAL LENGTH *RESTRICT lengths) {
    FOR_ITEMS(slot, rows) {
        const u64 row = row_at(order, slot);
        lengths[slot] = (LENGTH)(offsets[row + 1] - offsets[row]);
    }
}

// The steps of every lane, with the entry that stands there; none from `end` on.
#define FOR_LANES(slices, steps)                                                                   \
    FOR_ITEMS(item, (slices)*LANES)                                                                \
    for (u64 slice = item / LANES, lane_of_slice = item % LANES,                                   \
             slot = slice * HEIGHT + lane_of_slice / THREADS,                                      \
             row = slot < rows ? row_at(order, slot) : 0, end = slot < rows ? offsets[row + 1] : 0, \
             entry = slot < rows ? offsets[row] + lane_of_slice % THREADS : 0,                     \
             step = (steps)[slice];                                                                \
         step < (steps)[slice + 1]; ++step, entry += THREADS)

KERNEL write_codes(u64 slices, SLICES, GLOBAL const u64 *RESTRICT steps,
                   GLOBAL const u64 *RESTRICT units, GLOBAL const u32 *RESTRICT bases,
                   GLOBAL u8 *RESTRICT codes) {
    FOR_LANES(slices, steps) {
        const u64 width = steps[slice + 1] - steps[slice], bytes = units[slice + 1] - units[slice];
        GLOBAL u8 *mine = codes + units[slice] * 32;
        const u64 place = (step - steps[slice]) * LANES + lane_of_slice;
        const u32 at = (u32)lane_of_slice / THREADS;
        const u32 code = entry < end ? columns[entry] - at - bases[step] : 0;
        if (bytes == width)
            mine[place] = (u8)code;
        else if (bytes == 2 * width)
            ((GLOBAL u16 *)mine)[place] = (u16)code;
        else if (bytes == 4 * width)
            ((GLOBAL u32 *)mine)[place] = code;
    }
}

KERNEL place_values(u64 slices, SLICES, GLOBAL const u64 *RESTRICT steps,
                    GLOBAL const WORD *RESTRICT values, GLOBAL WORD *RESTRICT placed) {
    FOR_LANES(slices, steps)
        placed[step * LANES + lane_of_slice] = entry < end ? values[entry] : (WORD)0;
}
