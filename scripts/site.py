"""The documentation as a folder of HTML pages with a search that need no network; every link is followed.

docs/SUMMARY.md lists the chapters (mdBook reads the same file). `{{#include FILE}}` shows a file.
docs/options.md is made anew here, of the documentation and defaults of the parameter structs.
"""

import html
import json
import pathlib
import re
import shutil
import sys
import urllib.parse

import markdown
import options_page

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
DOCS = ROOT / "docs"
SITE = ROOT / "target" / "site"

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} - vcycle</title><link rel="stylesheet" href="style.css"></head>
<body><nav><a class="brand" href="index.html">vcycle</a>
<input id="search" type="search" placeholder="Search" aria-label="Search"><ul id="found"></ul>{nav}</nav>
<main>{body}<div class="around">{around}</div></main><aside>{within}</aside>
<script src="sections.js"></script><script src="search.js"></script></body></html>
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


def plain(text: str) -> str:
    """HTML without its marks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def sections(page: str, title: str, body: str) -> list[tuple[str, str, str, str]]:
    """Page, anchor, title and text of everything below a heading, for the search."""
    parts = re.split(r'<h[123] id="([^"]+)">(.*?)</h[123]>', body, flags=re.S)
    found = []
    for anchor, heading, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        heading = plain(heading)
        name = heading if heading == title else f"{title}: {heading}"
        found.append((page, anchor, name, plain(text)[:3000]))
    return found


def within(body: str) -> str:
    """Links to the headings of a page that has several."""
    headings = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', body, flags=re.S)
    links = "".join(f'<li><a href="#{anchor}">{heading}</a></li>' for anchor, heading in headings)
    return f"<ul>{links}</ul>" if len(headings) > 1 else ""


class Site:
    def __init__(self) -> None:
        self.chapters = chapters()
        first = self.chapters[0][2]
        self.pages = {path: page_name(path, first) for _, _, path in self.chapters}
        self.problems: list[str] = []

    def write(self) -> None:
        shutil.rmtree(SITE, ignore_errors=True)
        SITE.mkdir(parents=True)
        shutil.copyfile(HERE / "site.css", SITE / "style.css")
        shutil.copyfile(HERE / "site_search.js", SITE / "search.js")
        found = []
        for number, (_, title, path) in enumerate(self.chapters):
            body = self.body(path)
            found += sections(self.pages[path], title, body)
            page = PAGE.format(
                title=html.escape(title),
                nav=self.nav(path),
                body=body,
                around=self.around(number),
                within=within(body),
            )
            (SITE / self.pages[path]).write_text(page)
        (SITE / "sections.js").write_text(f"const SECTIONS = {json.dumps(found)};\n")
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
            if 0 <= n < len(self.chapters)
            else "<span></span>"
            for n, form in near
        ]
        return "".join(links)

    def body(self, path: pathlib.Path) -> str:
        text = re.sub(r"^\{\{#include (.+)\}\}$", lambda m: self.included(path, m[1]), path.read_text(), flags=re.M)
        # What rustdoc says of examples, and hides in them; tables right below or above a line of text.
        text = re.sub(r"^```(\w+),.*$", r"```\1", text, flags=re.M)
        text = re.sub(r"^([^|\n].*\n)(?=\|.*\|\n\|[-:| ]+\|$)", r"\1\n", text, flags=re.M)
        text = re.sub(r"^(\|.*\|\n)(?=[^|\n])", r"\1\n", text, flags=re.M)
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
            if re.search(r"```|\|---", re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", text, flags=re.S)):
                self.problems.append(f"{name}: a code block or table that is none")
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
