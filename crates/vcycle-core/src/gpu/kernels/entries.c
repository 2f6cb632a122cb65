// Entries of sparse matrices: checks, and numbers for every row or of all of them.
//
// Definitions: T the type of the values; S of those that are made of them.
#pragma default T f64
#pragma default S T

#define NOWHERE 0xffffffffu
// Threads of a row, as `setup/entries.rs` has it.
#define SHARES 4
// The arithmetic type of values, and of their sizes.
#define A ARITH(T)
#define SIZE_OF REAL(A)
#define FINITE(B, value) (MAGNITUDE(B, value) - MAGNITUDE(B, value) == 0)
#if IS_COMPLEX(A)
FUNCTION SIZE_OF ABS(A value) { return SQUARE_ROOT(SIZE_OF, REAL_PART(A, SQUARE(A, value))); }
#else
#define ABS(value) ((value) < 0 ? -(value) : (value))
#endif
// What is no number is larger than all that are.
#define LARGER(a, b) ((a) != (a) || (b) <= (a) ? (a) : (b))

// Values in another type; unless `found` is null, whether any is no number then.
KERNEL convert(u64 n, GLOBAL const T *RESTRICT values, GLOBAL S *RESTRICT out, GLOBAL u32 *found) {
    bool finite = true;
    FOR_ITEMS(i, n) {
        const A value = LOAD(T, values, i);
        STORE(A, S, out, i, value);
        const ARITH(S) rounded = ROUND(A, S, value);
        finite = finite && FINITE(ARITH(S), rounded);
    }
    if (found && !finite)
        *found = 1;
}

KERNEL scale(u64 n, A factor, GLOBAL const T *RESTRICT values, GLOBAL T *RESTRICT out) {
    FOR_ITEMS(i, n) STORE(A, T, out, i, MULTIPLY(A, factor, LOAD(T, values, i)));
}

KERNEL conjugate(u64 n, GLOBAL T *values) {
    FOR_ITEMS(i, n) STORE(A, T, values, i, CONJ(A, LOAD(T, values, i)));
}

// Whether words differ.
KERNEL compare(u64 n, GLOBAL const u32 *RESTRICT a, GLOBAL const u32 *RESTRICT b, GLOBAL u32 *differ) {
    u32 mine = 0;
    FOR_ITEMS(i, n) mine |= a[i] != b[i];
    if (mine)
        *differ = 1;
}

// Whether any value is no number.
KERNEL check_values(u64 n, GLOBAL const T *RESTRICT values, GLOBAL u32 *found) {
    bool finite = true;
    FOR_ITEMS(i, n) finite = finite && FINITE(A, LOAD(T, values, i));
    if (!finite)
        *found = 1;
}

// The first row that has an entry that is no number.
KERNEL check_rows(SIZED_CSR(T, values), GLOBAL u32 *first) {
    FOR_ITEMS(row, rows) {
        bool finite = true;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; ++entry)
            finite = finite && FINITE(A, LOAD(T, values, entry));
        if (!finite)
            ATOMIC_MIN(&first[0], row);
    }
}

// Whether any row has no entries.
KERNEL check_empty(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *found) {
    FOR_ITEMS(row, rows)
        if (offsets[row] == offsets[row + 1])
            *found = 1;
}

// The first row that has no entries of its own, or columns that do not increase or are out of range.
KERNEL check_order(u64 rows, u32 cols, u64 entries, GLOBAL const u64 *RESTRICT offsets,
                   GLOBAL const u32 *RESTRICT columns, GLOBAL u32 *first) {
    FOR_ITEMS(row, rows)
        if (offsets[row] > offsets[row + 1] || offsets[row + 1] > entries)
            ATOMIC_MIN(&first[0], row);
        else
            for (u64 entry = offsets[row]; entry < offsets[row + 1]; ++entry)
                if (columns[entry] >= cols ||
                    (entry > offsets[row] && columns[entry - 1] >= columns[entry]))
                    ATOMIC_MIN(&first[0], row);
}

