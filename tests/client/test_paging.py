from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as st

from flask_paycheckout.client import FiatDisbursement, Page, ServiceFault, TransportFailed
from flask_paycheckout.client.paging import page_of_array, walk
from flask_paycheckout.client.records import Sort
from tests.client import samples
from tests.client.wire import Script, Shop, paged, refusal, steady, success

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = st.integers(-3, 2**70) | st.none() | st.booleans() | st.text(max_size=3) | st.floats()


def doc(number: int) -> dict[str, Any]:
    created = (BEGUN + timedelta(minutes=number)).isoformat()
    return {"disbursementId": f"d{number}", "status": "pending", "reference": f"ref-{number}", "createdAt": created}


class Shelf:
    """A service's list of disbursements, one made each minute.

    It may change before each of the first `times` pages behind page 1.
    """

    def __init__(
        self,
        total: int,
        *,
        array: bool = False,
        ignores_paging: bool = False,
        most: int = 1000,
        sort: Sort = "createdAt",
        change: Callable[[Shelf], None] = lambda shelf: None,
        times: int = 1,
    ) -> None:
        self.stored, self.read, self._made = list(range(total)), list[int](), total
        self._array, self._ignores_paging, self._most = array, ignores_paging, most
        self._sort, self._change, self._times = sort, change, times

    def makes(self, records: int) -> None:
        self.stored += range(self._made, self._made + records)
        self._made += records

    @property
    def ordered(self) -> list[int]:
        return self.stored[::-1] if self._sort.startswith("-") else list(self.stored)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        page = int(request.url.params.get("page", "1"))
        limit = min(self._most, int(request.url.params.get("limit", "10")))
        if page > 1 and self._times:
            self._times -= 1
            self._change(self)
        self.read.append(page)
        shown = self.ordered if self._ignores_paging else self.ordered[(page - 1) * limit : page * limit]
        docs, total = [doc(number) for number in shown], len(self.stored)
        envelope = paged(*docs, page=page, total_pages=-(-total // limit), limit=limit, totalDocs=total)
        return httpx.Response(200, content=success(docs if self._array else envelope))

    def walked(self, limit: int) -> list[str]:
        return ids(Shop(self).fiat_disbursements.iterate(limit=limit, sort=self._sort))


def ids(found: Iterator[FiatDisbursement]) -> list[str]:
    return [disbursement.disbursement_id for disbursement in found]


@steady
@given(st.integers(0, 60), st.integers(1, 25), st.booleans(), st.booleans())
def test_iterating_gives_every_record_once_in_order(total: int, limit: int, array: bool, ignores: bool) -> None:
    shelf = Shelf(total, array=array, ignores_paging=array and ignores)
    assert ids(Shop(shelf).fiat_disbursements.iterate(limit=limit)) == [f"d{number}" for number in range(total)]
    assert len(shelf.read) <= 2 * (total // limit) + 4


def test_an_array_whose_pages_are_smaller_than_asked_for_is_read_to_its_end() -> None:
    shelf = Shelf(95, array=True, most=30)
    assert len(ids(Shop(shelf).fiat_disbursements.iterate(limit=500))) == 95


in_every_form = pytest.mark.parametrize("array", [False, True], ids=["paged", "array"])
both_ways = pytest.mark.parametrize("sort", ["createdAt", "-createdAt"])


@in_every_form
@both_ways
@pytest.mark.parametrize(("made", "times"), [(100, 1), (100, 3), (30, 1), (130, 2), (250, 1), (1, 40)])
def test_records_that_are_made_meanwhile_hide_none_and_show_none_twice(
    array: bool, sort: Sort, made: int, times: int
) -> None:
    """A whole page of new ones is as many as the page before had."""
    shelf = Shelf(300, array=array, sort=sort, change=lambda one: one.makes(made), times=times)
    found = shelf.walked(limit=100)
    assert len(found) == len(set(found))
    assert {f"d{number}" for number in range(300)} <= set(found)
    assert len(shelf.read) <= 24


@in_every_form
def test_a_list_that_grows_as_fast_as_it_is_read_is_no_list_that_ended(array: bool) -> None:
    shelf = Shelf(30, array=array, sort="-createdAt", change=lambda one: one.makes(10), times=10**9)
    with pytest.raises(TransportFailed, match="does not end: 1000 pages brought nothing new"):
        shelf.walked(limit=10)
    assert len(shelf.read) < 1010


@in_every_form
@both_ways
@pytest.mark.parametrize(("gone", "made", "times"), [(1, 0, 1), (1, 1, 3), (100, 0, 1), (250, 0, 1), (70, 90, 2)])
def test_records_that_go_meanwhile_hide_none(array: bool, sort: Sort, gone: int, made: int, times: int) -> None:
    """Where as many come as go, the list's total tells nothing."""

    def changes(shelf: Shelf) -> None:
        first = shelf.ordered[:gone]
        shelf.stored = [found for found in shelf.stored if found not in first]
        shelf.makes(made)

    shelf = Shelf(300, array=array, sort=sort, change=changes, times=times)
    found = shelf.walked(limit=100)
    assert len(found) == len(set(found))
    assert {f"d{number}" for number in shelf.stored if number < 300} <= set(found)


@in_every_form
def test_a_record_that_leaves_behind_the_last_page_hides_none(array: bool) -> None:
    shelf = Shelf(20, array=array, change=lambda one: one.stored.__delitem__(slice(0, 10)))
    assert shelf.walked(limit=10) == [f"d{number}" for number in range(20)]


@in_every_form
def test_records_that_are_updated_meanwhile_are_given(array: bool) -> None:
    """Sorted by `-updatedAt`, an updated record moves to the beginning."""
    shelf = Shelf(30, array=array, sort="-updatedAt", change=lambda one: one.stored.append(one.stored.pop(3)))
    assert sorted(shelf.walked(limit=10)) == sorted(f"d{number}" for number in range(30))


def test_newest_first_one_read_for_each_page_is_enough() -> None:
    shelf = Shelf(300, sort="-createdAt")
    assert len(shelf.walked(limit=100)) == 300
    assert shelf.read == [1, 2, 3]


def test_totals_that_are_odd_by_themselves_do_not_make_it_circle() -> None:
    def counts_this_page(request: httpx.Request) -> httpx.Response:
        page = int(request.url.params["page"])
        docs = [doc(number) for number in range(10 * page, 10 * page + (10 if page < 5 else 3))]
        return httpx.Response(200, content=success(paged(*docs, page=page, total_pages=5, totalDocs=len(docs))))

    assert len(ids(Shop(counts_this_page).fiat_disbursements.iterate())) == 43


def test_pages_are_read_when_they_are_wanted() -> None:
    shelf = Shelf(30)
    found = Shop(shelf).fiat_disbursements.iterate(limit=10)
    assert shelf.read == []
    for _ in range(10):
        next(found)
    assert shelf.read == [1]
    next(found)
    # And once more the page before, from which records might have moved up.
    assert shelf.read == [1, 2, 1]


def test_a_page_that_fails_ends_the_iteration() -> None:
    script = Script(success(paged(doc(1), page=1, total_pages=2)), refusal(500))
    found = Shop(script, count=0).fiat_disbursements.iterate()
    assert next(found).disbursement_id == "d1"
    with pytest.raises(ServiceFault):
        next(found)
    assert list(found) == []


def test_a_page_says_where_it_is() -> None:
    page = Shop(Shelf(25)).fiat_disbursements.list(page=2, limit=10)
    assert ids(iter(page)) == [f"d{number}" for number in range(10, 20)]
    assert (page.total_docs, page.offset, page.limit, page.total_pages, page.page) == (25, 10, 10, 3, 2)
    assert (page.paging_counter, page.has_prev_page, page.has_next_page) == (11, True, True)
    assert (page.prev_page, page.next_page) == (1, 3)
    with pytest.raises(AttributeError):
        page.page = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("length", "page", "limit", "expected"),
    [
        pytest.param(3, None, None, Page((0,) * 3, 3, 0, 10, 1, 1, 1, False, False, None, None), id="all"),
        pytest.param(0, None, None, Page((), 0, 0, 10, 1, 1, 1, False, False, None, None), id="none"),
        pytest.param(12, 3, 10, Page((0,) * 12, 12, 0, 12, 1, 1, 1, False, False, None, None), id="paging-ignored"),
        pytest.param(2, 3, 2, Page((0,) * 2, 6, 4, 2, 3, 3, 5, True, True, 2, 4), id="perhaps-more"),
        pytest.param(1, 3, 2, Page((0,), 5, 4, 2, 3, 3, 5, True, False, 2, None), id="last"),
    ],
)
def test_what_a_plain_array_says_as_a_page(
    length: int, page: int | None, limit: int | None, expected: Page[int]
) -> None:
    assert page_of_array((0,) * length, page, limit) == expected


def circling(**changed: Any) -> Callable[[httpx.Request], httpx.Response]:
    """A service whose pages are all fresh, but for what is changed."""

    def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params["page"])
        data = paged(doc(number), page=number, total_pages=number + 3) | {
            name: value(number) if callable(value) else value for name, value in changed.items()
        }
        return httpx.Response(200, content=success(data))

    return answer


@pytest.mark.parametrize(
    ("changed", "fault", "given_first"),
    [
        pytest.param({"nextPage": 1}, "page 1 names page 1 as the next", [], id="to-itself"),
        pytest.param({"nextPage": 0}, "page 1 names page 0 as the next", [], id="to-nothing"),
        pytest.param({"nextPage": lambda n: 2 if n == 1 else 1}, "page 2 names page 1 as the next", ["d1"], id="back"),
        pytest.param({"nextPage": lambda n: n + 2}, "page 1 names page 3 as the next", [], id="over-one"),
        pytest.param({"nextPage": None}, "page 1 names no next page although one follows", [], id="nameless"),
        pytest.param({"docs": []}, "page 1 is empty and names a next page", [], id="empty"),
        pytest.param({"docs": [doc(7)]}, "page 2 is the first one again", ["d7"], id="repeated"),
        pytest.param({"totalPages": 2}, "page 2 of 2 names page 3 as the next", ["d1"], id="more-than-all"),
    ],
)
def test_a_list_that_circles_ends(changed: dict[str, Any], fault: str, given_first: list[str]) -> None:
    found = Shop(circling(**changed)).fiat_disbursements.iterate()
    got: list[FiatDisbursement] = []
    with pytest.raises(TransportFailed, match=f"GET /v1/disbursement/fiat: the list does not end: {fault}"):
        got.extend(found)
    assert ids(iter(got)) == given_first


def test_every_iterator_is_guarded() -> None:
    person = {**samples.RECIPIENT}
    with pytest.raises(TransportFailed, match="does not end"):
        list(Shop(Script(success(paged(person, total_pages=9)))).recipients.iterate())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = Shop(Script(success(paged(samples.PAYMENT, total_pages=9)))).payments.iterate()
    with pytest.raises(TransportFailed, match="does not end"):
        list(found)


@pytest.mark.parametrize("is_array", [False, True])
def test_a_list_that_grows_while_it_is_read_ends(is_array: bool) -> None:
    async def fetch(number: int) -> tuple[Page[str], bool]:
        return Page((str(number),), 10**9, 0, 1, 10**9, number, 1, True, True, None, number + 1), is_array

    async def walked() -> None:
        async for record in walk("GET /x", fetch, str):
            seen.append(record)

    seen: list[str] = []
    with pytest.raises(TransportFailed, match="more than 100000 pages"):
        asyncio.run(walked())
    assert len(seen) == 99_999


@steady
@given(st.dictionaries(st.sampled_from(sorted(set(paged()) - {"docs"})), NUMBERS))
def test_no_set_of_odd_numbers_makes_it_circle(odd: dict[str, Any]) -> None:
    script = Script(success({**paged(doc(1), doc(2), total_pages=3), **odd}))
    found: list[str] = []
    with pytest.raises(TransportFailed) if _claims_more(odd) else warnings.catch_warnings():
        found += ids(Shop(script, count=0).fiat_disbursements.iterate())
    assert len(script.requests) <= 3


def _claims_more(odd: dict[str, Any]) -> bool:
    """Whether the pages made of these numbers are either unreadable or name a next one."""
    numbers = [odd.get(name, 1) for name in ("totalDocs", "limit", "totalPages", "page")]
    if any(type(number) is not int or number < 0 for number in numbers):
        return True
    has_next = odd.get("hasNextPage", True)
    names_next = type(odd.get("nextPage", 2)) is int
    return has_next if isinstance(has_next, bool) else names_next
