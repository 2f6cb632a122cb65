// Many small systems A x = b of one pattern whose entries are at most HALF beside the diagonal: a thread factorises a system
// with partial pivoting, in registers. A block has SYSTEMS neighbouring ones; all its threads load chunks of their rows.
//
// Definitions: T, the type of values; HALF; CHUNK, rows of a system in local memory, a power of two.

#define SYSTEMS 32
// Entries of a row of the matrix, and of U once rows were exchanged.
#define WIDE (2 * HALF + 1)
// Those of U, its pivot inverted, and the right-hand side.
#define STORED (WIDE + 1)
// Rows of a guess that products with a chunk read.
#define REACH (CHUNK + 2 * HALF)
#define NOWHERE 0xffffffffu
#define FOR_LANES(turn, system)                                                                    \
    FOR(turn, (SYSTEMS * CHUNK + BLOCK - 1) / BLOCK)                                               \
    for (u32 system = thread_of_block() / CHUNK + turn * (BLOCK / CHUNK), once = 1;                \
         once && system < SYSTEMS; once = 0)

// The systems of a block, from `first` on. Where values of a row stand is told by `places`, diagonal after diagonal.
typedef struct {
    u32 systems, rows, first;
    u64 values_of_one;
    GLOBAL const u32 *places;
    GLOBAL const T *values, *bs;
    GLOBAL T *xs;
    // Rows of U of all, STORED apart, systems side by side.
    GLOBAL A *upper;
    // A chunk of all that: rows of a system side by side, with one more between systems.
    LOCAL A *bands, *sides, *guesses, *chunk_of_upper;
} Group;

#define BAND(g, d, system, r) g.bands[((d) * SYSTEMS + (system)) * (CHUNK + 1) + (r)]
#define ROW_OF_SIDE(g, system, r) g.sides[(system) * (CHUNK + 1) + (r)]
#define ROW_OF_GUESS(g, system, r) g.guesses[(system) * (REACH + 1) + (r)]

// Rows from `row` on, of solutions from HALF before that on. Where there are none, zeros.
FUNCTION void load(Group g, u32 chunk) {
    u32 r = thread_of_block() % CHUNK, row = chunk + r;
    A own[WIDE][(SYSTEMS * CHUNK + BLOCK - 1) / BLOCK];
    FOR(d, WIDE) {
        u32 place = row < g.rows ? g.places[d * g.rows + row] : NOWHERE;
        FOR_LANES(turn, system) {
            bool is_there = place != NOWHERE && g.first + system < g.systems;
            own[d][turn] = is_there ? LOAD(T, g.values, (g.first + system) * g.values_of_one + place) : (A)0;
        }
    }
    FOR_LANES(turn, system) {
        bool is_there = row < g.rows && g.first + system < g.systems;
        ROW_OF_SIDE(g, system, r) = is_there ? LOAD(T, g.bs, (u64)(g.first + system) * g.rows + row) : (A)0;
    }
    for (u32 item = thread_of_block(); item < SYSTEMS * REACH; item += BLOCK) {
        u32 system = item / REACH, near = chunk + item % REACH - HALF;
        bool is_there = near < g.rows && g.first + system < g.systems;
        ROW_OF_GUESS(g, system, item % REACH) =
            is_there ? LOAD(T, g.xs, (u64)(g.first + system) * g.rows + near) : (A)0;
    }
    FOR(d, WIDE)
    FOR_LANES(turn, system) BAND(g, d, system, r) = own[d][turn];
}

// Rows of U that belong to the solutions of a chunk.
FUNCTION void load_upper(Group g, u32 chunk) {
    UNROLL_4
    for (u32 item = thread_of_block(); item < CHUNK * STORED * SYSTEMS; item += BLOCK) {
        u32 row = chunk + item / (STORED * SYSTEMS) - HALF, part = item % (STORED * SYSTEMS);
        g.chunk_of_upper[item] = row < g.rows ? g.upper[(u64)row * STORED * SYSTEMS + part] : (A)0;
    }
}

