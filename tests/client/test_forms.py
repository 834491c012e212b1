"""Calls that the interface writes in two forms, and the list whose answer may be a page, an array or one record."""

from __future__ import annotations

from typing import Any

import pytest

from flask_paycheckout.client import FiatItem, PaymentsClient
from flask_paycheckout.testing import Sandbox
from tests.client.samples import FIAT, RECIPIENT
from tests.client.wire import Script, Shop, paged, success

pytestmark = pytest.mark.filterwarnings(r"ignore:client\.:DeprecationWarning")


def called(answer: Any, use: Any, **options: Any) -> str:
    """The method and target of the one call that is made."""
    script = Script(answer)
    # Another budget keeps the forms.
    use(Shop(script, **options).within(3))
    (request,) = script.requests
    return f"{request.method} {request.url.raw_path.decode()}"


def test_the_list_of_payments_has_the_path_that_is_chosen() -> None:
    assert called(success(paged()), lambda client: client.payments.list(limit=2)) == "GET /v2/payments?limit=2"
    other: dict[str, Any] = {"payments_path": "/v2/payment"}
    assert called(success(paged()), lambda client: client.payments.list(), **other) == "GET /v2/payment"
    assert called(success(paged()), lambda client: list(client.payments.iterate()), **other).startswith(
        "GET /v2/payment?"
    )


def test_a_recipient_is_deleted_in_the_form_that_is_chosen() -> None:
    assert called(success(RECIPIENT), lambda client: client.recipients.delete("a/b")) == "DELETE /v1/recipient/a%2Fb"
    by_query: dict[str, Any] = {"recipient_delete": "query"}
    deletes = called(success(RECIPIENT), lambda client: client.recipients.delete("a/b"), **by_query)
    assert deletes == "DELETE /v1/recipient?id=a%2Fb"
    with pytest.raises(ValueError, match="cannot be an id"):
        called(success(RECIPIENT), lambda client: client.recipients.delete(""), **by_query)


def test_one_record_that_is_shown_whatever_page_is_asked_for_is_listed_once() -> None:
    found = Shop(Script(success(FIAT))).fiat_disbursements.list(disbursement_id="d1")
    assert len(found.docs) == 1
    assert not found.has_next_page


@pytest.mark.parametrize("form", ["paged", "array", "record"])
def test_every_form_of_the_list_is_read_whole(form: str) -> None:
    sandbox = Sandbox(unknowns={"fiat_list": form})
    client = PaymentsClient(
        sandbox.base_url,
        client_id="sandbox-client",
        client_secret="sandbox-secret-0123456789abcdef",
        access_token="sandbox-access-token",
        transport=sandbox.transport,
    )
    with client:
        payouts = client.fiat_disbursements
        assert list(payouts.iterate()) == []
        if form != "record":
            # An empty list shows nothing at all in that form, from which a look-up concludes nothing; see test_find.
            assert payouts.find(["r-1"]) == {}
        items = [FiatItem(amount=5, recipient_id="5a6d00000000000000000101", reference=f"r-{n}") for n in range(7)]
        ids = [payouts.create("USD", [item]).disburse_data[0].disbursement_id for item in items]
        assert [one.disbursement_id for one in payouts.iterate(limit=3)] == ids
        assert [one.disbursement_id for one in payouts.list(limit=3, page=2).docs] == ids[3:6]
        assert [one.disbursement_id for one in payouts.list(disbursement_id=ids[4]).docs] == ids[4:5]
        assert payouts.find(["r-0", "nothing"]).keys() == {"r-0"}
    sandbox.transport.close()
