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
KERNEL interpolate_bounds(u64 rows, GLOBAL const u32 *RESTRICT points, GRAPH,
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
        const u32 bin = keys != 0 && leads_row() ? bin_of(keys + OWN) : BINS;
        count_bins(bin, keys + OWN, counters, counts);
        if (row < rows && leads_row()) {
            rooms[row] = max_elements != 0 && keys > max_elements ? max_elements : keys;
            lengths[row] = !is_fine;
            bins[row] = (u8)bin;
        }
    }
}

typedef struct {
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
    GLOBAL const f64 *values;
    GLOBAL const u64 *s_offsets;
    GLOBAL const u32 *s_columns;
    GLOBAL const f64 *diagonal;
    GLOBAL const u32 *coarse;
} Level;

// The strong coarse neighbours of a point.
FUNCTION void add_coarse(const PRIVATE Level *a, Table t, u32 point) {
    FOR_ENTRIES(place, a->s_offsets, point) {
        const u32 near = a->s_columns[place];
        if (a->coarse[near] != NONE)
            insert_key(t, near);
    }
}

FUNCTION void add_points(const PRIVATE Level *a, Table t, u32 row) {
    if (OWN && leads_row())
        insert_key(t, row);
    add_coarse(a, t, row);
    if (DISTANT)
        for (u64 place = a->s_offsets[row]; place < a->s_offsets[row + 1]; place++) {
            const u32 near = a->s_columns[place];
            if (a->coarse[near] == NONE && near != row)
                add_coarse(a, t, near);
        }
    TILE_SYNC(ROW_THREADS);
}

// The slot that entry `place` of a fine neighbour's row counts for, or EMPTY.
FUNCTION u32 shared_slot(const PRIVATE Level *a, Table t, u64 place, bool positive) {
    const u32 point = a->columns[place];
    if (a->coarse[point] == NONE || (a->values[place] < 0) != positive)
        return EMPTY;
    return find_key(t, point);
}

// Shares a coupling of `row` with `near` among the points of the set as row `near` does; what is
// left over is returned. Sums are formed in the order of the columns.
FUNCTION f64 pass_on(const PRIVATE Level *a, Table t, u32 row, u32 near, f64 coupling,
                     LOCAL f64 *scratch) {
    LOCAL f64 *shares = scratch + (thread_of_block() - part_of_row());
    const u64 begin = a->offsets[near], end = a->offsets[near + 1];
    const bool positive = a->diagonal[near] > 0;
    f64 total = 0, back = 0;
    for (u64 first = begin; first < end; first += ROW_THREADS) {
        const u64 place = first + part_of_row();
        f64 share = 0;
        if (place < end) {
            if (shared_slot(a, t, place, positive) != EMPTY)
                share = a->values[place];
            if (OWN && a->columns[place] == row)
                back = a->values[place];
        }
        TILE_SYNC(ROW_THREADS);
        shares[part_of_row()] = share;
        TILE_SYNC(ROW_THREADS);
        for (u32 k = 0; k < ROW_THREADS; k++)
            total += shares[k];
    }
    if (OWN) {
        back = row_sum(back, scratch);
        back = (back < 0) == positive ? back : 0;
        total += back;
    }
    if (total == 0)
        return coupling;
    const f64 factor = coupling / total;
    for (u64 place = begin + part_of_row(); place < end; place += ROW_THREADS) {
        const u32 slot = shared_slot(a, t, place, positive);
        if (slot != EMPTY)
            t.sums[slot] += product(factor, a->values[place]);
    }
    if (OWN && leads_row())
        t.sums[find_key(t, row)] += product(factor, back);
    TILE_SYNC(ROW_THREADS);
    return 0;
}

// The numerators of the weights; their denominator is returned.
FUNCTION f64 weigh(const PRIVATE Level *a, Table t, u32 row, LOCAL f64 *scratch) {
    f64 diagonal = 0;
    u64 strong = a->s_offsets[row];
    const u64 strong_end = a->s_offsets[row + 1];
    for (u64 place = a->offsets[row]; place < a->offsets[row + 1]; place++) {
        const u32 near = a->columns[place];
        const f64 value = a->values[place];
        const u32 slot = near != row && a->coarse[near] != NONE ? find_key(t, near) : EMPTY;
        while (strong < strong_end && a->s_columns[strong] < near)
            strong++;
        const bool is_strong = strong < strong_end && a->s_columns[strong] == near;
        if (slot != EMPTY) {
            if (leads_row())
                t.sums[slot] += value;
            TILE_SYNC(ROW_THREADS);
        } else if (near != row && is_strong && a->coarse[near] == NONE)
            diagonal += pass_on(a, t, row, near, value, scratch);
        else
            diagonal += value;
    }
    return OWN ? diagonal + t.sums[find_key(t, row)] : diagonal;
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
                t.sums[slot] = value;
        }
    }
    f64 diagonal = a->diagonal[row];
    for (u32 sign = 0; sign < 2; sign++)
        if (sums->coarse[sign] == 0)
            diagonal += sums->all[sign];
    TILE_SYNC(ROW_THREADS);
    return diagonal;
}

