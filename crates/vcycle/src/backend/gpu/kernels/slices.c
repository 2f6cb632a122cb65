// The layout of sliced.c, made from row offsets and columns: `setup/slices.rs` and `layout.rs` tell of
// it.
//
// Definitions: THREADS lanes for each row, MARK the type of marks, WORD that values are moved in.

#define LANES 32
#define HEIGHT (LANES / THREADS)
#define WINDOW 256
// Most steps of an aligned slice.
#define ALIGNED 32
// Threads that share the steps of a slice.
#define SHARES 8

#define SLICES                                                                                     \
    u64 slices, u64 rows, GLOBAL const u32 *RESTRICT order, GLOBAL const u64 *RESTRICT offsets,    \
        GLOBAL const u32 *RESTRICT columns
#define ROWS_OF_SLICE (u32)min((u64)HEIGHT, rows - slice *HEIGHT)
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

// The steps of every slice, unless it is aligned.
KERNEL measure(SLICES, GLOBAL u32 *RESTRICT widths) {
    FOR_ITEMS(slice, slices) {
        u32 longest = 0;
        for (u32 at = 0; at < ROWS_OF_SLICE; ++at) {
            const u64 row = row_at(order, slice * HEIGHT + at);
            longest = max(longest, (u32)(offsets[row + 1] - offsets[row]));
        }
        widths[slice] = (longest + THREADS - 1) / THREADS;
    }
}

// The least column of a step, less the place of its row, and how far the others are above it.
FUNCTION i64 base_of(u64 slice, u32 step, u64 rows, GLOBAL const u32 *order,
                     GLOBAL const u64 *offsets, GLOBAL const u32 *columns, PRIVATE i64 *spread) {
    i64 least = (i64)1 << 62, most = -least;
    for (u32 at = 0; at < ROWS_OF_SLICE; ++at) {
        const u64 row = row_at(order, slice * HEIGHT + at);
        const u64 begin = offsets[row] + (u64)step * THREADS;
        const u64 end = min(begin + THREADS, offsets[row + 1]);
        // Columns increase.
        if (begin < end) {
            least = min(least, (i64)columns[begin] - at);
            most = max(most, (i64)columns[end - 1] - at);
        }
    }
    *spread = most - least;
    return least;
}

// Bytes that codes of such a spread need.
FUNCTION u32 bytes_for(i64 spread) {
    return spread == 0 ? 0 : spread < 0x100 ? 1 : spread < 0x10000 ? 2 : 4;
}

// The differences between column and place that a slice has, in their order; 0 if these are more than
// `most`.
FUNCTION u32 differences(u64 slice, u32 most, u64 rows, GLOBAL const u32 *order,
                         GLOBAL const u64 *offsets, GLOBAL const u32 *columns, PRIVATE i64 *found) {
    u32 count = 0;
    for (u32 at = 0; at < ROWS_OF_SLICE; ++at) {
        const u64 row = row_at(order, slice * HEIGHT + at);
        u32 from = 0;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; ++entry, ++from) {
            const i64 column = (i64)columns[entry] - at;
            while (from < count && found[from] < column)
                ++from;
            if (from < count && found[from] == column)
                continue;
            if (count == most)
                return 0;
            for (u32 k = count++; k > from; --k)
                found[k] = found[k - 1];
            found[from] = column;
        }
    }
    return count;
}

// The steps of every slice and the units of its codes, none for aligned ones, whose bases are left in
// `aligned`; the largest mark in `largest`. On entry `widths` are those of `measure`.
KERNEL form(SLICES, GLOBAL u32 *widths, GLOBAL u32 *RESTRICT units, GLOBAL u32 *RESTRICT aligned,
            GLOBAL u32 *largest) {
    FOR_ITEMS(slice, slices) {
        u32 width = widths[slice], bytes = 0;
        for (u32 step = 0; step < width; ++step) {
            i64 spread;
            base_of(slice, step, rows, order, offsets, columns, &spread);
            bytes = max(bytes, bytes_for(spread));
        }
        u32 mark = width * THREADS;
#if THREADS == 1
        i64 found[ALIGNED];
        const u32 most = min(width * (4 + bytes) / 4, (u32)ALIGNED);
        const u32 count = differences(slice, most, rows, order, offsets, columns, found);
        bytes = max(bytes, 1u);
        if (count > 0) {
            for (u32 k = 0; k < count; ++k)
                aligned[slice * ALIGNED + k] = (u32)found[k];
            width = count, bytes = 0, mark = count > 8 ? 256 : 255;
        }
#endif
        widths[slice] = width;
        units[slice] = bytes * width;
        ATOMIC_MAX(largest, mark);
    }
}

