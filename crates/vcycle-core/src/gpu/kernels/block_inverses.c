// Blocks on the diagonal of a matrix and their inverses, as precond/block_jacobi.rs has them.
//
// Definitions: T, the type of the matrix, and ACC, its arithmetic; S, a type inverses are stored in; SIZE, a
// power of two that no block exceeds.

// Few threads: what blocks of 32 rows have in local memory together is 32 KiB then.
#pragma block 128

#define FINITE(value) ((value) - (value) == 0)
#define ABS(value) ((value) < 0 ? -(value) : (value))
#define ACCURACY 0.1
#define FULL 0
#define SINGLE 1
#define HALF 2

// Whether each row has the pattern of the one before.
KERNEL blocks_alike(u64 rows, GRAPH, GLOBAL u32 *RESTRICT alike) {
    FOR_ITEMS(row, rows) {
        const u64 begin = offsets[row], length = offsets[row + 1] - begin;
        bool same = row > 0 && begin - offsets[row - 1] == length;
        for (u64 k = begin; same && k < begin + length; k++)
            same = columns[k] == columns[k - length];
        alike[row] = same;
    }
}

// Where the next block begins if one begins at a row; one begins at the first.
KERNEL blocks_next(u64 rows, u32 most, GLOBAL const u32 *RESTRICT alike, GLOBAL u32 *RESTRICT next,
                   GLOBAL u32 *RESTRICT begins) {
    FOR_ITEMS(row, rows) {
        u64 begin = row, end = row;
        while (end < rows && end - row <= most) {
            begin = end++;
            while (end < rows && end < begin + most && alike[end])
                end++;
        }
        next[row] = (u32)(end - row <= most ? end : begin);
        begins[row] = row == 0;
    }
}

// From the first 2^k blocks to the first 2^(k+1); `next` is 2^k blocks further on, then twice as many.
KERNEL blocks_follow(u64 rows, GLOBAL const u32 *RESTRICT next, GLOBAL u32 *RESTRICT after,
                     GLOBAL u32 *begins) {
    FOR_ITEMS(row, rows) {
        const u32 there = next[row];
        if (there < rows && begins[row])
            begins[there] = 1;
        after[row] = there < rows ? next[there] : there;
    }
}

// The first row of every block, at the end the number of rows, and the block of every row.
KERNEL blocks_list(u64 rows, GLOBAL const u64 *RESTRICT numbers, GLOBAL u32 *RESTRICT blocks,
                   GLOBAL u32 *RESTRICT starts) {
    FOR_ITEMS(row, rows + 1) {
        const u64 number = numbers[row];
        if (row == rows || numbers[row + 1] > number)
            starts[number] = (u32)row;
        if (row < rows)
            blocks[row] = (u32)numbers[row + 1] - 1;
    }
}

// The largest of the values of SIZE neighbours; all threads of the block come here.
FUNCTION f64 team_largest(f64 value, LOCAL f64 *scratch) {
    BARRIER();
    scratch[thread_of_block()] = value;
    BARRIER();
    const u32 first = thread_of_block() & ~(u32)(SIZE - 1);
    f64 largest = scratch[first];
    for (u32 k = 1; k < SIZE; k++)
        largest = scratch[first + k] > largest ? scratch[first + k] : largest;
    return largest;
}

// Whether a precision leaves one digit of an inverse right.
FUNCTION bool fits(f64 norm, f64 size, f64 unit, f64 error) {
    const f64 relative = error / size > unit ? error / size : unit;
    return norm * size * relative < ACCURACY;
}

// Sums of a column: of sizes, and of what storing in half and single precision changes.
typedef struct {
    f64 size, half_error, single_error;
} Sums;

FUNCTION Sums column_sums(LOCAL const ACC *column, u32 n) {
    Sums sums = {0, 0, 0};
    for (u32 i = 0; i < n; i++) {
        const ACC value = column[i * SIZE];
        const f64 half_error = (f64)(value - ROUND(ACC, f16, value));
        const f64 single_error = (f64)(value - (ACC)ROUND(ACC, f32, value));
        sums.size += ABS((f64)value);
        sums.half_error += ABS(half_error);
        sums.single_error += ABS(single_error);
    }
    return sums;
}

// A step of Gauss-Jordan elimination in place, a thread a column; all threads of the block come here. The row
// that became row `step`.
FUNCTION u32 eliminate(u32 step, u32 n, u32 lane, LOCAL ACC *a, LOCAL ACC *factors) {
    u32 pivot = step;
    for (u32 i = step + 1; i < n; i++)
        if (ABS(a[i * SIZE + step]) > ABS(a[pivot * SIZE + step]))
            pivot = i;
    const bool acts = step < n && lane < n;
    const ACC inverse = acts ? 1 / a[pivot * SIZE + step] : 0;
    if (acts)
        factors[lane] = a[(lane == pivot ? step : lane) * SIZE + step];
    BARRIER();
    if (acts) {
        LOCAL ACC *column = a + lane;
        const ACC own = lane == step ? inverse : column[pivot * SIZE] * inverse;
        column[pivot * SIZE] = column[step * SIZE];
        for (u32 i = 0; i < n; i++)
            column[i * SIZE] = i == step ? own : (lane == step ? 0 : column[i * SIZE]) - factors[i] * own;
    }
    BARRIER();
    return pivot;
}

