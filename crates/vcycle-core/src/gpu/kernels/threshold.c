// Incomplete factors with a threshold, as precond/par_ilut.rs has them: candidates for their pattern, and the largest entries.
//
// Definitions: ACC, the type of the values.

#include "tiles.h"

// Factors side by side, with the places of the diagonal.
#define FACTORS u64 rows, CSR_OF(ACC, f), GLOBAL const u64 *RESTRICT diagonal

KERNEL places_of_diagonal(u64 rows, GRAPH_OF(f), GLOBAL u64 *RESTRICT diagonal) {
    FOR_ITEMS(row, rows) diagonal[row] = find_entry(f_offsets, f_columns, row, (u32)row);
}

// ---- candidates

KERNEL count_triangles(u64 rows, GLOBAL const u64 *RESTRICT offsets,
                       GLOBAL const u64 *RESTRICT diagonal, GLOBAL u32 *RESTRICT lower,
                       GLOBAL u32 *RESTRICT upper) {
    FOR_ITEMS(row, rows) {
        lower[row] = (u32)(diagonal[row] - offsets[row]) + 1;
        upper[row] = (u32)(offsets[row + 1] - diagonal[row]);
    }
}

// L with ones on the diagonal, and U.
KERNEL fill_triangles(FACTORS, NEW_CSR(ACC, l), NEW_CSR(ACC, u)) {
    FOR_ROWS(row, rows) {
        const u64 begin = f_offsets[row], pivot = diagonal[row];
        FOR_ENTRIES(place, f_offsets, row) {
            const u32 column = f_columns[place];
            if (place <= pivot) {
                const u64 target = l_offsets[row] + (place - begin);
                l_columns[target] = column;
                l_values[target] = place < pivot ? f_values[place] / f_values[diagonal[column]] : 1;
            }
            if (place >= pivot) {
                const u64 target = u_offsets[row] + (place - pivot);
                u_columns[target] = column;
                u_values[target] = f_values[place];
            }
        }
    }
}

// What stands up to the diagonal.
KERNEL fill_lower(FACTORS, NEW_CSR(ACC, l)) {
    FOR_ROWS(row, rows) {
        FOR_ENTRIES(place, f_offsets, row) {
            if (place > diagonal[row])
                continue;
            const u64 target = l_offsets[row] + (place - f_offsets[row]);
            l_columns[target] = f_columns[place];
            l_values[target] = f_values[place];
        }
    }
}

// The values of A on a larger pattern.
KERNEL spread(u64 rows, GRAPH_OF(f), CSR_OF(ACC, a), GLOBAL ACC *RESTRICT out) {
    FOR_ROWS(row, rows) {
        FOR_ENTRIES(place, f_offsets, row) {
            const u64 given = find_entry(a_offsets, a_columns, row, f_columns[place]);
            out[place] = given < a_offsets[row + 1] ? a_values[given] : 0;
        }
    }
}

// On the larger pattern `w` the entries of F, and A - L U where it has none.
KERNEL candidates(u64 rows, GRAPH_OF(w), CSR_OF(ACC, a), CSR_OF(ACC, f), CSR_OF(ACC, p),
                  GLOBAL ACC *RESTRICT out) {
    FOR_ROWS(row, rows) {
        FOR_ENTRIES(place, w_offsets, row) {
            const u32 column = w_columns[place];
            const u64 known = find_entry(f_offsets, f_columns, row, column);
            if (known < f_offsets[row + 1]) {
                out[place] = f_values[known];
                continue;
            }
            const u64 given = find_entry(a_offsets, a_columns, row, column);
            const u64 made = find_entry(p_offsets, p_columns, row, column);
            const ACC left = given < a_offsets[row + 1] ? a_values[given] : 0;
            out[place] = left - (made < p_offsets[row + 1] ? p_values[made] : 0);
        }
    }
}

// ---- the largest entries

