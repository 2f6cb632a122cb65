// Incomplete factors on the pattern of a matrix, as precond/ilu0.rs has them.
//
// Definitions: ACC, the type they are computed in.

#include "tiles.h"
#include "fronts.h"

// Eliminates what a row has before the diagonal; the columns of a row stand in order.
FUNCTION void eliminate(u32 row, GRAPH_OF(needs), GLOBAL const u64 *RESTRICT diagonal, GLOBAL ACC *values) {
    const u64 end = needs_offsets[row + 1];
    for (u64 place = needs_offsets[row]; place < diagonal[row]; place++) {
        const u32 above = needs_columns[place];
        const ACC factor = values[place] / values[diagonal[above]];
        values[place] = factor;
        u64 target = place + 1;
        for (u64 other = diagonal[above] + 1; other < needs_offsets[above + 1]; other++) {
            while (target < end && needs_columns[target] < needs_columns[other])
                target++;
            if (target < end && needs_columns[target] == needs_columns[other])
                values[target] -= (ACC)product(factor, values[other]);
        }
    }
}

KERNEL ilu0_front(u32 turns, GRAPH_OF(serves), FRONTS, GRAPH_OF(needs), GLOBAL const u64 *RESTRICT diagonal,
                  GLOBAL ACC *values) {
    FOR_FRONTS(row, eliminate(row, needs_offsets, needs_columns, diagonal, values))
}
