"""Erasure: names and reasons go from every table and from the service; money, its proof and the books stay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from flask_paycheckout import Erased, TransitionRefused, order_paid
from flask_paycheckout.database.state_table import lines
from flask_paycheckout.payouts.payout_states import PayoutStatus
from tests.books.conftest import contents
from tests.payouts.claiming import FORM, Customer, refunded
from tests.payouts.paying import ADA, BANK, Payer
from tests.payouts.shop import decides, payouts, pays_out, refunds
from tests.scripted import SAME_SITE, Shop, raising, refusal
from tests.views.owner import ROOT, form_of, opens_view, order_page, payout_page
from tests.views.pages import opens as opens_status

TYPED = ("Zoë Quist", "Zoë told us", "jars of Zoë", "Bo Baker", "Zoë's letter", "40001234")


@pytest.fixture
def story(payer: Payer) -> Payer:
    """An order whose payment was refunded through the link, with failed and waiting payouts."""
    shop, sandbox = opens_view(payer.shop), payer.sandbox
    checkout_id = payer.is_paid()
    refund = refunds(shop, checkout_id, "5", why="Zoë told us").reference
    customer = Customer(shop, refund)
    for name in ("Zoe", FORM["account_name"]):
        customer.sends(account_name=name, account_number="4000123412", bank_name="First Sandbox Bank")
    payer.decides("approve_payout", reference=refund)
    payer.owes("failed", to=BANK, note="jars of Zoë", order_id="o-1")
    payer.sends()
    for one in sandbox.payouts:
        sandbox.finish(one, "completed" if one.amount == 5 else "failed")
    payer.owes("waiting", to=BANK, note="jars of Zoë", order_id="o-1", approve=True)
    payer.owes("other", to=BANK, note="jars of Zoë", order_id="o-2", approve=True)
    payer.sends(minutes=2)
    assert [payout.status for payout in payouts(shop)] == ["completed", "failed", "waiting", "waiting"]
    return payer


def erases(payer: Payer, order_id: str = "o-1") -> Erased:
    return payer.shop.calls.erase(order_id, by="Di", why="she asked")


def stored(payer: Payer) -> str:
    return json.dumps(payer.shop.calls.stored_about("o-1"), ensure_ascii=False)


def exported(payer: Payer) -> str:
    return payer.shop.runs("export").stdout


def made_at_service(payer: Payer) -> list[Any]:
    """The service's recipients, without the start state."""
    return [recipient for recipient in payer.shop.runtime.client.recipients.iterate() if recipient.reference]


@pytest.mark.on_each_database
def test_persons_go_and_money_stays(story: Payer) -> None:
    before, books = stored(story), exported(story)
    assert all(name in before for name in ("Zoë Quist", "Zoë told us", "jars of Zoë", "40001234"))
    assert len(made_at_service(story)) == 2
    earlier = len(story.sandbox.requests)
    erased = erases(story)
    assert (erased.checkouts, erased.payouts, erased.recipients) == (1, 2, 2)
    assert [request["method"] for request in story.sandbox.requests[earlier:]] == ["DELETE"] * 2, (
        "by their ids, without a list"
    )
    assert erased.kept == {"waiting": "the payout waits for approval"}
    assert made_at_service(story) == []
    assert exported(story) == books
    story.shop.calls.cancel_payout("waiting", by="Ada", why="Zoë's letter")
    assert erases(story).kept == {}
    after = stored(story)
    assert [name for name in TYPED if name in after] == []
    assert after.count('"Ada"') == before.count('"Ada"') + 2, "names of staff stay"
    assert "jars of Zoë" in str(story.payout("other").note)
    output = story.shop.runs("show", "o-1")
    assert (output.exit_code, [name for name in TYPED if name in output.stdout]) == (0, [])
    deeds = story.shop.tells("deeds")
    assert [deed["why"] for deed in deeds if deed["why"]] == ["she asked"], "deeds lose their reasons but the erasure's"


