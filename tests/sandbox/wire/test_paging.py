"""The pagination envelope, on the list of recipients; every other list is built by the same function."""

from __future__ import annotations

import pytest

from tests.sandbox.actors import Answer, Merchant
from tests.sandbox.recipients.payees import START, adds, changes


def lists(merchant: Merchant, query: str) -> Answer:
    return merchant.calls("GET", f"/v1/recipient?{query}")


@pytest.fixture
def twelve(merchant: Merchant) -> list[str]:
    """Twelve recipients: their ids in the order of creation."""
    return [*START, *(adds(merchant, name=f"Person {number}") for number in range(12 - len(START)))]


@pytest.mark.parametrize(
    ("query", "ids", "expected"),
    [
        ("sort=createdAt", slice(10), (0, 10, 2, 1, 1, None, 2)),
        ("limit=5&page=2", slice(5, 10), (5, 5, 3, 2, 6, 1, 3)),
        ("page=9", slice(0), (80, 10, 2, 9, 81, 2, None)),
    ],
    ids=["ten-by-default", "in-the-middle", "behind-the-last"],
)
def test_a_page_holds_its_items_and_names_its_neighbours(
    merchant: Merchant, twelve: list[str], query: str, ids: slice, expected: tuple[int | None, ...]
) -> None:
    shown = lists(merchant, query).data
    assert [doc["id"] for doc in shown.pop("docs")] == twelve[ids]
    names = ("offset", "limit", "totalPages", "page", "pagingCounter", "prevPage", "nextPage")
    beside = {"totalDocs": 12, "hasPrevPage": expected[5] is not None, "hasNextPage": expected[6] is not None}
    assert shown == dict(zip(names, expected, strict=True)) | beside


def test_an_invalid_page_is_refused_by_name(merchant: Merchant) -> None:
    no_numbers = ("0", "-1", "1.5", "%D9%A3", "9" * 5000)
    for name, values in {"limit": (*no_numbers, "1&limit=2"), "page": no_numbers, "sort": ("", "name")}.items():
        for value in values:
            refused = lists(merchant, f"{name}={value}")
            assert (refused.code, refused.message.split()[0]) == (400, name), value


def ids(merchant: Merchant, sort: str, limit: int = 3) -> list[str]:
    """The ids of every page, one after the other."""
    listed: list[str] = []
    number: int | None = 1
    while number is not None:
        data = lists(merchant, f"sort={sort}&limit={limit}&page={number}").data
        listed += [doc["id"] for doc in data["docs"]]
        number = data["nextPage"]
    return listed


def test_the_order_is_by_creation_or_by_the_last_change(merchant: Merchant, twelve: list[str]) -> None:
    changes(merchant, twelve[1], name="Changed")
    for sort, order in (("createdAt", twelve), ("updatedAt", [twelve[0], *twelve[2:], twelve[1]])):
        assert ids(merchant, sort) == order
        assert ids(merchant, f"-{sort}") == order[::-1]
