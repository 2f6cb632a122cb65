"""Solves every system with vcycle and with its peers, and writes a table: the program behind scripts/compare-systems.

Every solve is a process of its own. Reading the matrix is not counted; analysis, factorisation or set-up, failed attempts and the
solve are. The residual is that of the solution, computed here. A solve over in two seconds is repeated, and the best of three counts.
"""

import argparse
import fnmatch
import glob
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from collection import SYSTEMS, is_symmetric
from generate import chosen, generate
from scipy import io, sparse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RTOL = 1e-8
# The solution is written in full, but its residual is summed in another order here.
ACCEPTED = 1.01 * RTOL
# Where 1e-8 is out of reach of double precision: the backward error of a solution that is as good as rounded numbers can be.
ROUNDING = 1e-15
REPEATED_BELOW, REPEATS = 2.0, 3
# Bytes that a process may ask for, so that a factorisation with too much fill leaves the machine alone.
MEMORY = 10 << 30

DONE = ["solved", "rounding"]

ILUT = ["--solver", "gmres", "--precond", "ilut:5,1e-4", "--match", "mc64", "--reorder", "amd"]
DEFINITE = ["amg", "amg:pmis", "amg:hmis", "ic0", "fsai", "jacobi"]
SYMMETRIC = [("minres", "l1-jacobi"), ("fgmres", "saddle")]
GENERAL = [("gmres", "ilu0"), ("gmres", "ilut"), ("bicgstab", "ilu0"), ("fgmres", "amg"), ("fgmres", "amg:pmis"), ("gmres", "jacobi")]


class System:
    """A matrix, its right-hand side, and what decides which methods are tried."""

    def __init__(self, folder, name):
        self.name, self.file, self.rhs_file = name, os.path.join(folder, name + ".mtx"), os.path.join(folder, name + "_b.mtx")
        self.matrix = sparse.csr_array(io.mmread(self.file))
        self.rhs = np.asarray(io.mmread(self.rhs_file)).ravel()
        self.matrix.sort_indices()
        self.complex = bool(np.iscomplexobj(self.matrix))
        # Peers are given the symmetric part where a matrix is symmetric up to rounding, as whoever knows the problem would do.
        largest = abs(self.matrix).max()
        self.symmetric = bool(abs(self.matrix - self.matrix.T).max() <= 1e-12 * largest)
        diagonal = self.matrix.diagonal()
        self.maybe_definite = self.symmetric and not self.complex and bool(np.all(diagonal > 0))

    def judge(self, path):
        """Of the solution in a file: the relative residual, and `solved`, `rounding` or nothing."""
        if not os.path.exists(path):
            return np.inf, None
        x = np.asarray(np.load(path) if path.endswith(".npy") else io.mmread(path)).ravel()
        residual = self.rhs - self.matrix @ x
        relative = float(np.linalg.norm(residual) / np.linalg.norm(self.rhs))
        scale = abs(self.matrix).sum(axis=1).max() * abs(x).max() + abs(self.rhs).max()
        return relative, "solved" if relative <= ACCEPTED else "rounding" if abs(residual).max() <= ROUNDING * scale else None

    def for_peers(self, path):
        matrix = self.matrix
        if self.symmetric and not is_symmetric(matrix):
            matrix = ((matrix + matrix.T) / 2).tocsr()
        np.savez(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, rhs=self.rhs, symmetric=self.symmetric)


