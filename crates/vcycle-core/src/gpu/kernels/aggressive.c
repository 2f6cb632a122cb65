// The graph of coarse unknowns that strong couplings connect over at most two steps, as
// multigrid/coarsen/aggressive.rs has it for one path.

#include "tiles.h"
#include "tables.h"

// The unknowns that have a number, by their numbers.
KERNEL aggressive_points(u64 rows, GLOBAL const u32 *RESTRICT coarse, GLOBAL u32 *RESTRICT points) {
    FOR_ITEMS(row, rows)
        if (coarse[row] != NONE)
            points[coarse[row]] = (u32)row;
}

// How many coarse unknowns every one strongly depends on.
KERNEL aggressive_degrees(u64 rows, GRAPH_OF(s), GLOBAL const u32 *RESTRICT coarse,
                          GLOBAL u32 *RESTRICT degrees) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u32 count = 0;
        FOR_ENTRIES(place, s_offsets, row) count += coarse[s_columns[place]] != NONE;
        count = row_count(count, scratch);
        if (leads_row())
            degrees[row] = count;
    }
}

KERNEL aggressive_bounds(u64 rows, GLOBAL const u32 *RESTRICT points, GRAPH_OF(s),
                         GLOBAL const u32 *RESTRICT degrees, BINNED) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    LOCAL_ARRAY(u32, counts, BINS + 1);
    FOR_BLOCKS_OF_ROWS(first, rows) {
        const u64 row = first + row_of_block();
        u32 keys = 0;
        if (row < rows)
            FOR_ENTRIES(place, s_offsets, points[row]) keys += degrees[s_columns[place]];
        keys = row_count(keys, scratch) + (row < rows ? degrees[points[row]] : 0);
        const u32 bin = keys != 0 && leads_row() ? bin_of(keys) : BINS;
        count_bins(bin, keys, counters, counts);
        if (row < rows && leads_row()) {
            lengths[row] = 0;
            bins[row] = (u8)bin;
        }
    }
}

// Adds the numbers of the coarse unknowns that one strongly depends on; how many are new.
FUNCTION u32 add_coarse(Table t, u32 point, u32 own, GRAPH_OF(s), GLOBAL const u32 *coarse) {
    u32 keys = 0;
    FOR_ENTRIES(place, s_offsets, point) {
        const u32 number = coarse[s_columns[place]];
        if (number != NONE && number != own && keys < FULL)
            insert_key(t, number, &keys);
    }
    return keys < FULL ? keys : FULL;
}

KERNEL aggressive_rows(LISTED, GLOBAL const u32 *RESTRICT points, GRAPH_OF(s),
                       GLOBAL const u32 *RESTRICT coarse, MADE) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    TABLE_MEMORY
    const Table t = OWN_TABLE;
    FOR_ROWS(item, items) {
        const u32 row = list[item], point = points[row];
        clear_table(t);
        u32 keys = add_coarse(t, point, row, s_offsets, s_columns, coarse);
        for (u64 place = s_offsets[point]; place < s_offsets[point + 1] && keys < FULL; place++)
            keys += add_coarse(t, s_columns[place], row, s_offsets, s_columns, coarse);
        keys = row_count(keys < FULL ? keys : FULL, scratch);
        FITS(t, keys, row);
        if (COUNT) {
            if (leads_row())
                lengths[row] = keys;
            continue;
        }
        const u32 count = sort_table(t, scratch);
        const Table sorted = upper_half(t);
        for (u32 one = part_of_row(); one < count; one += ROW_THREADS) {
            out_columns[starts[row] + one] = KEY(sorted, one);
            out_values[starts[row] + one] = 1;
        }
    }
}
