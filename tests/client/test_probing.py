"""The probe: one signed read that says whether credentials are taken, and how far apart the clocks are at least."""

from __future__ import annotations

from email.utils import formatdate

import httpx
import pytest

from flask_paycheckout.client import NotFound, Probe, TransportFailed, Unauthorized
from tests.client.samples import DEPOSIT
from tests.client.wire import Script, Shop, Watch, refusal, success


def probed(script: Script, *, takes: float = 0) -> Probe:
    """With a machine's clock that stands at 2026-01-01 00:00:00 UTC until the answer comes."""
    watch = Watch()

    def answer(request: httpx.Request) -> httpx.Response:
        watch.passed += takes
        return script(request)

    return Shop(answer, watch=watch).probe()


def dated(seconds: float) -> httpx.Response:
    """An answer whose `Date` is so many seconds after the request was sent."""
    return httpx.Response(404, content=refusal(404), headers={"Date": formatdate(1767225600 + seconds, usegmt=True)})


def test_it_reads_a_deposit_that_cannot_exist_signed_and_once() -> None:
    script = Script(refusal(500))
    probed(script)
    probed(script)
    first, second = script.requests
    assert first.url.path.startswith("/v1/deposit/no-such-deposit-")
    assert first.url.path != second.url.path
    assert {"x-client-id", "x-timestamp", "x-signature"} <= set(first.headers)


def test_a_refusal_is_given_back() -> None:
    assert isinstance(probed(Script(refusal(404))).refusal, NotFound)
    assert isinstance(probed(Script(refusal(401))).refusal, Unauthorized)
    assert probed(Script(success(DEPOSIT))).refusal is None


def test_no_usable_answer_is_an_error_at_once() -> None:
    """The second answer's time would say nothing about when the first request was sent."""
    script = Script(b"<html>")
    with pytest.raises(TransportFailed):
        probed(script)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("date", "takes", "ahead"),
    [
        pytest.param(0, 0, 0, id="equal"),
        pytest.param(-3, 0, 2, id="ahead"),
        pytest.param(3, 0, -3, id="behind"),
        pytest.param(5, 4, -1, id="behind, though the answer took long"),
    ],
)
def test_the_clock_is_ahead_by_no_more_than_is_certain(date: int, takes: float, ahead: float) -> None:
    assert probed(Script(dated(date)), takes=takes).clock_ahead == ahead


@pytest.mark.parametrize("header", [None, "soon", "x" * 100_000])
def test_an_answer_without_a_time(header: str | None) -> None:
    headers = {} if header is None else {"Date": header}
    assert probed(Script(httpx.Response(404, content=refusal(404), headers=headers))).clock_ahead is None
