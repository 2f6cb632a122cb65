"""Solves the system of a file with pyamg or amgcl and prints one JSON object, as hypre.c does."""
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


def amgcl(system, a):
    """Smoothed aggregation with its defaults; the Python module takes no near-nullspace."""
    import pyamgcl

    parameters = {"coarsening.aggr.block_size": system.block} if system.block > 1 else {}
    stop = {"type": "cg", "tol": TOLERANCE, "maxiter": MAX_ITERATIONS}

    def solve(solver):
        return solver(system.rhs), solver.iters, None

    return lambda: pyamgcl.solver(pyamgcl.amg(a, parameters), stop), solve


def main():
    library, path = sys.argv[1:]
    system = System(path)
    a = system.matrix()
    set_up, solve = {"pyamg": pyamg, "amgcl": amgcl}[library](system, a)
    begin = time.perf_counter()
    solver = set_up()
    ready = time.perf_counter()
    x, iterations, complexity = solve(solver)
    end = time.perf_counter()
    residual = numpy.linalg.norm(system.rhs - a @ x) / numpy.linalg.norm(system.rhs)
    print(json.dumps({
        "setup": ready - begin,
        "solve": end - ready,
        "iterations": iterations,
        "residual": residual,
        "complexity": complexity,
    }))


main()
