// Many small systems A x = b of one pattern whose entries are at most HALF beside the diagonal: a thread factorises a system
// with partial pivoting, in registers. A block has SYSTEMS neighbouring ones, a thread each; its other threads load the next
// rows of all of them meanwhile.
//
// Definitions: T, the type of values; HALF; CHUNK, rows of a system that are loaded at once, a power of two.

#define SYSTEMS 16
// Threads of the first sub-groups solve, the others load.
#define FIRST_LOADER 32
#define LOADERS (BLOCK - FIRST_LOADER)
// Entries of a row of the matrix, and of U once rows were exchanged.
#define WIDE (2 * HALF + 1)
// Those of U, its pivot inverted, and the right-hand side.
#define STORED (WIDE + 1)
#define NOWHERE 0xffffffffu
// Rows of a chunk lie side by side; systems are one number apart from a power of two.
#define PITCH (CHUNK + 1)
// What a chunk has of every row: diagonals, right-hand side and solution.
#define SIDE WIDE
#define SOLUTION (WIDE + 1)
#define PLANES (WIDE + 2)
#define TILE_NUMBERS (SYSTEMS * (PLANES * PITCH + CHUNK * STORED))
#define UPPER_TURNS ((CHUNK * STORED * SYSTEMS + LOADERS - 1) / LOADERS)
#define LANE_TURNS ((SYSTEMS + LOADERS / CHUNK - 1) / (LOADERS / CHUNK))
#define FOR_LANES(turn, system)                                                                    \
    FOR(turn, LANE_TURNS)                                                                          \
    for (u32 system = loader() / CHUNK + turn * (LOADERS / CHUNK), once = 1; once && system < SYSTEMS; once = 0)

FUNCTION bool is_loader(void) { return thread_of_block() >= FIRST_LOADER; }
FUNCTION u32 loader(void) { return thread_of_block() - FIRST_LOADER; }

// The systems of a block, from `first` on. Where values of a row stand is told by `places`, diagonal after diagonal.
typedef struct {
    u32 systems, rows, first;
    u64 values_of_one;
    GLOBAL const u32 *places;
    GLOBAL const T *values, *bs;
    GLOBAL T *xs;
    // Rows of U of all, STORED apart, systems side by side.
    GLOBAL A *upper;
    // Room for two chunks.
    LOCAL A *tiles;
} Group;

#define TILE_OF(g, chunk) (g.tiles + ((chunk) & 1) * TILE_NUMBERS)
#define IN_TILE(tile, plane, system, r) tile[((plane) * SYSTEMS + (system)) * PITCH + (r)]
#define UPPER_IN_TILE (PLANES * SYSTEMS * PITCH)

// Loads matrices and right-hand sides from `row` on, and solutions from `near` on; zeros where there are none.
FUNCTION void load(Group g, LOCAL A *tile, u32 row, u32 near) {
    u32 r = loader() % CHUNK;
    row += r;
    near += r;
    // All are on their way before the first one is waited for.
    A own[PLANES][LANE_TURNS];
    FOR(d, WIDE) {
        u32 place = row < g.rows ? g.places[d * g.rows + row] : NOWHERE;
        FOR_LANES(turn, system) {
            bool is_there = place != NOWHERE && g.first + system < g.systems;
            own[d][turn] = is_there ? LOAD(T, g.values, (g.first + system) * g.values_of_one + place) : (A)0;
        }
    }
    FOR_LANES(turn, system) {
        bool is_there = g.first + system < g.systems;
        u64 first = (u64)(g.first + system) * g.rows;
        own[SIDE][turn] = is_there && row < g.rows ? LOAD(T, g.bs, first + row) : (A)0;
        own[SOLUTION][turn] = is_there && near < g.rows ? LOAD(T, g.xs, first + near) : (A)0;
    }
    FOR(plane, PLANES)
    FOR_LANES(turn, system) IN_TILE(tile, plane, system, r) = own[plane][turn];
}

