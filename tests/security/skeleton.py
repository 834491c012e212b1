"""The shape of a page: which elements and attributes it has, whatever the words in them."""

from __future__ import annotations

from html.parser import HTMLParser


def skeleton(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each start tag of a page with its attributes' names, in order; comments and declarations count as tags."""
    reader = _Reader(convert_charrefs=True)
    reader.feed(page)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    def __init__(self, *, convert_charrefs: bool) -> None:
        super().__init__(convert_charrefs=convert_charrefs)
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(sorted(name for name, _ in attrs))))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", ()))

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", ()))

    def handle_decl(self, decl: str) -> None:
        self.found.append(("declaration", ()))

    def handle_pi(self, data: str) -> None:
        self.found.append(("instruction", ()))
