// Vectors of one length, side by side in an array of codes S, `stride` codes from one to the next, and a vector w of T. What a
// code stands for is the code times the scale of its vector. Of many columns each is a launch of its own: N is 1 then, else 4.

#define A ARITH(T)
#define S CODE

typedef short i16;
#define arith_i32 f64
#define arith_i16 f32
FUNCTION f64 widen_i32(i32 code) { return (f64)code; }
FUNCTION f32 widen_i16(i16 code) { return (f32)code; }
FUNCTION i32 narrow_f64_i32(f64 value) { return (i32)rint(value); }
FUNCTION i16 narrow_f64_i16(f64 value) { return (i16)rint(value); }
FUNCTION i16 narrow_f32_i16(f32 value) { return (i16)rint(value); }
#define INTEGERS(I, V, A_OF_I)                                                                     \
    FUNCTION void loads_##I##_4(GLOBAL const I *p, u64 i, PRIVATE A_OF_I *v) {                     \
        V four = ((GLOBAL const V *)p)[i];                                                         \
        v[0] = four.x;                                                                             \
        v[1] = four.y;                                                                             \
        v[2] = four.z;                                                                             \
        v[3] = four.w;                                                                             \
    }
INTEGERS(i32, int4, f64)
INTEGERS(i16, short4, f32)

#define C ARITH(S)
#define DECODED(codes, i) CONVERT(C, A, LOAD(S, codes, i))
// Codes that are numbers have no largest one, and complex numbers have no other codes.
#if IS_COMPLEX(ARITH(T))
#define LARGER(most, value) (most)
#else
#define LARGER(most, value) ((value) > (most) ? (value) : -(value) > (most) ? -(value) : (most))
#endif

#if N == 1
#define LOAD_GROUP(U, p, group, values) values[0] = LOAD(U, p, (group) * cols + column)
#define PLACE(group, k) ((group) * cols + column)
#else
#define LOAD_GROUP(U, p, group, values) LOADS(4, U, p, group, values)
#define PLACE(group, k) (4 * (group) + k)
#endif

// Vectors that a block multiplies with at once.
#define TOGETHER 8

// Products of w with vectors: block `chunk + chunks * part` has some vectors and a part of the rows.
KERNEL packed_dots(u64 rows, u32 cols, u32 column, u32 count, u32 parts, u64 stride,
                   GLOBAL const S *RESTRICT codes, GLOBAL const T *RESTRICT w,
                   GLOBAL A *RESTRICT partials) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    u32 chunks = (count + TOGETHER - 1) / TOGETHER;
    u32 first = block_of_grid() % chunks * TOGETHER, part = block_of_grid() / chunks;
    GLOBAL const S *vectors[TOGETHER];
    // The last chunk may have fewer; what is multiplied twice is not kept.
    FOR(v, TOGETHER) vectors[v] = codes + (first + v < count ? first + v : count - 1) * stride;
    A sums[TOGETHER] = {0};
    u64 groups = rows / N, thread = (u64)part * BLOCK + thread_of_block();
    for (u64 group = thread; group < groups; group += (u64)parts * BLOCK) {
        A ws[N];
        C cs[TOGETHER][N];
        LOAD_GROUP(T, w, group, ws);
        FOR(v, TOGETHER) LOAD_GROUP(S, vectors[v], group, cs[v]);
        FOR(v, TOGETHER) FOR(k, N) sums[v] += MULTIPLY(A, CONJ(A, CONVERT(C, A, cs[v][k])), ws[k]);
    }
    u64 rest = groups * N + thread;
    if (N > 1 && rest < rows)
        FOR(v, TOGETHER) sums[v] += MULTIPLY(A, CONJ(A, DECODED(vectors[v], rest)), LOAD(T, w, rest));
    FOR(v, TOGETHER) {
        A sum = BLOCK_SUM(A, sums[v], scratch);
        if (thread_of_block() == 0 && first + v < count)
            partials[(u64)(first + v) * parts + part] = sum;
    }
}

