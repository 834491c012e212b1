"""Somebody at the hosted page, in a browser without JavaScript."""

from __future__ import annotations

from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from tests.sandbox.inspector.developer import text_of, token_of


class Customer:
    """Looks at the page and presses its buttons; on the machine of the sandbox those for developers too."""

    def __init__(self, app: Flask) -> None:
        self.http = app.test_client()

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

    def token(self, checkout: str) -> str:
        return token_of(self.opens(checkout))

    def sends(
        self, checkout: str, act: str, token: str, headers: dict[str, str] | None = None, **environ: str
    ) -> TestResponse:
        form = {"act": act, "token": token}
        return self.http.post(f"/checkout/{checkout}/developer", data=form, headers=headers, environ_overrides=environ)

    def presses(self, checkout: str, act: str) -> str:
        """A button that the page shows to developers; gives what a reader sees next."""
        assert f'name="act" value="{act}"' in self.opens(checkout)
        return text_of(self._posts(checkout, "developer", {"act": act, "token": self.token(checkout)}))
