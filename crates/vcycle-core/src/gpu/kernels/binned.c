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
