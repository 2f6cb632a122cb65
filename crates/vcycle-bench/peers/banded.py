"""LAPACK's banded solver on the systems of `vcycle-bench batch`: SYSTEMS ROWS BAND THREADS RUNS.

Calls `dgbsv` of the LAPACK that SciPy has, from a loop in C over all systems, which OpenMP spreads over the threads. Matrices
are in LAPACK's layout before the clock starts. Prints the best time and the largest relative residual as JSON.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

systems, n, band, threads, runs = map(int, sys.argv[1:6])
# Threads share systems, not the work of one.
os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS=str(threads))

import numpy  # noqa: E402
from scipy.linalg import cython_lapack  # noqa: E402

LOOP = r"""
typedef void (*Gbsv)(int *, int *, int *, int *, double *, int *, int *, double *, int *, int *);

int solve_all(Gbsv gbsv, int systems, int n, int band, double *matrices, double *sides) {
    int failed = 0, height = 3 * band + 1;
    #pragma omp parallel for reduction(+ : failed)
    for (int i = 0; i < systems; i++) {
        int rows = n, below = band, above = band, one = 1, leading = height, pivots[n], info;
        gbsv(&rows, &below, &above, &one, matrices + (long)i * n * height, &leading, pivots, sides + (long)i * n, &rows, &info);
        failed += info != 0;
    }
    return failed;
}
"""


def compiled(folder):
    source, library = os.path.join(folder, "loop.c"), os.path.join(folder, "loop.so")
    with open(source, "w") as file:
        file.write(LOOP)
    subprocess.run(["cc", "-O3", "-fopenmp", "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(library).solve_all


def dgbsv():
    capsule = cython_lapack.__pyx_capi__["dgbsv"]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name(capsule))


def diagonals():
    """Values by their distance to the diagonal: of every system and row, zero outside of the matrix."""
    system, row = numpy.arange(systems)[:, None], numpy.arange(n)[None, :]
    found = {}
    for distance in range(-band, band + 1):
        column = row + distance
        wave = numpy.sin((system * 31 + row * 7 + column * 3).astype(float)) - 0.3
        values = numpy.full_like(wave, 1.1 * band) if distance == 0 else wave
        found[distance] = numpy.where((column >= 0) & (column < n), values, 0.0)
    return found


def in_bands(found):
    """Entry (i, j) in place 2 band + i - j of column j."""
    matrices = numpy.zeros((systems, n, 3 * band + 1))
    for distance, values in found.items():
        rows = numpy.arange(max(0, -distance), min(n, n - distance))
        matrices[:, rows + distance, 2 * band - distance] = values[:, rows]
    return matrices


def worst(found, x):
    left = numpy.ones((systems, n))
    for distance, values in found.items():
        rows = numpy.arange(max(0, -distance), min(n, n - distance))
        left[:, rows] -= values[:, rows] * x[:, rows + distance]
    return numpy.linalg.norm(left, axis=1).max() / n**0.5


def main():
    found = diagonals()
    kept = in_bands(found)
    best, pointer = float("inf"), ctypes.c_void_p(dgbsv())
    with tempfile.TemporaryDirectory() as folder:
        solve_all = compiled(folder)
        for _ in range(runs + 1):  # the first one starts the threads
            matrices, x = kept.copy(), numpy.ones((systems, n))
            arrays = (ctypes.c_void_p(array.ctypes.data) for array in (matrices, x))
            begin = time.perf_counter()
            failed = solve_all(pointer, systems, n, band, *arrays)
            best = min(best, time.perf_counter() - begin)
            if failed:
                sys.exit(f"dgbsv found {failed} singular systems")
    print(json.dumps({"seconds": best, "residual": worst(found, x)}))


main()
