// Rows that lie apart, and numbers for the entries of rows.
//
// Definitions: the arithmetic type ACC.

#include "tiles.h"

// Moves rows together.
KERNEL gather_rows(u64 rows, GLOBAL const u64 *RESTRICT from, GLOBAL const u32 *RESTRICT columns,
                   GLOBAL const ACC *RESTRICT values, GLOBAL const u64 *RESTRICT to,
                   GLOBAL u32 *RESTRICT out_columns, GLOBAL ACC *RESTRICT out_values) {
    FOR_ROWS(row, rows) FOR_ENTRIES(place, to, row) {
        const u64 source = from[row] + (place - to[row]);
        out_columns[place] = columns[source];
        out_values[place] = values[source];
    }
}

// Values over those of the diagonal in their rows.
KERNEL over_diagonal(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const ACC *RESTRICT diagonal,
                     GLOBAL const ACC *RESTRICT values, GLOBAL ACC *RESTRICT out) {
    FOR_ROWS(row, rows) FOR_ENTRIES(place, offsets, row) out[place] = 1 / diagonal[row] * values[place];
}
