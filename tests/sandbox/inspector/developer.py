"""A developer who uses the inspector's pages, in a browser without JavaScript."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from flask import Flask
from werkzeug.test import TestResponse


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_code = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._is_code = False

    def handle_data(self, data: str) -> None:
        if not self._is_code:
            self.parts.append(data)


def text_of(html: str) -> str:
    """The visible text of a page, with white space collapsed."""
    reader = _Text()
    reader.feed(html)
    return " ".join(" ".join(reader.parts).replace("\N{NO-BREAK SPACE}", " ").split())


class Developer:
    def __init__(self, app: Flask) -> None:
        self.http = app.test_client()

    def opens(self, path: str = "/", status: int = 200) -> str:
        answer = self.http.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def reads(self, path: str = "/", status: int = 200) -> str:
        return text_of(self.opens(path, status))

    def presses(self, path: str, headers: dict[str, str] | None = None, /, **form: str) -> TestResponse:
        token = re.findall(r'name="token" value="(\w+)"', self.opens("/inspector/levers"))[0]
        return self.http.post(f"/inspector/{path}", data={"token": token} | form, headers=headers)
