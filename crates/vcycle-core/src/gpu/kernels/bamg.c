// Interpolation that reproduces test vectors: for every fine unknown the coarse ones near it, of which a basis of
// nearly maximal volume is used (`bamg` of the host says what it is).
//
// Definitions: VECTORS, room for so many test vectors. Of the kernel that makes rows: SPACE, LOCAL with tables of MET and
// NEAR slots and room for NEAR / 2 candidates, or GLOBAL with memory of the device.

// A row that cannot be interpolated: its unknown becomes coarse.
#define PROMOTED 0xffffffffu
#define IS_COARSE(row) (coarse[row] != NONE || lengths[row] == PROMOTED)

#ifdef SPACE
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
    GLOBAL const u32 *coarse;
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
        const u32 found = ATOMIC_CAS(&keys[slot], EMPTY, key);
        if (found == EMPTY || found == key)
            return found == EMPTY;
        slot = (slot + 1) & (slots - 1);
    }
    return FULL;
}

// Puts the coarse ones among the neighbours of an unknown into the table of candidates.
FUNCTION u32 meet(const PRIVATE Fit *f, const PRIVATE Level *level, u32 from) {
    u32 met = 0;
    FOR_ENTRIES(place, level->offsets, from) {
        const u32 other = level->columns[place];
        if (level->coarse[other] != NONE)
            met += put(f->near, f->near_slots, other);
    }
    return met;
}

FUNCTION u32 meet_all(const PRIVATE Fit *f, const PRIVATE Level *level, u32 from) {
    u32 met = 0;
    FOR_ENTRIES(place, level->offsets, from)
        met += put(f->met, f->met_slots, level->columns[place]);
    return met;
}

// Candidates at most `distance` steps away, in the table; NO_ROOM where it is full, FAILS where there are too many unknowns on
// the way.
FUNCTION u32 reach(PRIVATE Fit *f, const PRIVATE Level *level, u32 row, u32 distance) {
    const u64 begin = level->offsets[row], end = level->offsets[row + 1];
    u32 found = 0;
    if (distance == 1)
        found = meet(f, level, row);
    if (distance > 1 && end - begin > LARGEST)
        return FAILS;
    if (distance == 2)
        for (u64 place = begin; place < end; place++)
            found += meet(f, level, level->columns[place]);
    if (distance == 3) {
        FOR_PLACES(slot, f->met_slots) f->met[slot] = EMPTY;
        ROW_SYNC();
        u32 met = meet_all(f, level, row);
        for (u64 place = begin; place < end && met < FULL; place++)
            met += meet_all(f, level, level->columns[place]);
        met = row_count(min(met, FULL), f->scratch);
        if (met > LARGEST)
            return f->met_slots > LARGEST ? FAILS : NO_ROOM;
        for (u32 slot = 0; slot < f->met_slots; slot++)
            if (f->met[slot] != EMPTY)
                found += meet(f, level, f->met[slot]);
    }
    f->count += row_count(min(found, FULL), f->scratch);
    return f->count > f->near_slots / 2 ? NO_ROOM : FITS;
}

// The candidates by increasing number, without the unknown itself, which is fine.
FUNCTION void list_candidates(const PRIVATE Fit *f) {
    u32 count = 0;
    for (u32 first = 0; first < f->near_slots; first += ROW_THREADS) {
        const u32 key = f->near[first + part_of_row()], flags = row_flags(key != EMPTY, f->scratch);
        if (key != EMPTY)
            f->candidates[f->near_slots / 2 + count + BITS_SET(flags_before(flags))] = key;
        count += BITS_SET(flags);
    }
    ROW_SYNC();
    SPACE const u32 *any = f->candidates + f->near_slots / 2;
    FOR_PLACES(k, count) {
        u32 rank = 0;
        for (u32 other = 0; other < count; other++)
            rank += any[other] < any[k];
        f->candidates[rank] = any[k];
    }
    ROW_SYNC();
}

// ---- a basis of nearly maximal volume

#define ROW(f, k) ((f)->rows + (k) * VECTORS)

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

// ---- weights

