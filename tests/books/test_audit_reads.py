"""The reads of an audit: with each account's keys, while the shop runs, within the service's limits."""

from __future__ import annotations

import json
import signal
from threading import Event

import httpx
import pytest

from flask_paycheckout import SETTINGS
from flask_paycheckout.books.audit import reading, rechecks
from flask_paycheckout.client import PaymentsError, RateLimited, TransportFailed
from tests.accounts.conftest import Sellers, SigningService, market as market, service as service
from tests.books.auditing import at_service, audits, named, orders, paid, quick as quick
from tests.books.conftest import contents
from tests.payouts import books as payout_books
from tests.payouts.paying import BANK, Payer
from tests.payouts.shop import pays_out, sends
from tests.scripted import Shop, refusal

DEPOSIT = "GET /v1/deposit/{id}"


def test_each_account_is_read_with_its_own_keys(market: Sellers, service: SigningService) -> None:
    shop = market.shop
    ada, bo = shop.has_paid("o-1"), shop.has_paid("o-2")
    for name in ("ada", "bo"):
        pays_out(shop, f"of-{name}", account=name)
    sends(shop)
    service.signed.clear()
    code, findings = audits(shop, "--account", "ada")
    assert (code, {client for client, _ in service.signed}) == (1, {"id-ada"})
    assert {finding["account"] for finding in findings} == {"ada"}
    code, findings = audits(shop)
    assert {finding["checkout_id"] for finding in findings if finding["kind"] == "deposit"} == {ada, bo}
    assert {client for client, _ in service.signed} == {"id-ada", "id-bo", "shop-1"}