// Turns sums into weights and points into coarse unknowns; what makes no entry leaves the table.
FUNCTION void finish(const PRIVATE Level *a, Table t, f64 diagonal, const PRIVATE Signed *sums) {
    TILE_SYNC(ROW_THREADS);
    FOR_SLOTS(slot, t) {
        if (t.keys[slot] == EMPTY)
            continue;
        const u32 number = a->coarse[t.keys[slot]];
        const f64 sum = t.sums[slot];
        f64 weight = -sum / diagonal;
        if (DIRECT)
            weight = product(-(sums->all[sum > 0] / sums->coarse[sum > 0]), sum) / diagonal;
        const bool keep = number != NONE && weight != 0 && weight - weight == 0;
        t.keys[slot] = keep ? number : EMPTY;
        t.sums[slot] = weight;
    }
    TILE_SYNC(ROW_THREADS);
}

// Whether entry `item` of a sorted row is among those kept.
FUNCTION bool is_kept(Table row, u32 count, u32 item, f64 least, u32 max_elements) {
    const f64 size = modulus(row.sums[item]);
    if (size < least)
        return false;
    u32 rank = 0;
    for (u32 other = 0; other < count; other++) {
        const f64 its = modulus(row.sums[other]);
        rank += its > size || (its == size && other < item);
    }
    return max_elements == 0 || rank < max_elements;
}

// Writes the entries of a row that truncation keeps, scaled to the same sum; how many these are.
FUNCTION u32 write_shortened(Table t, u32 count, u32 max_elements, f64 factor,
                             GLOBAL u32 *out_columns, GLOBAL f64 *out_values) {
    const Table row = upper_half(t);
    f64 before = 0, after = 0, largest = 0;
    for (u32 item = 0; item < count; item++) {
        before += row.sums[item];
        largest = modulus(row.sums[item]) > largest ? modulus(row.sums[item]) : largest;
    }
    const f64 least = factor > 0 ? product(factor, largest) : 0;
    for (u32 item = part_of_row(); item < count; item += ROW_THREADS)
        t.keys[item] = is_kept(row, count, item, least, max_elements);
    TILE_SYNC(ROW_THREADS);
    u32 kept = 0;
    for (u32 item = 0; item < count; item++)
        if (t.keys[item]) {
            after += row.sums[item];
            kept++;
        }
    const f64 scale = kept < count && after != 0 ? before / after : 1;
    u32 place = 0;
    for (u32 item = 0; item < count; item++) {
        if (!t.keys[item])
            continue;
        if (item % ROW_THREADS == part_of_row()) {
            out_columns[place] = row.keys[item];
            out_values[place] = row.sums[item] * scale;
        }
        place++;
    }
    return kept;
}

// The rows of a list; their entries go to the room they have.
KERNEL interpolate_rows(u64 items, GLOBAL const u32 *RESTRICT list,
                        GLOBAL const u64 *RESTRICT starts, GLOBAL const u32 *RESTRICT points,
                        MATRIX, GRAPH, GLOBAL const f64 *RESTRICT diagonal,
                        GLOBAL const u32 *RESTRICT coarse, u32 max_elements, f64 factor,
                        GLOBAL u32 *RESTRICT out_columns, GLOBAL f64 *RESTRICT out_values,
                        GLOBAL u32 *RESTRICT lengths, TABLES) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    TABLE_MEMORY
    const Table t = OWN_TABLE;
    const Level a = {offsets, columns, values, s_offsets, s_columns, diagonal, coarse};
    FOR_ROWS(item, items) {
        const u32 number = list[item], row = points ? points[number] : number;
        Signed sums = {{0, 0}, {0, 0}};
        clear_table(t);
        add_points(&a, t, row);
        const f64 denominator =
            DIRECT ? weigh_direct(&a, t, row, &sums) : weigh(&a, t, row, scratch);
        finish(&a, t, denominator, &sums);
        const u32 count = sort_table(t, (LOCAL u32 *)scratch);
        const u64 start = starts[number];
        const u32 kept = write_shortened(t, count, max_elements, factor, out_columns + start,
                                         out_values + start);
        if (leads_row())
            lengths[number] = kept;
    }
}
