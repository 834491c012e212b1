"""Lookups of payouts by their references, while others add records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as st

from flask_paycheckout.client import ServiceFault, TransportFailed
from tests.client.test_paging import Shelf, in_every_form
from tests.client.wire import Script, Shop, refusal, steady, success


class Books(Shelf):
    """A service with a number of payouts, which gets others before each read of a page after page 1."""

    refuses_large_pages = False

    def __init__(self, total: int, *, array: bool = False, most: int = 100, added: Iterable[int] = ()) -> None:
        more = iter(added)
        super().__init__(
            total,
            array=array,
            most=most,
            sort="-createdAt",
            change=lambda shelf: shelf.makes(next(more, 0)),
            times=10**9,
        )

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.params["sort"] == "-createdAt"
        if self.refuses_large_pages and "limit" in request.url.params:
            return httpx.Response(200, content=refusal(400, "Bad Request", "limit must be at most 25."))
        return super().__call__(request)

    def find(self, *numbers: int, **limits: Any) -> list[str]:
        """The references of these payouts that a lookup finds; each result must be under its own reference."""
        results = Shop(self).fiat_disbursements.find([f"ref-{number}" for number in numbers], **limits)
        assert all(reference == payout.reference for reference, payout in results.items())
        return list(results)


@in_every_form
def test_no_page_is_read_once_all_are_found(array: bool) -> None:
    books = Books(1000, array=array)
    assert books.find(990, 850) == ["ref-990", "ref-850"]
    assert books.read == [1, 2]


@steady
@given(
    total=st.integers(1, 60),
    most=st.integers(2, 20),
    added=st.lists(st.integers(0, 45), max_size=12),
    array=st.booleans(),
    data=st.data(),
)
def test_each_record_that_was_there_at_the_beginning_is_found(
    total: int, most: int, added: list[int], array: bool, data: st.DataObject
) -> None:
    numbers = data.draw(st.lists(st.integers(0, total - 1), unique=True))
    assert Books(total, array=array, most=most, added=added).find(*numbers) == [f"ref-{number}" for number in numbers]


def test_a_list_that_never_ends_is_given_up() -> None:
    books = Books(3000, most=2)
    with pytest.raises(TransportFailed, match="more than 1000 pages"):
        books.find(5)
    assert len(books.read) == 1000


def test_a_look_up_ends_an_hour_before_a_known_payout_by_the_services_own_times() -> None:
    books = Books(1000)
    assert books.find(995, 5, after="ref-990") == ["ref-995"]
    assert books.read == [1]
    assert books.find(930, 5, after="ref-990") == ["ref-930"], "one a minute was made"
    assert books.find(5, after="ref-unknown") == ["ref-5"]


def test_a_service_whose_pages_are_smaller_is_read_by_its_own() -> None:
    books = Books(300)
    books.refuses_large_pages = True
    assert books.find(120) == ["ref-120"]


def test_a_page_that_fails_is_no_payout_that_is_missing() -> None:
    books = Books(300)

    def service(request: httpx.Request) -> httpx.Response:
        return books(request) if len(books.read) < 2 else httpx.Response(200, content=refusal(500))

    with pytest.raises(ServiceFault):
        Shop(service, count=0).fiat_disbursements.find(["ref-5"])


def test_data_without_any_field_is_no_payout_that_is_missing() -> None:
    with pytest.raises(TransportFailed, match="does not say whether there are records"):
        Shop(Script(success({})), count=0).fiat_disbursements.find(["ref-5"])
