// What there is to do before the rows of a factorised approximate inverse are made.
//
// Definitions: the arithmetic type ACC.

#include "tiles.h"

// How many entries a row may get, without the diagonal: those of the pattern it begins with and `grown`
// more; and the reciprocals of the diagonal. `found`: the first row whose diagonal is zero, the first where it is not positive, the longest
// row to begin with, the longest row of the matrix.
KERNEL fsai_sizes(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const ACC *RESTRICT diagonal,
                  GRAPH_OF(start), u32 grown, GLOBAL u32 *RESTRICT sizes,
                  GLOBAL u32 *RESTRICT rooms, GLOBAL ACC *RESTRICT inverses, GLOBAL u32 *found) {
    u32 longest_start = 0, longest = 0;
    FOR_ITEMS(row, rows) {
        u32 below = 0;
        if (start_offsets) {
            const u64 first = start_offsets[row], end = start_offsets[row + 1];
            longest_start = max(longest_start, (u32)(end - first));
            while (first + below < end && start_columns[first + below] < row)
                below++;
        }
        sizes[row] = below + grown;
        rooms[row] = below + grown + 1;
        longest = max(longest, (u32)(offsets[row + 1] - offsets[row]));
        const ACC own = diagonal[row];
        inverses[row] = 1 / own;
        if (own == 0)
            ATOMIC_MIN(&found[0], row);
        if (!(own > 0 && own - own == 0))
            ATOMIC_MIN(&found[1], row);
    }
    if (longest_start > 0)
        ATOMIC_MAX(&found[2], longest_start);
    ATOMIC_MAX(&found[3], longest);
}

// Entries on the diagonal or not below `least` times both diagonals; squares of all of it.
#define IS_LARGE(row, place)                                                                       \
    (columns[place] == row ||                                                                      \
     values[place] * values[place] >= least * diagonal[row] * diagonal[columns[place]])

KERNEL fsai_count_large(u64 rows, CSR(ACC, values), GLOBAL const ACC *RESTRICT diagonal, ACC least,
                        GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++)
            count += IS_LARGE(row, place);
        counts[row] = count;
    }
}

KERNEL fsai_fill_large(u64 rows, CSR(ACC, values), GLOBAL const ACC *RESTRICT diagonal, ACC least,
                       NEW_CSR(ACC, out)) {
    FOR_ITEMS(row, rows) {
        u64 next = out_offsets[row];
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++)
            if (IS_LARGE(row, place)) {
                out_columns[next] = columns[place];
                out_values[next++] = values[place];
            }
    }
}
