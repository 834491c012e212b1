"""A payments service's own books of payouts: the requested amounts, payees and repetitions.

The service answers from these books alone, so that with a file it is the same service for a process that dies and for
the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from json import loads
from threading import Lock
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.scripted import Answer, Service, given, number, refusal, success

Line = dict[str, Any]

WALLET = "wallet"
NO_ANSWER = httpx.ReadTimeout("no answer")


class Paper(Protocol):
    """Stores lines."""

    def add(self, what: str, **facts: Any) -> None: ...

    def lines(self, *what: str) -> list[Line]: ...


class Pages:
    """Lines in the memory of this process."""

    def __init__(self) -> None:
        self._lines: list[Line] = []

    def add(self, what: str, **facts: Any) -> None:
        self._lines.append({"what": what, **facts})

    def lines(self, *what: str) -> list[Line]:
        return [line for line in list(self._lines) if not what or line["what"] in what]


@dataclass(frozen=True)
class Paid:
    """A payout at the service; `to` is a recipient's id, an account number or a wallet, as `kind` says."""

    id: str
    reference: str
    to: str
    amount: Decimal
    currency: str
    kind: str
    at: str
    status: str = "pending"


def paid(paper: Paper) -> list[Paid]:
    """All recorded payouts, oldest first."""
    ends = {line["id"]: line["status"] for line in paper.lines("finished")}
    return [
        Paid(**item | {"amount": Decimal(item["amount"]), "status": ends.get(item["id"], "pending")})
        for line in paper.lines("asked to pay")
        for item in line["items"]
    ]


class Books:
    """Answers the calls about payouts.

    :param paper: the store of its lines.
    :param page_size: the most records of a page, for any requested limit.
    :param unique: whether it refuses a used reference, as the service does; otherwise a repeated call pays twice.
    :ivar lost: the number of next creates that have their effect but lose their answer.
    :ivar lost_as: the answer in place of a lost one.
    :ivar instead: answers to the next creates, which then have no effect.
    :ivar instead_of_reads: answers to the next reads and lookups, instead of a record or a page.
    :ivar refused: prefixes of references that it refuses, together with their batch.
    :ivar creating: called with the references of each create, before its effect.
    :ivar created: called after a create's effect, and before its answer.
    """

    def __init__(
        self, paper: Paper, *, page_size: int = 100, unique: bool = True, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.paper = paper
        self.lost = 0
        self.lost_as: Answer = NO_ANSWER
        self.instead: list[Answer] = []
        self.instead_of_reads: list[Answer] = []
        self.refused: set[str] = set()
        self.creating: Callable[[Sequence[str]], object] = lambda references: None
        self.created: Callable[[Sequence[str]], object] = lambda references: None
        self._page_size = page_size
        self.unique = unique
        self._clock = clock or (lambda: datetime.now(UTC))
        self._one_at_a_time = Lock()

    @property
    def paid(self) -> list[Paid]:
        """All payouts, oldest first."""
        return paid(self.paper)

    @property
    def payees(self) -> Counter[str]:
        """The number of payments of each payee, without returned ones."""
        return Counter(payout.to for payout in self.paid if payout.status != "failed")

    def has(self, reference: str) -> bool:
        """Whether it has a payout with this reference, as a person would see in its books."""
        return any(payout.reference == reference for payout in self.paid)

    def finish(self, status: str = "completed", payee: str | None = None) -> None:
        """Complete or fail the pending bank transfers, to one payee or to all."""
        for payout in self.paid:
            if payout.status == "pending" and payout.kind != WALLET and payee in (None, payout.to):
                self.paper.add("finished", id=payout.id, status=status)

    # The calls

    def answers(self, method: str, target: str, body: bytes) -> Answer:
        """The answer to a call, or the error that the caller gets instead."""
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if path.endswith("/recipient"):
            return success({"id": f"rec_{loads(body)['bank']['accountNumber']}"}, 201)
        if method == "POST":
            return self._create(path, loads(body, parse_float=Decimal))
        if self.instead_of_reads:
            return self.instead_of_reads.pop(0)
        if path.endswith("/disbursement/fiat"):
            return self._page(int(query.get("page", ["1"])[0]), int(query.get("limit", ["10"])[0]))
        matches = [payout for payout in self.paid if payout.id == path.rsplit("/", 1)[1] and payout.kind != WALLET]
        return success(_shown(matches[0])) if matches else refusal(404, "Disbursement not found")

    def _create(self, path: str, sent: Line) -> Answer:
        items = sent["receivers" if path.endswith("/crypto") else "disburseData"]
        references = [item["reference"] for item in items]
        self.creating(references)
        with self._one_at_a_time:
            answer = self._done(sent, items)
        self.created(references)
        return answer

    def _done(self, sent: Line, requested: list[Line]) -> Answer:
        if self.instead:
            return self.instead.pop(0)
        earlier = self.paid
        used = {payout.reference for payout in earlier} if self.unique else set()
        for item in requested:
            if item["reference"] in used or any(item["reference"].startswith(each) for each in self.refused):
                return refusal(400, f"{item['reference']} cannot be paid")
        items = [
            {
                "id": f"pay-{len(earlier) + place}",
                "reference": item["reference"],
                **_payee(item),
                "amount": f"{Decimal(item['amount']):f}",
                "currency": sent.get("token") or sent["currency"],
                "at": self._clock().isoformat(),
            }
            for place, item in enumerate(requested, start=1)
        ]
        # One line for the whole batch, which is accepted as a whole or not at all.
        self.paper.add("asked to pay", items=items)
        if self.lost:
            self.lost -= 1
            return self.lost_as
        records = [_shown(Paid(**item | {"amount": Decimal(item["amount"])})) for item in items]
        return success({"disburseData": records}, 201)

    def _page(self, number_of_page: int, limit: int) -> Answer:
        newest = [payout for payout in reversed(self.paid) if payout.kind != WALLET]
        size = min(limit, self._page_size)
        pages = max(1, -(-len(newest) // size))
        records = newest[(number_of_page - 1) * size : number_of_page * size]
        return success(
            {
                "docs": [_shown(record) for record in records],
                "totalDocs": len(newest),
                "limit": size,
                "totalPages": pages,
                "page": number_of_page,
                "hasPrevPage": number_of_page > 1,
                "hasNextPage": number_of_page < pages,
            }
        )


class PayingService(Service):
    """The scripted service with books of payouts, which also makes recipients.

    A recipient's id contains the account number.
    """

    def __init__(self, books: Books) -> None:
        super().__init__()
        self.books = books

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/recipient") and "/disbursement/" not in request.url.path:
            return super().__call__(request)
        return given(self.books.answers(request.method, str(request.url), request.content))


def _payee(item: Line) -> dict[str, str]:
    if "receiverWalletAddress" in item:
        return {"to": item["receiverWalletAddress"], "kind": WALLET}
    if "recipientId" in item:
        return {"to": item["recipientId"], "kind": "recipientId"}
    return {"to": item["recipient"]["bank"]["accountNumber"], "kind": "accountNumber"}


def _shown(payout: Paid) -> Line:
    fields = {
        "disbursementId": payout.id,
        "status": payout.status,
        "amount": number(payout.amount),
        "reference": payout.reference,
        "createdAt": payout.at,
    }
    if payout.kind == WALLET:
        return fields | {"token": payout.currency, "receiverAddress": payout.to}
    payee = {payout.kind: payout.to}
    return fields | {
        "currency": payout.currency,
        "recipient": payee if payout.kind == "recipientId" else {"bank": payee},
    }
