// From rows to tiles of 4 by 4 with bitmaps (mBSR) and back, and packed tiles side by side in slices for sliced_blocks.c.
//
// Bit 4 r + c of the map of a tile tells whether row r has an entry in column c. Tiles have 16 values each, or, where they are PACKED, those of
// their entries alone, row by row.
//
// Definitions beside those of block_place.h and strip.h, with HEIGHT and BREADTH 4: PACKED; THREADS lanes for each strip, MARK the type of marks; WORD that
// values are moved in.

// The map of the tile that begins with column `first`; `from` is where the entries of each row begin. Those before the tile are passed over.
FUNCTION u32 take_tile(PRIVATE Strip *own, GLOBAL const u32 *columns, u32 first, PRIVATE u64 *from) {
    u32 map = 0;
    FOR(r, HEIGHT) {
        while (own->at[r] < own->end[r] && columns[own->at[r]] < first)
            ++own->at[r];
        from[r] = own->at[r];
        for (; own->at[r] < own->end[r] && columns[own->at[r]] < first + BREADTH; ++own->at[r])
            map |= 1u << (r * BREADTH + columns[own->at[r]] - first);
    }
    return map;
}

// Maps and values of all tiles, strip after strip. `firsts`, of packed tiles, is where the values of each strip begin, and at the end all of them end.
KERNEL fill_tiles(STRIP_ROWS, GLOBAL const u64 *RESTRICT tile_offsets,
                  GLOBAL const u32 *RESTRICT tile_columns, GLOBAL const WORD *RESTRICT values,
                  GLOBAL u16 *RESTRICT maps, GLOBAL u64 *RESTRICT firsts,
                  GLOBAL WORD *RESTRICT tiles) {
    FOR_ITEMS(strip, strips) {
        Strip own = strip_of(strip, rows, offsets);
        u64 to = PACKED ? own.at[0] : tile_offsets[strip] * ENTRIES;
        if (PACKED) {
            firsts[strip] = own.at[0];
            if (strip + 1 == strips)
                firsts[strips] = own.end[HEIGHT - 1];
        }
        for (u64 tile = tile_offsets[strip]; tile < tile_offsets[strip + 1]; ++tile) {
            u64 from[HEIGHT];
            const u32 map = take_tile(&own, columns, tile_columns[tile] * BREADTH, from);
            maps[tile] = (u16)map;
            FOR(k, ENTRIES) {
                const bool hit = map >> k & 1;
                if (hit || !PACKED)
                    tiles[to++] = hit ? values[from[k / BREADTH]++] : (WORD)0;
            }
        }
    }
}

// ---- back to rows

KERNEL tile_lengths(u64 rows, GLOBAL const u64 *RESTRICT tile_offsets,
                    GLOBAL const u16 *RESTRICT maps, GLOBAL u32 *RESTRICT lengths) {
    FOR_ITEMS(row, rows) {
        const u64 strip = row / HEIGHT;
        const u32 shift = (u32)(row % HEIGHT) * BREADTH;
        u32 length = 0;
        for (u64 tile = tile_offsets[strip]; tile < tile_offsets[strip + 1]; ++tile)
            length += BITS_SET((u32)maps[tile] >> shift & 15u);
        lengths[row] = length;
    }
}

KERNEL tiles_to_rows(u64 rows, GLOBAL const u64 *RESTRICT tile_offsets,
                     GLOBAL const u32 *RESTRICT tile_columns, GLOBAL const u16 *RESTRICT maps,
                     GLOBAL const u64 *RESTRICT firsts, GLOBAL const WORD *RESTRICT tiles,
                     GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *RESTRICT columns,
                     GLOBAL WORD *RESTRICT values) {
    FOR_ITEMS(row, rows) {
        const u64 strip = row / HEIGHT;
        const u32 shift = (u32)(row % HEIGHT) * BREADTH;
        u64 entry = offsets[row], from = PACKED ? firsts[strip] : tile_offsets[strip] * ENTRIES;
        for (u64 tile = tile_offsets[strip]; tile < tile_offsets[strip + 1]; ++tile) {
            const u32 map = maps[tile];
            u64 at = from + (PACKED ? BITS_SET(map & ((1u << shift) - 1)) : shift);
            FOR(c, BREADTH) {
                const bool hit = map >> (shift + c) & 1;
                if (hit) {
                    columns[entry] = tile_columns[tile] * BREADTH + c;
                    values[entry++] = tiles[at];
                }
                at += PACKED ? hit : 1;
            }
            from += PACKED ? BITS_SET(map) : ENTRIES;
        }
    }
}

// ---- packed tiles in slices

// What a lane has of its slice: `starts` and `marks` are those of sliced.c. Without `values`, the map of every step, none where a lane has no tile in it, and in `sizes`
// how many entries the lanes of a slice have at most. With them, the values of a lane one after the other from the place on where its slice begins, beside those of the
// other lanes.
KERNEL slice_tiles(STRIP_ROWS, u64 slices, GLOBAL const u32 *RESTRICT order,
                   GLOBAL const u64 *RESTRICT tile_offsets,
                   GLOBAL const u32 *RESTRICT tile_columns, GLOBAL const uint2 *RESTRICT starts,
                   GLOBAL const MARK *RESTRICT marks, GLOBAL u16 *RESTRICT maps,
                   GLOBAL u32 *sizes, GLOBAL const u64 *RESTRICT firsts,
                   GLOBAL const WORD *RESTRICT values, GLOBAL WORD *RESTRICT placed) {
    FOR_ITEMS(item, slices * LANES) {
        const u32 lane = (u32)(item % LANES);
        const u64 slice = item / LANES, slot = slice * (LANES / THREADS) + lane / THREADS;
        const uint2 here = starts[slice], next = starts[slice + 1];
        const bool is_aligned = THREADS == 1 && next.y == here.y, is_there = slot < strips;
        const u64 strip = is_there && order ? order[slot] : slot;
        const u64 tile_end = is_there ? tile_offsets[strip + 1] : 0;
        const u32 mark = is_there ? marks[slot] : 0;
        Strip own = strip_of(is_there ? strip : 0, rows, offsets);
        u64 tile = is_there ? tile_offsets[strip] + lane % THREADS : 0, from[HEIGHT];
        u32 count = 0;
        for (u32 step = 0; step < next.x - here.x; ++step) {
            const bool present = is_aligned ? mark >> step & 1 : tile < tile_end;
            const u32 first = present ? tile_columns[tile] * BREADTH : 0;
            const u32 map = present ? take_tile(&own, columns, first, from) : 0;
            if (values) {
                GLOBAL WORD *to = placed + firsts[slice] * LANES + lane;
                FOR(k, ENTRIES)
                    if (map >> k & 1)
                        to[(u64)count++ * LANES] = values[from[k / BREADTH]++];
            } else {
                maps[((u64)here.x + step) * LANES + lane] = (u16)map;
                count += BITS_SET(map);
            }
            tile += is_aligned ? present : THREADS;
        }
        if (!values)
            ATOMIC_MAX(&sizes[slice], count);
    }
}
