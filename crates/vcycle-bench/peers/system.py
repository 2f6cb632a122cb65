"""A linear system from a file of vcycle-bench; system.h tells what is in it."""
import numpy


class System:
    def __init__(self, path):
        with open(path, "rb") as file:
            if file.read(8) != b"vcycle01":
                raise SystemExit(f"{path} is not a file of vcycle-bench")
            rows, entries, self.block, modes = map(int, numpy.fromfile(file, numpy.int64, 4))
            self.offsets = numpy.fromfile(file, numpy.int64, rows + 1).astype(numpy.int32)
            self.columns = numpy.fromfile(file, numpy.int32, entries)
            self.values = numpy.fromfile(file, numpy.float64, entries)
            self.rhs = numpy.fromfile(file, numpy.float64, rows)
            self.modes = numpy.fromfile(file, numpy.float64, modes * rows).reshape(modes, rows)

    def matrix(self):
        import scipy.sparse

        arrays = (self.values, self.columns, self.offsets)
        return scipy.sparse.csr_matrix(arrays, shape=2 * (len(self.rhs),))
