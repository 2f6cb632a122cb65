"""Which lines of a Rust file are production code."""

import re


def lines(name):
    with open(name, encoding="utf-8") as file:
        return file.read().splitlines()


def production_lines(name):
    """The lines of a file before its tests; none of a file of tests."""
    parts = name.split("/")
    if {"tests", "examples", "benches"} & set(parts) or re.search(r"(^|_)(tests|testing|conformance)\.rs$", parts[-1]):
        return 0
    text = lines(name)
    tests = [place for place, line in enumerate(text) if line.startswith("#[cfg(test)]") and "mod tests {" in text[place + 1 :][:1]]
    return tests[0] if tests else len(text)
