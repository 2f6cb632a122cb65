// Rows that lie apart, and numbers for the entries of rows.
//
// Definitions: the arithmetic type ACC.

#include "tiles.h"

// Moves rows together that begin at `from`, or are `room` from each other where that is null. The row of a point that is `coarse` is a one
// there; with `renumbers` the others name points, whose numbers are wanted.
KERNEL gather_rows(u64 rows, GLOBAL const u32 *RESTRICT points, GLOBAL const u32 *RESTRICT coarse,
                   u32 renumbers, u32 room, GLOBAL const u64 *RESTRICT from,
                   GLOBAL const u32 *RESTRICT columns, GLOBAL const ACC *RESTRICT values,
                   NEW_CSR(ACC, out)) {
    FOR_ROWS(row, rows) {
        const u32 number = coarse ? coarse[points ? points[row] : row] : NONE;
        const u64 begin = from ? from[row] : row * room;
        FOR_ENTRIES(place, out_offsets, row) {
            const u64 source = begin + (place - out_offsets[row]);
            const u32 column = number == NONE ? columns[source] : number;
            out_columns[place] = number == NONE && renumbers ? coarse[column] : column;
            out_values[place] = number == NONE ? values[source] : OF_REAL(ACC, 1);
        }
    }
}

// Values over those of the diagonal in their rows.
KERNEL over_diagonal(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const ACC *RESTRICT diagonal,
                     GLOBAL const ACC *RESTRICT values, GLOBAL ACC *RESTRICT out) {
    FOR_ROWS(row, rows) FOR_ENTRIES(place, offsets, row) 
        out[place] = MULTIPLY(ACC, OVER(ACC, OF_REAL(ACC, 1), diagonal[row]), values[place]);
}
