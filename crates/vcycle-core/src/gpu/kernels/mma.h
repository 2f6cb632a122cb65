// A product of small matrices by 32 neighbouring threads, on tensor cores where kernels can use them.
//
//   MMA(T, N, totals, a, b, scratch)   totals += a b, with 8 N by 16 numbers of a and 16 by 8 of b; N is 1 or 2
// T is
//   f64
//   f16, bf16                   with sums in f32
//   f32                         of which 22 binary digits count, as two parts of 11
//   mixed                       the same with numbers of b that are halves and have no second part
// Of the 32 threads, the first of which is a multiple of 32, number 4 g + t has
//   totals[0..1]   row g, columns 2 t and 2 t + 1     totals[2..3]   with N = 2 the same of row g + 8
//   a[0..3]        row g, columns 4 t to 4 t + 3      a[4..7]        with N = 2 the same of row g + 8, else zeros
//   b[0..3]        column g, rows 4 t to 4 t + 3
// All threads of a block have to call it, with `scratch` an array of MMA_SCRATCH numbers in local memory. A block has 32 threads, on AMD's GPUs, whose
// sub-groups have 64, twice as many: then both halves have the same b.
//
//   MMA_TILE(T, totals, a, b, scratch)   totals += a b, with 8 by 4 numbers of a and 4 by 8 of b; T is f64 or f32
// Of each 32 threads number 4 g + t has row g and column t of a, row t and column g of b, and totals[0..1] as above. All threads of a block have to call it,
// with an array of MMA_TILE_SCRATCH(T) numbers. Tensor cores have it for f64 alone.

#define MMA(T, N, totals, a, b, scratch) PASTE(mma_, T)(N, totals, a, b, scratch)
#define MMA_TILE(T, totals, a, b, scratch) PASTE(mma_tile_, T)(totals, a, b, scratch)

#if defined(DIALECT_CUDA) && !defined(DIALECT_HIP) && __CUDA_ARCH__ >= 800

#define MMA_SCRATCH 1

// What is between rows of a and columns of b is counted in another order there, the same one in both.
FUNCTION u32 two_halves(const u16 *v) { return v[0] | (u32)v[1] << 16; }
#define MMA_OF_HALVES(T)                                                                           \
    FUNCTION void mma_##T(u32 n, f32 *totals, const T *a, const T *b, T *scratch) {                \
        f32 unused[2] = {0, 0}, *lower = n == 2 ? totals + 2 : unused;                             \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." #T "." #T ".f32 "                             \
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                      \
            : "+f"(totals[0]), "+f"(totals[1]), "+f"(lower[0]), "+f"(lower[1])                     \
            : "r"(two_halves(a)), "r"(two_halves(a + 4)), "r"(two_halves(a + 2)),                  \
              "r"(two_halves(a + 6)), "r"(two_halves(b)), "r"(two_halves(b + 2)));                 \
    }
MMA_OF_HALVES(f16)
MMA_OF_HALVES(bf16)

FUNCTION void mma_f64(u32 n, f64 *totals, const f64 *a, const f64 *b, f64 *scratch) {
    FOR(half, n)
        FOR(k, 4)
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(totals[2 * half]), "+d"(totals[2 * half + 1])
                : "d"(a[4 * half + k]), "d"(b[k]));
}

// One of the two parts of numbers.
FUNCTION void mma_tf32(u32 n, f32 *totals, const f32 *a, const f32 *b) {
    f32 unused[2] = {0, 0}, *lower = n == 2 ? totals + 2 : unused;
    FOR(k, 2)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(totals[0]), "+f"(totals[1]), "+f"(lower[0]), "+f"(lower[1])
            : "r"(bits_of_f32(a[2 * k])), "r"(bits_of_f32(a[2 * k + 4])),
              "r"(bits_of_f32(a[2 * k + 1])), "r"(bits_of_f32(a[2 * k + 5])),
              "r"(bits_of_f32(b[2 * k])), "r"(bits_of_f32(b[2 * k + 1])));
}
FUNCTION f32 first_digits(f32 value) { return f32_of_bits(bits_of_f32(value) & 0xffffe000u); }
FUNCTION void mma_mixed(u32 n, f32 *totals, const f32 *a, const f32 *b, f32 *scratch) {
    f32 first[8], rest[8];
    FOR(k, 8) {
        first[k] = first_digits(a[k]);
        rest[k] = a[k] - first[k];
    }
    mma_tf32(n, totals, rest, b);
    mma_tf32(n, totals, first, b);
}
FUNCTION void mma_f32(u32 n, f32 *totals, const f32 *a, const f32 *b, f32 *scratch) {
    f32 first[4], rest[4], first_of_a[8];
    FOR(k, 4) {
        first[k] = first_digits(b[k]);
        rest[k] = b[k] - first[k];
    }
    FOR(k, 8) first_of_a[k] = first_digits(a[k]);
    mma_tf32(n, totals, first_of_a, rest);
    mma_mixed(n, totals, a, first, scratch);
}