// Loads a chunk of rows of U, from `row` on.
FUNCTION void load_upper(Group g, LOCAL A *tile, u32 row) {
    A own[UPPER_TURNS];
    FOR(turn, UPPER_TURNS) {
        u32 item = loader() + turn * LOADERS, at = row + item / (STORED * SYSTEMS);
        bool is_there = item < CHUNK * STORED * SYSTEMS && at < g.rows;
        own[turn] = is_there ? g.upper[(u64)at * STORED * SYSTEMS + item % (STORED * SYSTEMS)] : (A)0;
    }
    FOR(turn, UPPER_TURNS) {
        u32 item = loader() + turn * LOADERS;
        if (item < CHUNK * STORED * SYSTEMS)
            tile[UPPER_IN_TILE + item] = own[turn];
    }
}

// Stores solutions from `row` on. A thread that loads the next chunk into the same tile overwrites its own numbers.
FUNCTION void store_solutions(Group g, LOCAL const A *tile, u32 row) {
    u32 r = loader() % CHUNK, near = row + r;
    FOR_LANES(turn, system) {
        if (near < g.rows && g.first + system < g.systems)
            STORE(A, T, g.xs, (u64)(g.first + system) * g.rows + near, IN_TILE(tile, SOLUTION, system, r));
    }
}

// What remains of rows k to k + HALF in the columns from k on, and of their right-hand sides.
typedef struct {
    A rows[HALF + 1][STORED];
    // The guess that products with the last of them read.
    A x[WIDE];
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
FUNCTION void enter(PRIVATE Window *w, LOCAL const A *tile, u32 lane, u32 r) {
    FOR(d, WIDE - 1) w->x[d] = w->x[d + 1];
    w->x[WIDE - 1] = IN_TILE(tile, SOLUTION, lane, r);
    A side = IN_TILE(tile, SIDE, lane, r), left = side;
    FOR(d, WIDE) {
        A value = IN_TILE(tile, d, lane, r);
        left -= MULTIPLY(A, value, w->x[d]);
        w->rows[HALF][d] = value;
    }
    w->rows[HALF][WIDE] = left;
    w->size += REAL_PART(A, SQUARE(A, side));
    w->residual += REAL_PART(A, SQUARE(A, left));
}

// Eliminates a row, the top one of the window, and stores it.
FUNCTION A finished(PRIVATE Window *w, Group g, u32 lane, u32 row) {
    A inverse = pivoted(w);
    w->column = IS_ZERO(A, inverse) && row < w->column ? row : w->column;
    GLOBAL A *out = g.upper + (u64)row * STORED * SYSTEMS + lane;
    out[0] = inverse;
    FOR(j, WIDE) out[(j + 1) * SYSTEMS] = w->rows[0][j + 1];
    return inverse;
}

// From the first row to the last: residuals of the guess, elimination, U and what is left of right-hand sides. In step k the
// solution of row k comes in, row k - HALF of the matrix, and row k - 2 HALF is eliminated.
FUNCTION Window forward(Group g) {
    Window w;
    FOR(i, HALF + 1)
    FOR(j, STORED) w.rows[i][j] = 0;
    FOR(d, WIDE) w.x[d] = 0;
    w.size = w.residual = 0;
    w.column = g.rows;
    u32 lane = thread_of_block(), steps = g.rows + 2 * HALF, chunks = (steps + CHUNK - 1) / CHUNK;
    BARRIER();
    if (is_loader())
        load(g, TILE_OF(g, 0), 0u - HALF, 0);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        BARRIER();
        u32 next = (chunk + 1) * CHUNK;
        if (is_loader())
            load(g, TILE_OF(g, chunk + 1), next - HALF, next);
        LOCAL const A *tile = TILE_OF(g, chunk);
        for (u32 r = 0; lane < SYSTEMS && r < CHUNK && chunk * CHUNK + r < steps; r++) {
            enter(&w, tile, lane, r);
            u32 step = chunk * CHUNK + r;
            eliminate(&w, step >= 2 * HALF ? finished(&w, g, lane, step - 2 * HALF) : (A)0);
        }
    }
    return w;
}

