"""The examples of READMEs and documentation run."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
PAGES = [PROJECT / "README.md", *PROJECT.glob("crates/*/README.md"), *sorted(PROJECT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXAMPLES = [
    pytest.param(block, id=f"{page.relative_to(PROJECT)}-{number}")
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text()))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_runs(example):
    exec(compile(example, "example", "exec"), {})