// The first row that begins elsewhere than at its own number: without any all have one entry.
KERNEL check_single(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *first) {
    FOR_ITEMS(row, rows + 1)
        if (offsets[row] != row)
            ATOMIC_MIN(&first[0], row);
}

KERNEL diagonal(SIZED_CSR(T, values), GLOBAL T *RESTRICT out) {
    FOR_ITEMS(row, rows) {
        const u64 place = place_in(columns, offsets[row], offsets[row + 1], (u32)row);
        STORE(A, T, out, row, place < offsets[row + 1] ? LOAD(T, values, place) : (A)0);
    }
}

// The sizes of all entries, with the other sign beside the diagonal: what strength and coarsening look
// at.
KERNEL magnitudes(SIZED_CSR(T, values), GLOBAL f64 *RESTRICT out) {
    FOR_ITEMS(row, rows)
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; ++entry) {
            const f64 size = ABS(LOAD(T, values, entry));
            out[entry] = columns[entry] == row ? size : -size;
        }
}

// Rows that SHARES neighbours share, with all threads of a block: `row` may be beyond the last.
#define FOR_SHARED_ROWS(row, rows)                                                                 \
    for (u64 first_ = (u64)block_of_grid() * (BLOCK / SHARES), row;                                \
         first_ < (rows) && (row = first_ + thread_of_block() / SHARES, true);                     \
         first_ += (u64)blocks_of_grid() * (BLOCK / SHARES))
#define FOR_SHARED_ENTRIES(entry, row, rows)                                                       \
    for (u64 entry = (row) < (rows) ? offsets[row] + thread_of_block() % SHARES : 0,               \
             end_ = (row) < (rows) ? offsets[(row) + 1] : 0;                                       \
         entry < end_; entry += SHARES)

// weight / d_i, with the diagonal or (`sums`) the sums of absolute values of rows as d; the first row
// where d is zero, and the first where the inverse is no number.
// Row 0 has its diagonal entry in column `diagonal`: columns of other ranks may come before it.
KERNEL invert(SIZED_CSR(T, values), u32 diagonal, u32 sums, A weight, GLOBAL T *RESTRICT out,
              GLOBAL u32 *first) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    FOR_SHARED_ROWS(row, rows) {
        A d = 0;
        FOR_SHARED_ENTRIES(entry, row, rows) {
            if (sums)
                d += OF_REAL(A, ABS(LOAD(T, values, entry)));
            else if (columns[entry] == diagonal + row)
                d = LOAD(T, values, entry);
        }
        d = TILE_SUM(A, d, SHARES, scratch);
        if (row >= rows || thread_of_block() % SHARES != 0)
            continue;
        const A inverse = ROUND(A, T, MULTIPLY(A, weight, OVER(A, OF_REAL(A, 1), d)));
        STORE(A, T, out, row, inverse);
        if (IS_ZERO(A, d))
            ATOMIC_MIN(&first[0], row);
        if (!FINITE(A, inverse))
            ATOMIC_MIN(&first[1], row);
    }
}

// The square root of an entry of the diagonal, zero where there is none.
FUNCTION f64 root_of_diagonal(GLOBAL const u64 *offsets, GLOBAL const u32 *columns,
                              GLOBAL const T *values, u64 row) {
    const u64 end = offsets[row + 1], place = place_in(columns, offsets[row], end, (u32)row);
    const A d = place < end ? LOAD(T, values, place) : (A)0;
    return SQUARE_ROOT(f64, (f64)ABS(d));
}

