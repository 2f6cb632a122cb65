"""Solves with arrays of CuPy on a GPU, and what travels to it and back: python scripts/python_gpu_bench.py [PROBLEM]

The best of four rounds, after one that compiles the kernels; `PYTHONPATH` names an unpacked wheel where none is installed.
"""

import inspect
import sys
import time

import cupy
import cupyx.scipy.sparse as csp
import cupyx.scipy.sparse.linalg as csla

import vcycle
from vcycle import _core

ROUNDS = 4
RTOL = "rtol" if "rtol" in inspect.signature(csla.cg).parameters else "tol"


def best(work):
    """Milliseconds by the clock, and what came of it."""
    work()
    times = []
    for _ in range(ROUNDS):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        result = work()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3, result


def main(name):
    problem = vcycle.gallery.build(name)
    A, b = csp.csr_matrix(problem.A), cupy.asarray(problem.b)
    ms, (x, outcome) = best(lambda: vcycle.solve(A, b, return_outcome=True))
    off = float(cupy.linalg.norm(b - A @ x) / cupy.linalg.norm(b))
    print(f"vcycle.solve, arrays of CuPy: {ms:.1f} ms, {outcome.iterations} iterations, residual {off:.1e}")
    before = _core.traffic("cuda:0")
    vcycle.solve(A, b)
    moved = [(after - begin) / 1e6 for after, begin in zip(_core.traffic("cuda:0"), before)]
    print(f"  {moved[0]:.2f} MB travel to the device, {moved[1]:.2f} MB back")
    ms, _ = best(lambda: vcycle.solve(problem.A, problem.b, device="cuda:0"))
    print(f"vcycle.solve, arrays of SciPy: {ms:.1f} ms")
    ms, ml = best(lambda: vcycle.amg(A))
    print(f"vcycle.amg: {ms:.1f} ms")
    ms, _ = best(lambda: ml.solve(b))
    print(f"ml.solve: {ms:.1f} ms")
    for what, M in [("ml.as_preconditioner()", ml.as_preconditioner()), ("nothing", None)]:
        ms, (_, info) = best(lambda: csla.cg(A, b, M=M, **{RTOL: 1e-8}))
        print(f"CuPy's cg preconditioned by {what}: {ms:.1f} ms, info {info}")


main(*sys.argv[1:] or ["poisson7:128"])
