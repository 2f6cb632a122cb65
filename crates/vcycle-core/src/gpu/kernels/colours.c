// Colours of rows, as precond/multicolour.rs has them. A pattern of symmetric positions.

#include "tiles.h"
#include "fronts.h"

// The first colour that no row before has which is coupled to this one.
FUNCTION u32 first_free(u32 row, GRAPH_OF(serves), GLOBAL const u32 *colours) {
    for (u32 first = 0;; first += 32) {
        u32 taken = 0, free_one = 0;
        for (u64 place = serves_offsets[row]; place < serves_offsets[row + 1]; place++)
            if (serves_columns[place] < row && colours[serves_columns[place]] - first < 32)
                taken |= 1u << (colours[serves_columns[place]] - first);
        while (free_one < 32 && (taken >> free_one & 1))
            free_one++;
        if (free_one < 32)
            return first + free_one;
    }
}

KERNEL colours_front(u32 turns, GRAPH_OF(serves), FRONTS, GLOBAL u32 *colours) {
    FOR_FRONTS(row, colours[row] = first_free(row, serves_offsets, serves_columns, colours))
}