// `x = x B^-1` by elimination with pivoting among columns; `B` is destroyed.
FUNCTION void solve_left(u32 n, SPACE f64 *b, SPACE f64 *x) {
    for (u32 step = 0; step < n; step++) {
        u32 pivot = step;
        for (u32 k = step; k < n; k++)
            if (modulus(b[step * VECTORS + k]) > modulus(b[step * VECTORS + pivot]))
                pivot = k;
        for (u32 row = 0; row < n; row++) {
            const f64 moved = b[row * VECTORS + step];
            b[row * VECTORS + step] = b[row * VECTORS + pivot];
            b[row * VECTORS + pivot] = moved;
        }
        const f64 moved = x[step];
        x[step] = x[pivot];
        x[pivot] = moved;
        for (u32 column = step + 1; column < n; column++) {
            const f64 factor = b[step * VECTORS + column] / b[step * VECTORS + step];
            for (u32 row = step; row < n; row++)
                b[row * VECTORS + column] -= factor * b[row * VECTORS + step];
            x[column] -= factor * x[step];
        }
    }
    solve_triangle(n, b, x);
}

// How far the directions are from the unknown, relative to its norm.
FUNCTION f64 distance_to(const PRIVATE Fit *f) {
    f64 left = 0, size = 0;
    for (u32 k = 0; k < f->width; k++) {
        f64 rest = f->target[k];
        for (u32 j = 0; j < f->rank; j++)
            rest -= f->weights[j] * f->directions[j * VECTORS + k];
        left += rest * rest;
        size += f->target[k] * f->target[k];
    }
    return SQUARE_ROOT(f64, left) / SQUARE_ROOT(f64, size);
}

// Weighs the candidates; whether that is good enough.
FUNCTION bool weigh(PRIVATE Fit *f, const PRIVATE Level *level, u32 row, f64 residual, f64 norm) {
    FOR_PLACES(k, f->count) for (u32 j = 0; j < f->width; j++)
        ROW(f, k)[j] = VALUE(level, f->candidates[k], j);
    ROW_SYNC();
    choose(f);
    ROW_SYNC();
    express(f, level);
    for (u32 turn = 0; turn < EXCHANGES * f->rank && exchange(f); turn++)
        ;
    FOR_PLACES(k, f->rank) coordinates(f, level, f->candidates[f->chosen[k]], f->square + k * VECTORS);
    if (leads_row())
        coordinates(f, level, row, f->weights);
    ROW_SYNC();
    const f64 distance = distance_to(f);
    ROW_SYNC();
    if (leads_row())
        solve_left(f->rank, f->square, f->weights);
    ROW_SYNC();
    return distance <= residual && SQUARE_ROOT(f64, dot(f->weights, f->weights, f->rank)) <= norm;
}

// Writes the row by increasing numbers of unknowns, as those of candidates are.
FUNCTION void write_row(const PRIVATE Fit *f, GLOBAL u32 *columns, GLOBAL f64 *values) {
    FOR_PLACES(k, f->rank) {
        u32 place = 0;
        for (u32 other = 0; other < f->rank; other++)
            place += f->chosen[other] < f->chosen[k];
        columns[place] = f->candidates[f->chosen[k]];
        values[place] = f->weights[k];
    }
}

typedef struct {
    u32 min_distance;
    u32 max_distance;
    f64 residual;
    f64 norm;
} Limits;

// The entries of a row, PROMOTED where the unknown becomes coarse; `*status` is NO_ROOM where that cannot be told here.
FUNCTION u32 fit_row(PRIVATE Fit *f, const PRIVATE Level *level, const PRIVATE Limits *limits, u32 row, PRIVATE u32 *status) {
    bool is_zero = true, is_alone = true;
    for (u32 k = 0; k < f->width; k++) {
        const f64 value = VALUE(level, row, k);
        is_zero = is_zero && value == 0;
        if (leads_row())
            f->target[k] = value;
    }
    for (u64 place = level->offsets[row]; place < level->offsets[row + 1]; place++)
        is_alone = is_alone && level->columns[place] == row;
    if (is_zero || is_alone)
        return 0;
    FOR_PLACES(slot, f->near_slots) f->near[slot] = EMPTY;
    f->count = 0;
    ROW_SYNC();
    for (u32 distance = 1; distance <= limits->max_distance; distance++) {
        *status = reach(f, level, row, distance);
        ROW_SYNC();
        if (*status != FITS)
            return PROMOTED;
        if (distance < limits->min_distance)
            continue;
        list_candidates(f);
        if (weigh(f, level, row, limits->residual, limits->norm))
            return f->rank;
    }
    return PROMOTED;
}

#ifdef MET
#define ROW_MEMORY LOCAL_ROW_MEMORY
#else
#define MET all_met
#define NEAR all_near
#define ROW_MEMORY GIVEN_ROW_MEMORY
#endif

