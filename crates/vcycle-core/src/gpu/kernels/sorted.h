// Columns of a row that are sorted, in local memory unless SPACE says otherwise (teams.h).

#ifndef SPACE
#define SPACE LOCAL
#endif

// The place of a column among those of a row, where it is.
FUNCTION u32 place_of(const SPACE u32 *columns, u32 n, u32 column) {
    u32 low = 0;
    while (n > 1) {
        const u32 middle = n / 2;
        low += columns[low + middle] <= column ? middle : 0;
        n -= middle;
    }
    return low;
}

