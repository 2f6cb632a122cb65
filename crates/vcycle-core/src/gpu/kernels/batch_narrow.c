// Many small systems A x = b of one pattern whose entries are at most HALF beside the diagonal: a thread factorises a system
// with partial pivoting, in registers. Matrices and factors of neighbouring threads lie side by side.
//
// Definitions: T, the type of values; HALF; AT_ONCE, rows that a thread loads at once, while it works on those before.

#include "batch.h"
#pragma block 32

// Entries of a row of the matrix, and of U once rows were exchanged.
#define WIDE (2 * HALF + 1)
// Of a row of U over its pivot: the other entries, then the right-hand side.
#define STORED WIDE

typedef struct {
    u32 rows;
    // Between two entries of the matrix, diagonals of a row behind each other, between two numbers of `upper`, and between two
    // rows of vectors.
    u64 apart, apart_above, step;
    GLOBAL const T *band, *b;
    GLOBAL T *x;
    GLOBAL A *upper;
} System;

// Rows that follow each other, their right-hand sides, and guesses of rows near to them; zeros where there are none.
typedef struct {
    A band[AT_ONCE][WIDE], side[AT_ONCE], guess[AT_ONCE];
} Rows;

FUNCTION Rows loaded(System s, u32 first, u32 near) {
    Rows of;
    FOR(r, AT_ONCE) {
        u32 row = first + r;
        bool is_there = row < s.rows;
        FOR(d, WIDE) of.band[r][d] = is_there ? LOAD(T, s.band, (row * WIDE + d) * s.apart) : (A)0;
        of.side[r] = is_there ? LOAD(T, s.b, row * s.step) : (A)0;
        of.guess[r] = near + r < s.rows ? LOAD(T, s.x, (near + r) * s.step) : (A)0;
    }
    return of;
}

typedef struct {
    A rows[AT_ONCE][STORED];
} Upper;

FUNCTION Upper loaded_upper(System s, u32 first) {
    Upper of;
    FOR(r, AT_ONCE)
    FOR(j, STORED) {
        u32 row = first + r;
        of.rows[r][j] = row < s.rows ? s.upper[(row * STORED + j) * s.apart_above] : (A)0;
    }
    return of;
}

// What remains of rows k to k + HALF in the columns from k on, and of their right-hand sides.
typedef struct {
    A rows[HALF + 1][WIDE + 1];
    // The guess that products with the last of them read.
    A x[WIDE];
    // Sums of squares of right-hand sides and residuals.
    Real size, residual;
    // The first column without a pivot, or the number of rows.
    u32 column;
} Window;

FUNCTION Window empty(System s) {
    Window w;
    FOR(i, HALF + 1)
    FOR(j, WIDE + 1) w.rows[i][j] = 0;
    FOR(d, WIDE) {
        u32 row = d - HALF - 1;
        w.x[d] = row < s.rows ? LOAD(T, s.x, row * s.step) : (A)0;
    }
    w.size = w.residual = 0;
    w.column = s.rows;
    return w;
}

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
            FOR(j, WIDE + 1) {
                A own = w->rows[0][j];
                w->rows[0][j] = w->rows[i + 1][j];
                w->rows[i + 1][j] = own;
            }
    }
    return largest > 0 && is_finite(largest) ? inverse_of(w->rows[0][0]) : (A)0;
}

// A row of the matrix and what a guess leaves of its right-hand side become the last of the window.
FUNCTION void enter(PRIVATE Window *w, const PRIVATE Rows *of, u32 r) {
    FOR(d, WIDE - 1) w->x[d] = w->x[d + 1];
    w->x[WIDE - 1] = of->guess[r];
    A left = of->side[r];
    FOR(d, WIDE) {
        left -= MULTIPLY(A, of->band[r][d], w->x[d]);
        w->rows[HALF][d] = of->band[r][d];
    }
    w->rows[HALF][WIDE] = left;
    w->size += REAL_PART(A, SQUARE(A, of->side[r]));
    w->residual += REAL_PART(A, SQUARE(A, left));
}

// Divides the top row of the window by its pivot and stores it as a row of U.
FUNCTION void finish_row(PRIVATE Window *w, System s, u32 row) {
    A inverse = pivoted(w);
    w->column = IS_ZERO(A, inverse) && row < w->column ? row : w->column;
    GLOBAL A *out = s.upper + row * STORED * s.apart_above;
    FOR(j, STORED) {
        w->rows[0][j + 1] = MULTIPLY(A, w->rows[0][j + 1], inverse);
        out[j * s.apart_above] = w->rows[0][j + 1];
    }
}

