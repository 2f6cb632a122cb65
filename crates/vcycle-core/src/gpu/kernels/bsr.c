// Dense blocks in sparse rows, for by_rows.c: blocks of `height` rows and `width` columns.

#include "rows.h"

#define PADDED 0
#define MATRIX_PARAMETERS                                                                          \
    u32 height, u32 width, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns
#define MATRIX {height, width, offsets, columns}

typedef struct {
    u32 height;
    u32 width;
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
    const u64 node = row / a->height, first = a->offsets[node];
    const u32 blocks = (u32)(a->offsets[node + 1] - first);
    const Row r = {first, blocks * a->width, (u32)(row % a->height)};
    return r;
}
FUNCTION u64 value_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    const u64 block = row->first + k / a->width;
    return (block * a->height + row->within) * a->width + k % a->width;
}
FUNCTION u32 column_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    const u64 block = row->first + k / a->width;
    return a->columns[block] * a->width + k % a->width;
}

#include "by_rows.h"
