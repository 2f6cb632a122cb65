// The neighbourhood of an unknown and a basis of nearly maximal volume among its coarse ones, for bamg.c.

#define EMPTY 0xffffffffu
// As on the host: what is left of a row that depends on others, factors that lead to an exchange, exchanges for each row of
// the basis, and neighbourhoods that grow no further.
#define DEPENDENT 1e-8
#define DOMINANT 1.05
#define EXCHANGES 8
#define LARGEST 3000

#define FITS 0
#define FAILS 1
#define NO_ROOM 2

typedef struct {
    u32 near_slots;
    u32 met_slots;
    SPACE u32 *near;
    SPACE u32 *met;
    // The candidates by increasing number, and the rows of test vectors there; later the factors that combine them from
    // the chosen ones.
    SPACE u32 *candidates;
    SPACE f64 *rows;
    u32 count;
    u32 width;
    // Numbers among the candidates.
    SPACE u32 *chosen;
    u32 rank;
    SPACE f64 *directions;
    SPACE f64 *square;
    SPACE f64 *weights;
    SPACE f64 *target;
    LOCAL f64 *sizes;
    LOCAL u32 *scratch;
} Fit;

typedef struct {
    u64 unknowns;
    GLOBAL const u64 *offsets;
    GLOBAL const u32 *columns;
    // The coarse ones among the neighbours of each unknown.
    GLOBAL const u64 *near_offsets;
    GLOBAL const u32 *near_columns;
    GLOBAL const f64 *vectors;
} Level;

#define FOR_PLACES(k, n) for (u32 k = part_of_row(); k < (n); k += ROW_THREADS)
#define VALUE(level, unknown, k) (level)->vectors[(k) * (level)->unknowns + (unknown)]

// ---- neighbours

// Puts an unknown into a table; 1 if it is new, FULL where there is no room.
#define FULL 0x10000u
#define PROBES 64
FUNCTION u32 put(SPACE u32 *keys, u32 slots, u32 key) {
    u32 slot = (key * 0x9e3779b1u >> 8) & (slots - 1);
    for (u32 turn = 0; turn < PROBES; turn++) {
        u32 found = keys[slot];
        if (found == key)
            return 0;
        if (found == EMPTY)
            found = ATOMIC_CAS(&keys[slot], EMPTY, key);
        if (found == EMPTY || found == key)
            return found == EMPTY;
        slot = (slot + 1) & (slots - 1);
    }
    return FULL;
}

// Puts the coarse neighbours of an unknown into the table of candidates; one thread does.
FUNCTION u32 meet(const PRIVATE Fit *f, const PRIVATE Level *level, u32 from) {
    u32 met = 0;
    for (u64 place = level->near_offsets[from]; place < level->near_offsets[from + 1]; place++)
        met += put(f->near, f->near_slots, level->near_columns[place]);
    return met;
}

// Puts all neighbours of an unknown into the table of those on the way.
FUNCTION u32 meet_all(const PRIVATE Fit *f, const PRIVATE Level *level, u32 from) {
    u32 met = 0;
    const u64 end = level->offsets[from + 1];
    for (u64 at = level->offsets[from] + part_of_row(); at < end; at += IN_FLIGHT * ROW_THREADS) {
        u32 keys[IN_FLIGHT];
        FOR(t, IN_FLIGHT) keys[t] = at + t * ROW_THREADS < end ? level->columns[at + t * ROW_THREADS] : EMPTY;
        FOR(t, IN_FLIGHT) met += keys[t] != EMPTY ? put(f->met, f->met_slots, keys[t]) : 0;
    }
    return met;
}

// Candidates at most `distance` steps away, in the table; NO_ROOM where it is full, FAILS where there are too many unknowns on
// the way.
FUNCTION u32 reach(PRIVATE Fit *f, const PRIVATE Level *level, u32 row, u32 distance) {
    const u64 begin = level->offsets[row], end = level->offsets[row + 1];
    u32 found = 0;
    if (distance == 1)
        FOR_ENTRIES(place, level->near_offsets, row)
            found += put(f->near, f->near_slots, level->near_columns[place]);
    if (distance > 1 && end - begin > LARGEST)
        return FAILS;
    if (distance == 2)
        FOR_ENTRIES(place, level->offsets, row) found += meet(f, level, level->columns[place]);
    if (distance == 3) {
        FOR_PLACES(slot, f->met_slots) f->met[slot] = EMPTY;
        ROW_SYNC();
        u32 met = meet_all(f, level, row);
        for (u64 place = begin; place < end && met < FULL; place++)
            met += meet_all(f, level, level->columns[place]);
        met = row_count(min(met, FULL), f->scratch);
        if (met > LARGEST)
            return f->met_slots > LARGEST ? FAILS : NO_ROOM;
        FOR_PLACES(slot, f->met_slots)
            if (f->met[slot] != EMPTY)
                found += meet(f, level, f->met[slot]);
    }
    f->count += row_count(min(found, FULL), f->scratch);
    return f->count > f->near_slots / 2 ? NO_ROOM : FITS;
}

