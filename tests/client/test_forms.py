"""Calls with two forms in the interface, and the list whose answer may be a page, an array or one record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flask_paycheckout.client import FiatItem, NotFound, PaymentsClient, Unauthorized
from flask_paycheckout.testing import Sandbox
from tests.client.samples import FIAT, RECIPIENT
from tests.client.wire import Script, Shop, paged, refusal, success

pytestmark = pytest.mark.filterwarnings(r"ignore:client\.:DeprecationWarning")


def targets(script: Script) -> list[str]:
    """The methods and targets of the recorded calls."""
    return [f"{request.method} {request.url.raw_path.decode()}" for request in script.requests]


TWO_FORMS: dict[str, tuple[Callable[[PaymentsClient], Any], object, list[str]]] = {
    "a list": (
        lambda client: client.payments.list(limit=2),
        paged(),
        ["GET /v2/payments?limit=2", "GET /v2/payment?limit=2"],
    ),
    "a whole list": (
        lambda client: list(client.payments.iterate()),
        paged(),
        ["GET /v2/payments?page=1", "GET /v2/payment?page=1"],
    ),
    "a deletion": (
        lambda client: client.recipients.delete("a/b"),
        RECIPIENT,
        ["DELETE /v1/recipient/a%2Fb", "DELETE /v1/recipient?id=a%2Fb"],
    ),
}


@pytest.mark.parametrize(("use", "data", "forms"), TWO_FORMS.values(), ids=TWO_FORMS)
def test_a_form_that_the_service_does_not_serve_is_followed_by_the_other(
    use: Callable[[PaymentsClient], Any], data: object, forms: list[str]
) -> None:
    served = Script(success(data))
    use(Shop(served))
    assert targets(served) == forms[:1]
    for code in (404, 405):
        script = Script(refusal(code), success(data))
        use(Shop(script))
        assert targets(script) == forms
    gone = Script(refusal(404, message="No recipient"), refusal(405))
    with pytest.raises(NotFound, match="No recipient"):
        use(Shop(gone))
    other = Script(refusal(403))
    with pytest.raises(Unauthorized):
        use(Shop(other))
    assert targets(other) == forms[:1]


def test_one_record_that_is_shown_whatever_page_is_asked_for_is_listed_once() -> None:
    records = Shop(Script(success(FIAT))).fiat_disbursements.list(disbursement_id="d1")
    assert len(records.docs) == 1
    assert not records.has_next_page


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
            # An empty list has no fields in that form, so a lookup stays undecided; see test_find.
            assert payouts.find(["r-1"]) == {}
        items = [FiatItem(amount=5, recipient_id="5a6d00000000000000000101", reference=f"r-{n}") for n in range(7)]
        ids = [payouts.create("USD", [item]).disburse_data[0].disbursement_id for item in items]
        assert [payout.disbursement_id for payout in payouts.iterate(limit=3)] == ids
        assert [payout.disbursement_id for payout in payouts.list(limit=3, page=2).docs] == ids[3:6]
        assert [payout.disbursement_id for payout in payouts.list(disbursement_id=ids[4]).docs] == ids[4:5]
        assert payouts.find(["r-0", "nothing"]).keys() == {"r-0"}
    sandbox.transport.close()