FUNCTION void store_solutions(Group g, u32 chunk) {
    u32 r = thread_of_block() % CHUNK, row = chunk + r - HALF;
    FOR_LANES(turn, system) {
        if (row < g.rows && g.first + system < g.systems)
            STORE(A, T, g.xs, (u64)(g.first + system) * g.rows + row, ROW_OF_GUESS(g, system, r));
    }
}

// What remains of rows k to k + HALF in the columns from k on, and of their right-hand sides.
typedef struct {
    A rows[HALF + 1][STORED];
    // Sums of squares of right-hand sides and residuals.
    Real size, residual;
    // The first column without a pivot, or the number of rows.
    u32 column;
} Window;

// Brings the row of the largest entry to the top; gives the inverse of that, zero where there is none.
FUNCTION A pivoted(PRIVATE Window *w) {
    u32 pivot = 0;
    Real largest = MAGNITUDE(A, w->rows[0][0]);
    FOR(i, HALF) {
        Real size = MAGNITUDE(A, w->rows[i + 1][0]);
        if (size > largest) {
            largest = size;
            pivot = i + 1;
        }
    }
    FOR(i, HALF) {
        if (pivot == i + 1)
            FOR(j, STORED) {
                A own = w->rows[0][j];
                w->rows[0][j] = w->rows[i + 1][j];
                w->rows[i + 1][j] = own;
            }
    }
    return largest > 0 && is_finite(largest) ? inverse_of(w->rows[0][0]) : (A)0;
}

// Subtracts the top row from the others, which move up and to the left.
FUNCTION void eliminate(PRIVATE Window *w, A inverse) {
    A top[STORED];
    FOR(j, STORED) top[j] = w->rows[0][j];
    FOR(i, HALF) {
        A factor = MULTIPLY(A, w->rows[i + 1][0], inverse);
        FOR(j, WIDE - 1) w->rows[i][j] = w->rows[i + 1][j + 1] - MULTIPLY(A, factor, top[j + 1]);
        w->rows[i][WIDE - 1] = 0;
        w->rows[i][WIDE] = w->rows[i + 1][WIDE] - MULTIPLY(A, factor, top[WIDE]);
    }
}

// A row of the matrix at hand and what a guess leaves of its right-hand side become the last of the window.
FUNCTION void enter(PRIVATE Window *w, Group g, u32 lane, u32 r) {
    A side = ROW_OF_SIDE(g, lane, r), left = side;
    FOR(d, WIDE) {
        A value = BAND(g, d, lane, r);
        left -= MULTIPLY(A, value, ROW_OF_GUESS(g, lane, r + d));
        w->rows[HALF][d] = value;
    }
    w->rows[HALF][WIDE] = left;
    w->size += REAL_PART(A, SQUARE(A, side));
    w->residual += REAL_PART(A, SQUARE(A, left));
}

// From the first row to the last: residuals of the guess, elimination, U and what is left of right-hand sides.
FUNCTION Window forward(Group g) {
    Window w;
    FOR(i, HALF + 1)
    FOR(j, STORED) w.rows[i][j] = 0;
    w.size = w.residual = 0;
    w.column = g.rows;
    u32 lane = thread_of_block();
    for (u32 chunk = 0; chunk < g.rows + HALF; chunk += CHUNK) {
        BARRIER();
        load(g, chunk);
        BARRIER();
        for (u32 r = 0; lane < SYSTEMS && r < CHUNK && chunk + r < g.rows + HALF; r++) {
            enter(&w, g, lane, r);
            A inverse = 0;
            if (chunk + r >= HALF) {
                u32 row = chunk + r - HALF;
                inverse = pivoted(&w);
                w.column = IS_ZERO(A, inverse) && row < w.column ? row : w.column;
                GLOBAL A *out = g.upper + (u64)row * STORED * SYSTEMS + lane;
                out[0] = inverse;
                FOR(j, WIDE) out[(j + 1) * SYSTEMS] = w.rows[0][j + 1];
            }
            eliminate(&w, inverse);
        }
    }
    return w;
}

