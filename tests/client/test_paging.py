from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as st

from flask_paycheckout.client import FiatDisbursement, TransportFailed
from flask_paycheckout.client.records import Sort
from tests.client.wire import Shop, paged, steady, success

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def doc(number: int) -> dict[str, Any]:
    created = (BEGUN + timedelta(minutes=number)).isoformat()
    return {"disbursementId": f"d{number}", "status": "pending", "reference": f"ref-{number}", "createdAt": created}


@dataclass
class Shelf:
    """A service's list of disbursements, one made each minute.

    It may change before each of the first `times` pages after page 1.
    """

    total: int
    array: bool = False
    ignores_paging: bool = False
    most: int = 1000
    sort: Sort = "createdAt"
    change: Callable[[Shelf], None] = lambda shelf: None
    times: int = 1

    def __post_init__(self) -> None:
        self.stored, self.read, self._made = list(range(self.total)), list[int](), self.total

    def makes(self, records: int) -> None:
        self.stored += range(self._made, self._made + records)
        self._made += records

    @property
    def ordered(self) -> list[int]:
        return self.stored[::-1] if self.sort.startswith("-") else list(self.stored)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        page = int(request.url.params.get("page", "1"))
        limit = min(self.most, int(request.url.params.get("limit", "10")))
        if page > 1 and self.times:
            self.times -= 1
            self.change(self)
        self.read.append(page)
        numbers = self.ordered if self.ignores_paging else self.ordered[(page - 1) * limit : page * limit]
        docs, total = [doc(number) for number in numbers], len(self.stored)
        envelope = paged(*docs, page=page, total_pages=-(-total // limit), limit=limit, totalDocs=total)
        return httpx.Response(200, content=success(docs if self.array else envelope))

    def walked(self, limit: int) -> list[str]:
        return ids(Shop(self).fiat_disbursements.iterate(limit=limit, sort=self.sort))


def ids(payouts: Iterator[FiatDisbursement]) -> list[str]:
    return [disbursement.disbursement_id for disbursement in payouts]


@steady
@given(st.integers(0, 60), st.integers(1, 25), st.booleans(), st.booleans())
def test_iterating_gives_every_record_once_in_order(total: int, limit: int, array: bool, ignores: bool) -> None:
    shelf = Shelf(total, array=array, ignores_paging=array and ignores)
    assert ids(Shop(shelf).fiat_disbursements.iterate(limit=limit)) == [f"d{number}" for number in range(total)]
    assert len(shelf.read) <= 2 * (total // limit) + 4


in_every_form = pytest.mark.parametrize("array", [False, True], ids=["paged", "array"])


@in_every_form
def test_a_list_that_grows_as_fast_as_it_is_read_is_no_list_that_ended(array: bool) -> None:
    shelf = Shelf(30, array=array, sort="-createdAt", change=lambda one: one.makes(10), times=10**9)
    with pytest.raises(TransportFailed, match="does not end: 1000 pages brought nothing new"):
        shelf.walked(limit=10)
    assert len(shelf.read) < 1010


@in_every_form
@pytest.mark.parametrize("sort", ["createdAt", "-createdAt"])
@pytest.mark.parametrize(
    ("gone", "added", "times"),
    [(0, 100, 3), (0, 250, 1), (0, 1, 40), (1, 0, 1), (1, 1, 3), (100, 0, 1), (250, 0, 1), (70, 90, 2)],
)
def test_records_that_come_and_go_meanwhile_hide_none(
    array: bool, sort: Sort, gone: int, added: int, times: int
) -> None:
    """A page of new records equals the size of the page before; equal additions and removals keep the total."""

    def changes(shelf: Shelf) -> None:
        first = shelf.ordered[:gone]
        shelf.stored = [number for number in shelf.stored if number not in first]
        shelf.makes(added)

    shelf = Shelf(300, array=array, sort=sort, change=changes, times=times)
    walked_ids = shelf.walked(limit=100)
    assert len(walked_ids) == len(set(walked_ids))
    assert {f"d{number}" for number in shelf.stored if number < 300} <= set(walked_ids)
    assert len(shelf.read) <= 24


@pytest.mark.parametrize(
    ("docs", "fault", "given_first"),
    [([], "page 1 is empty and names a next page", []), ([doc(7)], "page 2 is the first one again", ["d7"])],
    ids=["empty", "repeated"],
)
def test_a_list_that_circles_ends(docs: list[Any], fault: str, given_first: list[str]) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params["page"])
        return httpx.Response(200, content=success(paged(*docs, page=number, total_pages=number + 3)))

    got: list[FiatDisbursement] = []
    with pytest.raises(TransportFailed, match=f"GET /v1/disbursement/fiat: the list does not end: {fault}"):
        got.extend(Shop(answer).fiat_disbursements.iterate())
    assert ids(iter(got)) == given_first
