// Prolongations for a choice of coarse unknowns, as multigrid/interpolate has them: the set of
// points of a row is its table.
//
// Definitions: DISTANT, whether coarse neighbours of fine neighbours are in the set; OWN, whether
// the point itself is; DIRECT, whether the weights are those of direct interpolation.

#include "tiles.h"
#include "tables.h"
#pragma default DISTANT 0
#pragma default OWN 0
#pragma default DIRECT 1

// ---- the coarse unknowns near fine ones, few of all and looked at many times

// The mark of strong couplings among the columns.
#define STRONG 0x80000000u
#define COLUMN(mixed) ((mixed) & ~STRONG)

// a_kl where that is a coupling of a fine unknown with a coarse one, of the other sign than a_kk; of
// complex numbers those that point away from it.
FUNCTION bool is_shared(NUMBER value, NUMBER diagonal) {
#if IS_COMPLEX(NUMBER)
    return REAL_PART(NUMBER, product_of(value, CONJ(NUMBER, diagonal))) < 0;
#else
    return (value < 0) == (diagonal > 0);
#endif
}

// Whether entry `k` of a row, in a column, is strong. The row has all strong couplings and `weak`
// others, which leaves few places to look at.
FUNCTION bool is_strong(GLOBAL const u32 *strong, u32 count, u32 weak, u32 k, u32 column) {
    u32 low = k > weak ? k - weak : 0, high = k + 1 < count ? k + 1 : count;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (strong[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strong[low] == column;
}

// What becomes of entry `k` of a fine row: its column with a mark, or NONE where it is not near.
FUNCTION u32 near_column(u32 column, NUMBER value, NUMBER diagonal, GLOBAL const u32 *coarse,
                         GLOBAL const u32 *strong, u32 count, u32 weak, u32 k) {
    if (coarse[column] == NONE)
        return NONE;
    if (is_strong(strong, count, weak, k, column))
        return column | STRONG;
    return is_shared(value, diagonal) ? column : NONE;
}

#define STRONG_OF_ROW                                                                              \
    GLOBAL const u32 *strong = s_columns + s_offsets[row];                                         \
    const u32 strong_count = (u32)(s_offsets[row + 1] - s_offsets[row]);                           \
    const u32 length = (u32)(offsets[row + 1] - offsets[row]);                                     \
    const u32 weak = length > strong_count ? length - strong_count : 0;

// How many coarse unknowns a fine one is coupled with, and with how many strongly.
KERNEL near_count(u64 rows, CSR(NUMBER, values), GRAPH_OF(s), GLOBAL const NUMBER *RESTRICT diagonal,
                  GLOBAL const u32 *RESTRICT coarse, GLOBAL u32 *RESTRICT counts,
                  GLOBAL u32 *RESTRICT degrees) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u32 count = 0, degree = 0;
        if (coarse[row] == NONE) {
            STRONG_OF_ROW
            FOR_ENTRIES(place, offsets, row) {
                const u32 found =
                    near_column(columns[place], values[place], diagonal[row], coarse, strong,
                                strong_count, weak, (u32)(place - offsets[row]));
                count += found != NONE;
                degree += found != NONE && (found & STRONG);
            }
        }
        count = row_count(count, scratch);
        degree = row_count(degree, scratch);
        if (leads_row()) {
            counts[row] = count;
            degrees[row] = degree;
        }
    }
}

// Their columns, and values that are zero where the coupling is strong and of the same sign as the
// diagonal.
KERNEL near_fill(u64 rows, CSR(NUMBER, values), GRAPH_OF(s), GLOBAL const NUMBER *RESTRICT diagonal,
                 GLOBAL const u32 *RESTRICT coarse, NEW_CSR(NUMBER, out)) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u64 next = out_offsets[row];
        STRONG_OF_ROW
        const u64 begin = offsets[row], end = next != out_offsets[row + 1] ? offsets[row + 1] : 0;
        FOR_CHUNKS(first, begin, end) {
            const u64 place = first + part_of_row();
            const NUMBER value = place < end ? values[place] : (NUMBER)0;
            const u32 found = place < end ? near_column(columns[place], value, diagonal[row], coarse,
                                                        strong, strong_count, weak,
                                                        (u32)(place - begin))
                                          : NONE;
            const u32 flags = row_flags(found != NONE, scratch);
            if (found != NONE) {
                const u32 before = BITS_SET(flags_before(flags));
                out_columns[next + before] = found;
                out_values[next + before] = is_shared(value, diagonal[row]) ? value : (NUMBER)0;
            }
            next += BITS_SET(flags);
        }
    }
}

