"""The activity log: who did what, by page, command or code, and who viewed personal data."""

from __future__ import annotations

import getpass
import json
from html import unescape
from typing import Any

import pytest
from sqlalchemy import text

from flask_paycheckout import payment_resolved
from tests.checkouts.test_requests import asks
from tests.conftest import OpenShop
from tests.payouts.claiming import refunded
from tests.payouts.shop import (
    decides,
    pays_out,
    refunds,
    stands,
)
from tests.scripted import Shop
from tests.test_bounds import statements
from tests.views.owner import ROOT, opens, opens_view, payout_page, sends


def deeds(shop: Shop, *, looks: bool = False) -> list[tuple[str, str, str, str, str]]:
    """The deeds, oldest first: person, deed, subject, reason and means; views alone, or all others."""
    ran = shop.runs("deeds", "--json")
    assert ran.exit_code == 0, ran.output
    return [
        (each["by"], each["deed"], each["subject"], each["why"], each["through"])
        for each in json.loads(ran.stdout)
        if (each["deed"] == "viewed") is looks
    ]


def test_deeds_are_recorded_through_each_door_and_survive_prune(shop: Shop) -> None:
    opens_view(shop, lambda: "Cy")
    held_id = shop.has_held("o-2")
    shop.resolves(held_id, False, why="a stranger's")
    shop.calls.keep(held_id, by="Ada", why="a voucher")
    pays_out(shop, approve=True, by="Bo", order_id="o-7")
    pays_out(shop, approve=True, by="Bo")
    pays_out(shop, "maker-2")
    refund = refunds(shop, shop.has_paid(), "5")
    sends(shop, payout_page(shop), decision="approve")
    assert shop.runs("payouts", "cancel", refund.reference, "--by", "Di", "--why", "late").exit_code == 0
    stands(shop, "maker-1", status="failed")
    assert decides(shop, "retry", "maker-1")
    stands(shop, "maker-1", status="unknown")
    assert decides(shop, "resolve", "maker-1", False)
    assert shop.browser.get(f"{ROOT}/books/month?month=2026-01").status_code == 200
    assert shop.runs("export").exit_code == 0
    shop.waits(days=400)
    assert shop.runs("prune", "--older-than", "1").exit_code == 0
    assert deeds(shop) == [
        ("Ada", "decided", held_id, "a stranger's", "call"),
        ("Ada", "kept", held_id, "a voucher", "call"),
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
    views = [("Cy", "viewed", subject, "", "page") for subject in ("o-1", "maker-1", "payouts")]
    assert deeds(shop, looks=True) == views
    shop.waits(minutes=1)
    assert len(opens_each(shop)) == 6
    assert shop.runs("show", "o-1").exit_code == 0
    assert deeds(shop, looks=True)[6:] == [(getpass.getuser(), "viewed", "o-1", "", "command")]


def test_a_look_at_a_typed_address_names_the_order(shop: Shop) -> None:
    opens_view(shop, lambda: "Cy")
    shop.has_paid()
    assert opens(shop, "/order", id="o-1").status_code == 200
    assert deeds(shop, looks=True) == [("Cy", "viewed", "o-1", "", "page")]


def test_a_look_that_cannot_be_recorded_hides_no_page(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    opens_view(shop)
    pays_out(shop)
    shop.executes(text("ALTER TABLE paycheckout_deed RENAME COLUMN why TO reason"))
    assert payout_page(shop).status_code == 200
    assert "who viewed maker-1 was not recorded" in caplog.text


def test_each_page_with_personal_data_records_its_viewer(shop: Shop) -> None:
    """Pages and commands without personal data, such as alarms about a payout, record no viewer."""
    opens_view(shop, lambda: "Cy")
    customer = refunded(shop)
    customer.sends(account_name="Zoë Quist")
    asks(shop, title="Zoë Quist's logo", by="Ada")
    texts = {
        **{name: opens(shop, path).text for name, path in (("", ""), ("requests", "/requests"), ("deeds", "/deeds"))},
        **{
            f"flask {name}": shop.runs(*name.split()).output
            for name in ("report", "report --json", "requests", "doctor")
        },
    }
    shown = [name for name, text in texts.items() if "Zoë Quist" in unescape(text)]
    assert shown == ["requests", "deeds", "flask requests"]
    user = getpass.getuser()
    assert deeds(shop, looks=True) == [
        ("Cy", "viewed", "requests", "", "page"),
        ("Cy", "viewed", "deeds", "", "page"),
        (user, "viewed", "requests", "", "command"),
    ]


def test_the_viewer_of_a_claim_link_is_recorded(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)
    opens_view(shop, lambda: "Cy")
    result = shop.runs("refund", shop.has_paid(), "--amount", "2", "--by", "Ada", "--why", "broke", "--json")
    reference = json.loads(result.stdout)["reference"]
    page = payout_page(shop, reference)
    assert ("refund-url" in page.text, "Whoever has been shown it cannot approve" in page.text) == (False, True)
    for _ in range(2):
        assert "refund-url" in opens(shop, "/payout", reference=reference, link="1").text
    with shop.app.app_context():
        shop.paycheckout.claim_url(reference, by="Di")
        of_shop = shop.paycheckout.refund(shop.has_paid("o-2"), "1", by="Ada", why="broke").reference
        shop.paycheckout.claim_url(of_shop)
        assert "linked" not in [deed for _, deed, subject, _, _ in deeds(shop) if subject == of_shop]
        shop.db.session.commit()
    linked = [(by, subject, through) for by, deed, subject, _, through in deeds(shop) if deed == "linked"]
    assert linked == [
        (getpass.getuser(), reference, "command"),
        ("Cy", reference, "page"),
        ("Di", reference, "call"),
        ("", of_shop, "call"),
    ]


def opens_each(shop: Shop) -> list[str]:
    """Open the owner's pages with personal data; returns the statements that record the views."""
    with statements(shop) as seen:
        for page, query in (("/order", {"order_id": "o-1"}), ("/payout", {"reference": "maker-1"}), ("/payouts", {})):
            assert opens(shop, page, **query).status_code == 200
    # The list of payouts also reads, in their order, who approved them.
    return [statement for statement in seen if "paycheckout_deed" in statement and "ORDER BY" not in statement]


def test_a_deed_that_is_rolled_back_was_never_done(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    with shop.app.app_context():
        shop.paycheckout.refund(checkout_id, "5", by="Ada", why="broke")
        shop.db.session.rollback()
    pays_out(shop, approve=True)
    assert not decides(shop, "retry", "maker-1")
    assert deeds(shop) == []


def test_a_receivers_deed_during_a_command_is_a_call(shop: Shop) -> None:
    checkout_id = shop.has_held()

    @payment_resolved.connect
    def refund(app: Any, *, checkout: Any, **extra: Any) -> None:
        shop.paycheckout.refund(checkout.checkout_id, "1", by="robot", why="rejected")

    assert shop.runs("resolve", checkout_id, "--reject", "--by", "Ada", "--why", "no").exit_code == 0
    payment_resolved.disconnect(refund)
    assert [(each[0], each[4]) for each in deeds(shop)] == [("Ada", "command"), ("robot", "call")]
