// Dense blocks in sparse rows, for by_rows.c. Definitions: ROWS_OF_BLOCK and COLUMNS_OF_BLOCK.

#define PADDED 0
#define MATRIX_PARAMETERS GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns
#define MATRIX {offsets, columns}

typedef struct {
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
} Matrix;

// `first` is the first block, `within` the place of the row in its blocks.
typedef struct {
    u64 first;
    u32 count;
    u32 within;
} Row;

FUNCTION Row row_of(const PRIVATE Matrix *a, u64 row) {
    const u64 node = row / ROWS_OF_BLOCK, first = a->offsets[node];
    const u32 blocks = (u32)(a->offsets[node + 1] - first);
    const Row r = {first, blocks * COLUMNS_OF_BLOCK, (u32)(row % ROWS_OF_BLOCK)};
    return r;
}
FUNCTION u64 value_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    const u64 block = row->first + k / COLUMNS_OF_BLOCK;
    return (block * ROWS_OF_BLOCK + row->within) * COLUMNS_OF_BLOCK + k % COLUMNS_OF_BLOCK;
}
FUNCTION u32 column_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    const u64 block = row->first + k / COLUMNS_OF_BLOCK;
    return a->columns[block] * COLUMNS_OF_BLOCK + k % COLUMNS_OF_BLOCK;
}