def run_process(command, limit, environment):
    """Output, errors, CPU seconds and exit code of a process, which is killed when the limit has passed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        limited = ["prlimit", f"--as={MEMORY}", *command]
        child = subprocess.Popen(limited, stdout=out, stderr=errors, env={**os.environ, **environment}, start_new_session=True)
        timer = threading.Timer(limit, lambda: os.killpg(child.pid, 9))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        timer.cancel()
        out.seek(0), errors.seek(0)
        return out.read().decode(), errors.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime, child.returncode


def record(system, method, status, seconds=np.nan, **more):
    return {"system": system.name, "method": method, "status": status, "seconds": seconds, **more}


class Runner:
    def __init__(self, given, scratch):
        self.given, self.scratch = given, scratch
        self.solution = os.path.join(scratch, "x")

    def best_of(self, once):
        """The fastest of several solves, where they take little time."""
        best = once()
        for _ in range(REPEATS - 1):
            if best["status"] in DONE and best["seconds"] < REPEATED_BELOW and not self.given.once:
                best = min(best, once(), key=lambda found: found["seconds"])
        return best

    def vcycle(self, system, method, options, limit):
        """One solve with the program, judged by the solution that it wrote."""
        path = self.solution + ".mtx"
        command = [self.given.program, "solve", system.file, "--rhs", system.rhs_file, "--json", "--output", path]
        command += ["--threads", str(self.given.threads), "--time-limit", str(limit), *options]
        if os.path.exists(path):
            os.remove(path)
        output, errors, cpu, code = run_process(command, 2 * limit + 60, {})
        try:
            found = json.loads(output)
        except ValueError:
            reason = errors.strip().splitlines()[-1] if errors.strip() else ""
            return record(system, method, "killed" if code < 0 else "refused", note=reason)
        if found.get("setup_seconds") is None:
            return record(system, method, "refused", note=str(found.get("error", ""))[:200])
        residual, status = system.judge(path)
        seconds = found["setup_seconds"] + found["solve_seconds"]
        # A solve that was stopped did not find out by itself that its solution cannot be improved.
        if found["status"] == "converged":
            status = "solved" if status == "solved" else "wrong"
        elif found["status"] != "accuracy-limit" or not status:
            status = found["status"]
        config, messages = found["config"], found["messages"]
        chosen = config["solver"]["name"] + ("+" + config["preconditioner"]["name"] if config["preconditioner"]["name"] != "none" else "")
        times = {"setup": found["setup_seconds"], "solve": found["solve_seconds"], "cpu": cpu, "memory": found["peak_memory_bytes"]}
        tries = max(1, sum(message.startswith("auto: ") for message in messages))
        return record(system, method, status, seconds, residual=residual, iterations=found["iterations"], tries=tries, chosen=chosen, **times)

    def peer(self, system, peer):
        """One solve with another library."""
        path, threads = self.solution + ".npy", str(self.given.threads)
        environment = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        command = [sys.executable]
        if not peer.startswith("pardiso"):
            kind = "complex" if system.complex else "real"
            petsc = max(glob.glob(f"/usr/lib/petscdir/petsc*/*-{kind}"), default="")
            environment |= {"PETSC_DIR": petsc, "PYTHONPATH": f"{petsc}/lib/python3/dist-packages:/usr/lib/python3/dist-packages"}
            command = ["/usr/bin/python3"]
        if peer.startswith("boomeramg"):
            # Debian's hypre has no threads.
            environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            command = ["mpirun", "--oversubscribe", "-n", threads, *command]
        command += [os.path.join(HERE, "peer.py"), peer, os.path.join(self.scratch, "system.npz"), path]
        if os.path.exists(path):
            os.remove(path)
        output, errors, cpu, code = run_process(command, self.given.limit + 30, environment)
        try:
            found = json.loads(output.strip().splitlines()[-1])
        except (ValueError, IndexError):
            return record(system, peer, "killed" if code == -9 else "failed", note=(errors.strip().splitlines() or [""])[-1][:200])
        seconds, (residual, status) = found["analysis"] + found["factor"] + found["solve"], system.judge(path)
        times = {"analysis": found["analysis"], "setup": found["analysis"] + found["factor"], "solve": found["solve"], "cpu": cpu}
        return record(system, peer, status or "inaccurate", seconds, residual=residual, iterations=found["iterations"], memory=found["memory"], **times)


def by_hand(system):
    """The choices of solver and preconditioner that are tried on a system, the promising ones first."""
    single = [("direct", ["--solver", "direct"])]
    pairs = [("cg", precond) for precond in DEFINITE] if system.maybe_definite else []
    pairs += SYMMETRIC if system.symmetric and not system.complex and not system.maybe_definite else []
    pairs += [] if system.maybe_definite else GENERAL
    choices = single + [(f"{solver}+{precond}", ["--solver", solver, "--precond", precond]) for solver, precond in pairs]
    return choices + [("gmres+mc64+amd+ilut", ILUT)]


def peers(system, direct):
    """The libraries that can solve a system. Where it may be definite, those for definite matrices are tried too."""
    names = ["mumps", "umfpack"]
    if system.complex:
        return names
    names += ["pardiso"]
    if system.maybe_definite:
        names += ["mumps-spd", "cholmod", "pardiso-spd"]
    return names if direct else [*names, "boomeramg", "boomeramg:0.5"]


def measure(runner, system, given):
    """All solves of a system."""
    system.for_peers(os.path.join(runner.scratch, "system.npz"))
    found = []
    if not given.direct:
        found.append(runner.best_of(lambda: runner.vcycle(system, "nothing said", [], given.limit)))
    best = given.limit

    def is_wanted(name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in given.methods or ["*"])

    for name, options in [choice for choice in by_hand(system)[: 1 if given.direct else None] if is_wanted(choice[0])]:
        # A choice that takes twice as long as the best so far cannot be the best.
        limit = min(given.limit, max(1.0, 2 * best)) if name != "direct" else given.limit
        found.append(runner.best_of(lambda: runner.vcycle(system, name, options, limit)))
        if found[-1]["status"] in DONE:
            best = min(best, found[-1]["seconds"])
    for name in filter(is_wanted, peers(system, given.direct)):
        found.append(runner.best_of(lambda: runner.peer(system, name)))
    for row in found:
        row |= {"rows": system.matrix.shape[0], "nonzeros": system.matrix.nnz, "threads": given.threads}
    return found


COLUMNS = ["system", "rows", "nonzeros", "threads", "method", "status", "seconds", "analysis", "setup", "solve", "cpu", "memory"]
COLUMNS += ["residual", "iterations", "tries", "chosen", "note"]


def as_text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("\t", " ")


def fastest(rows):
    solved = [row for row in rows if row["status"] in DONE]
    return min(solved, key=lambda row: row["seconds"]) if solved else None


def cell(row):
    return f"{row['method']} | {row['seconds']:.3f}" if row else "none | "


def ratio(row, other):
    """How many times longer one took than the other, where both solved the system."""
    return row["seconds"] / other["seconds"] if row and other and row["status"] in DONE and other["status"] in DONE else None


def geometric_mean(values):
    values = [value for value in values if value]
    return f"{np.exp(np.mean(np.log(values))):.2f}" if values else ""


def shown(value):
    return f"{value:.2f}" if value else ""


def summary(results):
    """The table of what vcycle does when nothing is said, the best choice by hand, and the best peer."""
    lines = ["| system | rows | nonzeros | chosen | status | tries | s | best by hand | s | best peer | s | to hand | to peer |"]
    lines.append("|---|---:|---:|---|---|---:|---:|---|---:|---|---:|---:|---:|")
    ratios = []
    for rows in results:
        auto = rows[0]
        hand = fastest([row for row in rows[1:] if "tries" in row])
        peer = fastest([row for row in rows if "tries" not in row])
        pair = ratio(auto, hand), ratio(auto, peer)
        ratios.append((*pair, ratio(hand, peer) if hand else None))
        start = f"| {auto['system']} | {auto['rows']:,} | {auto['nonzeros']:,} | {auto.get('chosen', '')} | {auto['status']} | {auto.get('tries', '')}"
        lines.append(f"{start} | {auto['seconds']:.3f} | {cell(hand)} | {cell(peer)} | {shown(pair[0])} | {shown(pair[1])} |")
    means = [geometric_mean(column) for column in zip(*ratios)]
    failed = [rows[0]["system"] for rows in results if rows[0]["status"] not in DONE]
    lines += ["", f"Geometric mean of the seconds with nothing said over those of the best choice by hand: {means[0]}; over the best peer: {means[1]}."]
    lines += [f"Geometric mean of the best choice by hand over the best peer: {means[2]}."]
    lines += [f"Not solved with nothing said: {len(failed)} of {len(results)}" + (f" ({', '.join(failed)})." if failed else ".")]
    unsolved = [rows[0]["system"] for rows in results if not fastest([row for row in rows if "tries" not in row])]
    return lines + [f"Solved by no peer: {len(unsolved)}" + (f" ({', '.join(unsolved)})." if unsolved else ".")]


def parts(row):
    """Set-up and solve in seconds, and memory in MB; the reason where a method failed."""
    if not row or row["status"] not in DONE:
        return f"{row['status'] if row else ''} | | "
    analysis = f"{row['analysis']:.3f} + {row['setup'] - row['analysis']:.3f}" if "analysis" in row else f"{row['setup']:.3f}"
    return f"{analysis} | {row['solve']:.3f} | {row['memory'] / 1e6:.0f}"


def direct_summary(results):
    """The table of the direct solver beside others: analysis + factorisation, solve, memory."""
    libraries = ["mumps", "cholmod", "umfpack", "pardiso"]
    heads = "".join(f" {name} | solve | MB |" for name in ["vcycle", *libraries])
    lines = [f"| system | rows | nonzeros |{heads} to best |", "|---|---:|---:|" + "---:|" * 16]
    ratios = {name: [] for name in [*libraries, "best"]}
    for rows in results:
        own, others = rows[0], rows[1:]
        of = {name: [row for row in others if row["method"].split("-")[0] == name] for name in libraries}
        best = {name: fastest(found) or (found[0] if found else None) for name, found in of.items()}
        overall = ratio(own, fastest(others))
        ratios["best"].append(overall)
        for name in libraries:
            ratios[name].append(ratio(own, best[name]))
        cells = " | ".join(parts(row) for row in [own, *best.values()])
        lines.append(f"| {own['system']} | {own['rows']:,} | {own['nonzeros']:,} | {cells} | {shown(overall)} |")
    failed = {rows[0]["system"] for rows in results if rows[0]["status"] not in DONE}
    lines += ["", "Geometric means of vcycle's seconds over those of: " + ", ".join(f"{name} {geometric_mean(found)}" for name, found in ratios.items()) + "."]
    return lines + [f"Not solved by vcycle: {len(failed)} of {len(results)}" + (f" ({', '.join(sorted(failed))})." if failed else ".")]


def listing(folder, names):
    """The table of the systems."""
    lines = ["| system | rows | nonzeros | entries | what it is |", "|---|---:|---:|---|---|"]
    for name in names:
        system = System(folder, name)
        numbers = "complex" if system.complex else "real"
        kind = "symmetric" if is_symmetric(system.matrix) else "symmetric up to rounding" if system.symmetric else "not symmetric"
        size = f"{system.matrix.shape[0]:,} | {system.matrix.nnz:,}"
        lines.append(f"| {name} | {size} | {numbers}, {kind} | {SYSTEMS[name].__doc__} |")
    return lines


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="scripts/compare-systems")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="systems of these names, with wildcards; may be repeated")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default=os.path.join(ROOT, "target/release/vcycle"), help="vcycle [target/release/vcycle]")
    parser.add_argument("--direct", action="store_true", help="the direct solver beside direct solvers, in parts, and nothing else")
    parser.add_argument("--methods", action="append", metavar="PATTERN", help="only these choices by hand and peers (direct, cg+*, mumps...)")
    parser.add_argument("--once", action="store_true", help="no repetitions")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="for every solve [60]")
    parser.add_argument("--quick", action="store_true", help="small sizes, in target/systems-quick")
    parser.add_argument("--generate", action="store_true", help="only write the systems into target/systems")
    parser.add_argument("--list", action="store_true", help="only print the systems, as a table")
    parser.add_argument("-o", "--output", metavar="FILE.tsv", help="every solve as a row; the table goes to FILE.md as well")
    return parser.parse_args()


def main():
    given = arguments()
    folder, names = os.path.join(ROOT, "target/systems" + ("-quick" if given.quick else "")), chosen(given.only)
    generate(folder, names, given.quick)
    if given.list:
        print("\n".join(listing(folder, names)))
    if given.generate or given.list:
        return
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(given, scratch)
        for name in names:
            begun = time.perf_counter()
            results.append(measure(runner, System(folder, name), given))
            print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
            if given.output:
                with open(given.output, "w", encoding="utf-8") as file:
                    rows = [COLUMNS, *[[as_text(row.get(key, "")) for key in COLUMNS] for rows in results for row in rows]]
                    file.writelines("\t".join(row) + "\n" for row in rows)
    table = "\n".join((direct_summary if given.direct else summary)(results)) + "\n"
    print(table, end="")
    if given.output:
        with open(os.path.splitext(given.output)[0] + ".md", "w", encoding="utf-8") as file:
            file.write(table)


if __name__ == "__main__":
    main()
