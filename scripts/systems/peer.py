"""One system with one peer in a process of its own: peer.py PEER SYSTEM.npz SOLUTION.npy; prints times and memory as JSON.

PEER begins with its library: `mumps`, `cholmod`, `umfpack` and `boomeramg` through PETSc, with the Python of Debian;
`pardiso` (MKL) with that of the environment. Reading the matrix is not counted.
"""

import json
import os
import sys
import time

import numpy as np

RTOL = 1e-8


def memory(field):
    """Bytes of memory that this process holds (VmRSS), or held at most (VmHWM)."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def forget_peak():
    """The most memory held is counted from here."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return memory("VmRSS")


class Petsc:
    """PETSc's factorisations by other libraries, refined, and hypre's BoomerAMG with CG or GMRES."""

    def __init__(self, system, peer):
        import petsc4py

        # Ranks know each other by mpirun; options of the command line are ours, not PETSc's.
        petsc4py.init([sys.argv[0]])
        from petsc4py import PETSc

        self.petsc, self.peer, self.rank = PETSc, peer, PETSc.COMM_WORLD.rank
        size, share = len(system["indptr"]) - 1, len(system["indptr"]) // PETSc.COMM_WORLD.size
        begin = self.rank * share
        end = size if self.rank == PETSc.COMM_WORLD.size - 1 else begin + share
        part = slice(system["indptr"][begin], system["indptr"][end])
        rows = system["indptr"][begin : end + 1] - system["indptr"][begin]
        csr = [rows.astype(PETSc.IntType), system["indices"][part].astype(PETSc.IntType), system["data"][part].astype(PETSc.ScalarType)]
        self.matrix = PETSc.Mat().createAIJ(((end - begin, size), (end - begin, size)), csr=csr)
        self.matrix.setOption(PETSc.Mat.Option.SYMMETRIC, bool(system["symmetric"]))
        if peer in ["mumps-spd", "cholmod"]:
            self.matrix.setOption(PETSc.Mat.Option.SPD, True)
        self.rhs, self.x = self.matrix.createVecRight(), self.matrix.createVecRight()
        self.rhs.setArray(system["rhs"][begin:end])
        options = PETSc.Options()
        for key, value in self.options(system).items():
            options[key] = value
        PETSc.Log.begin()

    def options(self, system):
        if self.peer.startswith("boomeramg"):
            found = {"ksp_type": "cg" if system["symmetric"] else "gmres", "ksp_gmres_restart": 50, "pc_type": "hypre", "ksp_max_it": 1000}
            found |= {"ksp_norm_type": "unpreconditioned"} | ({} if system["symmetric"] else {"ksp_pc_side": "right"})
            found["pc_hypre_boomeramg_strong_threshold"] = float(self.peer.partition(":")[2] or 0.25)
        else:
            symmetric = system["symmetric"] and self.peer != "umfpack"
            found = {"ksp_type": "richardson", "ksp_max_it": 3, "ksp_norm_type": "unpreconditioned", "pc_type": "cholesky" if symmetric else "lu"}
            found["pc_factor_mat_solver_type"] = self.peer.split("-")[0]
            # More room for delayed pivots, and rows without a pivot are found.
            found |= {"mat_mumps_icntl_14": 100, "mat_mumps_icntl_24": 1} if self.peer.startswith("mumps") else {}
        return found | {"ksp_rtol": RTOL}

    def seconds(self, *events):
        return sum(self.petsc.Log.Event(name).getPerfInfo()["time"] for name in events)

    def run(self):
        ksp = self.petsc.KSP().create()
        ksp.setOperators(self.matrix)
        ksp.setFromOptions()
        begun = time.perf_counter()
        ksp.setUp()
        ready = time.perf_counter()
        ksp.solve(self.rhs, self.x)
        done = time.perf_counter()
        analysis = self.seconds("MatLUFactorSym", "MatCholFctrSym")
        return {"analysis": analysis, "factor": ready - begun - analysis, "solve": done - ready, "iterations": ksp.getIterationNumber()}

    def solution(self):
        scatter, whole = self.petsc.Scatter.toZero(self.x)
        scatter.scatter(self.x, whole)
        return whole.getArray()


class Pardiso:
    """The direct solver of MKL, refined."""

    def __init__(self, system, peer):
        import pypardiso
        from scipy import sparse

        shape = (len(system["indptr"]) - 1,) * 2
        self.matrix = sparse.csr_matrix((system["data"], system["indices"], system["indptr"]), shape=shape)
        self.rhs, self.rank = system["rhs"], 0
        self.x, self.zero = np.zeros_like(self.rhs), np.zeros_like(self.rhs)
        kind = 2 if peer == "pardiso-spd" else -2 if system["symmetric"] else 11
        # Symmetric kinds need the upper triangle.
        self.stored = self.matrix if kind == 11 else with_diagonal(sparse.triu(self.matrix))
        self.solver = pypardiso.PyPardisoSolver(mtype=kind)
        # Its first call loads libraries and starts threads.
        few = sparse.eye_array(100, format="csr")
        pypardiso.PyPardisoSolver().solve(sparse.csr_matrix(few), np.ones(100))

    def phase(self, number, rhs):
        self.solver.set_phase(number)
        return np.asarray(self.solver._call_pardiso(self.stored, rhs.reshape(-1, 1))).ravel()

    def run(self):
        times = [time.perf_counter()]
        for number in [11, 22]:
            self.phase(number, self.zero)
            times.append(time.perf_counter())
        residual, sweep = self.rhs, 0
        while sweep < 3 and not np.linalg.norm(residual) <= RTOL * np.linalg.norm(self.rhs):
            self.x, sweep = self.x + self.phase(33, residual), sweep + 1
            residual = self.rhs - self.matrix @ self.x
        times.append(time.perf_counter())
        return {**dict(zip(["analysis", "factor", "solve"], np.diff(times))), "iterations": sweep}

    def solution(self):
        return self.x


def with_diagonal(upper):
    """An upper triangle in which every entry of the diagonal is stored, zeros too."""
    from scipy import sparse

    upper = upper.tocoo()
    missing = np.setdiff1d(np.arange(upper.shape[0]), upper.row[upper.row == upper.col])
    rows, columns = np.append(upper.row, missing), np.append(upper.col, missing)
    values, order = np.append(upper.data, np.zeros(len(missing))), np.lexsort((columns, rows))
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=upper.shape[0]))).astype(np.int32)
    return sparse.csr_matrix((values[order], columns[order].astype(np.int32), starts), shape=upper.shape)


def main(peer, file, solution):
    with np.load(file) as archive:
        system = {key: archive[key] for key in archive}
    solver = (Pardiso if peer.startswith("pardiso") else Petsc)(system, peer)
    # The matrix is counted as memory of the solver, as it is for vcycle.
    stored = sum(system[key].nbytes for key in ["data", "indices", "indptr", "rhs"])
    del system
    before = forget_peak()
    found = solver.run()
    found["memory"] = memory("VmHWM") - before + stored
    x = solver.solution()
    if solver.rank == 0:
        np.save(solution, x)
        print(json.dumps(found), flush=True)
    # Some libraries fail when they clean up, which is not of interest here.
    if solver.rank == 0 and "OMPI_COMM_WORLD_SIZE" not in os.environ:
        os._exit(0)


main(*sys.argv[1:])
