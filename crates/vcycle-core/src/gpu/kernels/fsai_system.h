// The system of a row of a factorised approximate inverse, which grows by columns: as in fsai.c.

#define EMPTY 0xffffffffu
// Slots that a column may have to pass before a table counts as full; those in memory of the device
// are large enough.
#ifdef SLOTS
#define PROBES 192
#else
#define PROBES r->slots
#endif
// Pivots below so many units of rounding are noise.
#define NOISE 16

#define MADE 0
#define NOT_POSITIVE 1
#define TABLE_FULL 2

#define TIMES(a, b) PASTE(times_, ACC)(a, b)
FUNCTION f64 times_f64(f64 a, f64 b) { return product(a, b); }
#ifdef NO_CONTRACTION
FUNCTION f32 times_f32(f32 a, f32 b) {
    NO_CONTRACTION
    return a * b;
}
#else
FUNCTION f32 times_f32(f32 a, f32 b) { return __fmul_rn(a, b); }
#endif

typedef struct {
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
    GLOBAL const ACC *values;
    GLOBAL const ACC *diagonal;
    // The reciprocals of the diagonal.
    GLOBAL const ACC *inverses;
    ACC rounding;
} Matrix;

// Row `index` before scaling: `g` with `g_index = 1` that minimises `psi = g A g^T` over a pattern.
typedef struct {
    u32 index;
    // The diagonal of the matrix in this row.
    ACC own;
    // Entries of the pattern, which has no diagonal, and those of them that were not refused.
    u32 order;
    u32 kept;
    ACC psi;
    // Whether the table has all columns that the rows of the pattern reach, or those of the pattern alone.
    bool reaches;
    u32 slots;
    SPACE u32 *pattern;
    SPACE ACC *values;
    // The Cholesky factor of the matrix at the pattern, row after row, with reciprocals on its diagonal
    // that are zero where a column was refused, and the solution with it.
    SPACE ACC *factor;
    SPACE ACC *y;
    // Columns, one more than their place in the pattern or zero, and `g A` there.
    TABLE u32 *keys;
    TABLE u16 *places;
    TABLE ACC *sums;
    LOCAL u32 *scratch;
} Row;

#define FACTOR(r, row, column) (r)->factor[(row) * ((row) + 1) / 2 + (column)]
#define FOR_PLACES(k, first, end)                                                                  \
    for (u32 k = (first) + part_of_row(); k < (end); k += ROW_THREADS)

// ---- entries of the matrix

// Entries of a row that a thread has at a time.
typedef struct {
    u32 columns[IN_FLIGHT];
    ACC values[IN_FLIGHT];
} Piece;

// The entries of a row up to the diagonal of row `r->index`: `piece` after `piece`, of which
// IS_LOWER ones count.
#define FOR_PIECES(piece, r, a, row)                                                               \
    for (u64 at_ = (a)->offsets[row] + part_of_row(), end_ = (a)->offsets[(row) + 1];              \
         at_ < end_ && (piece = load_piece(a, at_, end_), true);                                   \
         at_ = piece.columns[IN_FLIGHT - 1] > (r)->index ? end_ : at_ + IN_FLIGHT * ROW_THREADS)
#define IS_LOWER(piece, t, r) ((piece).columns[t] <= (r)->index)

FUNCTION Piece load_piece(const PRIVATE Matrix *a, u64 at, u64 end) {
    Piece piece;
    FOR(t, IN_FLIGHT) {
        const u64 place = at + t * ROW_THREADS;
        piece.columns[t] = place < end ? a->columns[place] : EMPTY;
        piece.values[t] = place < end ? a->values[place] : 0;
    }
    return piece;
}

// ---- the table

FUNCTION u32 first_slot(u32 column, u32 slots) { return (column * 0x9e3779b1u >> 8) & (slots - 1); }

// The slot of a column; NONE where it is not in the table.
FUNCTION u32 slot_of(const PRIVATE Row *r, u32 column) {
    u32 slot = first_slot(column, r->slots);
    for (;;) {
        const u32 found = r->keys[slot];
        if (found == column)
            return slot;
        if (found == EMPTY)
            return NONE;
        slot = (slot + 1) & (r->slots - 1);
    }
}

// The same of a column that is put there where it is new; NONE where there is no room.
FUNCTION u32 put(const PRIVATE Row *r, u32 column) {
    const u32 most = min(r->slots, (u32)(PROBES));
    u32 slot = first_slot(column, r->slots);
    for (u32 turn = 0; turn < most; turn++) {
        u32 found = r->keys[slot];
        if (found == EMPTY)
            found = ATOMIC_CAS(&r->keys[slot], EMPTY, column);
        if (found == EMPTY || found == column)
            return slot;
        slot = (slot + 1) & (r->slots - 1);
    }
    return NONE;
}

FUNCTION void clear_table(const PRIVATE Row *r) {
    FOR_PLACES(slot, 0, r->slots) {
        r->keys[slot] = EMPTY;
        r->places[slot] = 0;
    }
    ROW_SYNC();
}

// Puts the columns of the row of the matrix itself into the table; says whether there was no room.
FUNCTION bool reach(const PRIVATE Row *r, const PRIVATE Matrix *a) {
    bool full = false;
    Piece piece;
    FOR_PIECES(piece, r, a, r->index) FOR(t, IN_FLIGHT)
        if (IS_LOWER(piece, t, r))
            full = put(r, piece.columns[t]) == NONE || full;
    return full;
}

