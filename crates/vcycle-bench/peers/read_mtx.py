"""Times scipy.io.mmread on a Matrix Market file and prints one JSON object.

    python read_mtx.py FILE.mtx[.gz] [--repeat 3] [--threads N]

`read_seconds` is mmread alone (it returns coordinates), `csr_seconds` is mmread followed by
tocsr(), which is what a solver needs. Both are the best of the repetitions.
"""

import argparse
import json
import os
import time


def best_of(repeat, work):
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    arguments = parser.parse_args()

    import scipy
    from scipy.io import _fast_matrix_market, mmread

    _fast_matrix_market.PARALLELISM = arguments.threads
    read_seconds, _ = best_of(arguments.repeat, lambda: mmread(arguments.file))
    csr_seconds, matrix = best_of(arguments.repeat, lambda: mmread(arguments.file).tocsr())
    print(json.dumps({
        "peer": "scipy.io.mmread",
        "version": scipy.__version__,
        "threads": arguments.threads or os.cpu_count(),
        "bytes": os.path.getsize(arguments.file),
        "rows": matrix.shape[0],
        "nonzeros": matrix.nnz,
        "read_seconds": read_seconds,
        "csr_seconds": csr_seconds,
    }))


if __name__ == "__main__":
    main()
