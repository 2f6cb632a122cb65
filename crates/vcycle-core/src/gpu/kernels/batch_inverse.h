// Preconditioners of many small systems, set up and applied by the block that has the system.
//
// Definitions: INVERSE, one of
#define NONE 0
#define JACOBI 1
#define BLOCKS 2
#define ILU 3
#define ISAI 4
// Rows of a block at most.
#define MOST_OF_BLOCK 32

// Rows in the order in which they can be eliminated, then in which they can be substituted backwards: those between two
// `starts` at once. Blocks have `size` rows; `below` is the most entries that a row has left of its diagonal.
typedef struct {
    u32 size, below, forward, backward;
    GLOBAL const u32 *order, *starts;
    SPACE A *factors;
    // Of ISAI: systems of rows, one a thread.
    GLOBAL A *room;
    LOCAL u32 *missing;
} Inverse;

#if INVERSE == NONE
FUNCTION void prepare(Inverse m, Matrix a) {}

FUNCTION void apply(Inverse m, Matrix a, LOCAL const A *r, LOCAL A *z) {
    u32 rows = a.rows;
    FOR_ROWS(row) z[row] = r[row];
}
#elif INVERSE == JACOBI
FUNCTION void prepare(Inverse m, Matrix a) {
    u32 rows = a.rows;
    FOR_ROWS(row) {
        u32 slot = a.diagonal[row];
        A pivot = slot < a.width ? LOAD(T, a.values, slot * rows + row) : (A)0;
        m.factors[row] = inverse_of(pivot);
        if (IS_ZERO(A, pivot))
            ATOMIC_MIN(m.missing, row);
    }
}

// A thread reads what it wrote.
FUNCTION void apply(Inverse m, Matrix a, LOCAL const A *r, LOCAL A *z) {
    u32 rows = a.rows;
    FOR_ROWS(row) z[row] = MULTIPLY(A, m.factors[row], r[row]);
}
#elif INVERSE == BLOCKS
// Of a block that begins at `first`: entry (i, j) of its inverse.
#define ENTRY(i, j) m.factors[(j) * rows + first + (i)]

// Gauss-Jordan elimination with partial pivoting, in place (a thread a block). The column that has no pivot, or `n`.
FUNCTION u32 invert_block(Inverse m, u32 rows, u32 first, u32 n) {
    u32 pivots[MOST_OF_BLOCK];
    for (u32 k = 0; k < n; k++) {
        u32 pivot = k;
        for (u32 i = k + 1; i < n; i++)
            pivot = MAGNITUDE(A, ENTRY(i, k)) > MAGNITUDE(A, ENTRY(pivot, k)) ? i : pivot;
        pivots[k] = pivot;
        A value = ENTRY(pivot, k);
        if (!is_pivot(value))
            return k;
        for (u32 j = 0; j < n; j++) {
            A own = ENTRY(pivot, j);
            ENTRY(pivot, j) = ENTRY(k, j);
            ENTRY(k, j) = OVER(A, j == k ? OF_REAL(A, 1) : own, value);
        }
        for (u32 i = 0; i < n; i++) {
            A factor = ENTRY(i, k);
            for (u32 j = 0; i != k && j < n; j++)
                ENTRY(i, j) = (j == k ? (A)0 : ENTRY(i, j)) - MULTIPLY(A, factor, ENTRY(k, j));
        }
    }
    for (u32 k = n; k-- > 0;)
        for (u32 i = 0; i < n; i++) {
            A own = ENTRY(i, k);
            ENTRY(i, k) = ENTRY(i, pivots[k]);
            ENTRY(i, pivots[k]) = own;
        }
    return n;
}

FUNCTION void prepare(Inverse m, Matrix a) {
    u32 rows = a.rows;
    FOR_ROWS(row) {
        u32 first = row / m.size * m.size;
        for (u32 j = 0; j < m.size; j++)
            m.factors[j * rows + row] = 0;
        for (u32 at = row, slot = 0; slot < a.lengths[row]; slot++, at += rows)
            if (a.columns[at] - first < m.size)
                m.factors[(a.columns[at] - first) * rows + row] = LOAD(T, a.values, at);
    }
    BARRIER();
    for (u32 first = thread_of_block() * m.size; first < rows; first += BLOCK * m.size) {
        u32 n = rows - first < m.size ? rows - first : m.size;
        u32 column = invert_block(m, rows, first, n);
        if (column < n)
            ATOMIC_MIN(m.missing, first + column);
    }
}

