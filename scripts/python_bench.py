"""vcycle.solve beside PyAMG's recommended solver, and what handing over a large matrix costs.

Set-up plus solve to a relative residual of 1e-8, the best of three rounds taken in turn, by the clock and in processor
time, which other work on the machine disturbs less. PyAMG runs on one thread.
"""

import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyamg
import scipy.sparse as sp

import vcycle
from vcycle import _core
from vcycle._arrays import matrix_arrays

ROUNDS = 3


def seconds(work):
    """By the clock, of the processor, and what came of it."""
    begin, processor = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - begin, time.process_time() - processor, result


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def compare(name, A, b, theirs, ours):
    """Prints the best times of each; `ours` and `theirs` solve and return x."""
    times, found = {}, {}
    for _ in range(ROUNDS):
        for who, work in {"pyamg": theirs, **ours}.items():
            *taken, x = seconds(work)
            times.setdefault(who, []).append(taken)
            found[who] = residual(A, x, b)
    best = {who: np.min(taken, axis=0) for who, taken in times.items()}
    print(f"\n{name}: {A.shape[0]:,} rows, {A.nnz:,} entries", flush=True)
    for who, (clock, processor) in best.items():
        faster, less = best["pyamg"] / (clock, processor)
        print(
            f"  {who:18} {clock:8.3f} s, processor {processor:8.3f} s, residual {found[who]:.1e}: "
            f"{faster:.1f} times as fast, {less:.1f} times less processor time",
            flush=True,
        )


def accelerated(A, b, **options):
    """PyAMG's smoothed aggregation inside CG, what its documentation recommends for such matrices."""
    ml = pyamg.smoothed_aggregation_solver(A, **options)
    return ml.solve(b, tol=1e-8, accel="cg")


def poisson(threads):
    A = pyamg.gallery.poisson((1000, 1000), format="csr")
    b = np.ones(A.shape[0])
    ours = {f"vcycle, {n} threads": lambda n=n: vcycle.solve(A, b, threads=n) for n in threads}
    compare("poisson((1000, 1000)), pyamg smoothed aggregation + cg", A, b, lambda: accelerated(A, b), ours)
    ruge = lambda: pyamg.ruge_stuben_solver(A).solve(b, tol=1e-8, accel="cg")
    compare("poisson((1000, 1000)), pyamg Ruge-Stueben + cg", A, b, ruge, ours)
    compare("poisson((1000, 1000)), pyamg.solve", A, b, lambda: pyamg.solve(A, b, tol=1e-8, verb=False), ours)


def elasticity(threads):
    problem = vcycle.gallery.build("elasticity:60x20x20")
    A, b, B = problem.A, problem.b, problem.near_nullspace
    blocks = sp.bsr_matrix(A.tobsr((3, 3)))
    known = {"near_nullspace": B, "block_size": 3}
    ours = {f"vcycle, {n} threads": lambda n=n: vcycle.solve(A, b, threads=n, **known) for n in threads}
    compare("elasticity:60x20x20, pyamg smoothed aggregation + cg", A, b, lambda: accelerated(blocks, b, B=B), ours)


def handing_over(threads):
    """`vcycle.solve` uses a matrix in place, `vcycle.amg` copies it; both look for entries that are wrong."""
    A = vcycle.gallery.build("poisson7:128").A
    print(f"\nhanding over {A.shape[0]:,} rows, {A.nnz:,} entries (indices of {A.indices.dtype})")
    for n in threads:
        config = f'{{"run": {{"threads": {n}}}}}'
        take = lambda share: _core.Matrix(config, *matrix_arrays(A)[:5], None, None, share)
        in_place, copied = (min(seconds(lambda: take(share))[0] for _ in range(9)) for share in (True, False))
        setups = [
            vcycle.solve(A, np.ones(A.shape[0]), threads=n, return_outcome=True)[1].setup_seconds
            for _ in range(ROUNDS)
        ]
        print(
            f"  {n} threads: {in_place * 1e3:.1f} ms in place, {copied * 1e3:.1f} ms copied, set-up "
            f"{min(setups) * 1e3:.0f} ms: {100 * in_place / min(setups):.1f} and {100 * copied / min(setups):.1f} % of it"
        )


if __name__ == "__main__":
    chosen = [int(argument) for argument in sys.argv[1:]] or [1, 2]
    print(f"vcycle {vcycle.__version__}, pyamg {pyamg.__version__}, {os.cpu_count()} processors")
    poisson(chosen)
    elasticity(chosen)
    handing_over(chosen)
