// Rows whose entries are made in tables of different sizes, put together.

#include "tiles.h"
#include "tables.h"

// The bins of rows whose lengths are known; `counters` are zeros before.
KERNEL binned_classes(u64 rows, GLOBAL const u32 *RESTRICT lengths, GLOBAL u8 *RESTRICT bins,
                      GLOBAL u32 *counters) {
    LOCAL_ARRAY(u32, counts, BINS + 1);
    FOR_BLOCKS_OF_ROWS(first, rows) {
        const u64 row = first + row_of_block();
        const u32 keys = row < rows ? lengths[row] : 0, bin = keys != 0 ? smallest_bin(keys) : BINS;
        count_bins(bin, keys, counters, counts);
        if (row < rows)
            bins[row] = (u8)bin;
    }
}

// The rows of every bin, one bin after the other.
KERNEL binned_collect(u64 rows, GLOBAL const u8 *RESTRICT bins,
                      GLOBAL const u32 *RESTRICT counts, GLOBAL u32 *sizes,
                      GLOBAL u32 *RESTRICT order) {
    LOCAL_ARRAY(u32, ends, 2);
    FOR_BLOCKS_OF_ROWS(first, rows) {
        const u64 row = first + row_of_block();
        const u32 bin = row < rows ? bins[row] : BINS;
        u64 start = 0;
        for (u32 one = 0; one < BINS; one++) {
            append(bin == one, (u32)row, order + start, sizes + one, ends);
            start += counts[one];
        }
    }
}

// Moves rows together that lie apart, `room` from each other where `from` is null. A row whose point is
// `coarse` is that one entry.
KERNEL binned_gather(u64 rows, GLOBAL const u32 *RESTRICT points,
                     GLOBAL const u32 *RESTRICT coarse, u32 room, GLOBAL const u64 *RESTRICT from,
                     GLOBAL const u32 *RESTRICT columns, GLOBAL const NUMBER *RESTRICT values,
                     GLOBAL const u64 *RESTRICT to, GLOBAL u32 *RESTRICT out_columns,
                     GLOBAL NUMBER *RESTRICT out_values) {
    FOR_ITEMS(row, rows) {
        const u64 first = to[row];
        const u32 count = (u32)(to[row + 1] - first);
        const u32 number = coarse ? coarse[points ? points[row] : row] : NONE;
        if (number != NONE) {
            out_columns[first] = number;
            out_values[first] = OF_REAL(NUMBER, 1);
            continue;
        }
        const u64 begin = from ? from[row] : row * room;
        for (u32 k = 0; k < count; k++) {
            out_columns[first + k] = columns[begin + k];
            out_values[first + k] = values[begin + k];
        }
    }
}
