"""The reference of all options: names and defaults from the library, descriptions from its sources."""

import json
import pathlib
import re
import textwrap

import vcycle
from vcycle import _core

INTRODUCTION = """# Options

The same names are used everywhere: as keys of configuration files (TOML or JSON), as keywords in Python (with underscores) and
as options of the program where it has one of that name. This page is generated from the parameter structs, and
`vcycle config` prints the same. A component is given by its name, `solver = "gmres"`, by its name and parameters in
short, `"gmres:50"` or `"gmres:restart=50"`, or as a table, `{ name = "gmres", restart = 50 }`.

In Python the keys of the sections `stop`, `run` and of multigrid are keywords by themselves:
`vcycle.solve(A, b, rtol=1e-10, threads=2, coarsening="pmis")`.

A column has converged when its residual norm is at most *any* of the tolerances: `rtol` times the norm of the
right-hand side, `reduction` times the norm of the initial residual, `atol`. `rtol` has a default; to use only the others, set it to zero: `--rtol 0 --atol 1e-6`, `rtol=0, atol=1e-6`. On the command line `--rtol` replaces the `reduction` of a
preset or a configuration file, unless `--reduction` is given as well.

Data of a single system are arguments of the solve, not options:

| program | Python | |
|---|---|---|
| `FILE`, `PROBLEM` or `-` | `A` | The matrix; `-` is standard input: Matrix Market text, also compressed, or the bytes of an `.npz` or `.npy` file. |
| `--rhs FILE` | `b` | One or many right-hand sides. |
| `--x0 FILE` | `x0` | Initial guess, zero by default: as many columns as right-hand sides. The program also accepts one column for all of them. |
| `--near-nullspace`, `--coordinates`, `--block-size` | the same | Properties of the matrix. |

A solve that needs more memory than is available is refused before its matrix is read or made; the message has both numbers.
Available is the free memory of the system, bounded by control groups (containers, batch systems) and the limit (`ulimit -v`)
of the process, or the free memory of a device. `vcycle info` shows the estimate, which is within 30 % for the problems it was
measured with. The variable `VCYCLE_MEMORY` sets the memory available on the host (`8G`); with `VCYCLE_MEMORY=unlimited` nothing is
refused. `VCYCLE_SIMD` (`portable`, `avx2`, `avx512`) limits the
instructions that CPU kernels use; other values are refused.
"""

# The crates that have parameter structs.
LIBRARY = ["vcycle", "vcycle-methods", "vcycle-core"]

# The names that may be the value of a key: those of components, or the enum they come from.
CHOICES = {
    "coarsening": None,
    "interpolation": None,
    "smoother": None,
    "cycle": "Cycle",
    "coarsest": None,
    "systems": "Systems",
    "scaling": "LevelScaling",
    "nullspace": "Nullspace",
    "format": "MatrixFormat",
    "equilibrate": "Equilibration",
    "match": "MatchingKind",
    "reorder": "Reorder",
}


class Sources:
    """The documentation of structs, their fields, enums and functions in the sources."""

    def __init__(self, root: pathlib.Path) -> None:
        folders = [root / "crates" / crate / "src" for crate in LIBRARY]
        files = [path for folder in folders for path in sorted(folder.rglob("*.rs"))]
        text = "\n".join(path.read_text() for path in files)
        # Structs with their defaults stand in a macro.
        self.text = re.sub(r"^parameters! \{\n(.*?)^\}$", lambda block: textwrap.dedent(block[1]), text, flags=re.M | re.S)

    def struct_of(self, name: str) -> str:
        """The parameter struct that is registered under a name."""
        match = re.search(rf"^impl Component for (\w+) \{{\n[^}}]*?name: \"{re.escape(name)}\"", self.text, re.M)
        return match[1] if match else ""

    def body(self, kind: str, name: str) -> str:
        match = re.search(rf"^pub {kind} {name}(?:<.*>)? \{{\n(.*?)^\}}", self.text, re.M | re.S)
        return match[1] if match else ""

    def fields(self, struct: str) -> dict[str, str]:
        return documented(self.body("struct", struct), r"pub (\w+):")

    def variants(self, enum: str) -> dict[str, str]:
        """Names in files and words of the variants of an enum."""
        words = documented(self.body("enum", enum), r"(\w+)\b")
        implementation = re.search(rf"^impl {enum} \{{\n(.*?)^\}}", self.text, re.M | re.S)
        arms = re.findall(r"Self::(\w+)(?:\(_\)| \{ \.\. \})? => \"([^\"]+)\"", implementation[1] if implementation else "")
        if named := re.search(rf"named!\({enum}, \"[^\"]*\":(.*?)\);", self.text, re.S):
            arms = re.findall(r"(\w+) = \"([^\"]+)\"", named[1])
        if not arms:
            arms = re.findall(rf"\({enum}::(\w+), \"([^\"]+)\"\)", self.text)
        if not arms:
            shown = re.search(rf"^impl (?:std::fmt::)?Display for {enum} \{{\n(.*?)^\}}", self.text, re.M | re.S)
            arms = re.findall(r"Self::(\w+)(?:\(_\)| \{ \.\. \})? => \"([^\"]+)\"", shown[1] if shown else "")
        assert arms, f"no names of {enum} were found"
        return {name: self.resolved(words.get(variant, "")) for variant, name in arms}

    def table(self, item: str) -> str:
        """The table in the documentation of an enum or struct, if it has one."""
        before = re.search(rf"((?:^\s*///.*\n)+)(?:^\s*#\[.*\n)*^pub (?:enum|struct) {item} ", self.text, re.M)
        lines = re.findall(r"^\s*/// (\|.*)", before[1], re.M) if before else []
        return "\n".join(lines)

    def summary(self, item: str) -> str:
        """The first sentence of the documentation of a function, struct or enum."""
        before = re.search(
            rf"((?:^\s*///.*\n)+)(?:^\s*#\[.*\n)*^pub (?:fn|struct|enum) {item}\b", self.text, re.M
        )
        return sentence(before[1]) if before else ""

    def resolved(self, words: str) -> str:
        """A link to an item alone becomes the first sentence of that."""
        match = re.match(r"^`(?:\w+::)*(\w+)`\.$", words)
        return (match and self.summary(match[1])) or words