// ---- the system

// Brings row `place` of the system from the matrix, with the right-hand side; says whether the table had no
// room for what it reaches.
FUNCTION bool gather(const PRIVATE Row *r, const PRIVATE Matrix *a, u32 place) {
    const u32 row = r->pattern[place];
    bool full = false;
    Piece piece;
    FOR_PIECES(piece, r, a, row) FOR(t, IN_FLIGHT) {
        const u32 column = piece.columns[t];
        if (column == r->index)
            r->y[place] = -piece.values[t];
        if (column >= r->index)
            continue;
        const u32 slot = r->reaches ? put(r, column) : slot_of(r, column);
        if (slot == NONE) {
            full = r->reaches;
            continue;
        }
        const u32 known = r->places[slot];
        if (known != 0 && known <= place)
            FACTOR(r, place, known - 1) = piece.values[t];
    }
    return full;
}

// Whether a pivot is more than noise; `*status` where it is so negative that rounding is no reason.
FUNCTION bool usable(const PRIVATE Row *r, const PRIVATE Matrix *a, ACC pivot, ACC on_diagonal,
                     PRIVATE u32 *status) {
    const ACC noise = TIMES(TIMES((ACC)NOISE, a->rounding), on_diagonal);
    if (pivot < TIMES(-noise, (ACC)(1 + r->kept)))
        *status = NOT_POSITIVE;
    return pivot > noise;
}

// Decides on a column from which all before it have been eliminated: it is refused where only rounding
// tells the matrix from a singular one.
FUNCTION u32 decide(PRIVATE Row *r, const PRIVATE Matrix *a, u32 place) {
    const ACC pivot = FACTOR(r, place, place), on_diagonal = r->values[place];
    ACC inverse = 0, y = 0;
    u32 status = MADE;
    if (usable(r, a, pivot, on_diagonal, &status)) {
        inverse = 1 / SQUARE_ROOT(ACC, pivot);
        y = TIMES(r->y[place], inverse);
        const ACC psi = r->psi - TIMES(y, y);
        if (usable(r, a, psi, r->own, &status)) {
            r->psi = psi;
            r->kept++;
        } else {
            inverse = y = 0;
        }
    }
    ROW_SYNC();
    if (leads_row()) {
        FACTOR(r, place, place) = inverse;
        r->y[place] = y;
    }
    ROW_SYNC();
    return status;
}

// Eliminates column `k` from the rows of the system from `first` on, which stay without the factor on the
// diagonal for now.
FUNCTION void eliminate(const PRIVATE Row *r, u32 k, u32 first, u32 end) {
    const ACC inverse = FACTOR(r, k, k), y = r->y[k];
    const u32 next = max(k + 1, first);
    FOR_PLACES(m, k + 1, end) {
        const ACC known = FACTOR(r, m, k);
        const ACC l = m < first ? known : TIMES(known, inverse);
        u32 row = max(m, first);
        for (u32 at = row * (row + 1) / 2; row < end; at += ++row)
            r->factor[at + m] -= TIMES(TIMES(r->factor[at + k], inverse), l);
    }
    FOR_PLACES(row, next, end) r->y[row] -= TIMES(TIMES(FACTOR(r, row, k), inverse), y);
    ROW_SYNC();
}

// Adds the columns of the pattern up to `end` to the system.
FUNCTION u32 add(PRIVATE Row *r, const PRIVATE Matrix *a, u32 end) {
    const u32 first = r->order;
    FOR_PLACES(k, first * (first + 1) / 2, end * (end + 1) / 2) r->factor[k] = 0;
    FOR_PLACES(k, first, end) r->y[k] = 0;
    ROW_SYNC();
    bool full = false;
    for (u32 place = first; place < end; place++)
        full = gather(r, a, place) || full;
    FOR_PLACES(place, first, end)
        FACTOR(r, place, place) = r->values[place] = a->diagonal[r->pattern[place]];
    if (row_flags(full, r->scratch) != 0)
        return TABLE_FULL;
    ROW_SYNC();
    u32 status = MADE;
    for (u32 k = 0; k < end && status == MADE; k++) {
        if (k >= first)
            status = decide(r, a, k);
        eliminate(r, k, first, end);
    }
    for (u32 row = first; row < end; row++)
        FOR_PLACES(k, 0, row) FACTOR(r, row, k) = TIMES(FACTOR(r, row, k), FACTOR(r, k, k));
    ROW_SYNC();
    r->order = end;
    return status;
}

// The values of the pattern.
FUNCTION void solve(const PRIVATE Row *r) {
    FOR_PLACES(k, 0, r->order) r->values[k] = r->y[k];
    ROW_SYNC();
    for (u32 k = r->order; k-- > 0;) {
        const ACC x = TIMES(r->values[k], FACTOR(r, k, k));
        FOR_PLACES(m, 0, k) r->values[m] -= TIMES(FACTOR(r, k, m), x);
        ROW_SYNC();
    }
    FOR_PLACES(k, 0, r->order) r->values[k] = TIMES(r->values[k], FACTOR(r, k, k));
    ROW_SYNC();
}
