"""Duties of a company: two persons for a payment, a record of who did what, payouts that their receivers claim."""

from __future__ import annotations

import getpass
import json
from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout import PayoutConflict, TransitionRefused, payment_resolved
from tests.conftest import OpenShop
from tests.payouts.claiming import Customer
from tests.payouts.shop import MAKER, decides, payout, payouts, pays_out, refunds, sends as sends_payouts, stands
from tests.scripted import Shop
from tests.test_bounds import statements
from tests.views.test_owner import ROOT, opens, opens_view
from tests.views.test_owner_payouts import sends


@pytest.fixture
def strict(open_shop: OpenShop) -> Shop:
    """A shop in which nobody approves what they have asked for."""
    return open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)


def test_who_asked_for_a_payout_cannot_approve_it_by_any_door(strict: Shop) -> None:
    pays_out(strict, approve=True, by=" Ada")
    assert payout(strict, "maker-1").asked_by == "Ada"
    for name in ("Ada", "aDA ", "\u200bADA\t", "A\u200bda", "\uff21da"):
        with strict.app.app_context(), pytest.raises(TransitionRefused, match="another person"):
            strict.paycheckout.approve_payout("maker-1", by=name)
    assert strict.runs("payouts", "approve", "maker-1", "--seen", "0", "--by", "ada").exit_code == 1
    opens_view(strict, lambda: "ADA")
    page = opens(strict, "/payout", reference="maker-1")
    assert 'value="approve"' not in page.text
    assert sends(strict, page, decision="approve").status_code == 409
    assert payout(strict, "maker-1").status == "waiting"
    refund = refunds(strict, strict.has_paid(), "5", to=MAKER).reference
    stands(strict, refund, status="waiting")
    assert not decides(strict, "approve", refund)
    for reference in ("maker-1", refund):
        assert decides(strict, "approve", reference, by="Bo")


def deeds(shop: Shop, *, looks: bool = False) -> list[tuple[str, str, str, str, str]]:
    """The deeds: by whom, what, to what, why, and through which door, oldest first; looks alone, or all others."""
    ran = shop.runs("deeds", "--json")
    assert ran.exit_code == 0, ran.output
    return [
        (each["by"], each["deed"], each["subject"], each["why"], each["through"])
        for each in json.loads(ran.stdout)
        if (each["deed"] == "looked") is looks
    ]


def test_deeds_are_recorded_through_each_door_and_survive_prune(shop: Shop) -> None:
    opens_view(shop, lambda: "Cy")
    held = shop.has_held("o-2")
    shop.resolves(held, False, why="a stranger's")
    with shop.app.app_context():
        shop.paycheckout.mark_paid_back(held, by="Ada", why="by hand")
    pays_out(shop, approve=True, by="Bo", order_id="o-7")
    pays_out(shop, approve=True, by="Bo")
    pays_out(shop, "maker-2")
    refund = refunds(shop, shop.has_paid(), "5")
    sends(shop, opens(shop, "/payout", reference="maker-1"), decision="approve")
    assert shop.runs("payouts", "cancel", refund.reference, "--by", "Di", "--why", "late").exit_code == 0
    stands(shop, "maker-1", status="failed")
    assert decides(shop, "retry", "maker-1")
    stands(shop, "maker-1", status="unknown")
    assert decides(shop, "resolve", "maker-1", False)
    assert shop.browser.get(f"{ROOT}/books/month?month=2026-01").status_code == 200
    assert shop.runs("export").exit_code == 0
    shop.clock.advance(days=400)
    assert shop.runs("prune", "--older-than", "1").exit_code == 0
    assert deeds(shop) == [
        ("Ada", "decided", held, "a stranger's", "call"),
        ("Ada", "paid_back", held, "by hand", "call"),
        ("Bo", "asked", "maker-1", "", "call"),
        ("Ada", "refunded", refund.refund_of, "one jar broke", "call"),
        ("Cy", "approved", "maker-1", "", "page"),
        ("Di", "cancelled", refund.reference, "late", "command"),
        ("Ada", "retried", "maker-1", "one jar broke", "call"),
        ("Ada", "resolved", "maker-1", "one jar broke", "call"),
        ("Cy", "exported", "2026-01-01 00:00:00Z to 2026-02-01 00:00:00Z", "", "page"),
        (getpass.getuser(), "exported", "the beginning to now", "", "command"),
    ]
    page = opens(shop, "/deeds")
    assert "a stranger&#39;s" in page.text
    assert 'rel="next"' not in page.text


