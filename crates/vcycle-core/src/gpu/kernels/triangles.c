// One triangle of a matrix, `lower` or upper without the diagonal, with its rows in the order of levels: a row is one level behind the
// last one it waits for.
//
// Definitions: ACC, the type of the values given, and T, that of the triangle.

#define PATTERN SIZED_GRAPH, u32 lower
#define IS_OFF(row, column) (lower ? (column) < (row) : (column) > (row))

// Entries of every row.
KERNEL triangle_counts(PATTERN, GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++)
            count += IS_OFF(row, columns[place]);
        counts[row] = count;
    }
}

// One step towards the levels, which only grow; threads may see those of others from before or after. `changed` is the number of the
// last step in which one grew.
KERNEL triangle_levels_step(PATTERN, u32 step, GLOBAL volatile u32 *levels, GLOBAL u32 *changed) {
    FOR_ITEMS(row, rows) {
        u32 level = 0;
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++)
            if (IS_OFF(row, columns[place]))
                level = max(level, levels[columns[place]] + 1);
        if (level > levels[row]) {
            levels[row] = level;
            *changed = step;
        }
    }
}

// The entries, step by step; `found` is the first row with a value that is not finite.
KERNEL triangle_fill(PATTERN, GLOBAL const u32 *RESTRICT order, GLOBAL const ACC *RESTRICT values,
                     NEW_CSR(T, out), GLOBAL u32 *found) {
    FOR_ITEMS(step, rows) {
        const u32 row = order[step];
        u64 to = out_offsets[step];
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++) {
            if (!IS_OFF(row, columns[place]))
                continue;
            const ACC value = ROUND(ACC, T, values[place]);
            if (!(value - value == 0))
                ATOMIC_MIN(found, row);
            out_columns[to] = columns[place];
            STORE(ACC, T, out_values, to, value);
            to++;
        }
    }
}

// One over the pivots, step by step; `found` is the first row whose pivot is zero, and then one whose inverse is not finite.
KERNEL triangle_pivots(u64 rows, GLOBAL const u32 *RESTRICT order, GLOBAL const u64 *RESTRICT diagonal,
                       GLOBAL const ACC *RESTRICT values, GLOBAL ACC *RESTRICT inverse,
                       GLOBAL u32 *found) {
    FOR_ITEMS(step, rows) {
        const u32 row = order[step];
        const ACC pivot = values[diagonal[row]], over = 1 / pivot;
        inverse[step] = over;
        if (pivot == 0)
            ATOMIC_MIN(found, row);
        else if (!(over - over == 0))
            ATOMIC_MIN(found + 1, row);
    }
}
