// Rows that ranks share: what is sent to others, and what the columns of others add to a product.

#ifdef T
// Rows of x one after the other.
KERNEL halo_pack(u64 rows, u32 cols, GLOBAL const u32 *RESTRICT numbers, GLOBAL const T *RESTRICT x,
                 GLOBAL T *RESTRICT packed) {
    FOR_ITEMS(i, rows * cols) packed[i] = x[(u64)numbers[i / cols] * cols + i % cols];
}
#elif defined(WORD)
// Up to three runs of words, copied to other places: those of other ranks come through memory of the host.
#define RUN(name) u64 name##_n, GLOBAL const WORD *name##_from, GLOBAL WORD *name##_to
KERNEL halo_move(RUN(a), RUN(b), RUN(c)) {
    FOR_ITEMS(i, a_n) a_to[i] = a_from[i];
    FOR_ITEMS(j, b_n) b_to[j] = b_from[j];
    FOR_ITEMS(k, c_n) c_to[k] = c_from[k];
}
#else
// y += alpha d B x for some rows, with one number d a row, or without.
KERNEL halo_add(u64 rows, u32 cols, GLOBAL const u32 *RESTRICT numbers,
                GLOBAL const u64 *RESTRICT offsets, GLOBAL const u32 *RESTRICT columns,
                GLOBAL const M *RESTRICT values, GLOBAL const X *RESTRICT x,
                COEFFICIENT(ARITH(Y), alpha), GLOBAL const Y *RESTRICT d, GLOBAL Y *RESTRICT y) {
    FOR_ITEMS(i, rows * cols) {
        u64 row = i / cols, column = i % cols;
        ACC sum = 0;
        for (u64 entry = offsets[row]; entry < offsets[row + 1]; entry++)
            sum += (ACC)LOAD(M, values, entry) * (ACC)LOAD(X, x, (u64)columns[entry] * cols + column);
        ACC factor = EVALUATE(ARITH(Y), alpha, (u32)column);
        if (d)
            factor *= LOAD(Y, d, numbers[row]);
        u64 place = (u64)numbers[row] * cols + column;
        if (factor != 0)
            STORE(ACC, Y, y, place, (ACC)LOAD(Y, y, place) + factor * sum);
    }
}
#endif
