// Where sliced blocks have their values.
//
// Definitions: HEIGHT rows and BREADTH columns of a block; VECTOR of its values stand side by side. The values of a step of a slice are
// those of 32 blocks, one for each lane: first those that come in whole vectors, vector after vector, then the others one by one. So
// neighbouring threads ask for neighbouring vectors.

#define LANES 32
#define ENTRIES (HEIGHT * BREADTH)
#define IN_VECTORS (ENTRIES / VECTOR * VECTOR)

// Value k of a lane's block, from the first value of the step on.
FUNCTION u32 place_of_value(u32 k, u32 own) {
    return k < IN_VECTORS ? (k / VECTOR * LANES + own) * VECTOR + k % VECTOR : k * LANES + own;
}

// A row of the input that exists; what lies behind the last one is multiplied by zero.
#if RAGGED
#define INPUT_ROW(row) min((u64)(row), last)
#else
#define INPUT_ROW(row) (row)
#endif
