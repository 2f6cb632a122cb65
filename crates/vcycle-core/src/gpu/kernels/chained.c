// The product of two prolongations whose rows have up to MOST entries, each row truncated as soon as it is made: a thread
// has all of it.

#include "tiles.h"

#define MOST 4
#define PRODUCTS (MOST * MOST)

typedef struct {
    u32 count;
    u32 columns[PRODUCTS];
    f64 values[PRODUCTS];
} Row;

FUNCTION void add_product(PRIVATE Row *r, u32 column, f64 value) {
    u32 at = 0;
    while (at < r->count && r->columns[at] != column)
        at++;
    if (at == r->count) {
        r->columns[at] = column;
        r->values[at] = value;
        r->count++;
    } else {
        r->values[at] += value;
    }
}

FUNCTION void sort_row(PRIVATE Row *r) {
    for (u32 next = 1; next < r->count; next++) {
        const u32 column = r->columns[next];
        const f64 value = r->values[next];
        u32 at = next;
        for (; at > 0 && r->columns[at - 1] > column; at--) {
            r->columns[at] = r->columns[at - 1];
            r->values[at] = r->values[at - 1];
        }
        r->columns[at] = column;
        r->values[at] = value;
    }
}

// Whether an entry is among those kept; sizes that differ by rounding alone are equal.
FUNCTION bool is_kept(const PRIVATE Row *r, u32 item, f64 least, u32 max_elements) {
    if (modulus(r->values[item]) < least)
        return false;
    const f32 size = (f32)modulus(r->values[item]);
    u32 rank = 0;
    for (u32 other = 0; other < r->count; other++) {
        const f32 its = (f32)modulus(r->values[other]);
        rank += its > size || (its == size && other < item);
    }
    return rank < max_elements;
}

// Rows of the product, `max_elements` apart.
KERNEL chained_rows(u64 rows, CSR_OF(f64, near), CSR_OF(f64, far), u32 max_elements, f64 factor,
                    GLOBAL u32 *RESTRICT lengths, GLOBAL u32 *RESTRICT out_columns,
                    GLOBAL f64 *RESTRICT out_values) {
    FOR_ITEMS(row, rows) {
        Row r;
        r.count = 0;
        for (u64 place = near_offsets[row]; place < near_offsets[row + 1]; place++) {
            const u32 point = near_columns[place];
            for (u64 k = far_offsets[point]; k < far_offsets[point + 1]; k++)
                add_product(&r, far_columns[k], product(near_values[place], far_values[k]));
        }
        sort_row(&r);
        f64 before = 0, after = 0, largest = 0;
        for (u32 item = 0; item < r.count; item++) {
            before += r.values[item];
            largest = modulus(r.values[item]) > largest ? modulus(r.values[item]) : largest;
        }
        const f64 least = product(factor, largest);
        u32 kept = 0;
        for (u32 item = 0; item < r.count; item++)
            if (is_kept(&r, item, least, max_elements)) {
                after += r.values[item];
                kept |= 1u << item;
            }
        const u32 count = BITS_SET(kept);
        const f64 scale = count < r.count && after != 0 ? before / after : 1;
        u64 place = row * max_elements;
        for (u32 item = 0; item < r.count; item++)
            if (kept >> item & 1) {
                out_columns[place] = r.columns[item];
                out_values[place] = r.values[item] * scale;
                place++;
            }
        lengths[row] = count;
    }
}