FUNCTION void apply(Inverse m, Matrix a, LOCAL const A *r, LOCAL A *z) {
    u32 rows = a.rows;
    BARRIER();
    FOR_ROWS(row) {
        A sum = 0;
        for (u32 k = row / m.size * m.size, j = 0; j < m.size && k < rows; j++, k++)
            sum += MULTIPLY(A, m.factors[j * rows + row], r[k]);
        z[row] = sum;
    }
    BARRIER();
}
#elif INVERSE == ILU
// The value right of the diagonal of a row in a column; zero where there is none.
FUNCTION A behind_diagonal(Inverse m, Matrix a, u32 row, u32 column) {
    for (u32 slot = a.diagonal[row] + 1; slot < a.lengths[row]; slot++)
        if (a.columns[slot * a.rows + row] == column)
            return m.factors[slot * a.rows + row];
    return 0;
}

// Entries of rows that do not depend on each other, a thread each: what is left of the diagonal, one slot after the other, is
// eliminated. It is divided by its pivot at the end, and pivots are replaced by their inverses.
FUNCTION void eliminate(Inverse m, Matrix a, GLOBAL const u32 *of_level, u32 count) {
    u32 rows = a.rows, width = a.width;
    for (u32 slot = 0; slot < m.below; slot++) {
        BARRIER();
        for (u32 item = thread_of_block(); item < count * width; item += BLOCK) {
            u32 row = of_level[item / width], at = item % width;
            if (slot >= a.diagonal[row] || at <= slot || at >= a.lengths[row])
                continue;
            u32 above = a.columns[slot * rows + row];
            A factor = MULTIPLY(A, m.factors[slot * rows + row], m.factors[a.diagonal[above] * rows + above]);
            A behind = behind_diagonal(m, a, above, a.columns[at * rows + row]);
            m.factors[at * rows + row] -= MULTIPLY(A, factor, behind);
        }
    }
    BARRIER();
    for (u32 item = thread_of_block(); item < count; item += BLOCK) {
        u32 row = of_level[item], on_diagonal = a.diagonal[row];
        for (u32 slot = 0; slot < on_diagonal; slot++) {
            u32 above = a.columns[slot * rows + row];
            A inverse = m.factors[a.diagonal[above] * rows + above];
            m.factors[slot * rows + row] = MULTIPLY(A, m.factors[slot * rows + row], inverse);
        }
        A pivot = m.factors[on_diagonal * rows + row];
        if (!is_pivot(pivot))
            ATOMIC_MIN(m.missing, row);
        m.factors[on_diagonal * rows + row] = inverse_of(pivot);
    }
}

FUNCTION void prepare(Inverse m, Matrix a) {
    u32 rows = a.rows;
    FOR_ROWS(row) {
        for (u32 at = row, slot = 0; slot < a.width; slot++, at += rows)
            m.factors[at] = LOAD(T, a.values, at);
        if (a.diagonal[row] >= a.width)
            ATOMIC_MIN(m.missing, row);
    }
    BARRIER();
    if (*m.missing < rows)
        return;
    for (u32 level = 0; level < m.forward; level++)
        eliminate(m, a, m.order + m.starts[level], m.starts[level + 1] - m.starts[level]);
}

// `value` less what entries of a row in slots before `end` bring.
FUNCTION A substituted(Inverse m, Matrix a, u32 row, u32 slot, u32 end, LOCAL const A *z, A value) {
    for (u32 at = slot * a.rows + row; slot < end; slot++, at += a.rows)
        value -= MULTIPLY(A, m.factors[at], z[a.columns[at]]);
    return value;
}

