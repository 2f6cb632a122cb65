// Prolongations for a choice of coarse unknowns, as multigrid/interpolate has them: the set of
// points of a row is its table.
//
// Definitions: DISTANT, whether coarse neighbours of fine neighbours are in the set; OWN, whether
// the point itself is; DIRECT, whether the weights are those of direct interpolation.

#define GRAPH GLOBAL const u64 *RESTRICT s_offsets, GLOBAL const u32 *RESTRICT s_columns
#define MATRIX                                                                                     \
    GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,                        \
        GLOBAL const f64 *RESTRICT values

// How many coarse unknowns every fine one strongly depends on.
KERNEL interpolate_degrees(u64 rows, GRAPH, GLOBAL const u32 *RESTRICT coarse,
                           GLOBAL u32 *RESTRICT degrees) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u32 count = 0;
        if (coarse[row] == NONE)
            FOR_ENTRIES(place, s_offsets, row) count += coarse[s_columns[place]] != NONE;
        count = row_count(count, scratch);
        if (leads_row())
            degrees[row] = count;
    }
}

// Room for the entries of fine rows and their bins; the lengths of the other rows. With `points`
// there are rows for these unknowns alone.
KERNEL interpolate_bounds(u64 rows, GLOBAL const u32 *RESTRICT points,
                          GLOBAL const u64 *RESTRICT offsets, GRAPH,
                          GLOBAL const u32 *RESTRICT coarse, GLOBAL const u32 *RESTRICT degrees,
                          u32 max_elements, GLOBAL u32 *RESTRICT rooms, GLOBAL u32 *RESTRICT lengths,
                          GLOBAL u8 *RESTRICT bins, GLOBAL u32 *counters) {
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
        const u32 bin = keys != 0 && leads_row() ? bin_of(keys + OWN, offsets[point + 1] - offsets[point]) : BINS;
        count_bins(bin, keys + OWN, counters, counts);
        if (row < rows && leads_row()) {
            rooms[row] = max_elements != 0 && keys > max_elements ? max_elements : keys;
            lengths[row] = !is_fine;
            bins[row] = (u8)bin;
        }
    }
}

// ---- the coarse couplings of fine unknowns, few of all and looked at many times

// a_kl where that is a coupling of a fine unknown with a coarse one, of the other sign than a_kk.
FUNCTION bool is_shared(f64 value, f64 diagonal, u32 number) {
    return number != NONE && (value < 0) == (diagonal > 0);
}

KERNEL coarse_count(u64 rows, MATRIX, GLOBAL const f64 *RESTRICT diagonal,
                    GLOBAL const u32 *RESTRICT coarse, GLOBAL u32 *RESTRICT counts) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u32 count = 0;
        if (coarse[row] == NONE)
            FOR_ENTRIES(place, offsets, row)
                count += is_shared(values[place], diagonal[row], coarse[columns[place]]);
        count = row_count(count, scratch);
        if (leads_row())
            counts[row] = count;
    }
}

KERNEL coarse_fill(u64 rows, MATRIX, GLOBAL const f64 *RESTRICT diagonal,
                   GLOBAL const u32 *RESTRICT coarse, GLOBAL const u64 *RESTRICT starts,
                   GLOBAL u32 *RESTRICT out_columns, GLOBAL f64 *RESTRICT out_values) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u64 next = starts[row];
        const u64 end = next != starts[row + 1] ? offsets[row + 1] : 0;
        for (u64 first = offsets[row]; first < end; first += ROW_THREADS) {
            const u64 place = first + part_of_row();
            const u32 column = place < end ? columns[place] : 0;
            const u32 keep =
                place < end && is_shared(values[place], diagonal[row], coarse[column]);
            const u32 flags = row_flags(keep, scratch), before = BITS_SET(flags_before(flags));
            if (keep) {
                out_columns[next + before] = column;
                out_values[next + before] = values[place];
            }
            next += BITS_SET(flags);
        }
    }
}

// The strong couplings of fine unknowns with coarse ones, of which there are as many as `degrees`
// say.
KERNEL coarse_strong(u64 rows, GRAPH, GLOBAL const u32 *RESTRICT coarse,
                     GLOBAL const u64 *RESTRICT starts, GLOBAL u32 *RESTRICT out_columns) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    FOR_ROWS(row, rows) {
        u64 next = starts[row];
        const u64 end = next != starts[row + 1] ? s_offsets[row + 1] : 0;
        for (u64 first = s_offsets[row]; first < end; first += ROW_THREADS) {
            const u64 place = first + part_of_row();
            const u32 column = place < end ? s_columns[place] : 0;
            const u32 keep = place < end && coarse[column] != NONE;
            const u32 flags = row_flags(keep, scratch), before = BITS_SET(flags_before(flags));
            if (keep)
                out_columns[next + before] = column;
            next += BITS_SET(flags);
        }
    }
}