// The rows of a list, or all without one, each with room for `width` entries. Rows whose neighbourhood has no room go to the
// list `again`.
KERNEL bamg_rows(u64 count, GLOBAL const u32 *RESTRICT list, u64 unknowns, GLOBAL const u64 *RESTRICT offsets,
                 GLOBAL const u32 *RESTRICT columns, GLOBAL const u32 *RESTRICT coarse,
                 GLOBAL const f64 *RESTRICT vectors, u32 width, u32 min_distance, u32 max_distance, f64 residual, f64 norm,
                 GLOBAL u32 *RESTRICT out_columns, GLOBAL f64 *RESTRICT out_values, GLOBAL u32 *RESTRICT lengths,
                 GLOBAL u32 *again, GLOBAL u32 *again_count, u32 all_met, u32 all_near, GLOBAL f64 *all_numbers,
                 GLOBAL u32 *all_words) {
    ROW_MEMORY(f64, numbers, all_numbers, (NEAR / 2 + 2 * VECTORS + 2) * VECTORS)
    ROW_MEMORY(u32, words, all_words, MET + 2 * NEAR + VECTORS)
    LOCAL_ARRAY(f64, sizes, BLOCK);
    LOCAL_ARRAY(u32, scratch, BLOCK);
    const Level level = {unknowns, offsets, columns, coarse, vectors};
    const Limits limits = {min_distance, max_distance, residual, norm};
    Fit f;
    f.width = width;
    f.near_slots = NEAR;
    f.met_slots = MET;
    f.met = words;
    f.near = words + MET;
    f.candidates = f.near + NEAR;
    f.chosen = f.candidates + NEAR;
    f.rows = numbers;
    f.directions = numbers + NEAR / 2 * VECTORS;
    f.square = f.directions + VECTORS * VECTORS;
    f.weights = f.square + VECTORS * VECTORS;
    f.target = f.weights + VECTORS;
    f.sizes = sizes;
    f.scratch = scratch;
    FOR_ROWS(at, count) {
        const u32 row = list ? list[at] : (u32)at;
        u32 status = FITS, length = 0;
        ROW_SYNC();
        if (coarse[row] == NONE)
            length = fit_row(&f, &level, &limits, row, &status);
        if (length != 0 && length != PROMOTED)
            write_row(&f, out_columns + (u64)row * width, out_values + (u64)row * width);
        if (leads_row()) {
            lengths[row] = length;
            if (status == NO_ROOM)
                again[ATOMIC_ADD(again_count, 1)] = row;
        }
    }
}

#else

// Which unknowns are coarse, ones and zeros.
KERNEL bamg_coarse(u64 rows, GLOBAL const u32 *RESTRICT coarse, GLOBAL const u32 *RESTRICT lengths,
                   GLOBAL u32 *RESTRICT flags) {
    FOR_ITEMS(row, rows) flags[row] = IS_COARSE(row);
}

// Their numbers, and the lengths of the rows of the prolongation.
KERNEL bamg_numbers(u64 rows, GLOBAL const u32 *RESTRICT coarse, GLOBAL const u32 *RESTRICT lengths,
                    GLOBAL const u64 *RESTRICT before, GLOBAL u32 *RESTRICT numbers, GLOBAL u32 *RESTRICT counts) {
    FOR_ITEMS(row, rows) {
        numbers[row] = IS_COARSE(row) ? (u32)before[row] : NONE;
        counts[row] = IS_COARSE(row) ? 1 : lengths[row];
    }
}

// The prolongation: a one for coarse unknowns, the entries of the others by the numbers of their unknowns.
KERNEL bamg_gather(u64 rows, u32 width, GLOBAL const u32 *RESTRICT columns, GLOBAL const f64 *RESTRICT values,
                   GLOBAL const u32 *RESTRICT numbers, GLOBAL const u64 *RESTRICT offsets,
                   GLOBAL u32 *RESTRICT out_columns, GLOBAL f64 *RESTRICT out_values) {
    FOR_ITEMS(row, rows) {
        if (numbers[row] != NONE) {
            out_columns[offsets[row]] = numbers[row];
            out_values[offsets[row]] = 1;
            continue;
        }
        for (u64 place = offsets[row]; place < offsets[row + 1]; place++) {
            const u64 from = row * width + (place - offsets[row]);
            out_columns[place] = numbers[columns[from]];
            out_values[place] = values[from];
        }
    }
}
#endif