// ---- the rows

// Room for the entries of fine rows, unless all have the same, and their bins; the lengths of the other
// rows. With `points`
// there are rows for these unknowns alone.
KERNEL interpolate_bounds(u64 rows, GLOBAL const u32 *RESTRICT points, GRAPH_OF(s),
                          GLOBAL const u32 *RESTRICT coarse, GLOBAL const u32 *RESTRICT degrees,
                          u32 max_elements, GLOBAL u32 *RESTRICT rooms, BINNED) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    LOCAL_ARRAY(u32, counts, BINS + 1);
    FOR_BLOCKS_OF_ROWS(first, rows) {
        const u64 row = first + row_of_block();
        const u32 point = row < rows ? (points ? points[row] : (u32)row) : 0;
        const bool is_fine = row < rows && coarse[point] == NONE;
        u32 keys = 0;
        if (is_fine && DISTANT)
            FOR_ENTRIES(place, s_offsets, point)
                if (s_columns[place] != point)
                    keys += degrees[s_columns[place]];
        keys = row_count(keys, scratch) + (is_fine ? degrees[point] : 0);
        const u32 bin = keys != 0 && leads_row() ? bin_of(keys + OWN) : BINS;
        count_bins(bin, keys + OWN, counters, counts);
        if (row < rows && leads_row()) {
            if (rooms)
                rooms[row] = max_elements != 0 && keys > max_elements ? max_elements : keys;
            lengths[row] = !is_fine;
            bins[row] = (u8)bin;
        }
    }
}

// The graph, with `n_` the coarse unknowns near fine ones.
typedef struct {
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
    GLOBAL const NUMBER *values;
    GLOBAL const u64 *s_offsets;
    GLOBAL const u32 *s_columns;
    GLOBAL const u64 *n_offsets;
    GLOBAL const u32 *n_columns;
    GLOBAL const NUMBER *n_values;
    GLOBAL const NUMBER *diagonal;
    GLOBAL const u32 *coarse;
} Level;

// Fills the table with the points of a row; how many these are, FULL or more where there is no room.
FUNCTION u32 add_points(const PRIVATE Level *a, Table t, u32 row, LOCAL u32 *scratch) {
    u32 count = 0;
    if (OWN && leads_row())
        insert_key(t, row, &count);
    FOR_ENTRIES(place, a->n_offsets, row) {
        const u32 column = a->n_columns[place];
        if (column & STRONG)
            insert_key(t, COLUMN(column), &count);
    }
    // Every thread takes the coarse neighbours of other neighbours.
    if (DISTANT)
        FOR_ENTRIES(place, a->s_offsets, row) {
            const u32 near = a->s_columns[place];
            const u64 end = near != row && count < FULL ? a->n_offsets[near + 1] : 0;
            for (u64 k = a->n_offsets[near]; k < end; k++) {
                const u32 column = a->n_columns[k];
                if (column & STRONG)
                    insert_key(t, COLUMN(column), &count);
            }
        }
    return row_count(count < FULL ? count : FULL, scratch);
}

// What becomes of an entry of the row: `value` goes to the diagonal, or to the sum of a slot; the
// `count` couplings with coarse unknowns from `begin` on are shared with `factor`.
#define LUMPED 0xffffffffu
typedef struct {
    LOCAL u32 *slot;
    LOCAL NUMBER *value;
    LOCAL NUMBER *factor;
    LOCAL u64 *begin;
    LOCAL u32 *count;
} Entries;

