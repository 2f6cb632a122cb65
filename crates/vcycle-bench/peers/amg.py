"""Solves the system of a file with pyamg, writes the solution and prints one JSON object, as hypre.c does."""
import json
import sys
import time

import numpy

TOLERANCE, MAX_ITERATIONS = 1e-8, 500


def pyamg(system, a):
    """Smoothed aggregation with its defaults, the modes as near-nullspace; it has no threads."""
    import pyamg

    near = system.modes.T if len(system.modes) else None
    a = a.tobsr((system.block, system.block)) if system.block > 1 else a

    def solve(hierarchy):
        residuals = []
        x = hierarchy.solve(
            system.rhs, tol=TOLERANCE, maxiter=MAX_ITERATIONS, accel="cg", residuals=residuals)
        return x, len(residuals) - 1, hierarchy.operator_complexity()

    return lambda: pyamg.smoothed_aggregation_solver(a, B=near), solve


def main():
    library, path, solution = sys.argv[1:]
    start = time.perf_counter()
    system = System(path)
    a = system.matrix()
    set_up, solve = {"pyamg": pyamg}[library](system, a)
    begin = time.perf_counter()
    solver = set_up()
    ready = time.perf_counter()
    x, iterations, complexity = solve(solver)
    end = time.perf_counter()
    numpy.asarray(x, dtype=numpy.float64).tofile(solution)
    print(json.dumps({
        "read": begin - start,
        "setup": ready - begin,
        "solve": end - ready,
        "iterations": iterations,
        "complexity": complexity,
    }))


main()
