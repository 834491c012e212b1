"""Duties of a company: two persons for a payment."""

from __future__ import annotations

import pytest

from flask_paycheckout import TransitionRefused
from tests.conftest import OpenShop
from tests.payouts.shop import MAKER, decides, payout, pays_out, refunds, stands
from tests.scripted import Shop
from tests.views.test_owner import opens_view
from tests.views.test_owner_payouts import opens, sends


@pytest.fixture
def strict(open_shop: OpenShop) -> Shop:
    """A shop in which nobody approves what they have asked for."""
    return open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)


def test_who_asked_for_a_payout_cannot_approve_it_by_any_door(strict: Shop) -> None:
    pays_out(strict, approve=True, by=" Ada")
    assert payout(strict, "maker-1").asked_by == "Ada"
    for name in ("Ada", "aDA ", "\u200bADA\t"):
        with strict.app.app_context(), pytest.raises(TransitionRefused, match="another person"):
            strict.paycheckout.approve_payout("maker-1", by=name)
    command = ["paycheckout", "payouts", "approve", "maker-1", "--seen", "0", "--by", "ada"]
    assert strict.app.test_cli_runner().invoke(args=command).exit_code == 1
    opens_view(strict, lambda: "ADA")
    page = opens(strict, "/payout", reference="maker-1")
    assert 'value="approve"' not in page.text
    assert sends(strict, page, decision="approve").status_code == 409
    assert payout(strict, "maker-1").status == "waiting"
    with strict.app.app_context():
        assert strict.paycheckout.approve_payout("maker-1", by="Bo").status == "ready"


def test_who_asked_for_a_refund_cannot_approve_it_either(strict: Shop) -> None:
    refund = refunds(strict, strict.has_paid(), "5", to=MAKER)
    assert refund.asked_by == "Ada"
    stands(strict, refund.reference, status="waiting")
    assert not decides(strict, "approve", refund.reference)
    assert decides(strict, "approve", refund.reference, by="Bo")


def test_without_the_setting_one_person_is_enough(shop: Shop) -> None:
    pays_out(shop, approve=True, by="Ada")
    assert decides(shop, "approve", "maker-1")
