"""The pagination envelope, on the list of recipients; every other list is built by the same function."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.world.context import world
from tests.sandbox.actors import Answer, Merchant
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.recipients.payees import START, adds, changes


def lists(merchant: Merchant, query: str = "") -> Answer:
    return merchant.calls("GET", f"/v1/recipient?{query}".rstrip("?"))


def page(merchant: Merchant, query: str = "") -> Any:
    return lists(merchant, query).data


@pytest.fixture
def twelve(merchant: Merchant) -> list[str]:
    """Twelve recipients, the ids in the order of their making."""
    return [*START, *(adds(merchant, name=f"Person {number}") for number in range(12 - len(START)))]


@pytest.mark.parametrize(
    ("query", "number", "limit", "pages", "beside"),
    [
        pytest.param("", 1, 10, 2, (None, 2), id="ten-by-default"),
        pytest.param("page=2", 2, 10, 2, (1, None), id="the-rest"),
        pytest.param("limit=5&page=2", 2, 5, 3, (1, 3), id="in-the-middle"),
        pytest.param("page=9", 9, 10, 2, (2, None), id="behind-the-last"),
    ],
)
def test_a_page_holds_its_items_and_names_its_neighbours(
    merchant: Merchant,
    twelve: list[str],
    query: str,
    number: int,
    limit: int,
    pages: int,
    beside: tuple[int | None, int | None],
) -> None:
    found, offset, (before, after) = page(merchant, query), (number - 1) * limit, beside
    assert [doc["id"] for doc in found.pop("docs")] == twelve[offset : offset + limit]
    assert found == {
        **{"totalDocs": 12, "offset": offset, "limit": limit, "totalPages": pages, "page": number},
        **{"pagingCounter": offset + 1, "prevPage": before, "nextPage": after},
        **{"hasPrevPage": before is not None, "hasNextPage": after is not None},
    }


def test_a_list_without_items_is_one_empty_page(merchant: Merchant) -> None:
    empty = page(merchant, "search=nobody-of-that-name")
    assert (empty["docs"], empty["totalDocs"], empty["totalPages"]) == ([], 0, 1)
    assert (empty["hasPrevPage"], empty["hasNextPage"]) == (False, False)


def test_what_is_no_page_is_refused_by_name(merchant: Merchant) -> None:
    no_numbers = ("0", "-1", "1.5", "%D9%A3", "9" * 5000)
    words = ("", "name", "--createdAt")
    for name, values in {"limit": (*no_numbers, "1&limit=2"), "page": no_numbers, "sort": words}.items():
        for value in values:
            refused = lists(merchant, f"{name}={value}")
            assert (refused.code, refused.message.split()[0]) == (400, name), value


def ids(merchant: Merchant, sort: str, limit: int = 3) -> list[str]:
    """The ids of every page, one after the other."""
    found: list[str] = []
    number: int | None = 1
    while number is not None:
        data = page(merchant, f"sort={sort}&limit={limit}&page={number}")
        found += [doc["id"] for doc in data["docs"]]
        number = data["nextPage"]
    return found


def test_the_order_is_by_creation_or_by_the_last_change(merchant: Merchant, twelve: list[str]) -> None:
    assert ids(merchant, "createdAt") == twelve
    changes(merchant, twelve[1], name="Changed")
    assert ids(merchant, "createdAt") == twelve
    assert ids(merchant, "-createdAt") == twelve[::-1]
    assert ids(merchant, "updatedAt") == [twelve[0], *twelve[2:], twelve[1]]
    assert ids(merchant, "-updatedAt") == [twelve[1], *twelve[:1:-1], twelve[0]]


@pytest.mark.parametrize("sort", ["createdAt", "updatedAt"])
def test_rows_of_one_instant_keep_the_order_of_their_making(sandbox: Flask, merchant: Merchant, sort: str) -> None:
    still = world(sandbox).clock.machine()
    world(sandbox).clock.machine = lambda: still
    made = [*START, *(adds(merchant) for _ in range(7))]
    assert ids(merchant, sort, limit=2) == made
    assert ids(merchant, f"-{sort}", limit=2) == made[::-1]


def test_unknown_limit_maximum(make_sandbox: MakeSandbox) -> None:
    for most, asked in ((100, 101), (25, 100), (1000, 5000)):
        merchant = Merchant(make_sandbox(limit_maximum=str(most)))
        assert page(merchant, f"limit={asked}")["limit"] == page(merchant, f"limit={most}")["limit"] == most
    refusing = Merchant(make_sandbox(limit_above_maximum="refused"))
    assert lists(refusing, "limit=101").message == "limit must be at most 100."
    assert page(refusing, "limit=100")["limit"] == 100


def test_unknown_pages_of_nothing(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(pages_of_nothing="0"))
    empty = page(merchant, "search=nobody&page=3")
    assert (empty["totalPages"], empty["prevPage"], empty["nextPage"]) == (0, None, None)