// A block adds the parts of one product.
KERNEL packed_sums(u32 cols, u32 column, u32 parts, GLOBAL const A *RESTRICT partials,
                   GLOBAL const A *RESTRICT scales, GLOBAL A *RESTRICT numbers) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    u32 vector = block_of_grid();
    A sum = 0;
    for (u32 part = thread_of_block(); part < parts; part += BLOCK)
        sum += partials[(u64)vector * parts + part];
    sum = BLOCK_SUM(A, sum, scratch);
    if (thread_of_block() == 0)
        numbers[vector * cols + column] = MULTIPLY(A, scales[vector * cols + column], sum);
}

FUNCTION A block_max(A value, LOCAL A *scratch) {
    for (u32 width = BLOCK / 2; width > 0; width /= 2) {
        BARRIER();
        scratch[thread_of_block()] = value;
        BARRIER();
        if (thread_of_block() < width)
            value = LARGER(value, scratch[thread_of_block() + width]);
    }
    BARRIER();
    return value;
}

// The norm of w and its largest modulus, from those of the threads.
FUNCTION void leave_measures(A square, A most, GLOBAL A *norm, GLOBAL A *largest,
                             GLOBAL A *partials, GLOBAL u32 *counter, LOCAL A *scratch) {
    square = BLOCK_SUM(A, square, scratch);
    most = block_max(most, scratch);
    if (thread_of_block() == 0) {
        partials[2 * block_of_grid()] = square;
        partials[2 * block_of_grid() + 1] = most;
    }
    if (!LAST_BLOCK(counter, scratch))
        return;
    square = most = (A)0;
    volatile GLOBAL A *left = partials;
    for (u32 block = thread_of_block(); block < blocks_of_grid(); block += BLOCK) {
        square += VOLATILE_AT(A, left, 2 * block);
        most = LARGER(most, VOLATILE_AT(A, left, 2 * block + 1));
    }
    square = BLOCK_SUM(A, square, scratch);
    most = block_max(most, scratch);
    if (thread_of_block() == 0) {
        *norm = SQUARE_ROOT(A, square);
        *largest = most;
    }
}

// w += sign * number v for at most BLOCK vectors, and with `measured` the norm and the largest modulus of w.
KERNEL packed_combine(u64 rows, u32 cols, u32 column, u32 count, u64 stride,
                      GLOBAL const S *RESTRICT codes, GLOBAL const A *scales, GLOBAL const A *numbers,
                      A sign, GLOBAL T *RESTRICT w, u32 measured, GLOBAL A *norm, GLOBAL A *largest,
                      GLOBAL A *partials, GLOBAL u32 *counter) {
    LOCAL_ARRAY(A, scratch, BLOCK);
    LOCAL_ARRAY(A, factors, BLOCK);
    u32 own = thread_of_block() * cols + column;
    if (thread_of_block() < count)
        factors[thread_of_block()] = MULTIPLY(A, MULTIPLY(A, sign, numbers[own]), scales[own]);
    BARRIER();
    A square = 0, most = 0;
    u64 groups = rows / N;
    FOR_ITEMS(group, groups) {
        A ws[N];
        LOAD_GROUP(T, w, group, ws);
        _Pragma("unroll 8") for (u32 v = 0; v < count; v++) {
            C cs[N];
            LOAD_GROUP(S, codes + v * stride, group, cs);
            A factor = factors[v];
            FOR(k, N) ws[k] += IS_ZERO(A, factor) ? (A)0 : MULTIPLY(A, factor, CONVERT(C, A, cs[k]));
        }
        FOR(k, N) {
            if (count > 0)
                STORE(A, T, w, PLACE(group, k), ws[k]);
            A kept = ROUND(A, T, ws[k]);
            square += SQUARE(A, kept);
            most = LARGER(most, kept);
        }
    }
    u64 rest = groups * N + thread_of_grid();
    if (N > 1 && rest < rows) {
        A value = LOAD(T, w, rest);
        for (u32 v = 0; v < count; v++)
            value += IS_ZERO(A, factors[v]) ? (A)0 : MULTIPLY(A, factors[v], DECODED(codes + v * stride, rest));
        if (count > 0)
            STORE(A, T, w, rest, value);
        A kept = ROUND(A, T, value);
        square += SQUARE(A, kept);
        most = LARGER(most, kept);
    }
    if (measured)
        leave_measures(square, most, norm + column, largest + column, partials, counter, scratch);
}