// ---- when it is known where slices begin

#define STARTS GLOBAL const u64 *RESTRICT steps, GLOBAL const u64 *RESTRICT units
#define WIDTH_OF_SLICE (steps[slice + 1] - steps[slice])
#define IS_ALIGNED (THREADS == 1 && units[slice + 1] == units[slice])

KERNEL write_bases(SLICES, STARTS, GLOBAL const u32 *RESTRICT aligned, GLOBAL u32 *RESTRICT bases) {
    FOR_ITEMS(item, slices * SHARES) {
        const u64 slice = item / SHARES;
        i64 spread;
        for (u32 step = (u32)(item % SHARES); step < WIDTH_OF_SLICE; step += SHARES)
            bases[steps[slice] + step] =
                IS_ALIGNED
                    ? aligned[slice * ALIGNED + step]
                    : (u32)base_of(slice, step, rows, order, offsets, columns, &spread);
    }
}

KERNEL write_starts(SLICES, STARTS, GLOBAL u32 *RESTRICT starts) {
    FOR_ITEMS(slice, slices + 1) {
        starts[2 * slice] = (u32)steps[slice];
        starts[2 * slice + 1] = (u32)units[slice];
    }
}

// The steps of a row of an aligned slice as bits, elsewhere its length.
KERNEL write_marks(SLICES, STARTS, GLOBAL const u32 *RESTRICT bases, GLOBAL MARK *RESTRICT marks) {
    FOR_ITEMS(slot, rows) {
        const u64 row = row_at(order, slot), slice = slot / HEIGHT;
        const u64 begin = offsets[row], end = offsets[row + 1];
        u32 mark = (u32)(end - begin);
        if (IS_ALIGNED) {
            u32 step = 0;
            mark = 0;
            for (u64 entry = begin; entry < end; ++entry, ++step) {
                while (bases[steps[slice] + step] != columns[entry] - (u32)(slot % HEIGHT))
                    ++step;
                mark |= 1u << step;
            }
        }
        marks[slot] = (MARK)mark;
    }
}

KERNEL write_codes(SLICES, STARTS, GLOBAL const u32 *RESTRICT bases, GLOBAL u8 *RESTRICT codes) {
    FOR_ITEMS(item, slices * LANES) {
        const u64 slice = item / LANES;
        const u32 own = (u32)(item % LANES), at = own / THREADS, width = (u32)WIDTH_OF_SLICE;
        const u64 bytes = units[slice + 1] - units[slice], slot = slice * HEIGHT + at;
        GLOBAL u8 *mine = codes + units[slice] * 32;
        const u64 row = slot < rows ? row_at(order, slot) : 0;
        const u64 end = slot < rows ? offsets[row + 1] : 0;
        u64 entry = slot < rows ? offsets[row] + own % THREADS : 0;
        for (u32 step = 0; step < width && bytes > 0; ++step, entry += THREADS) {
            const u32 code = entry < end ? columns[entry] - at - bases[steps[slice] + step] : 0;
            const u64 place = (u64)step * LANES + own;
            if (bytes == width)
                mine[place] = (u8)code;
            else if (bytes == 2 * width)
                ((GLOBAL u16 *)mine)[place] = (u16)code;
            else
                ((GLOBAL u32 *)mine)[place] = code;
        }
    }
}

KERNEL place_values(SLICES, STARTS, GLOBAL const MARK *RESTRICT marks,
                    GLOBAL const WORD *RESTRICT values, GLOBAL WORD *RESTRICT placed) {
    FOR_ITEMS(item, slices * LANES) {
        const u64 slice = item / LANES;
        const u32 own = (u32)(item % LANES), width = (u32)WIDTH_OF_SLICE;
        const u64 slot = slice * HEIGHT + own / THREADS;
        const u64 row = slot < rows ? row_at(order, slot) : 0;
        const u64 end = slot < rows ? offsets[row + 1] : 0;
        u64 entry = slot < rows ? offsets[row] + own % THREADS : 0;
        const bool is_aligned = IS_ALIGNED;
        const u32 mark = slot < rows ? marks[slot] : 0;
        for (u32 step = 0; step < width; ++step) {
            const bool present = is_aligned ? mark >> step & 1 : entry < end;
            placed[(steps[slice] + step) * LANES + own] = present ? values[entry] : (WORD)0;
            entry += is_aligned ? present : THREADS;
        }
    }
}