// |f_ij|^2 / |f_ii f_jj| in single precision, as bits, which have the order of the numbers.
KERNEL sizes(FACTORS, GLOBAL u32 *RESTRICT out) {
    FOR_ROWS(row, rows) {
        const f64 own = modulus(f_values[diagonal[row]]);
        FOR_ENTRIES(place, f_offsets, row) {
            const ACC square = f_values[place] * f_values[place];
            const f64 other = modulus(f_values[diagonal[f_columns[place]]]);
            out[place] = bits_of_f32((f32)((f64)square / (own * other))) & 0x7fffffffu;
        }
    }
}

// A key of three words, the smaller the earlier an entry is kept: larger ones first, of equal ones those with the smaller of
// both indices, then with the smaller other one.
FUNCTION u32 word_of_key(u32 word, u32 size, u32 row, u32 column) {
    return word == 0 ? ~size : word == 1 ? min(row, column) : max(row, column);
}

// A key or the bits of it that are known.
#define KEY(name) u32 name##_0, u32 name##_1, u32 name##_2
#define WORD(name, word) (word == 0 ? name##_0 : word == 1 ? name##_1 : name##_2)

#define BINS 2048
// Entries of one triangle whose keys agree with what is known of the words before `word`, and of that by `mask`: how many
// have each of the next digits.
KERNEL count_digits(u64 rows, GRAPH_OF(f), GLOBAL const u64 *RESTRICT diagonal,
                    GLOBAL const u32 *RESTRICT sizes, u32 upper, KEY(known), u32 word, u32 mask,
                    u32 shift, u32 digits, GLOBAL u32 *bins) {
    LOCAL_ARRAY(u32, own, BINS);
    for (u32 bin = thread_of_block(); bin < BINS; bin += BLOCK)
        own[bin] = 0;
    BARRIER();
    FOR_ROWS(row, rows) {
        if (IS_REPEATED(rows))
            continue;
        FOR_ENTRIES(place, f_offsets, row) {
            const u32 column = f_columns[place];
            if (column == row || (column > row) != (upper != 0))
                continue;
            bool agrees = true;
            for (u32 before = 0; before < word; before++)
                agrees = agrees &&
                         word_of_key(before, sizes[place], (u32)row, column) == WORD(known, before);
            const u32 here = word_of_key(word, sizes[place], (u32)row, column);
            if (agrees && (here & mask) == (WORD(known, word) & mask))
                ATOMIC_ADD(&own[(here >> shift) & digits], 1);
        }
    }
    BARRIER();
    for (u32 bin = thread_of_block(); bin < BINS; bin += BLOCK)
        if (own[bin] != 0)
            ATOMIC_ADD(&bins[bin], own[bin]);
}

// Whether an entry is on the diagonal or its key is not behind the last of its triangle.
FUNCTION bool is_kept(u32 size, u32 row, u32 column, KEY(lower), KEY(upper)) {
    for (u32 word = 0; word < 3; word++) {
        const u32 own = word_of_key(word, size, row, column);
        const u32 last = column > row ? WORD(upper, word) : WORD(lower, word);
        if (own != last)
            return own < last || column == row;
    }
    return true;
}
#define KEPT                                                                                       \
    is_kept(sizes[place], (u32)row, f_columns[place], lower_0, lower_1, lower_2, upper_0, upper_1, \
            upper_2)

KERNEL count_kept(FACTORS, GLOBAL const u32 *RESTRICT sizes, KEY(lower), KEY(upper),
                  GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        u32 count = 0;
        for (u64 place = f_offsets[row]; place < f_offsets[row + 1]; place++)
            count += KEPT;
        counts[row] = count;
    }
}

KERNEL fill_kept(FACTORS, GLOBAL const u32 *RESTRICT sizes, KEY(lower), KEY(upper),
                 NEW_CSR(ACC, out)) {
    FOR_ITEMS(row, rows) {
        u64 target = out_offsets[row];
        for (u64 place = f_offsets[row]; place < f_offsets[row + 1]; place++)
            if (KEPT) {
                out_columns[target] = f_columns[place];
                out_values[target++] = f_values[place];
            }
    }
}
