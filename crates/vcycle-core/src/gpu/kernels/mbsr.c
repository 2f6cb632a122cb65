// From rows to tiles of 4 by 4 with bitmaps (mBSR) and back.
//
// Bit 4 r + c of the map of a tile tells whether row r has an entry in column c. Tiles have 16 values each, row by row.
//
// Definitions beside those of block_place.h and strip.h, with HEIGHT and BREADTH 4: WORD that values are moved in.

#include "block_place.h"
#include "strip.h"
#pragma default HEIGHT 4
#pragma default BREADTH 4
#pragma default VECTOR 1
#pragma default WORD u32

// Maps and values of all tiles, strip after strip.
KERNEL fill_tiles(STRIP_ROWS, GRAPH_OF(block), GLOBAL const WORD *RESTRICT values,
                  GLOBAL u16 *RESTRICT maps, GLOBAL WORD *RESTRICT tiles) {
    FOR_ITEMS(strip, strips) {
        Strip own = strip_of(strip, rows, offsets);
        for (u64 tile = block_offsets[strip]; tile < block_offsets[strip + 1]; ++tile) {
            const u32 first = block_columns[tile] * BREADTH;
            u32 map = 0;
            FOR(k, ENTRIES) {
                const u32 r = k / BREADTH;
                const bool hit = own.at[r] < own.end[r] && columns[own.at[r]] == first + k % BREADTH;
                map |= (hit ? 1u : 0u) << k;
                tiles[tile * ENTRIES + k] = hit ? values[own.at[r]++] : (WORD)0;
            }
            maps[tile] = (u16)map;
        }
    }
}

// ---- back to rows

KERNEL tile_lengths(u64 rows, GLOBAL const u64 *RESTRICT block_offsets,
                    GLOBAL const u16 *RESTRICT maps, GLOBAL u32 *RESTRICT lengths) {
    FOR_ITEMS(row, rows) {
        const u64 strip = row / HEIGHT;
        const u32 shift = (u32)(row % HEIGHT) * BREADTH;
        u32 length = 0;
        for (u64 tile = block_offsets[strip]; tile < block_offsets[strip + 1]; ++tile)
            length += BITS_SET((u32)maps[tile] >> shift & 15u);
        lengths[row] = length;
    }
}

KERNEL tiles_to_rows(u64 rows, GRAPH_OF(block), GLOBAL const u16 *RESTRICT maps,
                     GLOBAL const WORD *RESTRICT tiles, NEW_CSR(WORD, out)) {
    FOR_ITEMS(row, rows) {
        const u64 strip = row / HEIGHT;
        const u32 shift = (u32)(row % HEIGHT) * BREADTH;
        u64 entry = out_offsets[row];
        for (u64 tile = block_offsets[strip]; tile < block_offsets[strip + 1]; ++tile)
            FOR(c, BREADTH)
                if (maps[tile] >> (shift + c) & 1) {
                    out_columns[entry] = block_columns[tile] * BREADTH + c;
                    out_values[entry++] = tiles[tile * ENTRIES + shift + c];
                }
    }
}