@pytest.mark.on_each_database
def test_a_look_is_recorded_once_an_hour_and_the_next_one_is_one_read(shop: Shop) -> None:
    opens_view(shop, lambda: "Cy")
    shop.has_paid()
    pays_out(shop, order_id="o-1")
    shop.clock.now = shop.clock.now.replace(minute=59)
    seen = [*opens_each(shop), *opens_each(shop)]
    assert [statement.split()[0] for statement in seen] == ["SELECT", "INSERT"] * 3 + ["SELECT"] * 3
    found = [("Cy", "looked", subject, "", "page") for subject in ("o-1", "maker-1", "payouts")]
    assert deeds(shop, looks=True) == found
    shop.clock.advance(minutes=1)
    assert len(opens_each(shop)) == 6
    assert shop.runs("show", "o-1").exit_code == 0
    assert deeds(shop, looks=True)[6:] == [(getpass.getuser(), "looked", "o-1", "", "command")]


def test_a_look_that_cannot_be_recorded_hides_no_page(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    opens_view(shop)
    pays_out(shop)
    with shop.app.app_context():
        shop.runtime.models.deeds.drop(shop.db.engine)
    assert opens(shop, "/payout", reference="maker-1").status_code == 200
    assert "who looked at maker-1 was not recorded" in caplog.text


def opens_each(shop: Shop) -> list[str]:
    """Open the owner's pages that tell of persons; gives the statements about deeds."""
    with statements(shop) as seen:
        for page, query in (("/order", {"id": "o-1"}), ("/payout", {"reference": "maker-1"}), ("/payouts", {})):
            assert opens(shop, page, **query).status_code == 200
    return [one for one in seen if "paycheckout_deed" in one]


def test_a_deed_that_is_rolled_back_was_never_done(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    with shop.app.app_context():
        shop.paycheckout.refund(checkout_id, "5", by="Ada", why="broke")
        shop.db.session.rollback()
    pays_out(shop, approve=True)
    assert not decides(shop, "retry", "maker-1")
    assert deeds(shop) == []


def test_what_a_receiver_does_during_a_command_is_a_call(shop: Shop) -> None:
    checkout_id = shop.has_held()

    @payment_resolved.connect
    def refund(app: Any, *, checkout: Any, **extra: Any) -> None:
        shop.paycheckout.refund(checkout.checkout_id, "1", by="robot", why="rejected")

    assert shop.runs("resolve", checkout_id, "--reject", "--by", "Ada", "--why", "no").exit_code == 0
    payment_resolved.disconnect(refund)
    assert [(each[0], each[4]) for each in deeds(shop)] == [("Ada", "command"), ("robot", "call")]


# Payouts that their receivers claim


def promised(shop: Shop, reference: str = "prize-1", **keywords: Any) -> Customer:
    """The receiver of a payout that has no destination yet."""
    pays_out(shop, reference, to=None, **keywords)
    return Customer(shop, reference)


def test_the_receiver_of_a_payout_says_where_it_goes_and_a_person_approves_that(shop: Shop) -> None:
    receiver = promised(shop, by="Ada", approve=False)
    assert receiver.refund.status == "claimable"
    with shop.app.app_context():
        url = shop.paycheckout.claim_url("prize-1")
    assert "80.00" in shop.browser.get(url).text
    assert receiver.sends().status_code == 303
    claimed = receiver.refund
    assert (claimed.status, claimed.revision) == ("waiting", 1)
    promised(shop)
    assert decides(shop, "approve", "prize-1", by="Bo", seen=1)
    assert receiver.sends().status_code == 409


def test_what_nobody_claims_in_time_is_cancelled_and_what_was_claimed_stays(shop: Shop) -> None:
    for reference in ("late", "opened", "claimed", "posted"):
        promised(shop, reference, expires=timedelta(days=1))
    promised(shop, "open")
    assert Customer(shop, "claimed").sends().status_code == 303
    shop.clock.advance(days=1)
    assert Customer(shop, "posted").sends().status_code == 409
    assert "cancelled" in Customer(shop, "opened").opens().text
    sends_payouts(shop)
    stored = {one.reference: one.status for one in payouts(shop)}
    assert stored == {
        "late": "cancelled",
        "opened": "cancelled",
        "claimed": "waiting",
        "posted": "cancelled",
        "open": "claimable",
    }


def test_nobody_says_on_a_page_where_a_payout_goes_that_has_a_destination(shop: Shop) -> None:
    pays_out(shop, approve=True)
    with shop.app.app_context(), pytest.raises(ValueError, match="made with its destination"):
        shop.paycheckout.claim_url("maker-1")
    assert Customer(shop, "maker-1").sends().status_code == 404
    promised(shop)
    for reference, to in (("maker-1", None), ("prize-1", MAKER)):
        with pytest.raises(PayoutConflict, match="destination"):
            pays_out(shop, reference, to=to)
