"""A customer on the hosted page, in a browser without JavaScript."""

from __future__ import annotations

from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from tests.sandbox.inspector.developer import enter, text_of


class Customer:
    """Opens the page and presses its buttons; after opening the inspector, also the buttons for developers."""

    def __init__(self, app: Flask) -> None:
        self.http = app.test_client()
        enter(self.http)

    def opens(self, checkout: str, status: int = 200, **environ: Any) -> str:
        answer = self.http.get(f"/checkout/{checkout}", environ_overrides=environ)
        assert answer.status_code == status
        return answer.text

    def chooses(self, checkout: str, method: str = "us_qr") -> str:
        return self._posts(checkout, "method", {"method": method})

    def pays(self, checkout: str) -> str:
        return self._posts(checkout, "payment", {})

    def _posts(self, checkout: str, action: str, form: dict[str, str]) -> str:
        answer = self.http.post(f"/checkout/{checkout}/{action}", data=form)
        assert (answer.status_code, answer.location) == (303, f"/checkout/{checkout}")
        return self.http.get(answer.location).text

    def sends(self, checkout: str, act: str, headers: dict[str, str] | None = None) -> TestResponse:
        return self.http.post(f"/checkout/{checkout}/developer", data={"act": act}, headers=headers)

    def presses(self, checkout: str, act: str) -> str:
        """Press a button for developers; returns the text of the next page."""
        assert f'name="act" value="{act}"' in self.opens(checkout)
        return text_of(self._posts(checkout, "developer", {"act": act}))