// The first row with an entry unlike the conjugate one at the mirrored position, and the first whose
// diagonal is not positive. Neighbouring threads share a row, SHARES of them.
KERNEL check_symmetry(SIZED_CSR(T, values), SIZE_OF tolerance, SIZE_OF cancelled, GLOBAL u32 *first) {
    FOR_ITEMS(item, rows * SHARES) {
        const u64 row = item / SHARES, own = offsets[row], next = offsets[row + 1];
        for (u64 entry = own + item % SHARES; entry < next; entry += SHARES) {
            const u32 column = columns[entry];
            const A value = LOAD(T, values, entry);
            // In rows of a stencil the first entry has its opposite in the last place, and so on.
            const u64 begin = offsets[column], end = offsets[column + 1];
            const u64 guess = end - 1 - min(entry - own, end - begin - (end > begin));
            const u64 place = begin < end && columns[guess] == row
                                  ? guess
                                  : place_in(columns, begin, end, (u32)row);
            const A other = place < end ? CONJ(A, LOAD(T, values, place)) : (A)0;
            const SIZE_OF a = ABS(value), b = ABS(other), apart = ABS(value - other);
            if (apart > tolerance * (a > b ? a : b) &&
                apart > cancelled * root_of_diagonal(offsets, columns, values, row) *
                            root_of_diagonal(offsets, columns, values, column))
                ATOMIC_MIN(&first[0], row);
        }
        if (item % SHARES == 0) {
            const u64 place = place_in(columns, own, next, (u32)row);
            if (place == next || !(REAL_PART(A, LOAD(T, values, place)) > 0))
                ATOMIC_MIN(&first[1], row);
        }
    }
}

// The largest absolute value, the smallest one of the diagonal that is not zero, and the largest sum
// of absolute values over that of the diagonal, which begins in column `diagonal`; `partials` are three for every block.
KERNEL extremes(SIZED_CSR(T, values), u32 diagonal, GLOBAL f64 *partials, GLOBAL u32 *counter,
                GLOBAL f64 *RESTRICT out) {
    LOCAL_ARRAY(f64, scratch, 3 * BLOCK);
    LOCAL_ARRAY(f64, sums, BLOCK);
    const u32 thread = thread_of_block();
    f64 largest = 0, smallest = 1.0 / 0.0, bound = 0;
    FOR_SHARED_ROWS(row, rows) {
        f64 sum = 0, own = 0;
        FOR_SHARED_ENTRIES(entry, row, rows) {
            const f64 value = ABS(LOAD(T, values, entry));
            sum += value;
            largest = LARGER(largest, value);
            if (columns[entry] == diagonal + row)
                own = value;
        }
        sum = TILE_SUM(f64, sum, SHARES, sums);
        own = TILE_SUM(f64, own, SHARES, sums);
        if (own > 0 && own < smallest)
            smallest = own;
        // Few rows need the quotient, which takes long.
        if (row < rows && !(sum <= bound * own))
            bound = max(bound, sum / own);
    }
    for (u32 turn = 0; turn < 2; ++turn) {
        scratch[thread] = largest;
        scratch[BLOCK + thread] = smallest;
        scratch[2 * BLOCK + thread] = bound;
        for (u32 distance = BLOCK / 2; distance > 0; distance /= 2) {
            BARRIER();
            if (thread < distance) {
                const f64 other = scratch[thread + distance];
                scratch[thread] = LARGER(scratch[thread], other);
                scratch[BLOCK + thread] =
                    min(scratch[BLOCK + thread], scratch[BLOCK + thread + distance]);
                scratch[2 * BLOCK + thread] =
                    max(scratch[2 * BLOCK + thread], scratch[2 * BLOCK + thread + distance]);
            }
        }
        BARRIER();
        if (turn == 1)
            break;
        if (thread < 3)
            partials[3 * block_of_grid() + thread] = scratch[thread * BLOCK];
        if (!LAST_BLOCK(counter, sums))
            return;
        largest = 0, smallest = 1.0 / 0.0, bound = 0;
        for (u32 block = thread; block < blocks_of_grid(); block += BLOCK) {
            largest = LARGER(largest, partials[3 * block]);
            smallest = min(smallest, partials[3 * block + 1]);
            bound = max(bound, partials[3 * block + 2]);
        }
    }
    if (thread < 3)
        out[thread] = scratch[thread * BLOCK];
}