// The coupling of a neighbour, entry `k` of the row, back to the row, if it counts.
FUNCTION NUMBER coupling_back(const PRIVATE Level *a, u32 row, u32 near, u32 k) {
    const u64 place = find_back(a->offsets, a->columns, near, row, k);
    const NUMBER value = place != a->offsets[near + 1] ? a->values[place] : (NUMBER)0;
    return is_shared(value, a->diagonal[near]) ? value : (NUMBER)0;
}

// How a strong fine neighbour shares its coupling, if there is anything to share it with.
FUNCTION void look_at_fine(const PRIVATE Level *a, Table t, u32 row, u32 near, u32 k, u32 own,
                           Entries e) {
    const u32 part = part_of_row();
    const u64 begin = a->n_offsets[near];
    const u32 count = (u32)(a->n_offsets[near + 1] - begin);
    NUMBER total = 0;
    for (u32 one = 0; one < count; one++) {
        const NUMBER value = a->n_values[begin + one];
        const u32 column = a->n_columns[begin + one];
        // What a strong neighbour is strongly coupled with is in the set.
        if ((DISTANT && (column & STRONG)) || find_key(t, COLUMN(column)) != EMPTY)
            total += value;
    }
    const NUMBER back = OWN ? coupling_back(a, row, near, k) : (NUMBER)0;
    total += back;
    if (IS_ZERO(NUMBER, total))
        return;
    e.begin[part] = begin;
    e.count[part] = count;
    e.factor[part] = OVER(NUMBER, e.value[part], total);
    e.slot[part] = own;
    e.value[part] = product_of(e.factor[part], back);
}

// Looks at the entry that this thread has of the row; `own` is the slot of the row itself.
FUNCTION void look_at(const PRIVATE Level *a, Table t, u32 row, u64 place, u32 own, Entries e) {
    const u32 near = a->columns[place], part = part_of_row();
    const u32 k = (u32)(place - a->offsets[row]);
    const u32 length = (u32)(a->offsets[row + 1] - a->offsets[row]);
    const u32 strong = (u32)(a->s_offsets[row + 1] - a->s_offsets[row]);
    e.value[part] = a->values[place];
    e.count[part] = 0;
    e.slot[part] = near != row && a->coarse[near] != NONE ? find_key(t, near) : LUMPED;
    if (near == row || a->coarse[near] != NONE)
        return;
    if (is_strong(a->s_columns + a->s_offsets[row], strong, length > strong ? length - strong : 0, k,
                  near))
        look_at_fine(a, t, row, near, k, own, e);
}

// The numerators of the weights, of entries before `end`; their denominator is returned. Sums are
// formed in the order of the columns.
FUNCTION NUMBER weigh(const PRIVATE Level *a, Table t, u32 row, u64 end, Entries e) {
    NUMBER diagonal = 0;
    const u32 own = OWN && end > a->offsets[row] ? find_key(t, row) : 0;
    FOR_CHUNKS(first, a->offsets[row], end) {
        ROW_SYNC();
        if (first + part_of_row() < end)
            look_at(a, t, row, first + part_of_row(), own, e);
        ROW_SYNC();
        for (u32 k = 0; k < ROW_THREADS && ANY(first + k < end); k++) {
            const u32 slot = e.slot[k], count = first + k < end ? e.count[k] : 0;
            if (first + k < end && slot == LUMPED)
                diagonal += e.value[k];
            else if (first + k < end && leads_row() && (OWN || count == 0))
                SUM(t, slot) += e.value[k];
            for (u32 one = part_of_row(); one < count; one += ROW_THREADS) {
                const NUMBER value = a->n_values[e.begin[k] + one];
                const u32 its = find_key(t, COLUMN(a->n_columns[e.begin[k] + one]));
                if (its != EMPTY)
                    SUM(t, its) += product_of(e.factor[k], value);
            }
            ROW_SYNC();
        }
    }
    return OWN ? diagonal + SUM(t, own) : diagonal;
}

#if DIRECT
// Couplings to the set and to all, below and above zero.
typedef struct {
    f64 all[2];
    f64 coarse[2];
} Signed;

