// Rows of like patterns, and rows in another order.

// A number that rows with the same columns have in common; few others have it.
KERNEL row_hashes(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,
                  GLOBAL u32 *RESTRICT hashes) {
    FOR_ITEMS(row, rows) {
        u32 hash = 2166136261u;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; ++entry) {
            hash = (hash ^ columns[entry]) * 16777619u;
            hash ^= hash >> 15;
        }
        hashes[row] = hash;
    }
}

KERNEL listed_lengths(u64 rows, GLOBAL const u32 *RESTRICT listed,
                      GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *RESTRICT lengths) {
    FOR_ITEMS(place, rows) {
        const u32 row = listed[place];
        lengths[place] = (u32)(offsets[row + 1] - offsets[row]);
    }
}

KERNEL listed_columns(u64 rows, GLOBAL const u32 *RESTRICT listed,
                      GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,
                      GLOBAL const u64 *RESTRICT to_offsets, GLOBAL u32 *RESTRICT to) {
    FOR_ITEMS(place, rows) {
        const u64 from = offsets[listed[place]], begin = to_offsets[place];
        const u64 length = to_offsets[place + 1] - begin;
        for (u64 k = 0; k < length; ++k)
            to[begin + k] = columns[from + k];
    }
}