def test_a_payout_that_the_service_shows_without_its_time_and_payee_is_in_every_period(
    market: Sellers, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.shop.has_paid("o-1")
    pays_out(market.shop, "of-ada", account="ada")
    sends(market.shop)
    market.shop.executes(market.shop.runtime.models.payouts.delete())
    show = payout_books._shown
    monkeypatch.setattr(payout_books, "_shown", lambda payout: show(payout) | {"createdAt": None, "recipient": None})
    market.shop.waits(hours=48)
    code, findings = audits(market.shop, "--from", market.shop.clock().date().isoformat())
    assert (code, list(named(findings).values())) == (1, ["missing here"])


def test_keys_that_are_refused_are_not_tried_for_each_payment(market: Sellers, service: SigningService) -> None:
    for one in range(10):
        market.add("bo", f"n-{one}")
        market.shop.has_paid(f"n-{one}")
    service.refused.add("id-bo")
    service.signed.clear()
    code, findings = audits(market.shop, "--account", "bo")
    assert (code, {finding["verdict"] for finding in findings}) == (1, {"unreadable"})
    assert sum(client == "id-bo" for client, _ in service.signed) < 5


def test_a_row_that_moves_between_the_two_reads_is_read_again_before_it_is_named(
    shop: Shop, service: SigningService
) -> None:
    """The money arrives, and reconcile finds it, after the audit has read the row and before it reads the deposit."""
    missed, taken_back = shop.starts("o-1"), paid(shop, 1)[0]

    def moves(client_id: str) -> None:
        service.before = lambda client_id: None
        assert shop.settles(missed, says="completed").status == "paid"
        service.fails(taken_back, refusal(404, "Deposit not found"))
        shop.changes(taken_back, status="abandoned", payment_completed_at=None)

    service.before = moves
    findings = at_service(audits(shop)[1])
    assert named(findings) == {}
    assert {finding["here"]["status"] for finding in findings} == {"paid", "abandoned"}


def test_a_difference_is_checked_again_some_moments_later(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A customer has paid, and the webhook arrives a little later."""
    missed = shop.has_deposit("completed")
    monkeypatch.setattr(rechecks, "_CALM", 2.0)
    waited: list[float] = []

    def pause(self: reading.Reads, seconds: float) -> None:
        waited.append(seconds)
        shop.runtime.webhooks.receive(missed)

    monkeypatch.setattr(reading.Reads, "pause", pause)
    assert (audits(shop)[0], waited) == (0, [2.0])


def test_nothing_is_changed_anywhere(payer: Payer) -> None:
    shop, sandbox = payer.shop, payer.sandbox
    checkouts = orders(shop, 4)
    for checkout_id in checkouts[:2]:
        sandbox.pay(checkout_id)
    payer.owes("p-1")
    payer.owes("p-2", to=BANK)
    payer.sends()
    sandbox.finish(payer.payout(), "failed")
    before = contents(shop)
    earlier = len(sandbox.control("GET", "requests"))
    assert audits(shop)[0] == 1
    assert contents(shop) == before
    requests = sandbox.control("GET", "requests")
    assert {request["method"] for request in requests[: len(requests) - earlier]} == {"GET"}


def test_a_service_that_is_away_is_asked_a_few_times_and_all_is_named(shop: Shop) -> None:
    for checkout_id in paid(shop, 50):
        shop.service.fails(checkout_id)
    shop.service.reads.clear()
    ran = shop.runs("audit")
    assert ran.exit_code == 1
    assert len(shop.service.reads) < 30
    assert "unreadable 50" in ran.stdout
    assert ran.stdout.count("unreadable: ") == 50


def test_a_stopped_audit_says_that_something_is_left(shop: Shop) -> None:
    paid(shop, 3)
    shop.service.meets_once(lambda: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    ran = shop.runs("audit", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)) == (1, [])
    assert "It was stopped before everything was compared." in ran.stderr
    assert signal.getsignal(signal.SIGTERM) is before


def test_payouts_that_were_sent_with_the_token_of_the_settings_are_read_with_its_keys(
    market: Sellers, service: SigningService
) -> None:
    market.tokens["ada"] = SETTINGS
    pays_out(market.shop, "of-ada", account="ada")
    market.shop.calls.send_payouts("token-of-the-platform")
    for account in ((), ("--account", "ada")):
        (finding,) = audits(market.shop, *account)[1]
        assert (finding["reference"], finding["there"]["disbursement_id"]) == ("of-ada", finding["disbursement_id"])
    service.refused = {"shop-1"}
    (finding,) = audits(market.shop, "--account", "ada")[1]
    assert "Correct the keys, then repeat the audit." in finding["remedy"]


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of an audit, which end at once."""
    pauses: list[float] = []
    monkeypatch.setattr(reading.Reads, "pause", lambda self, seconds: pauses.append(seconds))
    monkeypatch.setattr(reading, "_FIRST_PAUSE", 1.0)
    monkeypatch.setattr(reading, "_PATIENCE", 60.0)
    return pauses


def test_lists_of_many_accounts_are_not_all_waited_for(
    market: Sellers, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause for each of a thousand accounts would take hours."""
    for one in range(3):
        market.add(f"seller-{one}", f"n-{one}")
        market.shop.has_paid(f"n-{one}")
    monkeypatch.setattr(reading, "_PATIENCE", 7.0)
    read, fails = SigningService._read, httpx.Response(502, content=b"<html>")
    monkeypatch.setattr(
        SigningService,
        "_read",
        lambda self, request: fails if request.url.path.endswith("/fiat") else read(self, request),
    )
    code, findings = audits(market.shop)
    assert (code, len(named(findings))) == (1, 1), "all lists have one name"
    assert sum(finding["verdict"] == "unreadable" for finding in findings) == 4
    assert waited == [1.0, 2.0]


def reads_of(account: str, *failures: PaymentsError, lasts: bool = False) -> reading.Job:
    """A read that fails in these ways, one after the other or for ever, and then returns the account."""
    left = list(failures)

    def read() -> str:
        if left:
            raise left[0] if lasts else left.pop(0)
        return account

    return reading.Job(account, lambda: read)


def test_an_account_that_alone_fails_is_given_up_soon_and_one_that_is_limited_is_waited_for(
    waited: list[float],
) -> None:
    broken, limited = TransportFailed(DEPOSIT, "no route"), RateLimited(DEPOSIT, 429, None, "slower")
    reads = reading.Reads(4, Event())
    jobs = [reads_of("fine"), reads_of("broken", broken, lasts=True), reads_of("limited", *[limited] * 5)]
    assert reads.run(jobs) == ["fine", broken, "limited"]
    assert waited == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert reads.run(jobs[1:]) == [broken, "limited"]
    assert len(waited) == 5, "it is not waited for again"


def test_an_outage_is_waited_for_also_by_accounts_that_were_answered_before(waited: list[float]) -> None:
    reads, outage = reading.Reads(4, Event()), [TransportFailed(DEPOSIT, "no route")] * 4
    answers = iter(["fine"])

    def fine() -> str:
        """Answer once; the audit's probe fails while the outage lasts."""
        for answer in answers:
            return answer
        raise outage[0]

    assert reads.run([reading.Job("fine", lambda: fine)]) == ["fine"]
    assert reads.run([reads_of("other", *outage)]) == ["other"]
    assert waited == [1.0, 2.0, 4.0, 8.0]
