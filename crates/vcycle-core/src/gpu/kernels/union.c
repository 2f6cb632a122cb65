// The positions of either of two patterns; the columns of a row stand in order in both.

#define NO_COLUMN 0xffffffffu

// Does `put` with every `column` of row `row` of the union.
#define MERGE(put)                                                                                 \
    {                                                                                              \
        u64 i = a_offsets[row], j = b_offsets[row];                                                \
        const u64 a_end = a_offsets[row + 1], b_end = b_offsets[row + 1];                          \
        while (i < a_end || j < b_end) {                                                           \
            const u32 left = i < a_end ? a_columns[i] : NO_COLUMN;                                 \
            const u32 right = j < b_end ? b_columns[j] : NO_COLUMN;                                \
            const u32 column = min(left, right);                                                   \
            i += left == column;                                                                   \
            j += right == column;                                                                  \
            put;                                                                                   \
        }                                                                                          \
    }

KERNEL union_count(u64 rows, GRAPH_OF(a), GRAPH_OF(b), GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        MERGE((void)column; ++count)
        counts[row] = count;
    }
}

KERNEL union_fill(u64 rows, GRAPH_OF(a), GRAPH_OF(b), NEW_GRAPH(out)) {
    FOR_ITEMS(row, rows) {
        u64 place = out_offsets[row];
        MERGE(out_columns[place++] = column)
    }
}