// Subtracts multiples of the top row from the others, which move up and to the left.
FUNCTION void eliminate(PRIVATE Window *w) {
    A top[WIDE + 1];
    FOR(j, WIDE + 1) top[j] = w->rows[0][j];
    FOR(i, HALF) {
        A factor = w->rows[i + 1][0];
        FOR(j, WIDE - 1) w->rows[i][j] = w->rows[i + 1][j + 1] - MULTIPLY(A, factor, top[j + 1]);
        w->rows[i][WIDE - 1] = 0;
        w->rows[i][WIDE] = w->rows[i + 1][WIDE] - MULTIPLY(A, factor, top[WIDE]);
    }
}

// From the first row to the last: residuals of the guess, elimination, U and what is left of right-hand sides.
FUNCTION Window forward(System s) {
    Window w = empty(s);
    Rows next = loaded(s, 0, HALF);
    for (u32 first = 0; first < s.rows + HALF; first += AT_ONCE) {
        Rows now = next;
        next = loaded(s, first + AT_ONCE, first + AT_ONCE + HALF);
        FOR(r, AT_ONCE) {
            enter(&w, &now, r);
            if (first + r - HALF < s.rows)
                finish_row(&w, s, first + r - HALF);
            eliminate(&w);
        }
    }
    return w;
}

// From the last row to the first: solutions, and the squares of their residuals.
FUNCTION Real backward(System s) {
    A steps[WIDE], x[WIDE];
    FOR(j, WIDE) steps[j] = x[j] = 0;
    Real residual = 0;
    u32 end = s.rows + HALF, last = (end - 1) / AT_ONCE * AT_ONCE;
    Rows next = loaded(s, last, last - HALF);
    Upper above = loaded_upper(s, last - HALF);
    // Below the first row numbers are larger than the last one.
    for (u32 first = last; first < end; first -= AT_ONCE) {
        Rows now = next;
        Upper upper = above;
        next = loaded(s, first - AT_ONCE, first - AT_ONCE - HALF);
        above = loaded_upper(s, first - AT_ONCE - HALF);
        FOR(k, AT_ONCE) {
            u32 r = AT_ONCE - 1 - k, row = first + r - HALF;
            FOR(j, WIDE - 1) {
                x[WIDE - 1 - j] = x[WIDE - 2 - j];
                steps[WIDE - 1 - j] = steps[WIDE - 2 - j];
            }
            steps[0] = upper.rows[r][STORED - 1];
            FOR(j, WIDE - 1) steps[0] -= MULTIPLY(A, upper.rows[r][WIDE - 2 - j], steps[WIDE - 1 - j]);
            x[0] = now.guess[r] + steps[0];
            if (row < s.rows)
                STORE(A, T, s.x, row * s.step, x[0]);
            A left = now.side[r];
            FOR(d, WIDE) left -= MULTIPLY(A, now.band[r][d], x[d]);
            residual += REAL_PART(A, SQUARE(A, left));
        }
    }
    return residual;
}

KERNEL_OF(4) batch_narrow(BATCH, GLOBAL const T *bands, GLOBAL A *rooms, u32 side_by_side) {
    for (u64 system = thread_of_grid(); system < systems; system += threads_of_grid()) {
        u64 first = side_by_side ? system : system * rows, step = side_by_side ? systems : 1;
        GLOBAL A *upper = rooms + thread_of_grid();
        System s = {rows, systems, threads_of_grid(), step, bands + system, bs + first, xs + first, upper};
        Progress at = beginning(0, rtol, atol);
        u32 column = rows;
        for (bool goes_on = true; goes_on;) {
            Window w = forward(s);
            if (at.starts == 0) {
                at = beginning(SQUARE_ROOT(Real, w.size), rtol, atol);
                goes_on = judged(&at, SQUARE_ROOT(Real, w.residual), most);
                if (goes_on && w.column < rows) {
                    at.status = BREAKDOWN;
                    column = w.column;
                    break;
                }
            }
            if (goes_on) {
                Real residual = SQUARE_ROOT(Real, backward(s));
                at.iterations++;
                at.starts++;
                goes_on = judged(&at, residual, most);
            }
        }
        note_ending(at, (u32)system, column, ended);
    }
}
