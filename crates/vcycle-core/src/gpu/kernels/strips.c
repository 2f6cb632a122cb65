// From rows to blocks: the layout of sliced_blocks.c, made from row offsets and columns.
//
// `setup/strips.rs` slices the pattern of blocks as it does rows.
//
// Definitions beside those of block_place.h and strip.h: THREADS lanes for each strip, MARK the type of marks, WORD that values are moved in.

#include "block_place.h"
#include "strip.h"
#pragma default THREADS 1
#pragma default MARK u32
#pragma default WORD u32

#define NO_BLOCK 0xffffffffu

// The next block, which is taken away.
FUNCTION u32 next_block(PRIVATE Strip *own, GLOBAL const u32 *columns) {
    u32 next = NO_BLOCK;
    FOR(r, HEIGHT)
        if (own->at[r] < own->end[r])
            next = min(next, columns[own->at[r]] / BREADTH);
    FOR(r, HEIGHT)
        while (own->at[r] < own->end[r] && columns[own->at[r]] / BREADTH == next)
            ++own->at[r];
    return next;
}

KERNEL count_blocks(STRIP_ROWS, GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(strip, strips) {
        Strip own = strip_of(strip, rows, offsets);
        u32 count = 0;
        while (next_block(&own, columns) != NO_BLOCK)
            ++count;
        counts[strip] = count;
    }
}

KERNEL list_blocks(STRIP_ROWS, GLOBAL const u64 *RESTRICT block_offsets,
                   GLOBAL u32 *RESTRICT block_columns) {
    FOR_ITEMS(strip, strips) {
        Strip own = strip_of(strip, rows, offsets);
        for (u64 place = block_offsets[strip]; place < block_offsets[strip + 1]; ++place)
            block_columns[place] = next_block(&own, columns);
    }
}

// The Frobenius norms of blocks, negative beside the diagonal.
KERNEL block_norms(STRIP_ROWS, GRAPH_OF(block), GLOBAL const f64 *RESTRICT values,
                   GLOBAL f64 *RESTRICT norms) {
    FOR_ITEMS(strip, strips) {
        Strip own = strip_of(strip, rows, offsets);
        for (u64 place = block_offsets[strip]; place < block_offsets[strip + 1]; ++place) {
            const u32 block = block_columns[place];
            f64 square = 0;
            FOR(r, HEIGHT)
                for (; own.at[r] < own.end[r] && columns[own.at[r]] / BREADTH == block; ++own.at[r])
                    square += values[own.at[r]] * values[own.at[r]];
            const f64 norm = SQUARE_ROOT(f64, square);
            norms[place] = block == strip ? norm : -norm;
        }
    }
}

// Values in their places; zeros where a block has no entry. `starts` and `marks` are those of sliced.c.
KERNEL place_blocks(STRIP_ROWS, u64 slices, GLOBAL const u32 *RESTRICT order, GRAPH_OF(block),
                    GLOBAL const uint2 *RESTRICT starts, GLOBAL const MARK *RESTRICT marks,
                    GLOBAL const WORD *RESTRICT values, GLOBAL WORD *RESTRICT placed) {
    FOR_ITEMS(item, slices * LANES * HEIGHT) {
        const u32 own = (u32)(item % LANES), within = (u32)(item / LANES % HEIGHT);
        const u64 slice = item / (LANES * HEIGHT);
        const u64 slot = slice * (LANES / THREADS) + own / THREADS;
        const uint2 here = starts[slice], next = starts[slice + 1];
        const bool is_aligned = THREADS == 1 && next.y == here.y, is_there = slot < strips;
        const u64 strip = is_there && order ? order[slot] : slot;
        const u64 block_end = is_there ? block_offsets[strip + 1] : 0;
        const u64 row = strip * HEIGHT + within;
        const bool has_row = is_there && row < rows;
        const u64 end = has_row ? offsets[row + 1] : 0;
        const u32 mark = is_there ? marks[slot] : 0;
        u64 block = is_there ? block_offsets[strip] + own % THREADS : 0;
        u64 entry = has_row ? offsets[row] : 0;
        for (u32 step = 0; step < next.x - here.x; ++step) {
            const bool present = is_aligned ? mark >> step & 1 : block < block_end;
            const u32 first = present ? block_columns[block] * BREADTH : 0;
            GLOBAL WORD *to = placed + (u64)(here.x + step) * (ENTRIES * LANES);
            while (present && entry < end && columns[entry] < first)
                ++entry;
            FOR(c, BREADTH) {
                const bool hit = present && entry < end && columns[entry] == first + c;
                to[place_of_value(within * BREADTH + c, own)] = hit ? values[entry] : (WORD)0;
                entry += hit;
            }
            block += is_aligned ? present : THREADS;
        }
    }
}
