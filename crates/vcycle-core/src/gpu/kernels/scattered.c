#include "tiles.h"

// Numbers in -1..1 that look random, as multigrid/spectrum.rs has them, in the type T.
KERNEL scatter(u64 rows, GLOBAL T *RESTRICT v) {
    FOR_ITEMS(row, rows) STORE(f64, T, v, row, scattered(row));
}