#elif (defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || \
       defined(__gfx950__)) &&                                                                     \
    BLOCK == 64

#define MMA_SCRATCH 1

// There the 64 threads have 16 by 16 sums: the rows of the first half and of the second, and columns of which eight count. Thread l has of a row l % 16 and of b column
// l % 16; of the columns of a and rows of b those of thread l / 16 above. With F64 its sums are in rows l / 16, l / 16 + 4 .., else in four neighbouring rows from
// 4 (l / 16) on.
typedef f32 sums_f32 __attribute__((ext_vector_type(4)));
typedef f64 sums_f64 __attribute__((ext_vector_type(4)));
typedef _Float16 four_f16 __attribute__((ext_vector_type(4)));
typedef short four_bf16 __attribute__((ext_vector_type(4)));

FUNCTION u32 mma_row_from(u32 l) { return l % 16 / 8 * 32 + l % 8 * 4 + l / 16; }
FUNCTION u32 mma_column_from(u32 l) { return l % 8 * 4 + l / 16; }

// What a thread has to add of the sums of all.
#define MMA_ADD(A, totals, sums, thread, of_sums)                                                  \
    FOR(i, 2) {                                                                                    \
        A found[4];                                                                                \
        FOR(r, 4) found[r] = SHUFFLE(sums[r], (thread) + 2 * (lane() % 4) + i);                    \
        const u32 r = of_sums;                                                                     \
        (totals)[i] += r == 0 ? found[0] : r == 1 ? found[1] : r == 2 ? found[2] : found[3];       \
    }
#define MMA_ADD_f32(totals, sums) MMA_ADD(f32, totals, sums, row / 4 * 16, row % 4)
#define MMA_ADD_f64(totals, sums) MMA_ADD(f64, totals, sums, row % 4 * 16, row / 4)

// Row 8 h + g of all: h is the half, g as above.
#define MMA_ROW const u32 l = lane(), row = l / 32 * 8 + l % 32 / 4;