// The candidates by increasing number, without the unknown itself, which is fine.
FUNCTION void list_candidates(const PRIVATE Fit *f) {
    LOCAL u32 *listed = f->scratch + (thread_of_block() - part_of_row());
    SPACE u32 *any = f->candidates + f->near_slots / 2;
    ROW_SYNC();
    if (leads_row())
        *listed = 0;
    ROW_SYNC();
    FOR_PLACES(slot, f->near_slots)
        if (f->near[slot] != EMPTY)
            any[ATOMIC_ADD(listed, 1)] = f->near[slot];
    ROW_SYNC();
    FOR_PLACES(k, f->count) {
        u32 rank = 0;
        for (u32 other = 0; other < f->count; other++)
            rank += any[other] < any[k];
        f->candidates[rank] = any[k];
    }
    ROW_SYNC();
}

// ---- a basis of nearly maximal volume

// An odd number of numbers apart: threads with neighbouring rows wait for no bank of local memory.
#define ROW(f, k) ((f)->rows + (k) * (VECTORS + 1))

// The first of the largest values, each with its number.
FUNCTION u32 first_largest(const PRIVATE Fit *f, PRIVATE f64 *size, u32 number) {
    const u32 first = thread_of_block() - part_of_row();
    ROW_SYNC();
    f->sizes[thread_of_block()] = *size;
    f->scratch[thread_of_block()] = number;
    ROW_SYNC();
    for (u32 k = 0; k < ROW_THREADS; k++) {
        const f64 other = f->sizes[first + k];
        const u32 of = f->scratch[first + k];
        if (other > *size || (other == *size && of < number)) {
            *size = other;
            number = of;
        }
    }
    ROW_SYNC();
    return number;
}

FUNCTION f64 dot(SPACE const f64 *x, SPACE const f64 *y, u32 n) {
    f64 sum = 0;
    for (u32 k = 0; k < n; k++)
        sum += x[k] * y[k];
    return sum;
}

// The candidates that are farthest from those before.
FUNCTION void choose(PRIVATE Fit *f) {
    const u32 width = f->width;
    f64 largest = 0;
    for (f->rank = 0; f->rank < min(width, f->count); f->rank++) {
        f64 left = 0;
        u32 next = 0;
        FOR_PLACES(k, f->count) {
            const f64 size = dot(ROW(f, k), ROW(f, k), width);
            if (size > left) {
                left = size;
                next = k;
            }
        }
        next = first_largest(f, &left, next);
        left = SQUARE_ROOT(f64, left);
        largest = f->rank == 0 ? left : largest;
        if (!(left > DEPENDENT * largest))
            return;
        SPACE f64 *direction = f->directions + f->rank * VECTORS;
        FOR_PLACES(k, width) direction[k] = ROW(f, next)[k] / left;
        if (leads_row())
            f->chosen[f->rank] = next;
        ROW_SYNC();
        FOR_PLACES(k, f->count) {
            const f64 part = dot(ROW(f, k), direction, width);
            for (u32 j = 0; j < width; j++)
                ROW(f, k)[j] -= part * direction[j];
        }
        ROW_SYNC();
    }
}

// The coordinates of an unknown along the directions.
FUNCTION void coordinates(const PRIVATE Fit *f, const PRIVATE Level *level, u32 unknown, SPACE f64 *out) {
    f64 values[VECTORS];
    for (u32 k = 0; k < f->width; k++)
        values[k] = VALUE(level, unknown, k);
    for (u32 j = 0; j < f->rank; j++) {
        f64 sum = 0;
        for (u32 k = 0; k < f->width; k++)
            sum += values[k] * f->directions[j * VECTORS + k];
        out[j] = sum;
    }
}

// `x = x L^-1` with a lower triangular matrix.
FUNCTION void solve_triangle(u32 n, SPACE const f64 *lower, SPACE f64 *x) {
    for (u32 k = n; k-- > 0;) {
        x[k] /= lower[k * VECTORS + k];
        for (u32 j = 0; j < k; j++)
            x[j] -= x[k] * lower[k * VECTORS + j];
    }
}

// The factors of all candidates.
FUNCTION void express(const PRIVATE Fit *f, const PRIVATE Level *level) {
    FOR_PLACES(k, f->count) coordinates(f, level, f->candidates[k], ROW(f, k));
    ROW_SYNC();
    FOR_PLACES(k, f->rank * f->rank)
        f->square[k / f->rank * VECTORS + k % f->rank] = ROW(f, f->chosen[k / f->rank])[k % f->rank];
    ROW_SYNC();
    FOR_PLACES(k, f->count) solve_triangle(f->rank, f->square, ROW(f, k));
    ROW_SYNC();
}

// Exchanges the candidate with the largest factor for the chosen one it has it of, if that is large.
FUNCTION bool exchange(const PRIVATE Fit *f) {
    const u32 rank = f->rank;
    f64 size = 0;
    u32 number = 0;
    FOR_PLACES(k, f->count) for (u32 j = 0; j < rank; j++) {
        const f64 factor = modulus(ROW(f, k)[j]);
        if (factor > size) {
            size = factor;
            number = k * rank + j;
        }
    }
    number = first_largest(f, &size, number);
    if (!(size > DOMINANT))
        return false;
    const u32 row = number / rank, column = number % rank;
    FOR_PLACES(j, rank) f->weights[j] = ROW(f, row)[j];
    if (leads_row())
        f->chosen[column] = row;
    ROW_SYNC();
    FOR_PLACES(k, f->count) {
        const f64 share = ROW(f, k)[column] / f->weights[column];
        for (u32 j = 0; j < rank; j++)
            ROW(f, k)[j] = j == column ? share : ROW(f, k)[j] - share * f->weights[j];
    }
    ROW_SYNC();
    return true;
}
