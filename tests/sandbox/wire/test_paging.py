"""The pagination envelope, on the list of recipients; every other list is built by the same function."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from tests.sandbox.actors import Answer, Merchant
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.recipients.payees import START, adds

ELEVEN = {
    *("docs", "totalDocs", "offset", "limit", "totalPages", "page", "pagingCounter"),
    *("hasPrevPage", "hasNextPage", "prevPage", "nextPage"),
}


def lists(merchant: Merchant, query: str = "") -> Answer:
    return merchant.calls("GET", f"/v1/recipient?{query}" if query else "/v1/recipient")


def page(merchant: Merchant, query: str = "") -> dict[str, Any]:
    data = lists(merchant, query).data
    assert isinstance(data, dict)
    return data


@pytest.fixture
def twelve(merchant: Merchant) -> list[str]:
    """Twelve recipients, the ids in the order of their making."""
    return [*START, *(adds(merchant, name=f"Person {number}") for number in range(12 - len(START)))]


@pytest.mark.rule("A page tells how many items there are, which of them it holds, and which pages stand beside it.")
def test_the_envelope_has_all_eleven_fields(merchant: Merchant) -> None:
    assert set(page(merchant)) == ELEVEN


@pytest.mark.rule("Ten recipients a page, unless limit and page say otherwise.")
def test_ten_items_are_the_default_page(merchant: Merchant, twelve: list[str]) -> None:
    first = page(merchant)
    assert [doc["id"] for doc in first.pop("docs")] == twelve[:10]
    assert first == {
        **{"totalDocs": 12, "offset": 0, "limit": 10, "totalPages": 2, "page": 1, "pagingCounter": 1},
        **{"hasPrevPage": False, "hasNextPage": True, "prevPage": None, "nextPage": 2},
    }


def test_the_last_page_holds_the_rest(merchant: Merchant, twelve: list[str]) -> None:
    last = page(merchant, "page=2")
    assert [doc["id"] for doc in last.pop("docs")] == twelve[10:]
    assert last == {
        **{"totalDocs": 12, "offset": 10, "limit": 10, "totalPages": 2, "page": 2, "pagingCounter": 11},
        **{"hasPrevPage": True, "hasNextPage": False, "prevPage": 1, "nextPage": None},
    }


def test_a_middle_page_has_both_neighbours(merchant: Merchant, twelve: list[str]) -> None:
    middle = page(merchant, "limit=5&page=2")
    assert [doc["id"] for doc in middle["docs"]] == twelve[5:10]
    assert (middle["prevPage"], middle["nextPage"], middle["totalPages"]) == (1, 3, 3)


def test_a_full_last_page_has_no_next(merchant: Merchant, twelve: list[str]) -> None:
    assert page(merchant, "limit=6&page=2")["nextPage"] is None


def test_a_page_behind_the_last_is_empty_and_points_back(merchant: Merchant, twelve: list[str]) -> None:
    behind = page(merchant, "page=9")
    assert (behind["docs"], behind["page"], behind["offset"]) == ([], 9, 80)
    assert (behind["hasPrevPage"], behind["prevPage"], behind["hasNextPage"]) == (True, 2, False)


def test_a_list_without_items_is_one_empty_page(merchant: Merchant) -> None:
    empty = page(merchant, "search=nobody-of-that-name")
    assert (empty["docs"], empty["totalDocs"], empty["totalPages"]) == ([], 0, 1)
    assert not empty["hasPrevPage"]
    assert not empty["hasNextPage"]


@pytest.mark.parametrize("name", ["limit", "page"])
def test_limit_and_page_are_whole_numbers_from_one_on(merchant: Merchant, name: str) -> None:
    for value in ("0", "-1", "1.5", "x", "", "%D9%A3", "9" * 12, "9" * 5000, "1e3"):
        refused = lists(merchant, f"{name}={value}")
        assert refused.code == 400
        assert refused.message.startswith(f"{name} "), value


def test_the_largest_page_number_is_an_empty_page(merchant: Merchant) -> None:
    assert page(merchant, "page=999999999&limit=100")["docs"] == []


@pytest.mark.rule("sort is createdAt or updatedAt, turned around by a leading minus; other words are refused.")
@pytest.mark.parametrize("value", ["", "name", "-", "--createdAt", "createdat", "createdAt,name"])
def test_sort_is_created_at_or_updated_at(merchant: Merchant, value: str) -> None:
    assert lists(merchant, f"sort={value}").message.startswith("sort ")


def test_a_parameter_given_twice_is_refused(merchant: Merchant) -> None:
    assert lists(merchant, "limit=1&limit=2").code == 400


def ids(merchant: Merchant, sort: str, limit: int = 3) -> list[str]:
    """The ids of every page, one after the other."""
    found: list[str] = []
    number: int | None = 1
    while number is not None:
        data = page(merchant, f"sort={sort}&limit={limit}&page={number}")
        found += [doc["id"] for doc in data["docs"]]
        number = data["nextPage"]
    return found


@pytest.mark.rule("Recipients are sorted by creation or by change, in either direction, by creation unless told.")
def test_the_default_order_is_by_creation(merchant: Merchant, twelve: list[str]) -> None:
    assert ids(merchant, "createdAt") == twelve


def test_a_leading_minus_reverses_the_order(merchant: Merchant, twelve: list[str]) -> None:
    assert ids(merchant, "-createdAt") == twelve[::-1]


def test_updated_at_sorts_by_the_last_change(merchant: Merchant, twelve: list[str]) -> None:
    from tests.sandbox.recipients.payees import changes

    changes(merchant, twelve[1], name="Changed")
    assert ids(merchant, "updatedAt") == [twelve[0], *twelve[2:], twelve[1]]
    assert ids(merchant, "-updatedAt") == [twelve[1], *twelve[:1:-1], twelve[0]]


@pytest.mark.parametrize("sort", ["createdAt", "updatedAt"])
def test_rows_of_one_instant_keep_the_order_of_their_making(sandbox: Flask, merchant: Merchant, sort: str) -> None:
    clock = sandbox.extensions["paycheckout_sandbox"].clock
    still = clock.machine()
    clock.machine = lambda: still
    made = [*START, *(adds(merchant) for _ in range(7))]
    assert ids(merchant, sort, limit=2) == made
    assert ids(merchant, f"-{sort}", limit=2) == made[::-1]


@pytest.mark.rule("How large a page may be is open; by default larger wishes count as a hundred.")
@pytest.mark.parametrize(("most", "asked"), [("100", 101), ("25", 100), ("1000", 5000)])
def test_unknown_limit_maximum_clamps(make_sandbox: MakeSandbox, most: str, asked: int) -> None:
    merchant = Merchant(make_sandbox(limit_maximum=most))
    assert page(merchant, f"limit={asked}")["limit"] == int(most)
    assert page(merchant, f"limit={most}")["limit"] == int(most)


def test_unknown_limit_above_maximum_refused(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(limit_above_maximum="refused"))
    assert lists(merchant, "limit=101").message == "limit must be at most 100."
    assert page(merchant, "limit=100")["limit"] == 100


def test_unknown_pages_of_nothing(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(pages_of_nothing="0"))
    empty = page(merchant, "search=nobody&page=3")
    assert (empty["totalPages"], empty["prevPage"], empty["nextPage"]) == (0, None, None)
