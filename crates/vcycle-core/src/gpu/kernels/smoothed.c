// The tentative prolongation T made smooth, (I - factor D^-1 A_F) T, as
// multigrid/interpolate/smoothed.rs has it. FILTERED says whether weak entries of A are added to
// the diagonal.

#include "tiles.h"
#include "tables.h"
#pragma default FILTERED 0

// The diagonal of A_F and, as the first of the bounds, the largest sum of the rows of D^-1 A_F from `begin` to `end`.
KERNEL smoothed_diagonal(u64 rows, CSR(NUMBER, values), GRAPH_OF(s), u64 begin, u64 end,
                         GLOBAL NUMBER *RESTRICT diagonal, GLOBAL f64 *bounds,
                         GLOBAL u32 *counter) {
    LOCAL_ARRAY(f64, scratch, BLOCK);
    f64 bound = 0;
    FOR_ROWS(row, rows) {
        NUMBER own = 0, weak = 0;
        f64 sum = 0;
        FOR_ENTRIES(place, offsets, row) {
            const u32 column = columns[place];
            const NUMBER value = values[place];
            if (column == row)
                own = value;
            else if (FILTERED && find_entry(s_offsets, s_columns, row, column) == s_offsets[row + 1])
                weak += value;
            else
                sum += size_of(value);
        }
        own = row_sum_of(own, scratch);
        weak = row_sum_of(weak, scratch);
        sum = row_sum(sum, scratch);
        if (REAL_PART(NUMBER, product_of(own + weak, CONJ(NUMBER, own))) > 0)
            own += weak;
        const f64 size = !IS_ZERO(NUMBER, own) ? (sum + size_of(own)) / size_of(own) : INFINITE;
        bound = begin <= row && row < end && size > bound ? size : bound;
        if (leads_row())
            diagonal[row] = own;
    }
    bound = block_largest(bound, scratch);
    if (thread_of_block() == 0)
        bounds[block_of_grid()] = bound;
    if (!LAST_BLOCK(counter, scratch))
        return;
    for (u32 block = thread_of_block(); block < blocks_of_grid(); block += BLOCK)
        bound = bounds[block] > bound ? bounds[block] : bound;
    bound = block_largest(bound, scratch);
    if (thread_of_block() == 0)
        bounds[0] = bound;
}

// Whether A_F has entry `place` of a row.
FUNCTION bool is_kept(u64 row, u32 column, GRAPH_OF(s)) {
    return !FILTERED || column == row ||
           find_entry(s_offsets, s_columns, row, column) != s_offsets[row + 1];
}

// The bin of a row.
KERNEL smoothed_bounds(u64 rows, CSR(NUMBER, values), GRAPH_OF(s), CSR_OF(NUMBER, t), BINNED) {
    LOCAL_ARRAY(u32, scratch, BLOCK);
    LOCAL_ARRAY(u32, counts, BINS + 1);
    FOR_BLOCKS_OF_ROWS(first, rows) {
        const u64 row = first + row_of_block();
        u32 keys = 0;
        if (row < rows)
            FOR_ENTRIES(place, offsets, row) {
                const u32 column = columns[place];
                if (is_kept(row, column, s_offsets, s_columns))
                    keys += (u32)(t_offsets[column + 1] - t_offsets[column]);
            }
        keys = row_count(keys, scratch);
        const u32 bin = keys != 0 && leads_row() ? bin_of(keys) : BINS;
        count_bins(bin, keys, counters, counts);
        if (row < rows && leads_row()) {
            lengths[row] = 0;
            bins[row] = (u8)bin;
        }
    }
}

// What an entry of a row of A_F is multiplied with: its weight, and a row of T.
typedef struct {
    LOCAL NUMBER *weight;
    LOCAL u64 *begin;
    LOCAL u32 *count;
    LOCAL u32 *column;
    LOCAL NUMBER *value;
} Factors;

// The sum of all that stands in a column.
FUNCTION NUMBER add_factors(NUMBER sum, u32 column, Factors f, u32 entries, CSR_OF(NUMBER, t)) {
    for (u32 k = 0; k < entries; k++) {
        if (f.count[k] != 0 && f.column[k] == column)
            sum += product_of(f.weight[k], f.value[k]);
        for (u32 more = 1; more < f.count[k]; more++)
            if (t_columns[f.begin[k] + more] == column)
                sum += product_of(f.weight[k], t_values[f.begin[k] + more]);
    }
    return sum;
}

