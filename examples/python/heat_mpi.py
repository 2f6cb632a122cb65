"""Implicit time steps of the heat equation on several processes: each has some rows of the grid.

mpirun -n 2 python heat_mpi.py [POINTS ALONG AN AXIS]
"""

import sys

import numpy as np
import scipy.sparse as sp

import vcycle

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as missing:
    print(f"skipped: {missing}")
    sys.exit()

comm = MPI.COMM_WORLD
n = int(sys.argv[1]) if len(sys.argv) > 1 else 40


def own_rows(dt: float) -> sp.csr_array:
    """Own rows of I + dt K: lines of the grid, with the columns of the whole matrix."""
    first, end = (n * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    own = sp.eye_array(n).tocsr()[first:end]
    stiffness = sp.kron(line[first:end], sp.eye_array(n)) + sp.kron(own, line)
    return (sp.kron(own, sp.eye_array(n)) + dt * stiffness).tocsr()


dt = 1.0
solver = vcycle.distributed.Solver(comm, own_rows(dt), preconditioner="amg")
u = np.ones(own_rows(dt).shape[0])
for step in range(1, 6):
    solver.update(own_rows(dt))  # the same places, other values
    u, outcome = solver.solve(u, x0=u, return_outcome=True)
    largest = comm.allreduce(u.max(initial=0.0), op=MPI.MAX)
    if comm.rank == 0:
        print(f"step {step}, dt = {dt:.1f}: {outcome.iterations} iterations, largest value {largest:.4f}")
    dt *= 1.5
