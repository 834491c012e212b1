"""Runs worlds one after the other, sends them requests, and keeps what should not have been answered."""

from __future__ import annotations

import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from flask import Flask, Response, g, got_request_exception, request, request_finished
from werkzeug.test import TestResponse

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS
from flask_paycheckout.sandbox.world.database import db
from tests.fuzz.requests import Request, Requests
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT
from tests.sandbox.documented import Departures

REQUESTS = 400
"""Requests to one world."""
_CHANGED = 5
"""The most switches that a world changes, and the share of worlds without signatures."""
_UNSIGNED = 0.7


@dataclass
class Findings:
    """What was sent, and what should not have been answered."""

    sent: Counter[str] = field(default_factory=Counter)
    answered: Counter[tuple[str, int]] = field(default_factory=Counter)
    worlds: int = 0
    found: dict[str, str] = field(default_factory=dict)
    """By what is wrong, the first request that shows it."""

    def note(self, wrong: str, world: str, request: Request) -> None:
        self.found.setdefault(wrong, f"{world}: {request}"[:3000])


Place = Callable[[], AbstractContextManager[str]]
"""Gives the address of an empty database."""


def in_memory() -> AbstractContextManager[str]:
    return nullcontext("sqlite://")


def fuzz(seed: int, goes_on: Callable[[], bool], places: list[Place], size: int = REQUESTS) -> Findings:
    """Send random requests while `goes_on()`; worlds live at the places in turn."""
    findings = Findings()
    while goes_on():
        number = findings.worlds
        chance = random.Random(f"{seed}:{number}")  # noqa: S311 - it repeats with the seed
        with places[number % len(places)]() as database:
            _live(f"seed {seed}, world {number}", chance, database, findings, size, goes_on)
        findings.worlds += 1
    return findings


def _live(
    name: str, chance: random.Random, database: str, findings: Findings, size: int, goes_on: Callable[[], bool]
) -> None:
    changed = chance.sample(ASSUMPTIONS, chance.randrange(_CHANGED + 1))
    unknowns = {one.name: chance.choice(one.values) for one in changed}
    if chance.random() < _UNSIGNED:
        # With most forms of signatures, every request would only be refused for its own.
        unknowns["signature"] = "off"
    app = create_sandbox(
        database=database,
        control_token=CONTROL_TOKEN,
        webhook_url=ENDPOINT,
        send_webhook=lambda *_: _receives(chance),
        sleep=lambda _: None,
        unknowns=unknowns,
    )
    # Whatever it raises is seen as the 500 that a server would send.
    app.config["PROPAGATE_EXCEPTIONS"] = False
    client, requests, world = app.test_client(), Requests(app, chance), f"{name}, {unknowns}"
    with _raised(app) as raised, _watched() as departures:
        for _ in range(size):
            if not goes_on():
                break
            drawn = requests.draw()
            findings.sent[drawn.part] += 1
            departures.seen.clear()
            raised.clear()
            try:
                answer = client.open(
                    drawn.target,
                    method=drawn.method,
                    data=drawn.body,
                    headers=list(drawn.headers),
                    content_type=drawn.content_type,
                )
            except ConnectionError:
                # Dropped, as a fault of the plan says.
                continue
            findings.answered[drawn.part, answer.status_code // 100] += 1
            for wrong in (*raised, *departures.seen, *_wrong(drawn, answer, departures)):
                findings.note(wrong, world, drawn)
            if answer.mimetype == "application/json" and answer.status_code == 200:
                requests.values.learns_from(answer.get_json(silent=True))
    with app.app_context():
        db.engine.dispose()


def _receives(chance: random.Random) -> int:
    if chance.random() < 0.1:
        raise OSError("nobody there")
    return chance.choice((200, 200, 204, 404, 500))


class Watch(Departures):
    """Departures from the documents, but for what an ordered fault does."""

    struck = False

    def check(self, app: Flask, response: Response, **extra: object) -> None:
        self.struck = g.get("fault_kind") is not None
        # HEAD is answered as GET is, and no document has it.
        if request.method != "HEAD":
            super().check(app, response, **extra)


@contextmanager
def _watched() -> Iterator[Watch]:
    found = Watch()
    with request_finished.connected_to(found.check):
        yield found


@contextmanager
def _raised(app: Flask) -> Iterator[list[str]]:
    """Exceptions that no handler took, each with the place where it was raised."""
    raised: list[str] = []

    def note(sender: Any, exception: BaseException, **extra: object) -> None:
        last = traceback.extract_tb(exception.__traceback__)[-1]
        ours = [one for one in traceback.extract_tb(exception.__traceback__) if "flask_paycheckout" in one.filename]
        place = f"{ours[-1].filename.rpartition('flask_paycheckout')[2]}:{ours[-1].lineno}" if ours else ""
        raised.append(f"{type(exception).__name__}: {str(exception)[:200]} at {place}, {last.name}")

    app.logger.disabled = True
    with got_request_exception.connected_to(note, app):
        yield raised


def _wrong(sent: Request, answer: TestResponse, watch: Watch) -> Iterator[str]:
    """What is wrong with an answer, each as a sentence."""
    if watch.struck:
        return
    path = sent.target.partition("?")[0]
    if answer.status_code >= 500:
        yield f"{sent.method} {path.split('/')[1:3]} answered {answer.status_code}"
    if sent.method == "HEAD":
        return
    if path.lstrip("/").partition("/")[0] in {"v1", "v2"}:
        if answer.mimetype not in {"application/json", "application/pdf"}:
            yield f"the service answered {answer.status_code} with {answer.mimetype}"
        elif answer.mimetype == "application/json" and not _is_envelope(answer):
            yield f"the service answered {answer.status_code} outside the envelope"
    elif path.startswith("/_sandbox/"):
        if answer.status_code >= 400 and set(answer.get_json(silent=True) or {}) != {"error"}:
            yield f"the control interface refused without saying why: {answer.status_code}"
    elif answer.mimetype == "text/html" and CONTROL_TOKEN in answer.text:
        yield "the control token is in a page"


def _is_envelope(answer: TestResponse) -> bool:
    body = answer.get_json(silent=True)
    if answer.status_code < 400:
        # What each operation answers with, its document says.
        return isinstance(body, dict)
    return isinstance(body, dict) and set(body) == {"statusCode", "error", "message"}


def for_minutes(minutes: float) -> Callable[[], bool]:
    until = time.monotonic() + 60 * minutes
    return lambda: time.monotonic() < until