FUNCTION f64 weigh_direct(const PRIVATE Level *a, Table t, u32 row, u64 end, PRIVATE Signed *sums) {
    for (u64 place = a->offsets[row]; place < end; place++) {
        const u32 near = a->columns[place];
        const f64 value = a->values[place];
        if (near == row)
            continue;
        const u32 slot = find_key(t, near), sign = value > 0;
        sums->all[sign] += value;
        if (slot != EMPTY) {
            sums->coarse[sign] += value;
            if (leads_row())
                SUM(t, slot) = value;
        }
    }
    f64 diagonal = a->diagonal[row];
    for (u32 sign = 0; sign < 2; sign++)
        if (sums->coarse[sign] == 0)
            diagonal += sums->all[sign];
    ROW_SYNC();
    return diagonal;
}
#define WEIGHT(sum, diagonal)                                                                      \
    (product(-(sums->all[(sum) > 0] / sums->coarse[(sum) > 0]), sum) / (diagonal))
#else
typedef u32 Signed;
#define WEIGHT(sum, diagonal) OVER(NUMBER, -(sum), diagonal)
#endif

// Turns sums into weights and points into coarse unknowns; what makes no entry leaves the table.
FUNCTION void finish(const PRIVATE Level *a, Table t, NUMBER diagonal, const PRIVATE Signed *sums) {
    ROW_SYNC();
    FOR_SLOTS(slot, t) {
        if (KEY(t, slot) == EMPTY)
            continue;
        const u32 number = a->coarse[KEY(t, slot)];
        const NUMBER sum = SUM(t, slot), weight = WEIGHT(sum, diagonal);
        const f64 size = size_of(weight);
        const bool keep = number != NONE && size != 0 && size - size == 0;
        KEY(t, slot) = keep ? number : EMPTY;
        SUM(t, slot) = weight;
    }
    ROW_SYNC();
}

// Whether entry `item` of a sorted row is among those kept; sizes that differ by rounding alone are equal.
FUNCTION bool is_kept(Table row, u32 count, u32 item, f64 least, u32 max_elements) {
    if (size_of(SUM(row, item)) < least)
        return false;
    const f32 size = (f32)size_of(SUM(row, item));
    u32 rank = 0;
    for (u32 other = 0; other < count; other++) {
        const f32 its = (f32)size_of(SUM(row, other));
        rank += its > size || (its == size && other < item);
    }
    return max_elements == 0 || rank < max_elements;
}

// Writes the entries of a row that truncation keeps, scaled to the same sum; how many these are.
FUNCTION u32 write_shortened(Table t, u32 count, u32 max_elements, f64 factor,
                             GLOBAL u32 *out_columns, GLOBAL NUMBER *out_values,
                             LOCAL u32 *scratch) {
    const Table row = upper_half(t);
    NUMBER before = 0, after = 0;
    f64 largest = 0;
    for (u32 item = 0; item < count; item++)
        before += SUM(row, item);
    if (factor > 0)
        for (u32 item = 0; item < count; item++)
            largest = size_of(SUM(row, item)) > largest ? size_of(SUM(row, item)) : largest;
    const f64 least = product(factor, largest);
    u32 kept = 0;
    FOR_CHUNKS(first, 0, count) {
        const u32 item = (u32)first + part_of_row();
        const u32 keep = item < count && is_kept(row, count, item, least, max_elements);
        if (item < count)
            KEY(t, item) = keep;
        const u32 flags = row_flags(keep, scratch);
        for (u32 left = flags; left != 0; left &= left - 1)
            after += SUM(row, (u32)first + BITS_SET((left & -left) - 1));
        kept += BITS_SET(flags);
    }
    const NUMBER scale = kept < count && !IS_ZERO(NUMBER, after) ? OVER(NUMBER, before, after)
                                                                 : OF_REAL(NUMBER, 1);
    u32 place = 0;
    FOR_CHUNKS(first, 0, count) {
        const u32 item = (u32)first + part_of_row();
        const u32 keep = item < count && KEY(t, item);
        const u32 flags = row_flags(keep, scratch), own = place + BITS_SET(flags_before(flags));
        if (keep) {
            out_columns[own] = KEY(row, item);
            out_values[own] = MULTIPLY(NUMBER, SUM(row, item), scale);
        }
        place += BITS_SET(flags);
    }
    return kept;
}

