// Compressed sparse rows, for by_rows.c. Definition: OFFSET, u32 or u64, of the row offsets.

#define PADDED 0
#define MATRIX_PARAMETERS GLOBAL const OFFSET *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns
#define MATRIX {offsets, columns}

typedef struct {
    GLOBAL const OFFSET *offsets;
    GLOBAL const u32 *columns;
} Matrix;

typedef struct {
    u64 first;
    u32 count;
} Row;

FUNCTION Row row_of(const PRIVATE Matrix *a, u64 row) {
    const Row r = {a->offsets[row], (u32)(a->offsets[row + 1] - a->offsets[row])};
    return r;
}
FUNCTION u64 value_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    return row->first + k;
}
FUNCTION u32 column_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    return a->columns[row->first + k];
}
