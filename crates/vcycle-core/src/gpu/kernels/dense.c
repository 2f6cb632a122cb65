// Dense rows, one after the other, for by_rows.c.

#include "rows.h"

#define PADDED 0
#define MATRIX_PARAMETERS u32 width
#define MATRIX {width}

typedef struct {
    u32 width;
} Matrix;

typedef struct {
    u64 first;
    u32 count;
} Row;

FUNCTION Row row_of(const PRIVATE Matrix *a, u64 row) {
    const Row r = {row * a->width, a->width};
    return r;
}
FUNCTION u64 value_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    return row->first + k;
}
FUNCTION u32 column_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) { return k; }

#include "by_rows.h"