// The rows of a list; their entries go to the room they have.
KERNEL interpolate_rows(LISTED, GLOBAL const u32 *RESTRICT points, CSR(NUMBER, values), GRAPH_OF(s),
                        CSR_OF(NUMBER, n), GLOBAL const NUMBER *RESTRICT diagonal,
                        GLOBAL const u32 *RESTRICT coarse, u32 max_elements, f64 factor, MADE) {
    LOCAL_ARRAY(u32, slots, BLOCK);
    LOCAL_ARRAY(u32, counts, BLOCK);
    LOCAL_ARRAY(u64, begins, BLOCK);
    LOCAL_ARRAY(NUMBER, entries, BLOCK);
    LOCAL_ARRAY(NUMBER, factors, BLOCK);
    TABLE_MEMORY
    const Table t = OWN_TABLE;
    const u32 first = thread_of_block() - part_of_row();
    const Entries e = {slots + first, entries + first, factors + first, begins + first,
                       counts + first};
    const Level a = {offsets,   columns,   values,   s_offsets, s_columns,
                     n_offsets, n_columns, n_values, diagonal,  coarse};
    FOR_ROWS(item, items) {
        const u32 number = list[item], row = points ? points[number] : number;
#if DIRECT
        Signed sums = {{0, 0}, {0, 0}};
#else
        Signed sums = 0;
#endif
        clear_table(t);
        const u32 keys = add_points(&a, t, row, slots);
        const u64 end = FITS(t, keys, number) ? offsets[row + 1] : offsets[row];
#if DIRECT
        const f64 denominator = weigh_direct(&a, t, row, end, &sums);
#else
        const NUMBER denominator = weigh(&a, t, row, end, e);
#endif
        finish(&a, t, denominator, &sums);
        const u32 count = sort_table(t, slots);
        const u64 start = starts ? starts[number] : (u64)number * max_elements;
        const u32 kept = write_shortened(t, count, max_elements, factor, out_columns + start,
                                         out_values + start, slots);
        if (leads_row())
            lengths[number] = kept;
    }
}

// ---- shorter rows of a prolongation that is there

KERNEL truncate_bounds(u64 rows, GLOBAL const u64 *RESTRICT offsets, u32 max_elements,
                       GLOBAL u32 *RESTRICT rooms, BINNED) {
    LOCAL_ARRAY(u32, counts, BINS + 1);
    FOR_BLOCKS_OF_ROWS(first, rows) {
        const u64 row = first + row_of_block();
        const u32 keys = row < rows ? (u32)(offsets[row + 1] - offsets[row]) : 0;
        const u32 bin = keys != 0 ? smallest_bin(keys) : BINS;
        count_bins(bin, keys, counters, counts);
        if (row < rows) {
            if (rooms)
                rooms[row] = max_elements != 0 && keys > max_elements ? max_elements : keys;
            lengths[row] = 0;
            bins[row] = (u8)bin;
        }
    }
}

KERNEL truncate_rows(LISTED, CSR(NUMBER, values), u32 max_elements, f64 factor, MADE) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    TABLE_MEMORY
    const Table t = OWN_TABLE, sorted = upper_half(t);
    FOR_ROWS(item, items) {
        const u32 row = list[item], count = (u32)(offsets[row + 1] - offsets[row]);
        ROW_SYNC();
        for (u32 k = part_of_row(); k < count; k += ROW_THREADS) {
            KEY(sorted, k) = columns[offsets[row] + k];
            SUM(sorted, k) = values[offsets[row] + k];
        }
        ROW_SYNC();
        const u64 start = starts ? starts[row] : (u64)row * max_elements;
        const u32 kept = write_shortened(t, count, max_elements, factor, out_columns + start,
                                         out_values + start, scratch);
        if (leads_row())
            lengths[row] = kept;
    }
}
