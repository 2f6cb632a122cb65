// Rows that a rank has of a matrix, whose own columns lie between those of other ranks: `count` of them from `first` on.

#define OWN u32 first, u32 count

FUNCTION bool is_own(u32 column, OWN) { return column - first < count; }

// Which of the other columns it is.
FUNCTION u32 place_of(u32 column, OWN) { return column < first ? column : column - count; }

#ifndef WORD
// ---- patterns

// Notes which of the other columns have entries.
KERNEL part_marks(u64 entries, GLOBAL const u32 *RESTRICT columns, OWN, GLOBAL u32 *marks) {
    FOR_ITEMS(entry, entries) {
        const u32 column = columns[entry];
        if (!is_own(column, first, count))
            marks[place_of(column, first, count)] = 1;
    }
}

// Other numbers for columns: own ones begin at `to`, the others have a table.
KERNEL part_renumber(u64 entries, GLOBAL const u32 *RESTRICT columns, OWN, u32 to,
                     GLOBAL const u32 *RESTRICT others, GLOBAL u32 *RESTRICT out) {
    FOR_ITEMS(entry, entries) {
        const u32 column = columns[entry];
        out[entry] = is_own(column, first, count) ? column - first + to
                                                  : others[place_of(column, first, count)];
    }
}

// Offsets of rows from `begin` on, the first of which is `from_entry` there and `to_entry` here.
KERNEL part_offsets(u64 rows, GLOBAL const u64 *RESTRICT from, u64 begin, u64 from_entry,
                    GLOBAL u64 *RESTRICT to, u64 at, u64 to_entry) {
    FOR_ITEMS(row, rows + 1) to[at + row] = from[begin + row] - from_entry + to_entry;
}

// Offsets of rows that are made of those of three matrices.
KERNEL part_beside(u64 rows, GLOBAL const u64 *RESTRICT a, GLOBAL const u64 *RESTRICT b,
                   GLOBAL const u64 *RESTRICT c, GLOBAL u64 *RESTRICT to) {
    FOR_ITEMS(row, rows + 1) to[row] = a[row] + b[row] + c[row];
}

KERNEL part_lengths(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT list,
                    GLOBAL u32 *RESTRICT lengths) {
    FOR_ITEMS(i, rows) lengths[i] = (u32)(offsets[list[i] + 1] - offsets[list[i]]);
}

// Entries of rows in own columns, and whether they have others.
KERNEL part_counts(u64 rows, GRAPH, OWN, GLOBAL u32 *RESTRICT counts, GLOBAL u32 *RESTRICT flags) {
    FOR_ITEMS(row, rows) {
        u32 own = 0;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; entry++)
            own += is_own(columns[entry], first, count);
        counts[row] = own;
        flags[row] = own < offsets[row + 1] - offsets[row];
    }
}

// Columns of both kinds by themselves, and the rows with others, with where these begin: before a row are as many of them as
// there are entries less own ones.
KERNEL part_columns(u64 rows, GRAPH, OWN, GLOBAL const u64 *RESTRICT own,
                    GLOBAL const u64 *RESTRICT listed, GLOBAL u32 *RESTRICT own_columns,
                    GLOBAL u32 *RESTRICT list, GLOBAL u64 *RESTRICT other_offsets,
                    GLOBAL u32 *RESTRICT other_columns) {
    FOR_ITEMS(row, rows) {
        u64 inside = own[row], outside = offsets[row] - inside;
        if (listed[row] < listed[row + 1]) {
            list[listed[row]] = (u32)row;
            other_offsets[listed[row]] = outside;
        }
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; entry++) {
            const u32 column = columns[entry];
            if (is_own(column, first, count))
                own_columns[inside++] = column - first;
            else
                other_columns[outside++] = place_of(column, first, count);
        }
        if (row + 1 == rows)
            other_offsets[listed[rows]] = outside;
    }
}
#else
// ---- values

// Some of the words from `begin` on, one after the other.
KERNEL part_pack(u64 rows, GLOBAL const u32 *RESTRICT list, GLOBAL const WORD *RESTRICT from, u64 begin,
                 GLOBAL WORD *RESTRICT to) {
    FOR_ITEMS(i, rows) to[i] = from[begin + list[i]];
}

KERNEL part_copy(u64 words, GLOBAL const WORD *RESTRICT from, u64 begin, GLOBAL WORD *RESTRICT to,
                 u64 at) {
    FOR_ITEMS(i, words) to[at + i] = from[begin + i];
}

// Entries of one of the matrices that rows are made of, behind those of two others, which may be null.
KERNEL part_place(u64 rows, GRAPH, GLOBAL const WORD *RESTRICT values,
                  GLOBAL const u64 *RESTRICT before, GLOBAL const u64 *RESTRICT second,
                  NEW_CSR(WORD, out)) {
    FOR_ITEMS(row, rows) {
        u64 place = out_offsets[row];
        place += before ? before[row + 1] - before[row] : 0;
        place += second ? second[row + 1] - second[row] : 0;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; entry++, place++) {
            out_columns[place] = columns[entry];
            out_values[place] = values[entry];
        }
    }
}

// The entries of some rows, one after the other.
KERNEL part_take(u64 rows, GRAPH, GLOBAL const WORD *RESTRICT values,
                 GLOBAL const u32 *RESTRICT list, NEW_CSR(WORD, out)) {
    FOR_ITEMS(i, rows) {
        u64 place = out_offsets[i];
        for (u64 entry = offsets[list[i]]; entry < offsets[list[i] + 1]; entry++, place++) {
            out_columns[place] = columns[entry];
            out_values[place] = values[entry];
        }
    }
}

// Values in own columns and in others, as part_columns has their columns.
KERNEL part_values(u64 rows, GRAPH, OWN, GLOBAL const u64 *RESTRICT own,
                   GLOBAL const WORD *RESTRICT values, GLOBAL WORD *RESTRICT own_values,
                   GLOBAL WORD *RESTRICT other_values) {
    FOR_ITEMS(row, rows) {
        u64 inside = own[row], outside = offsets[row] - inside;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; entry++) {
            if (is_own(columns[entry], first, count))
                own_values[inside++] = values[entry];
            else
                other_values[outside++] = values[entry];
        }
    }
}
#endif
