// Products of small matrices by 32 neighbouring threads, on tensor cores where kernels can use them.
//
//   MMA(T, totals, a, b, scratch)   totals += a b, with 16 by 16 numbers of a and 16 by 8 of b, in T: f16 and bf16 with sums in f32; f64; and f32, where
//                               those of a have to be halves, whose digits are all kept, and b counts with 22 binary digits
// Of the 32 threads of a team, which begins with a multiple of 32, number 4 g + t has
//   totals[0..1]   row g, columns 2 t and 2 t + 1;   totals[2..3]   the same of row g + 8
//   a[0..3]        row g, columns 4 t to 4 t + 3;    a[4..7]        the same of row g + 8
//   b[0..3]        column g, rows 4 t to 4 t + 3
// All threads of a block have to call it, with `scratch` an array of MMA_SCRATCH values of T in local memory.

#define MMA(T, totals, a, b, scratch) PASTE(mma_, T)(totals, a, b, scratch)

#if defined(DIALECT_CUDA) && !defined(DIALECT_HIP) && __CUDA_ARCH__ >= 800

#define MMA_SCRATCH 1

// Rows and columns in between are counted in another order there, the same one in both matrices.
#define MMA_OF_HALVES(T)                                                                           \
    FUNCTION void mma_##T(f32 *totals, const T *a, const T *b, T *scratch) {                       \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." #T "." #T ".f32 "                             \
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                      \
            : "+f"(totals[0]), "+f"(totals[1]), "+f"(totals[2]), "+f"(totals[3])                   \
            : "r"(two_halves(a)), "r"(two_halves(a + 4)), "r"(two_halves(a + 2)),                  \
              "r"(two_halves(a + 6)), "r"(two_halves(b)), "r"(two_halves(b + 2)));                 \
    }
FUNCTION u32 two_halves(const u16 *v) { return v[0] | (u32)v[1] << 16; }
MMA_OF_HALVES(f16)
MMA_OF_HALVES(bf16)

FUNCTION void mma_row_f64(f64 *totals, const f64 *a, const f64 *b) {
    FOR(k, 4)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(totals[0]), "+d"(totals[1])
            : "d"(a[k]), "d"(b[k]));
}
FUNCTION void mma_f64(f64 *totals, const f64 *a, const f64 *b, f64 *scratch) {
    mma_row_f64(totals, a, b);
    mma_row_f64(totals + 2, a + 4, b);
}

FUNCTION void mma_tf32(f32 *totals, const f32 *a, const f32 *b) {
    FOR(k, 2)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(totals[0]), "+f"(totals[1]), "+f"(totals[2]), "+f"(totals[3])
            : "r"(bits_of_f32(a[2 * k])), "r"(bits_of_f32(a[2 * k + 4])),
              "r"(bits_of_f32(a[2 * k + 1])), "r"(bits_of_f32(a[2 * k + 5])),
              "r"(bits_of_f32(b[2 * k])), "r"(bits_of_f32(b[2 * k + 1])));
}
// In two parts of 11 binary digits.
FUNCTION void mma_f32(f32 *totals, const f32 *a, const f32 *b, f32 *scratch) {
    f32 parts[2][4];
    FOR(k, 4) {
        parts[0][k] = f32_of_bits(bits_of_f32(b[k]) & 0xffffe000u);
        parts[1][k] = b[k] - parts[0][k];
    }
    mma_tf32(totals, a, parts[0]);
    mma_tf32(totals, a, parts[1]);
}

#else // through local memory

#define MMA_NUMBERS 12 // of a thread: 8 of a, then 4 of b
#define MMA_SCRATCH (MMA_NUMBERS * BLOCK)

#define MMA_OF(T)                                                                                  \
    FUNCTION void mma_##T(PRIVATE ARITH(T) *totals, const PRIVATE T *a, const PRIVATE T *b,        \
                          LOCAL T *scratch) {                                                      \
        const u32 own = thread_of_block() % 32, g = own / 4, t = own % 4;                          \
        LOCAL T *team = scratch + (thread_of_block() - own) * MMA_NUMBERS;                         \
        BARRIER();                                                                                 \
        for (u32 k = 0; k < 8; ++k)                                                                \
            team[own * MMA_NUMBERS + k] = a[k];                                                    \
        for (u32 k = 0; k < 4; ++k)                                                                \
            team[own * MMA_NUMBERS + 8 + k] = b[k];                                                \
        BARRIER();                                                                                 \
        for (u32 i = 0; i < 4; ++i)                                                                \
            for (u32 k = 0; k < 16; ++k) {                                                         \
                const u32 left = (4 * g + k / 4) * MMA_NUMBERS + i / 2 * 4 + k % 4;                \
                const u32 right = (4 * (2 * t + i % 2) + k / 4) * MMA_NUMBERS + 8 + k % 4;         \
                totals[i] += LOAD(T, team, left) * LOAD(T, team, right);                           \
            }                                                                                      \
    }
MMA_OF(f16)
MMA_OF(bf16)
MMA_OF(f32)
#ifdef FP64
MMA_OF(f64)
#endif

#endif