#define MMA_OF_HALVES(T, instruction)                                                              \
    FUNCTION void mma_##T(u32 n, f32 *totals, const T *a, const T *b, T *scratch) {                \
        MMA_ROW                                                                                    \
        FOR(half, n) {                                                                             \
            u64 left = 0, right = 0;                                                               \
            FOR(k, 4) {                                                                            \
                left |= (u64)a[4 * half + k] << 16 * k;                                            \
                right |= (u64)b[k] << 16 * k;                                                      \
            }                                                                                      \
            left = SHUFFLE(left, mma_row_from(l));                                                 \
            right = SHUFFLE(right, mma_column_from(l));                                            \
            const sums_f32 none = {0, 0, 0, 0};                                                    \
            const sums_f32 sums = instruction(__builtin_bit_cast(four_##T, left),                  \
                                              __builtin_bit_cast(four_##T, right), none, 0, 0, 0); \
            MMA_ADD_f32(totals + 2 * half, sums)                                                   \
        }                                                                                          \
    }
MMA_OF_HALVES(f16, __builtin_amdgcn_mfma_f32_16x16x16f16)
MMA_OF_HALVES(bf16, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)

#define MMA_OF_WORDS(name, T, instruction)                                                         \
    FUNCTION void mma_##name(u32 n, T *totals, const T *a, const T *b, T *scratch) {               \
        MMA_ROW                                                                                    \
        FOR(half, n) {                                                                             \
            sums_##T sums = {0, 0, 0, 0};                                                          \
            FOR(k, 4)                                                                              \
                sums = instruction(SHUFFLE(a[4 * half + k], mma_row_from(l)),                      \
                                   SHUFFLE(b[k], mma_column_from(l)), sums, 0, 0, 0);              \
            MMA_ADD_##T(totals + 2 * half, sums)                                                   \
        }                                                                                          \
    }
MMA_OF_WORDS(f32, f32, __builtin_amdgcn_mfma_f32_16x16x4f32)
MMA_OF_WORDS(mixed, f32, __builtin_amdgcn_mfma_f32_16x16x4f32)
MMA_OF_WORDS(f64, f64, __builtin_amdgcn_mfma_f64_16x16x4f64)

#else // through local memory

#define MMA_NUMBERS 12 // of a thread: 8 of a, then 4 of b
#define MMA_SCRATCH (MMA_NUMBERS * BLOCK)

#define MMA_OF(name, T)                                                                            \
    FUNCTION void mma_##name(u32 n, PRIVATE ARITH(T) *totals, const PRIVATE T *a,                  \
                             const PRIVATE T *b, LOCAL T *scratch) {                               \
        const u32 own = thread_of_block() % 32, g = own / 4, t = own % 4;                          \
        LOCAL T *team = scratch + (thread_of_block() - own) * MMA_NUMBERS;                         \
        BARRIER();                                                                                 \
        for (u32 k = 0; k < 8; ++k)                                                                \
            team[own * MMA_NUMBERS + k] = a[k];                                                    \
        for (u32 k = 0; k < 4; ++k)                                                                \
            team[own * MMA_NUMBERS + 8 + k] = b[k];                                                \
        BARRIER();                                                                                 \
        for (u32 i = 0; i < 2 * n; ++i)                                                            \
            for (u32 k = 0; k < 16; ++k) {                                                         \
                const u32 left = (4 * g + k / 4) * MMA_NUMBERS + i / 2 * 4 + k % 4;                \
                const u32 right = (4 * (2 * t + i % 2) + k / 4) * MMA_NUMBERS + 8 + k % 4;         \
                totals[i] += LOAD(T, team, left) * LOAD(T, team, right);                           \
            }                                                                                      \
    }
MMA_OF(f16, f16)
MMA_OF(bf16, bf16)
MMA_OF(f32, f32)
MMA_OF(mixed, f32)
#ifdef FP64
MMA_OF(f64, f64)
#endif

#endif

// ---- 8 by 4 times 4 by 8

#define MMA_TILE_SCRATCH(T) PASTE(MMA_TILE_SCRATCH_, T)

// Through local memory: all of a, then all of b.
#define MMA_TILE_OF(T)                                                                             \
    FUNCTION void mma_tile_##T(PRIVATE T *totals, T a, T b, LOCAL T *scratch) {                    \
        const u32 own = thread_of_block() % 32, g = own / 4, t = own % 4;                          \
        LOCAL T *team = scratch + (thread_of_block() - own);                                       \
        BARRIER();                                                                                 \
        team[own] = a;                                                                             \
        team[BLOCK + own] = b;                                                                     \
        BARRIER();                                                                                 \
        for (u32 i = 0; i < 2; ++i)                                                                \
            for (u32 q = 0; q < 4; ++q)                                                            \
                totals[i] += team[4 * g + q] * team[BLOCK + 4 * (2 * t + i) + q];                  \
    }

MMA_TILE_OF(f32)
#define MMA_TILE_SCRATCH_f32 (2 * BLOCK)
#if defined(DIALECT_CUDA) && !defined(DIALECT_HIP) && __CUDA_ARCH__ >= 800
#define MMA_TILE_SCRATCH_f64 1
FUNCTION void mma_tile_f64(f64 *totals, f64 a, f64 b, f64 *scratch) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(totals[0]), "+d"(totals[1])
        : "d"(a), "d"(b));
}
#elif defined(FP64)
#define MMA_TILE_SCRATCH_f64 (2 * BLOCK)
MMA_TILE_OF(f64)
#endif
