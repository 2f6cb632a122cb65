"""The reference of all options: names and defaults as the library tells them, words from its sources."""

import json
import pathlib
import re

import vcycle
from vcycle import _core

INTRODUCTION = """# Options

One set of names everywhere: keys of configuration files (TOML or JSON), keywords in Python (with underscores), and
where the program has an option of that name. This page is made of the parameter structs themselves, and
`vcycle config` prints the same. A component is given by its name, `solver = "gmres"`, by its name and parameters in
short, `"gmres:50"` or `"gmres:restart=50"`, or as a table, `{ name = "gmres", restart = 50 }`.

In Python the keys of the sections `stop`, `run` and of multigrid are keywords by themselves:
`vcycle.solve(A, b, rtol=1e-10, threads=2, coarsening="pmis")`.
"""

# The crates that have parameter structs.
LIBRARY = ["vcycle", "vcycle-methods", "vcycle-core"]

# The names that may be the value of a key, and the enum they come from.
CHOICES = {
    "coarsening": "Coarsening",
    "interpolation": "Interpolation",
    "smoother": "Smoother",
    "cycle": "Cycle",
    "coarsest": "Coarsest",
    "systems": "Systems",
    "scaling": "LevelScaling",
    "nullspace": "Nullspace",
    "format": "MatrixFormat",
}


class Sources:
    """What the sources say of structs, their fields, enums and functions."""

    def __init__(self, root: pathlib.Path) -> None:
        folders = [root / "crates" / crate / "src" for crate in LIBRARY]
        files = [path for folder in folders for path in sorted(folder.rglob("*.rs"))]
        self.text = "\n".join(path.read_text() for path in files)
        self.components = (root / "crates/vcycle/src/config/components.rs").read_text()

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
        if not arms:
            shown = re.search(rf"^impl (?:std::fmt::)?Display for {enum} \{{\n(.*?)^\}}", self.text, re.M | re.S)
            arms = re.findall(r"Self::(\w+)(?:\(_\)| \{ \.\. \})? => \"([^\"]+)\"", shown[1] if shown else "")
        return {name: self.resolved(words.get(variant, "")) for variant, name in arms}

    def table(self, item: str) -> str:
        """The table in the documentation of an enum or struct, if it has one."""
        before = re.search(rf"((?:^\s*///.*\n)+)(?:^\s*#\[.*\n)*^pub (?:enum|struct) {item} ", self.text, re.M)
        lines = re.findall(r"^\s*/// (\|.*)", before[1], re.M) if before else []
        return "\n".join(lines)

    def summary(self, item: str) -> str:
        """The first sentence of what is said of a function, struct or enum."""
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


def components(sources: Sources, family: str, all_of: list[dict[str, object]]) -> str:
    pattern = r"((?:^\s*///.*\n)+)^\s*\"([\w-]+)\" => \w+\((\w+)\) \[(.*)\]"
    listed = re.findall(pattern, sources.components, re.M)
    known = {name: (sentence(words), struct, short) for words, name, struct, short in listed}
    blocks = []
    for component in all_of:
        name = str(component["name"])
        words, struct, short = known[name]
        table = {key: default for key, default in component.items() if key != "name"}
        blocks.append(f"### {family} `{name}`\n\n{words}")
        if name == "amg":
            blocks.append("Its parameters are those of [multigrid](#multigrid).")
        elif table:
            brief = ", ".join(key.strip('" ') for key in short.split(",") if key.strip())
            order = f" In short: `{name}:{brief}`." if brief else ""
            blocks[-1] += order
            blocks.append(rows(table, sources.fields(struct)))
    return "\n\n".join(blocks)


def choices(sources: Sources) -> str:
    blocks = []
    for key, enum in CHOICES.items():
        table = sources.table(enum)
        names = sources.variants(enum)
        if not table and names:
            table = "\n".join(["| | |", "|---|---|", *(f"| `{name}` | {words} |" for name, words in names.items())])
        if table:
            blocks.append(f"### {key}\n\n{plain_table(table)}")
    return "\n\n".join(blocks)


def plain_table(table: str) -> str:
    return "\n".join(re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", line) for line in table.splitlines())


def text(root: pathlib.Path) -> str:
    """The page."""
    sources, known = Sources(root), json.loads(_core.options())
    config = known["config"]
    top = {key: vcycle.options()["general"][key] for key in ("solver", "preconditioner", "precision", "format", "nullspace")}
    parts = [
        INTRODUCTION.strip(),
        "## The configuration",
        rows(top, sources.fields("Config")),
        "### stop\n\n" + rows(config["stop"], sources.fields("StopConfig")),
        "### run\n\n" + rows(config["run"], sources.fields("RunConfig")),
        "## Multigrid\n\n" + rows(known["amg"], sources.fields("Amg")),
        choices(sources),
        "## Solvers",
        components(sources, "solver", known["solvers"]),
        "## Preconditioners",
        components(sources, "preconditioner", known["preconditioners"]),
    ]
    return "\n\n".join(parts) + "\n"