// ---- the rows

// The graph, with `c_` the couplings of fine unknowns with coarse ones and with `sc_` the strong
// ones.
#define COARSE                                                                                     \
    GLOBAL const u64 *RESTRICT c_offsets, GLOBAL const u32 *RESTRICT c_columns,                    \
        GLOBAL const f64 *RESTRICT c_values, GLOBAL const u64 *RESTRICT sc_offsets,                \
        GLOBAL const u32 *RESTRICT sc_columns

typedef struct {
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
    GLOBAL const f64 *values;
    GLOBAL const u64 *s_offsets;
    GLOBAL const u32 *s_columns;
    GLOBAL const u64 *c_offsets;
    GLOBAL const u32 *c_columns;
    GLOBAL const f64 *c_values;
    GLOBAL const u64 *sc_offsets;
    GLOBAL const u32 *sc_columns;
    GLOBAL const f64 *diagonal;
    GLOBAL const u32 *coarse;
} Level;

FUNCTION void add_points(const PRIVATE Level *a, Table t, u32 row) {
    if (OWN && leads_row())
        insert_key(t, row);
    FOR_ENTRIES(place, a->sc_offsets, row) insert_key(t, a->sc_columns[place]);
    // Every thread takes the coarse neighbours of other neighbours.
    if (DISTANT)
        FOR_ENTRIES(place, a->s_offsets, row) {
            const u32 near = a->s_columns[place];
            if (near != row)
                for (u64 k = a->sc_offsets[near]; k < a->sc_offsets[near + 1]; k++)
                    insert_key(t, a->sc_columns[k]);
        }
    ROW_SYNC();
}

// What becomes of an entry of the row: `value` is added to the diagonal, or to the sum of its slot,
// or multiplies what is shared: the `count` couplings with coarse unknowns from `begin` on, and the
// one `back` to the row.
#define LUMPED 0xffffffffu
#define PASSED_ON 0xfffffffeu
typedef struct {
    LOCAL u32 *slot;
    LOCAL f64 *value;
    LOCAL f64 *back;
    LOCAL u64 *begin;
    LOCAL u32 *count;
} Entries;

// The coupling of a neighbour back to the row, if it counts.
FUNCTION f64 coupling_back(const PRIVATE Level *a, u32 row, u32 near) {
    const u64 place = find_entry(a->offsets, a->columns, near, row);
    const f64 value = place != a->offsets[near + 1] ? a->values[place] : 0;
    return (value < 0) == (a->diagonal[near] > 0) ? value : 0;
}

// How a strong fine neighbour shares its coupling; whether there is anything to share it with.
FUNCTION bool look_at_fine(const PRIVATE Level *a, Table t, u32 row, u32 near, Entries e) {
    const u32 part = part_of_row();
    const u64 begin = a->c_offsets[near];
    const u32 count = (u32)(a->c_offsets[near + 1] - begin);
    f64 total = 0;
    for (u32 k = 0; k < count; k++) {
        const f64 value = a->c_values[begin + k];
        if (find_key(t, a->c_columns[begin + k]) != EMPTY)
            total += value;
    }
    const f64 back = OWN ? coupling_back(a, row, near) : 0;
    total += back;
    if (total == 0)
        return false;
    e.begin[part] = begin;
    e.count[part] = count;
    e.back[part] = back;
    e.value[part] /= total;
    return true;
}

// Looks at the entry that this thread has of the row.
FUNCTION void look_at(const PRIVATE Level *a, Table t, u32 row, u64 place, Entries e) {
    const u32 near = a->columns[place];
    u32 slot = LUMPED;
    e.value[part_of_row()] = a->values[place];
    if (near != row && a->coarse[near] != NONE) {
        slot = find_key(t, near);
        slot = slot == EMPTY ? LUMPED : slot;
    } else if (near != row &&
               find_entry(a->s_offsets, a->s_columns, row, near) != a->s_offsets[row + 1])
        slot = look_at_fine(a, t, row, near, e) ? PASSED_ON : LUMPED;
    e.slot[part_of_row()] = slot;
}

