// Incomplete sparse approximate inverses: every row of the inverse from a system of its own, solved by a thread.
//
// Definitions: T, the type of values.

#define A ARITH(T)
#define Real REAL(A)

// The system of a row, as large as the row is long, and its right-hand side behind it; those of other threads lie between.
typedef struct {
    u32 size;
    u64 apart;
    GLOBAL A *numbers;
} System;

#define ENTRY(s, i, j) s.numbers[((u64)(i) * (s.size + 1) + (j)) * s.apart]

// The transposed matrix in the rows and columns that a row of the inverse has, and the unit vector of that row.
FUNCTION void gather(System s, u64 row, GLOBAL const u32 *own, GLOBAL const u64 *offsets, GLOBAL const u32 *columns,
                     GLOBAL const T *values) {
    for (u32 i = 0; i < s.size; i++) {
        for (u32 j = 0; j < s.size; j++)
            ENTRY(s, i, j) = 0;
        ENTRY(s, i, s.size) = own[i] == row ? OF_REAL(A, 1) : (A)0;
    }
    for (u32 i = 0; i < s.size; i++) {
        u64 at = offsets[own[i]], end = offsets[own[i] + 1];
        for (u32 j = 0; j < s.size && at < end;) {
            if (columns[at] == own[j]) {
                ENTRY(s, j, i) = LOAD(T, values, at);
                at++;
                j++;
            } else if (columns[at] < own[j])
                at++;
            else
                j++;
        }
    }
}

FUNCTION u32 pivot_of(System s, u32 k) {
    u32 pivot = k;
    Real largest = MAGNITUDE(A, ENTRY(s, k, k));
    for (u32 i = k + 1; i < s.size; i++) {
        Real magnitude = MAGNITUDE(A, ENTRY(s, i, k));
        if (magnitude > largest) {
            largest = magnitude;
            pivot = i;
        }
    }
    return pivot;
}

// Gaussian elimination with partial pivoting; without a pivot what follows is not finite.
FUNCTION void eliminate(System s) {
    for (u32 k = 0; k < s.size; k++) {
        u32 pivot = pivot_of(s, k);
        for (u32 j = k; pivot != k && j <= s.size; j++) {
            A other = ENTRY(s, pivot, j);
            ENTRY(s, pivot, j) = ENTRY(s, k, j);
            ENTRY(s, k, j) = other;
        }
        A inverse = OVER(A, OF_REAL(A, 1), ENTRY(s, k, k));
        for (u32 i = k + 1; i < s.size; i++) {
            A factor = MULTIPLY(A, ENTRY(s, i, k), inverse);
            if (IS_ZERO(A, factor))
                continue;
            for (u32 j = k + 1; j <= s.size; j++)
                ENTRY(s, i, j) -= MULTIPLY(A, factor, ENTRY(s, k, j));
        }
    }
}

FUNCTION void substitute(System s) {
    for (u32 i = s.size; i-- > 0;) {
        A left = ENTRY(s, i, s.size);
        for (u32 j = i + 1; j < s.size; j++)
            left -= MULTIPLY(A, ENTRY(s, i, j), ENTRY(s, j, s.size));
        ENTRY(s, i, s.size) = OVER(A, left, ENTRY(s, i, i));
    }
}

KERNEL isai_rows(u64 rows, CSR(T, values), GLOBAL const u64 *RESTRICT starts,
                 GLOBAL const u32 *RESTRICT pattern, GLOBAL A *rooms, GLOBAL T *RESTRICT out) {
    for (u64 row = thread_of_grid(); row < rows; row += threads_of_grid()) {
        u64 first = starts[row];
        System s = {(u32)(starts[row + 1] - first), threads_of_grid(), rooms + thread_of_grid()};
        gather(s, row, pattern + first, offsets, columns, values);
        eliminate(s);
        substitute(s);
        for (u32 i = 0; i < s.size; i++)
            STORE(A, T, out, first + i, ENTRY(s, i, s.size));
    }
}
