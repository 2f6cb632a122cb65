// Products with a matrix whose rows can be walked along.
//
// The format comes before: PADDED, MATRIX_PARAMETERS, MATRIX and the types and functions
//   Matrix, Row with its `count` of entries or slots, row_of(matrix, row),
//   value_of(matrix, row, k) the place of the k-th value, column_of(matrix, row, k) its column.
// Definitions beside those of rows.h and of the format: THREADS threads that share a row (a power
// of two up to WIDTH), and COLUMNS columns of the vectors that are done together.

#define PADDING 0xffffffffu
// With CONJUGATED it is the conjugate matrix.
#ifdef CONJUGATED
#define ENTRY(value) CONJ(ACC, value)
#else
#define ENTRY(value) (value)
#endif

KERNEL by_rows(u32 rows, u32 cols, MATRIX_PARAMETERS, GLOBAL const M *RESTRICT values,
               GLOBAL const X *RESTRICT x, FINISH_PARAMETERS) {
    LOCAL_ARRAY(ACC, scratch, BLOCK);
    const Matrix a = MATRIX;
    const Finish f = FINISH_OPERANDS;
    const u32 part = thread_of_block() % THREADS, together = BLOCK / THREADS;
    const u64 groups = (cols + COLUMNS - 1) / COLUMNS;
    const u64 items = ((u64)rows + together - 1) / together * groups;
    for (u64 item = block_of_grid(); item < items; item += blocks_of_grid()) {
        const u64 row = item / groups * together + thread_of_block() / THREADS;
        const u32 column = (u32)(item % groups) * COLUMNS;
        const Row r = row_of(&a, row < rows ? row : rows - 1);
        const u32 count = row < rows ? r.count : 0;
        ACC sums[COLUMNS] = {0};
        UNROLL_4
        for (u32 k = part; k < count; k += THREADS) {
            const u32 place = column_of(&a, &r, k);
            if (PADDED && place == PADDING)
                continue;
            const ACC value = ENTRY(LOADED(M, values, value_of(&a, &r, k)));
            FOR(i, COLUMNS)
                if (COLUMNS == 1 || column + i < cols)
                    sums[i] += MULTIPLY(ACC, value, LOADED(X, x, (u64)place * cols + column + i));
        }
        FOR(i, COLUMNS) {
            const ACC sum = TILE_SUM(ACC, sums[i], THREADS, scratch);
            if (part == i % THREADS && row < rows && column + i < cols) {
                const u64 place = row * cols + column + i;
                finish(&f, row, place, ALPHA(column + i), BETA(column + i), sum);
            }
        }
    }
}