// From the last row to the first: solutions, where they are to be improved, and the squares of their residuals.
FUNCTION Real backward(Group g, bool improves) {
    A steps[WIDE], x[WIDE];
    FOR(j, WIDE) steps[j] = x[j] = 0;
    Real residual = 0;
    u32 lane = thread_of_block(), end = g.rows + HALF;
    for (u32 chunk = (end - 1) / CHUNK * CHUNK; chunk < end; chunk -= CHUNK) {
        BARRIER();
        load(g, chunk);
        load_upper(g, chunk);
        BARRIER();
        for (u32 r = end - chunk < CHUNK ? end - chunk : CHUNK; lane < SYSTEMS && r-- > 0;) {
            LOCAL const A *upper = g.chunk_of_upper + r * STORED * SYSTEMS + lane;
            FOR(j, WIDE - 1) x[WIDE - 1 - j] = x[WIDE - 2 - j];
            FOR(j, WIDE - 1) steps[WIDE - 1 - j] = steps[WIDE - 2 - j];
            A step = upper[WIDE * SYSTEMS];
            FOR(j, WIDE - 1) step -= MULTIPLY(A, upper[(j + 1) * SYSTEMS], steps[j + 1]);
            steps[0] = MULTIPLY(A, step, upper[0]);
            x[0] = ROW_OF_GUESS(g, lane, r) + (improves ? steps[0] : (A)0);
            ROW_OF_GUESS(g, lane, r) = x[0];
            A left = ROW_OF_SIDE(g, lane, r);
            FOR(d, WIDE) left -= MULTIPLY(A, BAND(g, d, lane, r), x[d]);
            residual += REAL_PART(A, SQUARE(A, left));
        }
        BARRIER();
        store_solutions(g, chunk);
    }
    return residual;
}

// Whether that is so in any thread of the block.
FUNCTION bool in_any(bool own, LOCAL u32 *found) {
    BARRIER();
    if (thread_of_block() == 0)
        *found = 0;
    BARRIER();
    if (own)
        ATOMIC_OR(found, 1);
    BARRIER();
    return *found;
}

KERNEL batch_narrow(u32 systems, u32 rows, u32 width, GLOBAL const u32 *columns, GLOBAL const u32 *lengths,
                    GLOBAL const u32 *diagonal, GLOBAL const T *values, GLOBAL const T *bs, GLOBAL T *xs, Real rtol,
                    Real atol, u32 most, GLOBAL u32 *ended, GLOBAL const u32 *places, GLOBAL A *rooms) {
    LOCAL_ARRAY(A, bands, WIDE * SYSTEMS * (CHUNK + 1));
    LOCAL_ARRAY(A, sides, SYSTEMS * (CHUNK + 1));
    LOCAL_ARRAY(A, guesses, SYSTEMS * (REACH + 1));
    LOCAL_ARRAY(A, chunk_of_upper, CHUNK * STORED * SYSTEMS);
    LOCAL_ARRAY(u32, found, 1);
    Group g = {systems, rows, 0, (u64)rows * width, places, values, bs, xs, rooms, bands, sides, guesses, chunk_of_upper};
    g.upper += (u64)block_of_grid() * rows * STORED * SYSTEMS;
    for (g.first = block_of_grid() * SYSTEMS; g.first < systems; g.first += blocks_of_grid() * SYSTEMS) {
        u32 system = g.first + thread_of_block();
        bool has_one = thread_of_block() < SYSTEMS && system < systems;
        Window w = forward(g);
        Progress at = beginning(SQUARE_ROOT(Real, w.size), rtol, atol);
        bool goes_on = judged(&at, SQUARE_ROOT(Real, w.residual), most) && has_one;
        if (goes_on && w.column < rows) {
            at.status = BREAKDOWN;
            goes_on = false;
        }
        while (in_any(goes_on, found)) {
            Real residual = SQUARE_ROOT(Real, backward(g, goes_on));
            if (goes_on) {
                at.iterations++;
                at.starts++;
                goes_on = judged(&at, residual, most);
            }
            if (in_any(goes_on, found))
                forward(g);
        }
        if (has_one)
            tell(at, system, at.status == BREAKDOWN ? w.column : rows, ended);
    }
}