def documented(body: str, item: str) -> dict[str, str]:
    """The words before each item of a body of four spaces' indentation."""
    found: dict[str, str] = {}
    words: list[str] = []
    for line in body.splitlines():
        if match := re.match(r"^    /// ?(.*)", line):
            words.append(match[1])
        elif match := re.match(rf"^    {item}", line):
            found[match[1]] = paragraph("\n".join(words))
            words = []
        elif not line.startswith("    #["):
            words = []
    return found


def paragraph(words: str) -> str:
    first = words.split("\n\n")[0].replace("\n", " ").strip()
    return plain(first)


def sentence(comment: str) -> str:
    text = "\n".join(re.findall(r"^\s*/// ?(.*)", comment, re.M))
    return re.split(r"(?<=[.:;]) ", paragraph(text))[0].rstrip(".:;") + "."


def plain(text: str) -> str:
    """Links of rustdoc as words."""
    text = re.sub(r"\[(`?)(?:[\w:]+::)?([^\]]+?)\1\]\((?:[^()]|\([^()]*\))*\)", r"\1\2\1", text)
    return re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", text).replace("|", r"\|")


def value(default: object) -> str:
    return "" if default in (None, [], {}) else f"`{json.dumps(default)}`".replace("|", r"\|")


def rows(table: dict[str, object], words: dict[str, str]) -> str:
    lines = ["| key | default | |", "|---|---|---|"]
    for key, default in table.items():
        said = words.get(key.replace("-", "_"), "")
        lines.append(f"| `{key}` | {value(default)} | {said} |")
    return "\n".join(lines)


def components(sources: Sources, family: str, all_of: list[dict[str, object]], known: list[dict[str, object]]) -> str:
    blocks = []
    for component, said in zip(all_of, known, strict=True):
        name = str(said["name"])
        table = {key: default for key, default in component.items() if key != "name"}
        needs = f" Needs {', '.join(said['needs'])}." if said["needs"] else ""
        needs += "" if said["over-ranks"] else f" Over ranks by `schwarz:{name}`."
        if family == "preconditioner" and not said["transposed"]:
            needs += " It has no transposed application, which `bicg` needs."
        blocks.append(f"### {family} `{name}`\n\n{said['summary']}{needs}")
        if name == "amg":
            blocks.append("Its parameters are those of [multigrid](#multigrid).")
        elif table:
            brief = ",".join(said["after-colon"])
            blocks[-1] += f" In short: `{name}:{brief}`." if brief else ""
            blocks.append(rows(table, sources.fields(sources.struct_of(name))))
    return "\n\n".join(blocks)


def choices(sources: Sources, known: dict[str, list[dict[str, object]]]) -> str:
    blocks = []
    for key, enum in CHOICES.items():
        if enum is None:
            table = smoothers(known[key]) if key == "smoother" else stages(known[key])
        elif not (table := sources.table(enum)):
            table = stages([{"name": name, "summary": words} for name, words in sources.variants(enum).items()])
        blocks.append(f"### {key}\n\n{plain_table(table)}")
    return "\n\n".join(blocks)


def stages(known: list[dict[str, object]]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| `{one['name']}` | {one['summary']} |" for one in known)])


def smoothers(known: list[dict[str, object]]) -> str:
    lines = ["| | parameter | choose it |", "|---|---|---|"]
    for one in known:
        names = ", ".join(f"`{name}`" for name in one["names"])
        parameter = f"{one['parameter']}, {one['default']}" if one["parameter"] else ""
        lines.append(f"| {names} | {parameter} | {one['summary']} |")
    return "\n".join(lines)


def plain_table(table: str) -> str:
    return "\n".join(re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", line) for line in table.splitlines())


def text(root: pathlib.Path) -> str:
    """The page."""
    sources, known = Sources(root), json.loads(_core.options())
    config = known["config"]
    top = {key: vcycle.options()["general"][key] for key in vcycle.options()["general"]}
    words = sources.fields("Config")
    # A word of Rust itself.
    words["match"] = words["matching"]
    parts = [
        INTRODUCTION.strip(),
        "## The configuration",
        rows(top, words),
        "### stop\n\n" + rows(config["stop"], sources.fields("StopConfig")),
        "### run\n\n" + rows(config["run"], sources.fields("RunConfig")),
        "## Multigrid\n\n" + rows(known["amg"], sources.fields("Amg")),
        choices(sources, known["registrations"]),
        "## Solvers",
        components(sources, "solver", known["solvers"], known["registrations"]["solver"]),
        "## Preconditioners",
        components(sources, "preconditioner", known["preconditioners"], known["registrations"]["preconditioner"]),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parent.parent
    (root / "docs" / "options.md").write_text(text(root))