// The inverse of every block in turn for SIZE threads, `most * most` numbers apart, and its precision. Blocks
// are transposed before and after. `found` is the first row of the first that is singular, then how many blocks
// have which precision.
KERNEL block_inverses(u64 count, u32 most, u32 adaptive, GLOBAL const u32 *RESTRICT starts, CSR(T, values),
                      GLOBAL ACC *RESTRICT inverses, GLOBAL u32 *RESTRICT precisions,
                      GLOBAL u32 *found) {
    LOCAL_ARRAY(ACC, memory, BLOCK * SIZE);
    LOCAL_ARRAY(ACC, all_factors, BLOCK);
    LOCAL_ARRAY(f64, scratch, BLOCK);
    LOCAL_ARRAY(u32, all_pivots, BLOCK);
    const u32 lane = thread_of_block() % SIZE, team = thread_of_block() / SIZE;
    LOCAL ACC *a = memory + team * SIZE * SIZE, *factors = all_factors + team * SIZE;
    LOCAL u32 *pivots = all_pivots + team * SIZE;
    for (u64 first = (u64)block_of_grid() * (BLOCK / SIZE); first < count;
         first += (u64)blocks_of_grid() * (BLOCK / SIZE)) {
        const u64 block = first + team;
        const u32 start = block < count ? starts[block] : 0;
        const u32 n = block < count ? starts[block + 1] - start : 0;
        for (u32 i = 0; lane < n && i < n; i++)
            a[i * SIZE + lane] = 0;
        for (u64 k = lane < n ? offsets[start + lane] : 0; lane < n && k < offsets[start + lane + 1]; k++)
            if (columns[k] - start < n)
                a[(columns[k] - start) * SIZE + lane] = LOAD(T, values, k);
        const f64 norm = team_largest(lane < n ? column_sums(a + lane, n).size : 0, scratch);
        for (u32 step = 0; step < SIZE; step++) {
            const u32 pivot = eliminate(step, n, lane, a, factors);
            if (lane == 0)
                pivots[step] = pivot;
        }
        BARRIER();
        u32 place = lane;
        bool finite = true;
        for (u32 step = n; lane < n && step-- > 0;)
            place = place == step ? pivots[step] : place == pivots[step] ? step : place;
        for (u32 i = 0; lane < n && i < n; i++) {
            finite = finite && FINITE(ROUND(ACC, T, a[i * SIZE + lane]));
            inverses[block * most * most + i * n + place] = a[i * SIZE + lane];
        }
        if (!finite)
            ATOMIC_MIN(found, start);
        const Sums sums = column_sums(a + lane, lane < n ? n : 0);
        const f64 size = team_largest(sums.size, scratch);
        const f64 half_error = team_largest(sums.half_error, scratch);
        const f64 single_error = team_largest(sums.single_error, scratch);
        if (lane == 0 && n > 0) {
            u32 precision = FULL;
            if (adaptive && sizeof(T) > 2 && fits(norm, size, 1.0 / (1 << 11), half_error))
                precision = HALF;
            else if (adaptive && sizeof(T) > 4 && fits(norm, size, 1.0 / (1 << 24), single_error))
                precision = SINGLE;
            precisions[block] = precision;
            ATOMIC_ADD(found + 1 + precision, 1);
        }
    }
}

// Numbers of the blocks of a precision, none of the others.
KERNEL blocks_sizes(u64 count, u32 precision, GLOBAL const u32 *RESTRICT starts,
                    GLOBAL const u32 *RESTRICT precisions, GLOBAL u32 *RESTRICT sizes) {
    FOR_ITEMS(block, count) {
        const u32 n = starts[block + 1] - starts[block];
        sizes[block] = precisions[block] == precision ? n * n : 0;
    }
}

// Stores the inverses of a precision, and where they are.
KERNEL blocks_store(u64 count, u32 most, u32 precision, GLOBAL const u32 *RESTRICT starts,
                    GLOBAL const u32 *RESTRICT precisions, GLOBAL const ACC *RESTRICT inverses,
                    GLOBAL const u64 *RESTRICT offsets, GLOBAL S *RESTRICT out,
                    GLOBAL u64 *RESTRICT places) {
    const u32 room = most * most;
    FOR_ITEMS(i, count * room) {
        const u64 block = i / room, offset = offsets[block];
        const u32 k = (u32)(i % room), n = starts[block + 1] - starts[block];
        if (precisions[block] != precision || k >= n * n)
            continue;
        STORE(ACC, S, out, offset + k, inverses[i]);
        if (k == 0)
            places[block] = 4 * offset + precision;
    }
}
