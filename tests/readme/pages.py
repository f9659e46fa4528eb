#!/usr/bin/env python3
"""The pages (every tracked *.md) hold together: links, anchors, titles, lengths, widths, the index.

    tests/readme/pages.py
"""

import pathlib
import posixpath
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRONT = "README.md"  # the page that lists all others
MAX_LINES = 250
MAX_LINES_FRONT = 260
MAX_WIDTH = 120

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*$")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", re.DOTALL)

# The end of [text](target "title") serves for links, for images, and for images inside links.
INLINE = re.compile(r"\]\(\s*<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
ATTRIBUTE = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"\s]+)\"", re.DOTALL)
ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
IMAGE_WITHOUT_WORDS = re.compile(r"!\[\s*\]\(|<img\b(?![^>]*\balt=\"[^\"]+\")[^>]*>")
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
ADDRESS = re.compile(r"<?https?://\S+")
NO_PARAGRAPH = re.compile(r"#|\||>|!\[|<|(?:[-*+]|\d+[.)])\s")


def without_code(text):
    """The text with every line of a fenced or indented block of code made empty."""
    kept = []
    fence = None
    in_list = in_code = False
    after_blank = True
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence:
            closes = mark and mark.group(1).startswith(fence) and not line.strip(" `~")
            fence = None if closes else fence
            kept.append("")
            continue
        if mark:
            fence = mark.group(1)
            kept.append("")
            continue
        if line.strip():
            indented = line.startswith(("    ", "\t"))
            in_code = indented and not in_list and (after_blank or in_code)
            if not line.startswith(" "):
                in_list = bool(LIST_ITEM.match(line))
        after_blank = not line.strip()
        kept.append("" if in_code else line)
    return "\n".join(kept)


def without_spans(text):
    """The text also without `code` in lines. Line breaks stay where they are."""
    return CODE_SPAN.sub(lambda span: "`" + "\n" * span.group(2).count("\n") + "`", text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def slug(heading):
    """The anchor that GitHub makes of a heading's text."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"<[^>]*>", "", text)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(text):
    """Every anchor of a page: its headings, repeated ones numbered, and <a id="...">."""
    text = without_code(text)
    found = set(ANCHOR.findall(text))
    used = {}
    for line in text.split("\n"):
        match = HEADING.match(line)
        if match:
            name = slug(match.group(2))
            count = used.get(name, 0)
            used[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
    return found


def targets(text):
    """(line, target) of every link and image that stays in the repository."""
    shown = without_spans(without_code(text))
    for pattern in (INLINE, REFERENCE, ATTRIBUTE):
        for match in pattern.finditer(shown):
            if not ELSEWHERE.match(match.group(1)):
                yield line_of(shown, match.start()), match.group(1)


def resolve(page, target):
    """The path in the repository that a page's link means, and its anchor."""
    path, _, anchor = target.partition("#")
    path = urllib.parse.unquote(path)
    if not path:
        return page, anchor
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


def links(pages, tracked):
    """Every link leads to a tracked file or folder, every anchor to a heading."""
    folders = {""}
    for path in tracked:
        while path:
            path = posixpath.dirname(path)
            folders.add(path)
    for page, text in pages.items():
        for line, target in targets(text):
            path, anchor = resolve(page, target)
            if path in folders or path == ".":
                path = posixpath.normpath(posixpath.join(path, FRONT)) if anchor else path
            elif path not in tracked:
                yield f"{page}:{line}: '{target}' leads nowhere: there is no tracked file {path}"
                continue
            if anchor and path not in pages:
                yield f"{page}:{line}: '{target}' has an anchor, but {path} is no page"
            elif anchor and anchor not in anchors(pages[path]):
                yield f"{page}:{line}: '{target}': {path} has no heading with the anchor #{anchor}"


def images_have_words(pages, _):
    """An image says in words what it shows."""
    for page, text in pages.items():
        shown = without_spans(without_code(text))
        for match in IMAGE_WITHOUT_WORDS.finditer(shown):
            yield f"{page}:{line_of(shown, match.start())}: an image without alt text"


def beginnings(pages, _):
    """A page begins with one title and a paragraph that says whom it is for."""
    for page, text in pages.items():
        lines = without_code(text).split("\n")
        title = re.match(r"# \S", text)
        if not title:
            yield f"{page}:1: the first line is no '# Title'"
        for number, line in enumerate(lines[1:], 2):
            if re.match(r"# \S", line):
                yield f"{page}:{number}: a second title"
        first = next((line for line in text.split("\n")[1:] if line.strip()), "")
        if title and (not first or first.startswith("    ") or FENCE.match(first)
                      or NO_PARAGRAPH.match(first)):
            yield f"{page}:2: no paragraph after the title"


def lengths(pages, _):
    """A page can be read in one sitting."""
    for page, text in pages.items():
        most = MAX_LINES_FRONT if page == FRONT else MAX_LINES
        count = len(text.splitlines())
        if count > most:
            yield f"{page}:{count}: {count} lines, at most {most}"


def widths(pages, _):
    """Lines fit on a screen. Tables, code, and targets of links are not counted."""
    for page, text in pages.items():
        for number, line in enumerate(without_code(text).split("\n"), 1):
            shown = ADDRESS.sub("", INLINE.sub("]", line))
            if len(shown) > MAX_WIDTH and not line.lstrip().startswith("|"):
                yield f"{page}:{number}: {len(shown)} columns, at most {MAX_WIDTH}"


def index(pages, _):
    """README.md links to every other page."""
    listed = {resolve(FRONT, target)[0] for _, target in targets(pages.get(FRONT, ""))}
    for page in pages:
        if page != FRONT and page not in listed:
            yield f"{page}:1: {FRONT} does not link to this page"


ALL = [links, images_have_words, beginnings, lengths, widths, index]


def main():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE).stdout.decode().split("\0")
    tracked = {name for name in listed if name and (ROOT / name).exists()}
    pages = {name: (ROOT / name).read_text(encoding="utf-8")
             for name in sorted(tracked) if name.endswith(".md")}
    complaints = [complaint for check in ALL for complaint in check(pages, tracked)]
    print("\n".join(complaints))
    print(f"{len(pages)} pages, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
