// What there is to do before and after the rows of an interpolation of test vectors are made.

#include "tiles.h"

// Rows of this length stand for unknowns that become coarse.
#define PROMOTED 0xffffffffu
#define IS_COARSE(row) (coarse[row] != NONE || lengths[row] == PROMOTED)

// How many neighbours of each unknown are coarse.
KERNEL bamg_count_near(u64 rows, GRAPH, GLOBAL const u32 *RESTRICT coarse, GLOBAL u32 *RESTRICT counts) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u32 count = 0;
        FOR_ENTRIES(place, offsets, row) count += coarse[columns[place]] != NONE;
        count = row_count(count, scratch);
        if (leads_row())
            counts[row] = count;
    }
}

// These neighbours.
KERNEL bamg_fill_near(u64 rows, GRAPH, GLOBAL const u32 *RESTRICT coarse, NEW_GRAPH(out)) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        const u64 end = offsets[row + 1];
        u64 next = out_offsets[row];
        FOR_CHUNKS(chunk, offsets[row], end) {
            const u64 place = chunk + part_of_row();
            const u32 column = place < end ? columns[place] : NONE;
            const bool wanted = column != NONE && coarse[column] != NONE;
            const u32 flags = row_flags(wanted, scratch);
            if (wanted)
                out_columns[next + BITS_SET(flags_before(flags))] = column;
            next += BITS_SET(flags);
        }
    }
}

// Which unknowns are coarse, ones and zeros.
KERNEL bamg_coarse(u64 rows, GLOBAL const u32 *RESTRICT coarse, GLOBAL const u32 *RESTRICT lengths,
                   GLOBAL u32 *RESTRICT flags) {
    FOR_ITEMS(row, rows) flags[row] = IS_COARSE(row);
}

// Their numbers, and the lengths of the rows of the prolongation.
KERNEL bamg_numbers(u64 rows, GLOBAL const u32 *RESTRICT coarse, GLOBAL const u32 *RESTRICT lengths,
                    GLOBAL const u64 *RESTRICT before, GLOBAL u32 *RESTRICT numbers, GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        numbers[row] = IS_COARSE(row) ? (u32)before[row] : NONE;
        counts[row] = IS_COARSE(row) ? 1 : lengths[row];
    }
}