// The solution of a row, improved or not; gives what is left of the right-hand side HALF rows below.
FUNCTION A substituted(LOCAL A *tile, u32 lane, u32 r, bool improves, PRIVATE A *corrections, PRIVATE A *x) {
    LOCAL const A *upper = tile + UPPER_IN_TILE + r * STORED * SYSTEMS + lane;
    FOR(j, WIDE - 1) {
        x[WIDE - 1 - j] = x[WIDE - 2 - j];
        corrections[WIDE - 1 - j] = corrections[WIDE - 2 - j];
    }
    A own = upper[WIDE * SYSTEMS];
    FOR(j, WIDE - 1) own -= MULTIPLY(A, upper[(j + 1) * SYSTEMS], corrections[j + 1]);
    corrections[0] = MULTIPLY(A, own, upper[0]);
    x[0] = IN_TILE(tile, SOLUTION, lane, r) + (improves ? corrections[0] : (A)0);
    IN_TILE(tile, SOLUTION, lane, r) = x[0];
    A left = IN_TILE(tile, SIDE, lane, r);
    FOR(d, WIDE) left -= MULTIPLY(A, IN_TILE(tile, d, lane, r), x[d]);
    return left;
}

// From the last row to the first: solutions, where they are to be improved, and the squares of their residuals.
FUNCTION Real backward(Group g, bool improves) {
    A corrections[WIDE], x[WIDE];
    FOR(j, WIDE) corrections[j] = x[j] = 0;
    Real residual = 0;
    u32 lane = thread_of_block(), steps = g.rows + HALF, chunks = (steps + CHUNK - 1) / CHUNK;
    BARRIER();
    if (is_loader()) {
        u32 last = (chunks - 1) * CHUNK;
        load(g, TILE_OF(g, chunks - 1), last, last - HALF);
        load_upper(g, TILE_OF(g, chunks - 1), last - HALF);
    }
    for (u32 chunk = chunks; chunk-- > 0;) {
        BARRIER();
        u32 begin = chunk * CHUNK;
        if (is_loader()) {
            if (chunk + 1 < chunks)
                store_solutions(g, TILE_OF(g, chunk + 1), begin + CHUNK - HALF);
            load(g, TILE_OF(g, chunk + 1), begin - CHUNK, begin - CHUNK - HALF);
            load_upper(g, TILE_OF(g, chunk + 1), begin - CHUNK - HALF);
        }
        for (u32 r = steps - begin < CHUNK ? steps - begin : CHUNK; lane < SYSTEMS && r-- > 0;) {
            A left = substituted(TILE_OF(g, chunk), lane, r, improves, corrections, x);
            residual += REAL_PART(A, SQUARE(A, left));
        }
    }
    BARRIER();
    if (is_loader())
        store_solutions(g, TILE_OF(g, 0), 0u - HALF);
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

KERNEL_OF(2) batch_narrow(u32 systems, u32 rows, u32 width, GLOBAL const u32 *columns, GLOBAL const u32 *lengths,
                          GLOBAL const u32 *diagonal, GLOBAL const T *values, GLOBAL const T *bs, GLOBAL T *xs, Real rtol,
                          Real atol, u32 most, GLOBAL u32 *ended, GLOBAL const u32 *places, GLOBAL A *rooms) {
    LOCAL_ARRAY(A, tiles, 2 * TILE_NUMBERS);
    LOCAL_ARRAY(u32, found, 1);
    Group g = {systems, rows, 0, (u64)rows * width, places, values, bs, xs, rooms, tiles};
    g.upper += (u64)block_of_grid() * rows * STORED * SYSTEMS;
    for (g.first = block_of_grid() * SYSTEMS; g.first < systems; g.first += blocks_of_grid() * SYSTEMS) {
        u32 system = g.first + thread_of_block(), column = rows;
        bool has_one = thread_of_block() < SYSTEMS && system < systems, goes_on = has_one;
        Progress at = beginning(0, rtol, atol);
        while (in_any(goes_on, found)) {
            Window w = forward(g);
            if (goes_on && at.starts == 0) {
                at = beginning(SQUARE_ROOT(Real, w.size), rtol, atol);
                goes_on = judged(&at, SQUARE_ROOT(Real, w.residual), most);
                if (goes_on && w.column < rows) {
                    at.status = BREAKDOWN;
                    column = w.column;
                    goes_on = false;
                }
            }
            if (!in_any(goes_on, found))
                break;
            Real residual = SQUARE_ROOT(Real, backward(g, goes_on));
            if (goes_on) {
                at.iterations++;
                at.starts++;
                goes_on = judged(&at, residual, most);
            }
        }
        if (has_one)
            tell(at, system, column, ended);
    }
}