@pytest.mark.on_each_database
def test_no_word_about_a_person_is_left_anywhere_once_every_payout_ended(
    story: Payer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    references = [f"was-{status}" for status in PayoutStatus]
    for reference, status in zip(references, PayoutStatus, strict=True):
        story.owes(reference, to=BANK, note="jars of Zoë", order_id="o-1")
        story.stands(reference, status=status, problem="Zoë's letter")
    ended = ("completed", "failed", "cancelled")
    assert set(erases(story).kept) == {"waiting"} | {f"was-{status}" for status in PayoutStatus if status not in ended}
    for reference in (*references, "waiting", "other"):
        story.stands(reference, status="completed")
    before = len(story.sandbox.requests)
    assert erases(story).kept == {}
    assert erases(story, "o-2").kept == {}
    everywhere = [str(contents(story.shop)), *pages(story, references), caplog.text, repr(made_at_service(story))]
    calls = [request["target"] + request["requestBody"] for request in story.sandbox.requests[before:]]
    assert [name for name in TYPED for text in (*everywhere, *calls) if name in text] == []


def pages(payer: Payer, references: list[str]) -> Iterator[str]:
    """The owner's pages about the order and these payouts, and the customer's page."""
    for page in ("/", "/payouts", "/deeds", "/books", "/paybacks"):
        yield payer.shop.browser.get(f"{ROOT}{page}").text
    yield order_page(payer.shop).text
    yield from (payout_page(payer.shop, reference).text for reference in references)
    yield opens_status(payer.shop).text


def test_the_owner_erases_on_the_orders_page_which_names_what_must_stay(story: Payer) -> None:
    action, fields = form_of(order_page(story.shop))
    assert "/erase/" in action
    page = story.shop.browser.post(action, data={**fields, "why": "she asked"}, headers=SAME_SITE)
    assert (page.status_code, "waiting: the payout waits for approval" in page.text) == (409, True)
    assert "Zoë told us" not in page.text
    story.stands("waiting", status="completed")
    assert story.shop.browser.post(action, data={"why": "again"}, headers=SAME_SITE).status_code == 303
    assert "jars of Zoë" not in stored(story)
    assert story.shop.browser.post(action, headers=SAME_SITE).status_code == 400


def test_a_recipient_that_the_service_keeps_is_named_and_goes_later(story: Payer) -> None:
    kept = [recipient.id for recipient in made_at_service(story)]
    story.sandbox.fault(operation="DELETE /v1/recipient/{id}", kind="error", statusCode=403, times=2)
    assert sorted(erases(story).kept) == sorted([*kept, "waiting"])
    assert erases(story).recipients == 2
    assert made_at_service(story) == []


@pytest.mark.parametrize("fault", ["lose_response", "garbage"])
def test_a_recipient_whose_making_was_not_answered_is_searched_and_goes(payer: Payer, fault: str) -> None:
    shop = opens_view(payer.shop)
    refund = refunds(shop, payer.is_paid(), "5").reference
    customer = Customer(shop, refund)
    payer.sandbox.fault(operation="POST /v1/recipient", kind=fault)
    bank = {"account_number": "4000123412", "bank_name": "First Sandbox Bank"}
    assert customer.sends(account_name="Zoe Lost", **bank).status_code == 503
    payer.decides("cancel_payout", reference=refund)
    assert len(made_at_service(payer)) == (fault == "lose_response")
    assert erases(payer).kept == {}
    assert made_at_service(payer) == []
    assert "Zoe Lost" not in str(contents(shop))


def test_recipients_go_in_either_form_of_the_call_and_without_an_answer(story: Payer) -> None:
    sandbox = story.sandbox
    sandbox.change_unknowns(recipient_delete="query", recipient_not_found="400")
    sandbox.fault(operation="DELETE /v1/recipient", kind="lose_response", times=5)
    erased = erases(story)
    assert (erased.recipients, [*erased.kept], made_at_service(story)) == (2, ["waiting"], [])


def test_a_recipient_of_the_shops_own_stays(payer: Payer) -> None:
    """A customer's claim of the refund, whose answer was lost, has counted nevertheless."""
    shop = opens_view(payer.shop)
    checkout_id = payer.is_paid()
    refund = refunds(shop, checkout_id, "5", to=ADA)
    payer.sends()
    payer.ends(refund.reference)
    payer.stands(refund.reference, claims=1)
    assert erases(payer).recipients == 0


def test_a_payment_that_could_not_be_settled_stays_an_alarm(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    with shop.refusing(order_paid, RuntimeError("Zoë's words")):
        shop.settles(checkout_id)
    shop.calls.erase("o-1", by="Di", why="she asked")
    [alarm] = shop.tells("report")["alarms"]
    assert alarm["kind"] == "unsettled-payments"
    assert "Zoë" not in str(alarm)


def test_the_words_of_an_order_total_that_fails_are_shown_until_they_are_erased(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    shop.paycheckout.order_total(raising(ValueError("no address of Zoë")))
    assert shop.settles(checkout_id).reason == "order_total_failed"
    assert "ValueError: no address of Zoë" in shop.runs("show", "o-1").output
    shop.calls.erase("o-1", by="Di", why="she asked")
    assert "no address of" not in str(contents(shop))


def test_the_words_of_a_receiver_that_fails_are_erased(shop: Shop) -> None:
    with order_paid.connected_to(raising(ValueError("no address of Zoë"))):
        shop.settles(shop.has_deposit("completed"))
        assert "no address of" in str(contents(shop))
        shop.calls.erase("o-1", by="Di", why="she asked")
        assert "no address of" not in str(contents(shop))


def test_the_words_of_a_function_that_lets_no_payment_start_are_erased(shop: Shop) -> None:
    shop.paycheckout.order_total(raising(ValueError("no address of Zoë")))
    with pytest.raises(ValueError, match="no address"):
        shop.calls.start("o-1")
    assert "no address of" in str(contents(shop))
    shop.calls.erase("o-1", by="Di", why="she asked")
    assert "no address of" not in str(contents(shop))


def test_the_receiver_of_a_payout_without_an_order_is_erased_by_its_reference(payer: Payer) -> None:
    shop = opens_view(payer.shop)
    pays_out(shop, "prize-1", "5", to=None, by="Bo")
    customer = Customer(shop, "prize-1")
    customer.sends(account_name="Zoë Quist", account_number="4000123412", bank_name="First Sandbox Bank")
    payer.decides("approve_payout", reference="prize-1")
    payer.sends()
    payer.ends("prize-1")
    done = json.loads(shop.runs("erase", "prize-1", "--by", "Di", "--why", "she asked", "--json").stdout)
    assert (done["reference"], done["order_id"], done["payouts"], done["recipients"]) == ("prize-1", None, 1, 1)
    assert made_at_service(payer) == []
    assert "Zoë Quist" not in str(contents(shop))
    assert customer.refund.fingerprint is None
    assert shop.tells("deeds")[-1]["subject"] == "prize-1"


def test_a_refund_that_is_erased_by_its_reference_leaves_no_reason_and_those_of_others_stay(payer: Payer) -> None:
    checkout_id = payer.is_paid()
    with payer.shop.app.app_context():
        for reference in ("jar-1", "jar-2"):
            why = f"Zoë broke {reference}"
            payer.shop.paycheckout.refund(checkout_id, "1.00", by="Ada", why=why, reference=reference)
            payer.shop.db.session.commit()
            payer.sandbox.advance(seconds=1)
        payer.shop.paycheckout.cancel_payout("jar-1", by="Ada", why="Zoë keeps it")
        payer.shop.paycheckout.erase(reference="jar-1", by="Ada", why="she asked")
    entries = json.loads(payer.shop.runs("deeds", "--json").stdout)
    assert [entry["why"] for entry in entries if entry["why"]] == ["Zoë broke jar-2", "she asked"]


@pytest.mark.parametrize("status", ["rejected", "paid"])
def test_a_refund_that_decided_a_held_payment_leaves_no_reason_there(payer: Payer, status: str) -> None:
    shop = payer.shop
    checkout_id = payer.is_paid(amount="20")
    if status == "rejected":
        refunds(shop, checkout_id, why="Zoe paid another sum")
    else:
        shop.resolves(checkout_id, accept=True, refund_excess=True, why="Zoe paid another sum")
    decided = shop.attempt(checkout_id)
    assert (decided.status, "Zoe" in decided.history) == (status, True)
    [refund] = payouts(shop)
    payer.sandbox.advance(seconds=1)
    payer.decides("cancel_payout", reference=refund.reference)
    shop.calls.erase(reference=refund.reference, by="Ada", why="she asked")
    assert "Zoe" not in str(contents(shop))
    history = lines(shop.attempt(checkout_id).history)
    assert [entry["what"] for entry in history] == [entry["what"] for entry in lines(decided.history)]
    assert history[0]["total"], "entries of other times stay as they are"


def test_an_unknown_subject_is_not_found_and_leaves_no_deed(shop: Shop) -> None:
    with shop.app.app_context():
        for arguments in ({"order_id": "o-404"}, {"reference": "o-404"}):
            erased = shop.paycheckout.erase(**arguments, by="Di", why="she asked")
            assert (erased.found, erased.kept) == (False, {})
        for arguments in ({}, {"order_id": "o-1", "reference": "maker-1"}):
            with pytest.raises(TypeError, match="and not both"):
                shop.paycheckout.erase(**arguments, by="Di", why="she asked")
    ran = shop.runs("erase", "o-404", "--by", "Di", "--why", "she asked")
    assert (ran.exit_code, ran.output) == (1, "Nothing is stored about o-404.\n")
    answer = json.loads(shop.runs("erase", "o-404", "--by", "Di", "--why", "she asked", "--json").stdout)
    assert (answer["order_id"], answer["reference"], answer["found"]) == ("o-404", None, False)
    assert shop.tells("deeds") == []


def test_an_erased_payout_is_given_again_for_its_reference_and_not_tried_again(story: Payer) -> None:
    """A repeated task of a shop must neither fail nor pay twice."""
    erases(story)
    again = story.shop.calls.pay_out("failed", "80", "USD", BANK, order_id="o-1")
    assert (again.status, again.destination) == ("failed", "Erased: on request")
    with pytest.raises(TransitionRefused, match="was wiped"):
        story.decides("retry_payout", reference="failed")


def test_sqlite_keeps_nothing_of_what_was_erased_in_its_file(shop: Shop) -> None:
    """Otherwise old values stay in free space of its pages, and in its write-ahead log."""
    engine = shop.runtime.engine()

    @event.listens_for(engine, "connect")
    def like_a_plain_build(driver: Any, record: object) -> None:
        driver.execute("PRAGMA secure_delete = OFF")

    engine.dispose()
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    # A long text, since other columns may overwrite a short one by chance.
    pays_out(shop, to=BANK, note="Zoë's letter. " * 18, order_id="o-1", approve=True)
    shop.calls.cancel_payout("maker-1", by="Ada", why="late")
    shop.calls.erase("o-1", by="Di", why="she asked")
    files = Path(str(engine.url.database)).parent.glob(f"{Path(str(engine.url.database)).name}*")
    assert [file.name for file in files if "Zoë's letter".encode() in file.read_bytes()] == []


def test_the_command_counts_before_it_erases(story: Payer) -> None:
    command, before = ("erase", "o-1", "--by", "Di", "--why", "she asked", "--json"), stored(story)
    dry = story.shop.runs(*command, "--dry-run")
    assert (dry.exit_code, stored(story)) == (1, before)
    done = story.shop.runs(*command)
    assert json.loads(done.stdout) == json.loads(dry.stdout) | {"dry_run": False}


def test_the_services_words_about_a_customers_form_are_erased_too(shop: Shop) -> None:
    customer = refunded(shop)
    shop.service.instead_of_created = [refusal(400, "email zoe@example.com is on no list")]
    assert customer.sends().status_code == 422
    assert decides(shop, "cancel", customer.reference)
    assert "zoe@example.com" in str(contents(shop))
    shop.calls.erase("o-1", by="Di", why="she asked")
    assert "zoe@example.com" not in str(contents(shop))
