"""A record of events outside the shop's database, in a file that outlives its writers, and a service that reads it.

This payments service keeps no state in its process: checkouts and completed deposits exist in the record only. It is
therefore the same service for a process that dies and for the next one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.payouts.books import Books, Paid, PayingService, paid
from tests.scripted import Answer, Clock, number, refusal, success

Line = dict[str, Any]


class Record:
    """Lines of JSON, each appended with one system call, so that a death leaves no partial line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, what: str, **facts: object) -> None:
        entry = json.dumps({"what": what, **facts}).encode() + b"\n"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, entry)
        finally:
            os.close(file)

    def lines(self, *what: str) -> list[Line]:
        """The lines of these kinds, or all, oldest first."""
        written = self._path.read_text().splitlines() if self._path.exists() else []
        entries = [json.loads(entry) for entry in written]
        return [entry for entry in entries if not what or entry["what"] in what]

    @property
    def urls(self) -> dict[str, str]:
        return {entry["id"]: entry["url"] for entry in self.lines("created")}

    @property
    def deposits(self) -> dict[str, Line]:
        return {entry["id"]: entry for entry in self.lines("deposit")}

    @property
    def paid(self) -> list[Paid]:
        """The service's own books of payouts."""
        return paid(self)

    @property
    def given_out(self) -> list[str]:
        return [entry["url"] for entry in self.lines("location")]


class Service(PayingService):
    """Answers creates and reads from the record, and pays out.

    :ivar passes: called for each call, before its effect and before its answer.
    :ivar lost_answers: the number of next creates that have their effect but get no answer.
    """

    def __init__(self, record: Record, clock: Clock) -> None:
        # It pays every request, also repeated ones; a lookup takes several pages.
        super().__init__(Books(record, page_size=2, unique=False, clock=clock))
        self._record = record
        self.passes: Callable[[str], None] = lambda where: None
        self.lost_answers = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        call = f"{request.method} {request.url.path}"
        self.passes(f"before the service took {call}")
        try:
            return super().__call__(request)
        finally:
            self.passes(f"after the service did {call}")

    def _create(self, request: httpx.Request) -> Answer:
        checkout_id = f"chk-{len(self._record.urls) + 1}"
        url = self.page.format(id=checkout_id)
        self._record.add("created", id=checkout_id, url=url)
        if self.lost_answers:
            self.lost_answers -= 1
            return httpx.ReadTimeout("no answer")
        return success({"id": checkout_id, "url": url}, 201)

    def _read(self, request: httpx.Request) -> Answer:
        checkout_id = request.url.path.rsplit("/", 1)[1]
        deposit = self._record.deposits.get(checkout_id)
        self._record.add("read", id=checkout_id, status=deposit and deposit["status"])
        if deposit is None:
            return refusal(404, "Deposit not found")
        amount = {"inputCurrency": "USD", "inputAmount": number(deposit["amount"])}
        return success({"depositId": checkout_id, "status": deposit["status"], **amount})