// Shares a coupling of the row among the points of the set; `own` is the slot of the row itself.
FUNCTION void pass_on(const PRIVATE Level *a, Table t, u32 own, Entries e, u32 which) {
    const f64 factor = e.value[which];
    for (u32 k = part_of_row(); k < e.count[which]; k += ROW_THREADS) {
        const f64 value = a->c_values[e.begin[which] + k];
        const u32 slot = find_key(t, a->c_columns[e.begin[which] + k]);
        if (slot != EMPTY)
            SUM(t, slot) += product(factor, value);
    }
    if (OWN && leads_row())
        SUM(t, own) += product(factor, e.back[which]);
}

// The numerators of the weights; their denominator is returned. Sums are formed in the order of the
// columns.
FUNCTION f64 weigh(const PRIVATE Level *a, Table t, u32 row, Entries e) {
    f64 diagonal = 0;
    const u64 end = a->offsets[row + 1];
    const u32 own = OWN ? find_key(t, row) : 0;
    for (u64 first = a->offsets[row]; first < end; first += ROW_THREADS) {
        if (first + part_of_row() < end)
            look_at(a, t, row, first + part_of_row(), e);
        ROW_SYNC();
        for (u32 k = 0; k < ROW_THREADS && first + k < end; k++) {
            const u32 slot = e.slot[k];
            if (slot == LUMPED) {
                diagonal += e.value[k];
                continue;
            }
            if (slot == PASSED_ON)
                pass_on(a, t, own, e, k);
            else if (leads_row())
                SUM(t, slot) += e.value[k];
            ROW_SYNC();
        }
        ROW_SYNC();
    }
    return OWN ? diagonal + SUM(t, own) : diagonal;
}

// Couplings to the set and to all, below and above zero.
typedef struct {
    f64 all[2];
    f64 coarse[2];
} Signed;

