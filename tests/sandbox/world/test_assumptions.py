"""The table of switches, and those that change every answer."""

from __future__ import annotations

import pytest

import flask_paycheckout.sandbox
from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, AssumptionError
from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox

# The defaults, then the first alternative of each switch, and so on: every value is in one of them.
VALUES_TOGETHER = [
    {unknown.name: unknown.values[place] for unknown in ASSUMPTIONS if place < len(unknown.values)}
    for place in range(max(len(unknown.values) for unknown in ASSUMPTIONS))
]


def test_names_are_unique_and_values_differ() -> None:
    assert len({unknown.name for unknown in ASSUMPTIONS}) == len(ASSUMPTIONS)
    for unknown in ASSUMPTIONS:
        assert len(set(unknown.values)) == len(unknown.values) >= 2
        assert unknown.meaning.endswith(".")


def test_the_documentation_shows_every_switch() -> None:
    shown = flask_paycheckout.sandbox.__doc__ or ""
    assert [one.name for one in ASSUMPTIONS if one.name not in shown or one.meaning not in shown] == []


@pytest.mark.parametrize(
    ("unknowns", "told"),
    [
        ({"signatur": "off"}, "no unknown named 'signatur'.*signature"),
        ({"signature": "maybe"}, "no value 'maybe'.*on, off"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(unknowns: dict[str, str], told: str) -> None:
    with pytest.raises(AssumptionError, match=told):
        create_sandbox(unknowns=unknowns)


@pytest.mark.parametrize("unknowns", VALUES_TOGETHER, ids=range(len(VALUES_TOGETHER)))
def test_a_payment_goes_through_under_every_value(
    make_sandbox: MakeSandbox, receiver: Receiver, unknowns: dict[str, str]
) -> None:
    app = make_sandbox(**unknowns)
    merchant, tester = Merchant(app), Tester(app)
    checkout = merchant.asks_checkout(inputCurrency="USD", inputAmount=12.5).data["id"]
    assert merchant.reads_deposit(checkout).code == 404
    tester.picks(checkout)
    tester.pays(checkout)
    assert merchant.reads_deposit(checkout).data["status"] == "completed"
    assert receiver.order_ids == [checkout]


@pytest.mark.rule("The number in the body says how it went, whatever the HTTP status is.")
def test_http_status_always_200_leaves_the_code_to_the_body(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(http_status="always_200"))
    refused = merchant.reads_deposit("none")
    assert (refused.http_status, refused.code) == (200, 404)
    assert merchant.calls("GET", "/v1/nothing").http_status == 200


def test_unspecified_messages_empty_keeps_those_that_are_given(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(unspecified_messages="empty")
    merchant = Merchant(app)
    assert merchant.asks_checkout(inputCurrency="USD").message == ""
    assert merchant.forces_status("none").message == ""
    assert merchant.reads_deposit("none").message == "Deposit not found"
    Tester(app).does("POST", "account", {"checkoutEnabled": False})
    assert merchant.asks_checkout(inputCurrency="USD").message == "Checkout is not enabled"