// The product of a number with a factor; nothing of what has the factor zero.
#define TIMES(factor, number) (IS_ZERO(A, factor) ? (A)0 : MULTIPLY(A, factor, number))

// z += a v and w += b v for at most BLOCK vectors, whose numbers a and b are `cols` apart. With `last` z times a factor is the next
// vector, and w that factor times w and a multiple of the next vector.
KERNEL packed_advance(u64 rows, u32 cols, u32 column, u32 count, u64 stride, GLOBAL const S *codes,
                      GLOBAL const A *as, GLOBAL const A *bs, GLOBAL T *RESTRICT zs, GLOBAL T *RESTRICT ws,
                      u32 last, GLOBAL const A *factor, GLOBAL const A *multiple, GLOBAL S *next,
                      GLOBAL A *scale) {
    LOCAL_ARRAY(A, for_z, BLOCK);
    LOCAL_ARRAY(A, for_w, BLOCK);
    if (thread_of_block() < count) {
        for_z[thread_of_block()] = as[thread_of_block() * cols];
        for_w[thread_of_block()] = bs[thread_of_block() * cols];
    }
    BARRIER();
    if (last && thread_of_grid() == 0)
        *scale = OF_REAL(A, 1);
    FOR_ITEMS(row, rows) {
        u64 place = row * cols + column;
        A z = LOAD(T, zs, place), w = LOAD(T, ws, place);
        _Pragma("unroll 8") for (u32 v = 0; v < count; v++) {
            A value = DECODED(codes + v * stride, place);
            z += MULTIPLY(A, for_z[v], value);
            w += MULTIPLY(A, for_w[v], value);
        }
        if (last) {
            z = ROUND(A, T, TIMES(*factor, z));
            w = TIMES(*factor, w) + TIMES(*multiple, z);
            STORE(A, S, next, place, z);
        }
        STORE(A, T, zs, place, z);
        STORE(A, T, ws, place, w);
    }
}

FUNCTION void keep_one(A factor, A scale, GLOBAL S *codes, GLOBAL T *w, u64 place) {
    STORE(A, S, codes, place, MULTIPLY(A, factor, LOAD(T, w, place)));
    STORE(A, T, w, place, MULTIPLY(A, scale, DECODED(codes, place)));
}

// The codes of w, over its norm where there is one; then w is what they stand for. With a limit the largest code is that.
KERNEL packed_keep(u64 rows, u32 cols, u32 column, A limit, GLOBAL const A *norm,
                   GLOBAL const A *largest, GLOBAL S *RESTRICT codes, GLOBAL A *scales,
                   GLOBAL T *RESTRICT w) {
    A one = OF_REAL(A, 1), size = norm ? norm[column] : one, most = largest[column];
    A over = IS_ZERO(A, size) ? (A)0 : OVER(A, one, size);
    A factor = over, scale = one;
    if (!IS_ZERO(A, limit)) {
        factor = IS_ZERO(A, most) ? (A)0 : OVER(A, limit, most);
        scale = MULTIPLY(A, OVER(A, most, limit), over);
    }
    if (thread_of_grid() == 0)
        scales[column] = scale;
    FOR_ITEMS(row, rows) keep_one(factor, scale, codes, w, row * cols + column);
}
