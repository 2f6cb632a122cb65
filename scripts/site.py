"""The documentation as a folder of HTML pages that need no network; every link is followed.

docs/SUMMARY.md lists the chapters (mdBook reads the same file). `{{#include FILE}}` shows a file.
docs/options.md is made anew here, of the documentation and defaults of the parameter structs.
"""

import html
import pathlib
import re
import shutil
import sys
import urllib.parse

import markdown
import options_page

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SITE = ROOT / "target" / "site"

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: #1a6fb5; }
@media (prefers-color-scheme: dark) { :root { --link: #7db8ec; } }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: flex; }
nav { flex: 0 0 15em; padding: 1.5em 1em; border-right: 1px solid var(--line); height: 100vh; overflow: auto;
      position: sticky; top: 0; box-sizing: border-box; }
nav ul { list-style: none; padding: 0; margin: 0 0 1em; } nav h2 { font-size: .8em; margin: 0; opacity: .7; }
nav .here { font-weight: 600; }
main { padding: 1em 2.5em 4em; max-width: 54em; min-width: 0; flex: 1; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
pre { background: var(--soft); padding: .8em 1em; overflow: auto; border-radius: 4px; line-height: 1.4; }
code { font: .88em ui-monospace, monospace; } :not(pre) > code { background: var(--soft); padding: .1em .25em; }
table { border-collapse: collapse; display: block; overflow: auto; }
td code { white-space: nowrap; }
th, td { border-bottom: 1px solid var(--line); padding: .3em .7em; text-align: left; vertical-align: top; }
img { max-width: 100%; background: #fff; }
@media (max-width: 50em) { body { display: block; } nav { position: static; height: auto; border: 0; } }
"""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} - vcycle</title><link rel="stylesheet" href="style.css"></head>
<body><nav>{nav}</nav><main>{body}<hr>{around}</main></body></html>
"""


def chapters() -> list[tuple[str, str, pathlib.Path]]:
    """Part, title and file of every chapter."""
    found, part = [], ""
    for line in (DOCS / "SUMMARY.md").read_text().splitlines():
        if line.startswith("# "):
            part = line[2:] if line != "# Summary" else ""
        elif match := re.match(r"- \[(.+)\]\((.+)\)", line):
            found.append((part, match[1], (DOCS / match[2]).resolve()))
    return found


def page_name(path: pathlib.Path, first: pathlib.Path) -> str:
    return "index.html" if path == first else f"{path.stem.lower()}.html"


def slug(text: str, separator: str) -> str:
    """The anchors of GitHub."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


class Site:
    def __init__(self) -> None:
        self.chapters = chapters()
        first = self.chapters[0][2]
        self.pages = {path: page_name(path, first) for _, _, path in self.chapters}
        self.problems: list[str] = []

    def write(self) -> None:
        shutil.rmtree(SITE, ignore_errors=True)
        SITE.mkdir(parents=True)
        (SITE / "style.css").write_text(STYLE)
        for number, (_, title, path) in enumerate(self.chapters):
            body = self.body(path)
            page = PAGE.format(
                title=html.escape(title), nav=self.nav(path), body=body, around=self.around(number)
            )
            (SITE / self.pages[path]).write_text(page)
        self.check()

    def nav(self, here: pathlib.Path) -> str:
        parts: dict[str, list[str]] = {}
        for part, title, path in self.chapters:
            mark = ' class="here"' if path == here else ""
            link = f'<li><a{mark} href="{self.pages[path]}">{html.escape(title)}</a></li>'
            parts.setdefault(part, []).append(link)
        return "".join(f"<h2>{part}</h2><ul>{''.join(links)}</ul>" for part, links in parts.items())

    def around(self, number: int) -> str:
        """Links to the chapters before and after."""
        near = [(number - 1, "&larr; {}"), (number + 1, "{} &rarr;")]
        links = [
            f'<a href="{self.pages[self.chapters[n][2]]}">{form.format(self.chapters[n][1])}</a>'
            for n, form in near
            if 0 <= n < len(self.chapters)
        ]
        return " | ".join(links)

    def body(self, path: pathlib.Path) -> str:
        text = re.sub(r"^\{\{#include (.+)\}\}$", lambda m: self.included(path, m[1]), path.read_text(), flags=re.M)
        # What rustdoc hides in examples.
        text = re.sub(r"^# (Ok::|use |fn ).*\n", "", text, flags=re.M)
        extensions = ["tables", "fenced_code", "toc", "sane_lists"]
        configs = {"toc": {"slugify": slug}}
        made = markdown.markdown(text, extensions=extensions, extension_configs=configs)
        return re.sub(r'(href|src)="([^"]+)"', lambda m: f'{m[1]}="{self.target(path, m[2])}"', made)

    def included(self, path: pathlib.Path, name: str) -> str:
        file = (path.parent / name).resolve()
        return f"```{file.suffix[1:]}\n{file.read_text()}```"

    def target(self, page: pathlib.Path, link: str) -> str:
        """Where a link of a page leads in the site; files that are no chapters are copied there."""
        link = html.unescape(link)
        if urllib.parse.urlparse(link).scheme or link.startswith("#"):
            return html.escape(link)
        name, _, anchor = link.partition("#")
        file = (page.parent / name).resolve()
        if file in self.pages:
            return self.pages[file] + (f"#{anchor}" if anchor else "")
        if not file.is_file() or not file.is_relative_to(ROOT):
            self.problems.append(f"{page.relative_to(ROOT)}: no such file: {link}")
            return html.escape(link)
        copy = SITE / "files" / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        return urllib.parse.quote(str(copy.relative_to(SITE)))

    def check(self) -> None:
        """Every link of every page leads somewhere, anchors included."""
        texts = {page.name: page.read_text() for page in SITE.glob("*.html")}
        anchors = {name: set(re.findall(r'\sid="([^"]+)"', text)) for name, text in texts.items()}
        for name, text in texts.items():
            for link in re.findall(r'(?:href|src)="([^"]+)"', text):
                if urllib.parse.urlparse(link).scheme:
                    continue
                file, _, anchor = link.partition("#")
                file = urllib.parse.unquote(file) or name
                missing = not (SITE / file).is_file() or anchor and anchor not in anchors.get(file, {anchor})
                if missing:
                    self.problems.append(f"{name}: {link} leads nowhere")


def main() -> int:
    (DOCS / "options.md").write_text(options_page.text(ROOT))
    site = Site()
    site.write()
    for problem in site.problems:
        print(problem, file=sys.stderr)
    print(f"{len(site.pages)} pages in {SITE.relative_to(ROOT)}, {len(site.problems)} problems")
    return 1 if site.problems else 0


if __name__ == "__main__":
    sys.exit(main())
