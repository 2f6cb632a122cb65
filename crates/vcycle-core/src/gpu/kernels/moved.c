// Rows of matrices that were made one by one, moved together. TC: the type of their values.

// Rows from where they were left to where they stand.
KERNEL move_rows(u64 count, GLOBAL const u64 *RESTRICT places, GLOBAL const u32 *RESTRICT from_columns,
                 GLOBAL const TC *RESTRICT from_values, GLOBAL const u64 *RESTRICT c_offsets,
                 GLOBAL u32 *RESTRICT c_columns, GLOBAL TC *RESTRICT c_values) {
    TEAM_OF_BLOCK
    GLOBAL const u32 *rows = 0;
    FOR_ROWS(row, count, rows) {
        const u64 from = places[row], to = c_offsets[row];
        const u32 n = IS_SPARE(count) ? 0 : (u32)(c_offsets[row + 1] - to);
        for (u32 k = member; k < n; k += TEAM) {
            c_columns[to + k] = from_columns[from + k];
            c_values[to + k] = from_values[from + k];
        }
    }
}