FUNCTION f64 weigh_direct(const PRIVATE Level *a, Table t, u32 row, PRIVATE Signed *sums) {
    for (u64 place = a->offsets[row]; place < a->offsets[row + 1]; place++) {
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

// Turns sums into weights and points into coarse unknowns; what makes no entry leaves the table.
FUNCTION void finish(const PRIVATE Level *a, Table t, f64 diagonal, const PRIVATE Signed *sums) {
    ROW_SYNC();
    FOR_SLOTS(slot, t) {
        if (KEY(t, slot) == EMPTY)
            continue;
        const u32 number = a->coarse[KEY(t, slot)];
        const f64 sum = SUM(t, slot);
        f64 weight = -sum / diagonal;
        if (DIRECT)
            weight = product(-(sums->all[sum > 0] / sums->coarse[sum > 0]), sum) / diagonal;
        const bool keep = number != NONE && weight != 0 && weight - weight == 0;
        KEY(t, slot) = keep ? number : EMPTY;
        SUM(t, slot) = weight;
    }
    ROW_SYNC();
}

// Whether entry `item` of a sorted row is among those kept.
FUNCTION bool is_kept(Table row, u32 count, u32 item, f64 least, u32 max_elements) {
    const f64 size = modulus(SUM(row, item));
    if (size < least)
        return false;
    u32 rank = 0;
    for (u32 other = 0; other < count; other++) {
        const f64 its = modulus(SUM(row, other));
        rank += its > size || (its == size && other < item);
    }
    return max_elements == 0 || rank < max_elements;
}

// Writes the entries of a row that truncation keeps, scaled to the same sum; how many these are.
FUNCTION u32 write_shortened(Table t, u32 count, u32 max_elements, f64 factor,
                             GLOBAL u32 *out_columns, GLOBAL f64 *out_values,
                             LOCAL u32 *scratch) {
    const Table row = upper_half(t);
    f64 before = 0, after = 0, largest = 0;
    for (u32 item = 0; item < count; item++)
        before += SUM(row, item);
    if (factor > 0)
        for (u32 item = 0; item < count; item++)
            largest = modulus(SUM(row, item)) > largest ? modulus(SUM(row, item)) : largest;
    const f64 least = product(factor, largest);
    u32 kept = 0;
    for (u32 first = 0; first < count; first += ROW_THREADS) {
        const u32 item = first + part_of_row();
        const u32 keep = item < count && is_kept(row, count, item, least, max_elements);
        if (item < count)
            KEY(t, item) = keep;
        const u32 flags = row_flags(keep, scratch);
        for (u32 left = flags; left != 0; left &= left - 1)
            after += SUM(row, first + BITS_SET((left & -left) - 1));
        kept += BITS_SET(flags);
    }
    const f64 scale = kept < count && after != 0 ? before / after : 1;
    u32 place = 0;
    for (u32 first = 0; first < count; first += ROW_THREADS) {
        const u32 item = first + part_of_row();
        const u32 keep = item < count && KEY(t, item);
        const u32 flags = row_flags(keep, scratch), own = place + BITS_SET(flags_before(flags));
        if (keep) {
            out_columns[own] = KEY(row, item);
            out_values[own] = SUM(row, item) * scale;
        }
        place += BITS_SET(flags);
    }
    return kept;
}

// The rows of a list; their entries go to the room they have.
KERNEL interpolate_rows(u64 items, GLOBAL const u32 *RESTRICT list,
                        GLOBAL const u64 *RESTRICT starts, GLOBAL const u32 *RESTRICT points,
                        MATRIX, GRAPH, COARSE, GLOBAL const f64 *RESTRICT diagonal,
                        GLOBAL const u32 *RESTRICT coarse, u32 max_elements, f64 factor,
                        GLOBAL u32 *RESTRICT out_columns, GLOBAL f64 *RESTRICT out_values,
                        GLOBAL u32 *RESTRICT lengths, TABLES) {
    LOCAL_ARRAY(u32, slots, BLOCK);
    LOCAL_ARRAY(u32, counts, BLOCK);
    LOCAL_ARRAY(u64, begins, BLOCK);
    LOCAL_ARRAY(f64, entries, BLOCK);
    LOCAL_ARRAY(f64, backs, BLOCK);
    TABLE_MEMORY
    const Table t = OWN_TABLE;
    const u32 first = thread_of_block() - part_of_row();
    const Entries e = {slots + first, entries + first, backs + first, begins + first,
                       counts + first};
    const Level a = {offsets,   columns,  values,     s_offsets,  s_columns, c_offsets,
                     c_columns, c_values, sc_offsets, sc_columns, diagonal,  coarse};
    FOR_ROWS(item, items) {
        const u32 number = list[item], row = points ? points[number] : number;
        Signed sums = {{0, 0}, {0, 0}};
        clear_table(t);
        add_points(&a, t, row);
        const f64 denominator = DIRECT ? weigh_direct(&a, t, row, &sums) : weigh(&a, t, row, e);
        finish(&a, t, denominator, &sums);
        const u32 count = sort_table(t, slots);
        const u64 start = starts[number];
        const u32 kept = write_shortened(t, count, max_elements, factor, out_columns + start,
                                         out_values + start, slots);
        if (leads_row())
            lengths[number] = kept;
    }
}

// ---- shorter rows of a prolongation that is there

KERNEL truncate_bounds(u64 rows, GLOBAL const u64 *RESTRICT offsets, u32 max_elements,
                       GLOBAL u32 *RESTRICT rooms, GLOBAL u32 *RESTRICT lengths,
                       GLOBAL u8 *RESTRICT bins, GLOBAL u32 *counters) {
    LOCAL_ARRAY(u32, counts, BINS + 1);
    FOR_BLOCKS_OF_ROWS(first, rows) {
        const u64 row = first + row_of_block();
        const u32 keys = row < rows ? (u32)(offsets[row + 1] - offsets[row]) : 0;
        const u32 bin = keys != 0 ? bin_of(keys, keys) : BINS;
        count_bins(bin, keys, counters, counts);
        if (row < rows) {
            rooms[row] = max_elements != 0 && keys > max_elements ? max_elements : keys;
            lengths[row] = 0;
            bins[row] = (u8)bin;
        }
    }
}

KERNEL truncate_rows(u64 items, GLOBAL const u32 *RESTRICT list, GLOBAL const u64 *RESTRICT starts,
                     MATRIX, u32 max_elements, f64 factor, GLOBAL u32 *RESTRICT out_columns,
                     GLOBAL f64 *RESTRICT out_values, GLOBAL u32 *RESTRICT lengths, TABLES) {
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
        const u64 start = starts[row];
        const u32 kept = write_shortened(t, count, max_elements, factor, out_columns + start,
                                         out_values + start, scratch);
        if (leads_row())
            lengths[row] = kept;
    }
}