// The entries of a row of the product, by increasing column, or (COUNT) how many they are. Sums are formed in the order of the
// columns of A.
KERNEL smoothed_rows(LISTED, CSR(NUMBER, values), GRAPH_OF(s), CSR_OF(NUMBER, t),
                     GLOBAL const NUMBER *RESTRICT diagonal, f64 factor, MADE) {
    LOCAL_ARRAY(NUMBER, weights, BLOCK);
    LOCAL_ARRAY(u64, begins, BLOCK);
    LOCAL_ARRAY(u32, counts, BLOCK);
    LOCAL_ARRAY(u32, firsts, BLOCK);
    LOCAL_ARRAY(NUMBER, factors, BLOCK);
    LOCAL_ARRAY(u32, scratch, BLOCK);
    TABLE_MEMORY
    const Table t = OWN_TABLE, sorted = upper_half(t);
    const u32 base = thread_of_block() - part_of_row(), part = part_of_row();
    const Factors f = {weights + base, begins + base, counts + base, firsts + base, factors + base};
    FOR_ROWS(item, items) {
        const u32 row = list[item];
        clear_table(t);
        u32 keys = 0;
        FOR_ENTRIES(place, offsets, row) {
            const u32 near = columns[place];
            const bool counts = keys < FULL && is_kept(row, near, s_offsets, s_columns);
            for (u64 k = t_offsets[near]; counts && k < t_offsets[near + 1]; k++)
                insert_key(t, t_columns[k], &keys);
        }
        keys = row_count(keys < FULL ? keys : FULL, scratch);
        FITS(t, keys, row);
        if (COUNT) {
            if (leads_row())
                lengths[row] = keys;
            continue;
        }
        const u32 count = sort_table(t, scratch);
        const NUMBER scale = OVER(NUMBER, OF_REAL(NUMBER, -factor), diagonal[row]);
        const u64 end = offsets[row + 1];
        FOR_CHUNKS(first, offsets[row], end) {
            const u32 entries = (u32)min(end > first ? end - first : 0, (u64)ROW_THREADS);
            if (part < entries) {
                const u32 near = columns[first + part];
                const u64 begin = t_offsets[near];
                const bool kept = is_kept(row, near, s_offsets, s_columns);
                f.weight[part] = near == row ? OF_REAL(NUMBER, 1 - factor)
                                             : product_of(scale, values[first + part]);
                f.begin[part] = begin;
                f.count[part] = kept ? (u32)(t_offsets[near + 1] - begin) : 0;
                if (f.count[part] != 0) {
                    f.column[part] = t_columns[begin];
                    f.value[part] = t_values[begin];
                }
            }
            ROW_SYNC();
            for (u32 one = part; one < count; one += ROW_THREADS)
                SUM(sorted, one) = add_factors(SUM(sorted, one), KEY(sorted, one), f, entries,
                                               t_offsets, t_columns, t_values);
            ROW_SYNC();
        }
        for (u32 one = part; one < count; one += ROW_THREADS) {
            out_columns[starts[row] + one] = KEY(sorted, one);
            out_values[starts[row] + one] = SUM(sorted, one);
        }
    }
}

// ---- the tentative prolongation of constants

// A one for every row.
KERNEL tentative_ones(u64 rows, GLOBAL u64 *RESTRICT offsets, GLOBAL NUMBER *RESTRICT values) {
    FOR_ITEMS(row, rows + 1) {
        offsets[row] = row;
        if (row < rows)
            values[row] = OF_REAL(NUMBER, 1);
    }
}

// Values of T - factor D^-1 C on the pattern of C, whose rows have all columns that those of T have.
KERNEL smoothed_step(u64 rows, f64 factor, GLOBAL const NUMBER *RESTRICT diagonal, CSR(NUMBER, values),
                     CSR_OF(NUMBER, t), GLOBAL NUMBER *RESTRICT out) {
    FOR_ITEMS(row, rows) {
        const NUMBER scale = OVER(NUMBER, OF_REAL(NUMBER, -factor), diagonal[row]);
        u64 own = t_offsets[row];
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; ++entry) {
            const bool hit = own < t_offsets[row + 1] && t_columns[own] == columns[entry];
            out[entry] = MULTIPLY(NUMBER, scale, values[entry]) + (hit ? t_values[own] : (NUMBER)0);
            own += hit;
        }
    }
}

KERNEL tentative_flags(u64 rows, u32 block, GLOBAL const u32 *RESTRICT groups,
                       GLOBAL u32 *RESTRICT flags) {
    FOR_ITEMS(row, rows) flags[row] = groups[row / block] != NONE;
}

KERNEL tentative_entries(u64 rows, u32 block, GLOBAL const u32 *RESTRICT groups,
                         NEW_CSR(NUMBER, out)) {
    FOR_ITEMS(row, rows) {
        const u32 group = groups[row / block];
        if (group != NONE) {
            out_columns[out_offsets[row]] = group * block + (u32)(row % block);
            out_values[out_offsets[row]] = OF_REAL(NUMBER, 1);
        }
    }
}
