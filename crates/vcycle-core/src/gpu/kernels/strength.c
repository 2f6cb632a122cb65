// The graph of strong couplings. MEASURE is one of these.

#include "tiles.h"

#define CLASSICAL 0
#define SYMMETRIC 1
#define ABSOLUTE 2
#define MUTUAL 3
#define CLOSENESS 4

// What the couplings of a row are divided by or multiplied with where that depends on both ends: the
// root of its diagonal entry or of its largest coupling, or its largest closeness.
KERNEL strength_scales(SIZED_CSR(f64, values), GLOBAL f64 *RESTRICT scales) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        f64 own = 0, largest = 0;
        FOR_ENTRIES(place, offsets, row) {
            const f64 size = modulus(values[place]);
            if (columns[place] == row)
                own = values[place];
            else if (size > largest)
                largest = size;
        }
        own = row_sum(own, scratch);
        largest = row_largest(largest, scratch);
        if (leads_row())
            scales[row] = MEASURE == CLOSENESS ? largest
                          : MEASURE == MUTUAL  ? 1 / SQUARE_ROOT(f64, largest)
                                               : SQUARE_ROOT(f64, modulus(own));
    }
}

// The size of the coupling a_ij in a row with the scale, or the diagonal entry, `own`; not positive
// where it is weak in any case.
FUNCTION f64 coupling(GLOBAL const f64 *scales, f64 own, u32 column, f64 value) {
    if (MEASURE == CLASSICAL)
        return own < 0 ? value : -value;
    if (MEASURE == SYMMETRIC)
        return modulus(value) / scales[column];
    if (MEASURE == ABSOLUTE)
        return modulus(value);
    if (MEASURE == CLOSENESS)
        return value / (own < scales[column] ? own : scales[column]);
    return product(modulus(value), scales[column]);
}

FUNCTION bool is_strong(GLOBAL const f64 *scales, f64 own, u64 row, u32 column, f64 value,
                        f64 least) {
    const f64 size = coupling(scales, own, column, value);
    return column != row && size > 0 && size >= least;
}

// Counts the strong couplings of a row; `least` has what they must be at least. `scales` are those
// above, or become the diagonal entries.
KERNEL strength_count(SIZED_CSR(f64, values), f64 threshold, f64 max_row_sum, GLOBAL f64 *scales,
                      GLOBAL f64 *RESTRICT least, GLOBAL u32 *RESTRICT counts) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    LOCAL_ARRAY(u32, counters, BLOCK);
    FOR_ROWS(row, rows) {
        f64 own = 0, reference = 0;
        if (MEASURE == CLASSICAL || MEASURE == ABSOLUTE) {
            f64 sum = 0, above = 0, below = 0;
            FOR_ENTRIES(place, offsets, row) {
                const f64 value = values[place];
                const bool is_own = columns[place] == row;
                sum += value;
                own = is_own ? value : own;
                above = !is_own && value > above ? value : above;
                below = !is_own && -value > below ? -value : below;
            }
            own = row_sum(own, scratch);
            above = row_largest(above, scratch);
            below = row_largest(below, scratch);
            sum = modulus(row_sum(sum, scratch));
            const bool counts_above = MEASURE == CLASSICAL ? own < 0 : above > below;
            reference = counts_above ? above : below;
            if (MEASURE == CLASSICAL && max_row_sum < 1 &&
                sum > product(max_row_sum, modulus(own)))
                reference = INFINITE;
            if (leads_row())
                scales[row] = own;
        } else {
            own = scales[row];
            reference = MEASURE == CLOSENESS ? 1 : MEASURE == MUTUAL ? 1 / own : own;
        }
        const f64 smallest = product(threshold, reference);
        u32 count = 0;
        FOR_ENTRIES(place, offsets, row)
            count += is_strong(scales, own, row, columns[place], values[place], smallest);
        count = row_count(count, counters);
        if (leads_row()) {
            counts[row] = count;
            least[row] = smallest;
        }
    }
}

KERNEL strength_fill(SIZED_CSR(f64, values), GLOBAL const f64 *RESTRICT scales,
                     GLOBAL const f64 *RESTRICT least, NEW_GRAPH(out)) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u64 next = out_offsets[row];
        const u64 end = offsets[row + 1];
        FOR_CHUNKS(first, offsets[row], end) {
            const u64 place = first + part_of_row();
            const u32 column = place < end ? columns[place] : NONE;
            const u32 keep =
                place < end && is_strong(scales, scales[row], row, column, values[place], least[row]);
            const u32 flags = row_flags(keep, scratch), before = BITS_SET(flags_before(flags));
            if (keep)
                out_columns[next + before] = column;
            next += BITS_SET(flags);
        }
    }
}

// Counts the couplings by `width` bits of their size over the `references` of rows, those `shift` from the
// end, where the bits above are a `prefix`. Sizes are not negative, so that their bits have their order.
#define DIGITS 2048
KERNEL strength_digits(SIZED_CSR(f64, values), GLOBAL const f64 *RESTRICT scales,
                       GLOBAL const f64 *RESTRICT references, u32 shift, u32 width, u64 prefix,
                       GLOBAL u32 *counts) {
    LOCAL_ARRAY(u32, own, DIGITS);
    for (u32 digit = thread_of_block(); digit < DIGITS; digit += BLOCK)
        own[digit] = 0;
    BARRIER();
    FOR_ITEMS(row, rows)
        for (u64 place = offsets[row]; place < offsets[row + 1]; ++place) {
            const f64 size = coupling(scales, scales[row], columns[place], values[place]);
            if (columns[place] == row || !(size > 0))
                continue;
            const u64 bits = bits_of_f64(size / references[row]);
            // All bits at once would be too far to shift.
            if (bits >> shift >> width == prefix)
                ATOMIC_ADD(own + (bits >> shift & ((1u << width) - 1)), 1);
        }
    BARRIER();
    for (u32 digit = thread_of_block(); digit < DIGITS; digit += BLOCK)
        if (own[digit] != 0)
            ATOMIC_ADD(counts + digit, own[digit]);
}
