"""No journey depends on a question that the interface leaves open: each runs under every value of every switch.

A switch of checkouts, deposits, their webhooks or of answers in general is changed alone. The switches of other parts
of the service cannot affect a checkout; they are changed together, each value of each in one of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flask_paycheckout.client import HmacSigner, Signer
from flask_paycheckout.testing import Sandbox, Signals
from tests.conftest import OpenShop
from tests.journeys.conftest import Shopper
from tests.journeys.unknowns import settings, signer_of
from tests.payouts.paying import FIAT, Payer
from tests.scripted import Shop

#: The switches that can affect a checkout.
TURNED_ALONE = {
    *("http_status", "signature", "timestamp_window", "signature_error", "access_scheme"),
    *("checkout_status_code", "conversion_refused", "unspecified_messages", "absent_fields"),
    *("deposit_lifetime", "deposit_after_expiry", "late_payment", "forced_status", "forced_update_of_completed"),
    *("webhook_payload", "webhook_retries"),
}


SETTINGS = settings(TURNED_ALONE)


@pytest.fixture(params=SETTINGS.values(), ids=list(SETTINGS))
def unknowns(request: pytest.FixtureRequest) -> dict[str, str]:
    """The switches of the test's sandbox."""
    switches: dict[str, str] = request.param
    return switches


@pytest.fixture
def paycheckout_sandbox(unknowns: dict[str, str]) -> Iterator[Sandbox]:
    sandbox = Sandbox(unknowns=unknowns)
    yield sandbox
    sandbox.transport.close()


@pytest.fixture
def signer(unknowns: dict[str, str]) -> Signer | None:
    """The signer that the sandbox requires; None for the client's own."""
    signer = signer_of(unknowns)
    return None if isinstance(signer, HmacSigner) else signer


@pytest.fixture
def accounts(signer: Signer | None) -> int:
    """Two accounts, or one with a signer in the settings, which signs for all accounts."""
    return 2 if signer is None else 1


@pytest.fixture
def quiet_shop(open_shop: OpenShop, paycheckout_sandbox: Sandbox, signer: Signer | None) -> Shop:
    """A shop that receives no webhooks, and signs as its sandbox requires."""
    return open_shop(sandbox=paycheckout_sandbox, PAYCHECKOUT_TIMEOUT=5, PAYCHECKOUT_SIGNER=signer)


def test_webhooks_pay_and_hold(shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    paycheckout_sandbox.pay(shopper.starts_to_pay("o-1"))
    paycheckout_sandbox.pay(shopper.starts_to_pay("o-2"), amount=1)
    assert (shopper.sees_status("o-1"), shopper.sees_status("o-2")) == ("paid", "held")
    assert sorted(signals.names) == ["checkout_created", "checkout_created", "order_paid", "payment_held"]


def test_a_lost_answer_pending_abandoned_and_paid_anew(
    quiet_shop: Shop, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    shopper = Shopper(quiet_shop)
    paycheckout_sandbox.fault("POST /v1/checkout", "lose_response")
    shopper.starts_to_pay("o-1")
    waiting = shopper.starts_to_pay("o-2")
    paycheckout_sandbox.pick(waiting)
    quiet_shop.reconciles()
    for minutes in (17, 1):
        paycheckout_sandbox.advance(minutes=minutes)
        quiet_shop.reconciles()
    assert shopper.sees_status("o-1") == "abandoned"
    assert shopper.sees_status("o-2") in ("pending", "abandoned")

    paycheckout_sandbox.pay(shopper.starts_to_pay("o-1"))
    paycheckout_sandbox.pay(shopper.starts_to_pay("o-2"))
    paycheckout_sandbox.advance(minutes=1)
    quiet_shop.reconciles()
    assert (shopper.sees_status("o-1"), shopper.sees_status("o-2")) == ("paid", "paid")
    assert signals.names.count("order_paid") == 2


@pytest.mark.parametrize(
    "unknowns",
    [
        {"fiat_list": "record"},
        {"known_reference": "idempotent"},
        {"activity_updated_at": "object", "disbursement_webhook": "full", "webhook_headers": "event"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["drop", "lose_response"])
def test_a_payout_whose_answer_was_lost_is_paid_once(
    open_shop: OpenShop, paycheckout_sandbox: Sandbox, kind: str
) -> None:
    sandbox = paycheckout_sandbox
    payer = Payer(open_shop(sandbox=sandbox), sandbox)
    # A list that shows only one record proves nothing while it is empty, so the lookup stays undecided.
    payer.owes("p-0")
    payer.sends()
    for reference in ("p-1", "p-2", "p-3"):
        payer.owes(reference)
    sandbox.fault(FIAT, kind)
    payer.sends()
    sandbox.advance(minutes=2)
    payer.sends()
    assert sorted(str(payout.reference) for payout in payer.at_service) == sorted(
        payer.payout(reference).service_reference for reference in ("p-0", "p-1", "p-2", "p-3")
    )
    for one in payer.at_service:
        sandbox.finish(one, "completed")
    sandbox.advance(minutes=10)
    payer.sends()
    assert payer.statuses["completed"] == 4
