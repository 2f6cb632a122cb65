// Values of many matrices of one pattern, row by row, as kernels for small systems take them.
//
// Definitions: T, the type of values.

// Entry `slot` of a row is `slot * rows` behind its first one; behind the last entry of a row there are zeros.
KERNEL batch_pad(u64 slots, u32 rows, u32 width, u32 entries, GLOBAL const u32 *RESTRICT offsets,
                 GLOBAL const T *RESTRICT values, GLOBAL T *RESTRICT out) {
    FOR_ITEMS(at, slots) {
        const u64 system = at / (rows * width);
        const u32 place = (u32)(at % (rows * width)), slot = place / rows, row = place % rows;
        const u32 entry = offsets[row] + slot;
        const ARITH(T) value = entry < offsets[row + 1] ? LOAD(T, values, system * entries + entry) : (ARITH(T))0;
        STORE(ARITH(T), T, out, at, value);
    }
}

#define TILE_SIDE 32

// Values of narrow bands with systems side by side: diagonal `d` of a row is `row * wide + d` systems behind the first value. Where
// it stands among the padded values of a matrix is told by `places`, diagonal after diagonal; without, rows become columns.
KERNEL batch_interleave(u64 tiles, u32 systems, u32 rows, u32 wide, u64 values_of_one, GLOBAL const u32 *RESTRICT places,
                        GLOBAL const T *RESTRICT values, GLOBAL T *RESTRICT out) {
    LOCAL_ARRAY(ARITH(T), square, TILE_SIDE *(TILE_SIDE + 1));
    const u32 rows_of_tiles = (rows + TILE_SIDE - 1) / TILE_SIDE;
    const u32 column = thread_of_block() % TILE_SIDE, line = thread_of_block() / TILE_SIDE;
    for (u64 tile = block_of_grid(); tile < tiles; tile += blocks_of_grid()) {
        const u32 d = (u32)(tile % wide), first_row = (u32)(tile / wide % rows_of_tiles) * TILE_SIDE;
        const u64 first = tile / wide / rows_of_tiles * TILE_SIDE;
        const u32 row = first_row + column;
        const u32 given = places && row < rows ? places[d * rows + row] : row;
        const u32 place = row < rows ? given : 0xffffffffu;
        for (u32 at = line; at < TILE_SIDE; at += BLOCK / TILE_SIDE) {
            const bool is_there = first + at < systems && place != 0xffffffffu;
            square[at * (TILE_SIDE + 1) + column] =
                is_there ? LOAD(T, values, (first + at) * values_of_one + place) : (ARITH(T))0;
        }
        BARRIER();
        for (u32 at = line; at < TILE_SIDE; at += BLOCK / TILE_SIDE) {
            if (first + column < systems && first_row + at < rows)
                STORE(ARITH(T), T, out, ((u64)(first_row + at) * wide + d) * systems + first + column,
                      square[column * (TILE_SIDE + 1) + at]);
        }
        BARRIER();
    }
}
