"""Writes the systems into a folder: generate.py FOLDER [--quick] [--only PATTERN]... [--force]"""

import argparse
import fnmatch
import os
import time

import elements
import netgen_elements
import networks
import optimisation
from collection import SYSTEMS, write

MODULES = [elements, netgen_elements, networks, optimisation]


def chosen(patterns):
    """The names that match any of the patterns, in the order of the files above; all without a pattern."""
    return [name for name in SYSTEMS if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def generate(folder, names, quick=False, force=False):
    """Writes those systems that are not there yet."""
    os.makedirs(folder, exist_ok=True)
    for name in names:
        if not force and os.path.exists(os.path.join(folder, name + ".mtx")):
            continue
        begun = time.perf_counter()
        matrix, symmetry = write(folder, name, *SYSTEMS[name](quick))
        rows = matrix.shape[0]
        print(f"{name}: {rows:,} rows, {matrix.nnz:,} entries, {symmetry}, {time.perf_counter() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", action="append", help="names, with wildcards")
    parser.add_argument("--force", action="store_true", help="also write what is there")
    given = parser.parse_args()
    generate(given.folder, chosen(given.only), given.quick, given.force)
