"""Additions to MkDocs for this repository: pages outside docs/, files that pages show, links between all of them."""

import pathlib
import posixpath
import re
import urllib.parse

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Pages of the root, by their names in the site.
OUTSIDE = {"README.md": "index.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}


def on_files(files, config):
    for name, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    for name in ["site.css", "site_worker.js"]:
        files.append(File.generated(config, name, content=(ROOT / "scripts" / name).read_text()))
    # Records are linked from nowhere, and pages that were made beside them are not part of the site.
    for file in list(files):
        if file.src_uri.startswith("reproduction") and "/" in file.src_uri and file.src_uri.endswith((".md", ".html")):
            files.remove(file)
    return files


def on_page_markdown(markdown, page, config, files):
    source = source_of(page.file.src_uri)
    text = re.sub(r"^\{\{#include (.+)\}\}$", lambda m: included(source, m[1]), markdown, flags=re.M)
    # What rustdoc says of examples, and hides in them; tables right below or above a line of text.
    text = re.sub(r"^```(\w+),.*$", r"```\1", text, flags=re.M)
    text = re.sub(r"^([^|\n].*\n)(?=\|.*\|\n\|[-:| ]+\|$)", r"\1\n", text, flags=re.M)
    text = re.sub(r"^(\|.*\|\n)(?=[^|\n])", r"\1\n", text, flags=re.M)
    text = re.sub(r"^# (Ok::|use |fn ).*\n", "", text, flags=re.M)
    return re.sub(r"(\]\()([^)\s]+)(\))", lambda m: m[1] + target(source, page, m[2], config, files) + m[3], text)


def on_page_content(html, page, config, files):
    """A table or a block of code that Markdown did not take for one is a mistake."""
    if re.search(r"```|\|---", re.sub(r"<(pre|code)[^>]*>.*?</\1>", "", html, flags=re.S)):
        raise PluginError(f"{page.file.src_uri}: a code block or table that is none")
    return html


def on_post_page(output, page, config):
    """Nothing is loaded from elsewhere."""
    return output.replace("https://unpkg.com/iframe-worker/shim", "site_worker.js")


def on_post_template(output_content, template_name, config):
    return on_post_page(output_content, None, config)


def source_of(uri):
    """The file that a page of the site is made of."""
    for name, page in OUTSIDE.items():
        if uri == page:
            return ROOT / name
    return DOCS / uri


def included(source, name):
    file = (source.parent / name).resolve()
    return f"```{file.suffix[1:]}\n{file.read_text()}```"


def target(source, page, link, config, files):
    """Where a link leads in the site; files that are no pages are copied there."""
    name, _, anchor = link.partition("#")
    if urllib.parse.urlparse(link).scheme or not name:
        return link
    file = (source.parent / name).resolve()
    if not file.is_file() or not file.is_relative_to(ROOT):
        return link
    uri = OUTSIDE.get(str(file.relative_to(ROOT)))
    if uri is None and file.is_relative_to(DOCS):
        uri = file.relative_to(DOCS).as_posix()
    if uri is None:
        uri = f"files/{file.relative_to(ROOT).as_posix()}"
        # Markdown that is no page would become one.
        if uri.endswith(".md"):
            uri += ".txt"
        if files.get_file_from_path(uri) is None:
            content = file.read_bytes()
            files.append(File.generated(config, uri, content=content))
    relative = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
    return relative + (f"#{anchor}" if anchor else "")