FUNCTION void apply(Inverse m, Matrix a, LOCAL const A *r, LOCAL A *z) {
    u32 rows = a.rows;
    BARRIER();
    for (u32 level = 0; level < m.forward + m.backward; level++) {
        // Those backwards have a start more.
        bool is_forward = level < m.forward;
        GLOBAL const u32 *start = m.starts + level + (is_forward ? 0 : 1);
        for (u32 at = start[0] + thread_of_block(); at < start[1]; at += BLOCK) {
            u32 row = m.order[at], on_diagonal = a.diagonal[row];
            if (is_forward)
                z[row] = substituted(m, a, row, 0, on_diagonal, z, r[row]);
            else
                z[row] = MULTIPLY(A, substituted(m, a, row, on_diagonal + 1, a.lengths[row], z, z[row]),
                                  m.factors[on_diagonal * rows + row]);
        }
        BARRIER();
    }
}
#else
// Threads lie side by side in their room.
#define LOCALLY(i, j) room[((i) * (n + 1) + (j)) * BLOCK]

// The transposed submatrix in the columns J of a row, and the unit vector of the row behind it.
FUNCTION void gather(Matrix a, u32 row, GLOBAL A *room) {
    u32 rows = a.rows, n = a.lengths[row];
    for (u32 i = 0; i < n; i++) {
        u32 other = a.columns[i * rows + row], slot = 0;
        for (u32 j = 0; j < n; j++) {
            u32 column = a.columns[j * rows + row];
            while (slot < a.lengths[other] && a.columns[slot * rows + other] < column)
                slot++;
            bool is_there = slot < a.lengths[other] && a.columns[slot * rows + other] == column;
            LOCALLY(j, i) = is_there ? LOAD(T, a.values, slot * rows + other) : (A)0;
        }
        LOCALLY(i, n) = OF_REAL(A, other == row);
    }
}

// m A(J, J) = e by elimination with partial pivoting; whether it has a solution, which is left behind the submatrix.
FUNCTION bool solve_row(u32 n, GLOBAL A *room) {
    for (u32 k = 0; k < n; k++) {
        u32 pivot = k;
        for (u32 i = k + 1; i < n; i++)
            pivot = MAGNITUDE(A, LOCALLY(i, k)) > MAGNITUDE(A, LOCALLY(pivot, k)) ? i : pivot;
        A value = LOCALLY(pivot, k);
        if (!is_pivot(value))
            return false;
        for (u32 j = k; j <= n; j++) {
            A own = LOCALLY(pivot, j);
            LOCALLY(pivot, j) = LOCALLY(k, j);
            LOCALLY(k, j) = own;
        }
        for (u32 i = k + 1; i < n; i++) {
            A factor = OVER(A, LOCALLY(i, k), value);
            for (u32 j = k + 1; j <= n; j++)
                LOCALLY(i, j) -= MULTIPLY(A, factor, LOCALLY(k, j));
        }
    }
    for (u32 k = n; k-- > 0;) {
        A value = OVER(A, LOCALLY(k, n), LOCALLY(k, k));
        LOCALLY(k, n) = value;
        for (u32 i = 0; i < k; i++)
            LOCALLY(i, n) -= MULTIPLY(A, LOCALLY(i, k), value);
    }
    return true;
}

FUNCTION void prepare(Inverse m, Matrix a) {
    u32 rows = a.rows;
    GLOBAL A *room = m.room + thread_of_block();
    FOR_ROWS(row) {
        u32 n = a.lengths[row];
        gather(a, row, room);
        if (a.diagonal[row] >= a.width || !solve_row(n, room))
            ATOMIC_MIN(m.missing, row);
        for (u32 at = row, slot = 0; slot < a.width; slot++, at += rows)
            m.factors[at] = slot < n ? LOCALLY(slot, n) : (A)0;
    }
}

FUNCTION void apply(Inverse m, Matrix a, LOCAL const A *r, LOCAL A *z) {
    u32 rows = a.rows;
    BARRIER();
    FOR_ROWS(row) {
        A sum = 0;
        for (u32 at = row, slot = 0; slot < a.width; slot++, at += rows)
            sum += MULTIPLY(A, m.factors[at], r[a.columns[at]]);
        z[row] = sum;
    }
    BARRIER();
}
#endif

// Sets up the inverse; the first row without a pivot, or the number of rows.
FUNCTION u32 set_up(Inverse m, Matrix a) {
    if (thread_of_block() == 0)
        *m.missing = a.rows;
    BARRIER();
    prepare(m, a);
    BARRIER();
    return *m.missing;
}
