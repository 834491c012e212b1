"""The fuzzing program reaches every part, finds nothing wrong, and would find it."""

from __future__ import annotations

from itertools import count

import pytest

from flask_paycheckout.sandbox.inspector import blueprint
from tests.fuzz.run import Findings, fuzz, in_memory

pytestmark = pytest.mark.slow("generated requests")


def run(requests: int) -> Findings:
    """Send so many requests, with the same seed each time."""
    sent = count()
    return fuzz(1, lambda: next(sent) < requests, [in_memory], size=100)


def test_random_requests_find_nothing() -> None:
    findings = run(300)
    assert findings.found == {}
    assert set(findings.sent) == {"service", "control", "pages", "noise"}
    for part in ("service", "control", "pages"):
        assert findings.answered[part, 2] > 10
        assert findings.answered[part, 5] == 0


def test_an_error_is_found_with_the_request_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(blueprint, "form_token", fails)
    found = run(60).found
    assert any("planted" in wrong for wrong in found)
    assert any("part='pages'" in request for request in found.values())
