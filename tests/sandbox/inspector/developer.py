"""A developer who uses the inspector's pages, in a browser without JavaScript."""

from __future__ import annotations

import re
from html import unescape

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.sandbox.actors import CONTROL_TOKEN


def text_of(html: str) -> str:
    """The visible text of a page, with white space collapsed."""
    text = re.sub(r"<script.*?</script>|<[^>]*>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(text).replace("\N{NO-BREAK SPACE}", " ").split())


def enter(http: FlaskClient) -> None:
    """Open the link that the sandbox prints at its start."""
    answer = http.get(f"/?token={CONTROL_TOKEN}")
    assert (answer.status_code, answer.location) == (303, "/")


class Developer:
    def __init__(self, app: Flask) -> None:
        self.http = app.test_client()
        enter(self.http)

    def opens(self, path: str = "/", status: int = 200) -> str:
        answer = self.http.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def reads(self, path: str = "/", status: int = 200) -> str:
        return text_of(self.opens(path, status))

    def presses(self, path: str, headers: dict[str, str] | None = None, /, **form: str) -> TestResponse:
        return self.http.post(f"/inspector/{path}", data=form, headers=headers)
