"""Processes under mpirun beside one process; skips where mpi4py or mpirun is not there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
MPIRUN = shutil.which("mpirun") or shutil.which("mpiexec")
if MPIRUN is None:
    pytest.skip("there is no mpirun", allow_module_level=True)

EXAMPLES = Path(__file__).parents[3] / "examples" / "python"

PROGRAM = """
import numpy as np, scipy.sparse as sp, vcycle
from mpi4py import MPI
comm = MPI.COMM_WORLD
problem = vcycle.gallery.build("poisson5:30")
A, b = problem.A.tocsr(), problem.b
cuts = [900 * rank // comm.size for rank in range(comm.size + 1)]
own = slice(cuts[comm.rank], cuts[comm.rank + 1])
x = vcycle.distributed.solve(comm, A[own], b[own], rtol=1e-10)
expected = vcycle.solve(A, b, rtol=1e-10)
assert abs(x - expected[own]).max() < 1e-7 * abs(expected).max()
solver = vcycle.distributed.Solver(comm, A[own], preconditioner="amg")
solver.update(2.0 * A[own])
both = solver.solve(np.column_stack([b, 3.0 * b])[own])
assert abs(both[:, 1] - 1.5 * expected[own]).max() < 1e-5 * abs(expected).max()
x, outcome = vcycle.distributed.solve(comm, A[own], b[own], rtol=1e-10, precision="sp", return_outcome=True)
assert outcome.converged and abs(x - expected[own]).max() < 1e-7 * abs(expected).max()
waves = (A + 1j * sp.eye_array(900)).tocsr()
x = vcycle.distributed.solve(comm, waves[own], b[own], rtol=1e-10)
expected = vcycle.solve(waves, b, rtol=1e-10)
assert x.dtype == np.complex128 and abs(x - expected[own]).max() < 1e-7 * abs(expected).max()
for wrong in (A[own][:, :-1], A[own].toarray()):
    try:
        vcycle.distributed.solve(comm, wrong if comm.rank == 0 else A[own], b[own])
    except (ValueError, TypeError, RuntimeError) as error:
        assert comm.rank == 0 or "rank 0" in str(error), error
    else:
        raise AssertionError("not refused")
try:
    solver.update(A[own] @ A if comm.rank == comm.size - 1 else A[own])
except (ValueError, RuntimeError):
    pass
else:
    raise AssertionError("not refused")
if comm.rank == 0:
    print("all as expected")
"""


def run(ranks, *program):
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout
    options = ["--oversubscribe", "--allow-run-as-root"] if "Open" in version else []
    command = [MPIRUN, *options, "-n", str(ranks), sys.executable, *program]
    # A library that has started MPI in this process has left word of it in the environment, and mpirun would refuse to start.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "PMI_"))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_processes_solve_as_one_does(ranks, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert "all as expected" in run(ranks, str(program))


def test_time_steps_are_the_same_on_any_number_of_processes():
    example = str(EXAMPLES / "heat_mpi.py")
    alone, shared = run(1, example, "24"), run(2, example, "24")
    values = [[line.split()[-1] for line in text.splitlines()] for text in (alone, shared)]
    assert len(values[0]) == 5 and values[0] == values[1]
