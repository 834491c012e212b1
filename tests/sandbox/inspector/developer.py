"""A developer who uses the inspector's pages, in a browser without JavaScript."""

from __future__ import annotations

import re
from html import unescape

from flask import Flask
from werkzeug.test import TestResponse


def text_of(html: str) -> str:
    """The visible text of a page, with white space collapsed."""
    text = re.sub(r"<script.*?</script>|<[^>]*>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(text).replace("\N{NO-BREAK SPACE}", " ").split())


def token_of(html: str) -> str:
    """The token in the forms of a page."""
    return str(re.findall(r'name="token" value="(\w+)"', html)[0])


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
        token = {"token": token_of(self.opens("/inspector/control"))}
        return self.http.post(f"/inspector/{path}", data=token | form, headers=headers)
