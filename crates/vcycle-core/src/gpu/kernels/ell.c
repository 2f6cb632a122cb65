// Rows in slots, for by_rows.c: ELL, and SELL-P, which has slices of rows with slots of their own.
//
// Slot s of row r stands at `offsets[slice] + s * slice_rows + r % slice_rows`, columns before
// padding. Without `offsets` there is one slice of `slots` slots.

#include "rows.h"

#define PADDED 1
#define MATRIX_PARAMETERS                                                                          \
    u64 slice_rows, u32 slots, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns
#define MATRIX {slice_rows, slots, offsets, columns}

typedef struct {
    u64 slice_rows;
    u32 slots;
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
} Matrix;

typedef struct {
    u64 first;
    u32 count;
} Row;

FUNCTION Row row_of(const PRIVATE Matrix *a, u64 row) {
    Row r = {row, a->slots};
    if (a->offsets) {
        const u64 slice = row / a->slice_rows;
        r.first = a->offsets[slice] + row % a->slice_rows;
        r.count = (u32)((a->offsets[slice + 1] - a->offsets[slice]) / a->slice_rows);
    }
    return r;
}
FUNCTION u64 value_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    return row->first + k * a->slice_rows;
}
FUNCTION u32 column_of(const PRIVATE Matrix *a, const PRIVATE Row *row, u32 k) {
    return a->columns[row->first + k * a->slice_rows];
}

#include "by_rows.h"
