"""Times sparse products of Intel MKL on a matrix from files, as asked on standard input.

`time MODE THREADS SECONDS` answers the best time of one product, `checksum` the sum of the product.
Creating the handle and `mkl_sparse_optimize` are not timed. MODE `copy` lets MKL make a second copy
of the matrix in a format of its own, as it does unless told otherwise; `csr` keeps it to the arrays
it was given.
"""
import ctypes
import glob
import os
import sys
import time

import numpy

OPERATION = 10  # SPARSE_OPERATION_NON_TRANSPOSE
MEMORY = {"csr": 80, "copy": 81}  # SPARSE_MEMORY_NONE, SPARSE_MEMORY_AGGRESSIVE


class Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


GENERAL = Description(20, 40, 50)


def library():
    (path,) = glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def check(status, call):
    if status != 0:
        sys.exit(f"{call} failed with status {status}")


class Matrix:
    def __init__(self, mkl, folder):
        self.mkl = mkl
        self.offsets = numpy.fromfile(folder + "/offsets", numpy.uint64).astype(numpy.int32)
        self.columns = numpy.fromfile(folder + "/columns", numpy.int32)
        self.values = numpy.fromfile(folder + "/values", numpy.float64)
        rows = len(self.offsets) - 1
        self.x = 1.0 + (numpy.arange(rows) % 7) / 8.0
        self.y = numpy.zeros(rows)
        self.handles = {}

    def handle(self, mode, threads):
        self.mkl.MKL_Set_Num_Threads(threads)
        key = (mode, threads)
        if key not in self.handles:
            self.handles[key] = self.optimized(MEMORY[mode])
        return self.handles[key]

    def optimized(self, memory):
        handle, rows = ctypes.c_void_p(), len(self.y)
        check(self.mkl.mkl_sparse_d_create_csr(
            ctypes.byref(handle), 0, rows, rows, pointer(self.offsets),
            pointer(self.offsets[1:]), pointer(self.columns), pointer(self.values)), "create_csr")
        check(self.mkl.mkl_sparse_set_mv_hint(handle, OPERATION, GENERAL, 100000), "set_mv_hint")
        check(self.mkl.mkl_sparse_set_memory_hint(handle, memory), "set_memory_hint")
        check(self.mkl.mkl_sparse_optimize(handle), "optimize")
        return handle

    def multiply(self, handle):
        check(self.mkl.mkl_sparse_d_mv(
            OPERATION, ctypes.c_double(1.0), handle, GENERAL, pointer(self.x),
            ctypes.c_double(0.0), pointer(self.y)), "d_mv")

    def best_within(self, handle, seconds):
        best, begin = float("inf"), time.perf_counter()
        while time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            self.multiply(handle)
            best = min(best, time.perf_counter() - start)
        return best


def main():
    mkl = library()
    mkl.MKL_Set_Dynamic(0)
    matrix = Matrix(mkl, sys.argv[1])
    for line in sys.stdin:
        match line.split():
            case ["time", mode, threads, seconds]:
                handle = matrix.handle(mode, int(threads))
                print(matrix.best_within(handle, float(seconds)), flush=True)
            case ["checksum"]:
                matrix.multiply(matrix.handle("copy", 1))
                print(matrix.y.sum(), flush=True)


main()
