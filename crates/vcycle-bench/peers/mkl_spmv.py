"""Times sparse products of Intel MKL with the matrix of a file, as asked on standard input.

`time MODE THREADS SECONDS` answers the best time of one product, `checksum MODE` the sum of it.
MODE `plain` is the product of sparse-dot-mkl, which makes a handle for the CSR arrays every time.
The others make a handle once and optimise it for many products, which is not timed: `copy` lets MKL
store the matrix a second time in a format of its own, as it does unless told otherwise; `csr` keeps
it to the arrays it was given.
"""
import ctypes
import glob
import os
import sys
import time

OPERATION = 10  # SPARSE_OPERATION_NON_TRANSPOSE
MEMORY = {"csr": 80, "copy": 81}  # SPARSE_MEMORY_NONE, SPARSE_MEMORY_AGGRESSIVE


class Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


GENERAL = Description(20, 40, 50)


def library():
    (path,) = glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))
    os.environ["MKL_RT"] = path  # where sparse-dot-mkl looks first
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def check(status, call):
    if status != 0:
        sys.exit(f"{call} failed with status {status}")


class Products:
    def __init__(self, mkl, system):
        self.mkl = mkl
        self.system = system
        self.x = system.rhs
        self.y = numpy.zeros_like(system.rhs)
        self.handles = {}

    def product(self, mode, threads):
        self.mkl.MKL_Set_Num_Threads(threads)
        if mode == "plain":
            from sparse_dot_mkl import dot_product_mkl

            a = self.system.matrix()
            return lambda: dot_product_mkl(a, self.x, out=self.y, out_scalar=0.0)
        key = (mode, threads)
        if key not in self.handles:
            self.handles[key] = self.optimized(MEMORY[mode])
        return lambda: self.multiply(self.handles[key])

    def optimized(self, memory):
        handle, rows, system = ctypes.c_void_p(), len(self.y), self.system
        check(self.mkl.mkl_sparse_d_create_csr(
            ctypes.byref(handle), 0, rows, rows, pointer(system.offsets),
            pointer(system.offsets[1:]), pointer(system.columns), pointer(system.values)),
            "create_csr")
        check(self.mkl.mkl_sparse_set_mv_hint(handle, OPERATION, GENERAL, 100000), "set_mv_hint")
        check(self.mkl.mkl_sparse_set_memory_hint(handle, memory), "set_memory_hint")
        check(self.mkl.mkl_sparse_optimize(handle), "optimize")
        return handle

    def multiply(self, handle):
        check(self.mkl.mkl_sparse_d_mv(
            OPERATION, ctypes.c_double(1.0), handle, GENERAL, pointer(self.x),
            ctypes.c_double(0.0), pointer(self.y)), "d_mv")


def best_within(product, seconds):
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        product()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    mkl = library()
    mkl.MKL_Set_Dynamic(0)
    products = Products(mkl, System(sys.argv[1]))
    for line in sys.stdin:
        match line.split():
            case ["time", mode, threads, seconds]:
                product = products.product(mode, int(threads))
                print(best_within(product, float(seconds)), flush=True)
            case ["checksum", mode]:
                products.product(mode, 1)()
                print(products.y.sum(), flush=True)


main()
