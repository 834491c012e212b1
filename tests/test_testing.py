"""The pytest plugin: the payments service in process, its time, faults and webhooks, and the recorded signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from flask import Flask, current_app, request
from freezegun import freeze_time
from sqlalchemy import Engine, event
from werkzeug.exceptions import NotFound as NoSuchPage
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from flask_paycheckout import Pay, PayCheckout
from flask_paycheckout.client import (
    CryptoReceiver,
    FiatItem,
    NewRecipient,
    NotFound,
    PaymentsClient,
    PayoutBank,
)
from flask_paycheckout.rounds.reconcile import ReconcileReport
from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.clock import machine_time
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.signals import BY_NAME
from flask_paycheckout.testing import Sandbox, SandboxAccount, SandboxControl, Signals
from tests.client.wire import RawServer, says
from tests.conftest import OpenShop
from tests.serving import served

WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


@pytest.fixture
def paycheckout(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> Iterator[PayCheckout]:
    """The extension of a shop, in a context of its app."""
    shop = open_shop(sandbox=paycheckout_sandbox)
    with shop.app.app_context():
        yield shop.paycheckout


def client(sandbox: Sandbox, account: SandboxAccount | None = None) -> PaymentsClient:
    config = (account or sandbox).config
    return PaymentsClient(
        config["PAYCHECKOUT_BASE_URL"],
        client_id=config["PAYCHECKOUT_CLIENT_ID"],
        client_secret=config["PAYCHECKOUT_CLIENT_SECRET"],
        access_token=config["PAYCHECKOUT_ACCESS_TOKEN"],
        retries=0,
        transport=sandbox.transport,
    )


def test_the_shop_may_begin_transactions_of_every_engine_itself(paycheckout_sandbox: Sandbox) -> None:
    begin: Any = lambda connection: connection.exec_driver_sql("BEGIN")  # noqa: E731
    event.listen(Engine, "begin", begin)
    try:
        assert client(paycheckout_sandbox).checkouts.create(Pay("12.50", "USD")).id
    finally:
        event.remove(Engine, "begin", begin)


def test_webhooks_reach_the_shop_also_those_from_before_it_listened(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox, paycheckout_signals: Signals
) -> None:
    checkout_id = paycheckout.start("o-1").checkout_id
    paycheckout_sandbox.pay(checkout_id)
    assert paycheckout_signals.names == ["checkout_created"]
    assert paycheckout_sandbox.webhooks
    paycheckout_sandbox.deliver_to(current_app.test_client())
    assert paycheckout_signals.names == ["checkout_created", "order_paid"]
    assert paycheckout.settle(checkout_id).found_by == "webhook"


@pytest.mark.parametrize("removed_by", ["proxy", "shop"])
def test_webhooks_reach_a_shop_below_a_path(open_shop: OpenShop, paycheckout_sandbox: Sandbox, removed_by: str) -> None:
    shop = open_shop(sandbox=paycheckout_sandbox, PAYCHECKOUT_PUBLIC_URL="https://shop.example/shop")
    if removed_by == "shop":
        shop.app.wsgi_app = DispatcherMiddleware(NoSuchPage(), {"/shop": shop.app.wsgi_app})  # type: ignore[method-assign]
    with shop.app.app_context():
        paycheckout_sandbox.deliver_to(shop.app.test_client())
        paycheckout_sandbox.pay(shop.paycheckout.start("o-1").checkout_id)
        assert shop.paycheckout.order_status("o-1") == "paid"


def test_a_shop_that_listens_later_gets_no_webhook_that_a_fault_keeps_from_it(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox
) -> None:
    for order_id, kind in (("o-1", "drop"), ("o-2", "delay")):
        paycheckout_sandbox.fault("webhook", kind, seconds=600)
        paycheckout_sandbox.pay(paycheckout.start(order_id).checkout_id)
    paycheckout_sandbox.deliver_to(current_app.test_client())
    assert [webhook["state"] for webhook in paycheckout_sandbox.webhooks] == ["dropped", "waiting"]
    paycheckout_sandbox.advance(minutes=10)
    assert paycheckout.order_statuses(["o-1", "o-2"]) == {"o-1": "created", "o-2": "paid"}


def test_the_signals_are_kept_with_what_they_passed(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox, paycheckout_signals: Signals
) -> None:
    checkout = paycheckout.start("o-1")
    paycheckout_sandbox.pay(checkout.checkout_id, amount=1)
    paycheckout.reconcile()
    assert (paycheckout_signals[-1].name, paycheckout_signals[-1].extra) == (
        "payment_held",
        {"reason": "amount_mismatch"},
    )
    assert (paycheckout_signals[0].name, paycheckout_signals[0].order_id) == ("checkout_created", "o-1")
    assert paycheckout_signals[0].checkout_id == checkout.checkout_id
    assert len({signal.event_id for signal in paycheckout_signals}) == len(paycheckout_signals)


def test_signals_of_payouts_are_kept_with_their_references(paycheckout_signals: Signals) -> None:
    payout = SimpleNamespace(reference="maker-1", refund_of="chk-1")
    BY_NAME["refund_claimed"].send(None, order_id="o-1", payout=payout, event_id="e-1")
    [signal] = paycheckout_signals
    assert (signal.reference, signal.order_id, signal.checkout_id) == ("maker-1", "o-1", "chk-1")


@pytest.mark.slow("runs of pytest")
def test_after_the_test_nothing_listens_any_more(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from flask_paycheckout.signals import BY_NAME

        def test_one(paycheckout_signals):
            assert all(signal.receivers for signal in BY_NAME.values())
            assert paycheckout_signals == []

        def test_two():
            assert not any(signal.receivers for signal in BY_NAME.values())

        def test_three(paycheckout_sandbox):
            assert paycheckout_sandbox.webhooks == []
        """
    )
    # In a separate process, because shops of other tests in this process still listen.
    left_out = ("randomly", "cacheprovider", "schemathesis", "hypothesispytest")
    run = pytester.runpytest_subprocess(*(f"-pno:{plugin}" for plugin in left_out))
    run.assert_outcomes(passed=3)


def test_a_customer_who_picks_nothing_is_given_up_after_two_reads(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox, paycheckout_signals: Signals
) -> None:
    checkout_id = paycheckout.start("o-1").checkout_id
    begun = paycheckout_sandbox.advance(minutes=10)
    then = paycheckout_sandbox.abandon(checkout_id)
    assert timedelta(minutes=6) < then - begun < timedelta(minutes=8)
    paycheckout.reconcile()
    paycheckout_sandbox.advance(minutes=1)
    paycheckout.reconcile()
    assert paycheckout.explain("o-1").status == "abandoned"
    assert paycheckout_signals.names == ["checkout_created", "order_abandoned"]


@pytest.mark.parametrize("picked", [False, True])
def test_a_bank_that_refuses_leaves_a_failed_deposit(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox, picked: bool
) -> None:
    checkout_id = paycheckout.start("o-1").checkout_id
    if picked:
        paycheckout_sandbox.pick(checkout_id, "us_qr")
    failed = paycheckout_sandbox.fail(checkout_id)
    assert failed["deposit"]["status"] == "failed"
    assert failed["paymentMethod"] == ("us_qr" if picked else "us_bank_transfer")
    paycheckout_sandbox.reconcile(paycheckout)
    assert paycheckout.explain("o-1").status == "abandoned"
    paid = client(paycheckout_sandbox).checkouts.create(Pay("12.50", "USD")).id
    paycheckout_sandbox.pay(paid)
    with pytest.raises(AssertionError, match=r"409 .*the deposit is completed already"):
        paycheckout_sandbox.fail(paid)


def test_reconciling_ends_when_nothing_is_due_and_sums_its_rounds(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox
) -> None:
    paycheckout_sandbox.pay(paycheckout.start("o-1").checkout_id, after_minutes=1)
    before = paycheckout_sandbox.now
    report = paycheckout_sandbox.reconcile(paycheckout)
    assert (report.checked, report.changed, report.failed) == (1, 1, 0)
    assert paycheckout_sandbox.reconcile(paycheckout).checked == 0
    assert paycheckout_sandbox.now - before < timedelta(minutes=1)


def test_an_id_of_any_script_reaches_the_service(paycheckout_sandbox: Sandbox) -> None:
    with pytest.raises(NotFound):
        client(paycheckout_sandbox).deposits.get("日本")


def test_reconciling_that_finds_no_end_is_told(paycheckout_sandbox: Sandbox) -> None:
    busy: Any = SimpleNamespace(reconcile=lambda: ReconcileReport(checked=1))
    with pytest.raises(AssertionError, match=r"each of 100 rounds.*checked=1"):
        paycheckout_sandbox.reconcile(busy)


def test_the_requested_disbursements_are_listed_exactly_oldest_first(paycheckout_sandbox: Sandbox) -> None:
    service = client(paycheckout_sandbox)
    assert paycheckout_sandbox.payouts == []
    supplier = next(service.recipients.iterate(currency="USD"))
    account = PayoutBank(
        bank_name="First Sandbox", bank_code="us_first_sandbox", account_name="Bo", account_number="4000123412"
    )
    service.fiat_disbursements.create(
        "USD",
        [
            FiatItem(amount="80.10", recipient_id=supplier.id, reference="maker-1"),
            FiatItem(amount=7, recipient=NewRecipient(bank=account)),
        ],
    )
    service.crypto_disbursements.create(
        "usdc-polygon", [CryptoReceiver(amount="5.000001", receiver_wallet_address=WALLET, reference="maker-2")]
    )
    payouts = [
        (payout.reference, payout.amount, payout.currency, payout.to, payout.status)
        for payout in paycheckout_sandbox.payouts
    ]
    assert payouts == [
        ("maker-1", Decimal("80.10"), "USD", supplier.id, "pending"),
        (None, Decimal(7), "USD", "4000123412", "pending"),
        ("maker-2", Decimal("5.000001"), "usdc-polygon", WALLET, "pending"),
    ]


def test_a_payout_is_finished_by_what_names_it(paycheckout_sandbox: Sandbox) -> None:
    payouts = client(paycheckout_sandbox).fiat_disbursements
    supplier = next(client(paycheckout_sandbox).recipients.iterate(currency="USD"))
    payouts.create("USD", [FiatItem(amount=1, recipient_id=supplier.id, reference=name) for name in ("a", "b", "c")])
    assert paycheckout_sandbox.finish("b", "failed").status == "failed"
    assert paycheckout_sandbox.finish(paycheckout_sandbox.payouts[0], "completed").reference == "a"
    of_the_shop = SimpleNamespace(reference="the shop's own", service_reference="c")
    assert paycheckout_sandbox.finish(of_the_shop, "completed").reference == "c"  # type: ignore[arg-type]  # one name of it
    assert [payout.status for payout in paycheckout_sandbox.payouts] == ["completed", "failed", "completed"]
    assert payouts.find(["b"])["b"].status == "failed"


def test_an_account_is_made_once_and_has_settings_and_payouts_of_its_own(paycheckout_sandbox: Sandbox) -> None:
    anna = paycheckout_sandbox.account("anna")
    assert anna == paycheckout_sandbox.account("anna")
    assert anna.client_secret not in repr(anna)
    assert anna.access_token not in repr(anna)
    default = paycheckout_sandbox.account("default")
    assert default.config == paycheckout_sandbox.config
    for account in (anna, default):
        recipient = next(client(paycheckout_sandbox, account).recipients.iterate(currency="USD"))
        item = FiatItem(amount="80.10", recipient_id=recipient.id, reference="r-1")
        client(paycheckout_sandbox, account).fiat_disbursements.create("USD", [item])
        assert [(payout.amount, payout.to) for payout in account.payouts] == [(Decimal("80.10"), recipient.id)]
    assert len(paycheckout_sandbox.payouts) == 2
    signed = [entry["account"] for entry in paycheckout_sandbox.control("GET", "requests")]
    assert signed == ["default", "default", "anna", "anna"]
    paycheckout_sandbox.control("POST", "reset")
    assert paycheckout_sandbox.account("anna").payouts == []
    with pytest.raises(AssertionError, match=r"400 .*name of 1 to 40 letters"):
        paycheckout_sandbox.account("../clock")


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (
            lambda sandbox, checkout_id: sandbox.pay(checkout_id, "x"),
            r"amount must be a number, not 'x'; write it like",
        ),
        (lambda sandbox, checkout_id: sandbox.pay(checkout_id, float("nan")), "amount must be a number, not nan"),
        (lambda sandbox, checkout_id: sandbox.pay(checkout_id, "-5"), "amount.*must be a positive number"),
        (lambda sandbox, checkout_id: sandbox.pay(checkout_id, after_minutes="16m"), "after_minutes must be a number"),
        (lambda sandbox, checkout_id: sandbox.advance("16m"), "minutes must be a number"),
        (lambda sandbox, checkout_id: sandbox.advance(0, seconds=Decimal("Infinity")), "seconds must be a number"),
        (lambda sandbox, checkout_id: sandbox.advance(-1), "advanceSeconds.*must be a number from 0"),
        (lambda sandbox, checkout_id: sandbox.fault(OPERATION, "error", float("nan")), "times must be a number"),
        (lambda sandbox, checkout_id: sandbox.fault(OPERATION, "error", 0), "times.*must be a whole number from 1"),
        (
            lambda sandbox, checkout_id: sandbox.control("POST", "trigger", event="paid", amount=Decimal("NaN")),
            "amount must be",
        ),
        (
            lambda sandbox, checkout_id: sandbox.control("POST", "trigger", event="paid", currency="usd"),
            "currency.*must be",
        ),
        (lambda sandbox, checkout_id: sandbox.pick("../clock?x"), "POST /_sandbox/checkouts/.*404"),
        (lambda sandbox, checkout_id: sandbox.pay("nobody?x"), "checkout.*does not exist.*Make one"),
        (lambda sandbox, checkout_id: sandbox.abandon(None), "checkout.*does not exist"),
        (lambda sandbox, checkout_id: sandbox.account(None), "name.*is required"),
        (lambda sandbox, checkout_id: sandbox.finish(None, "completed"), "no payout with the reference None"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name_and_nothing_changes(
    paycheckout_sandbox: Sandbox, does: Callable[[Any, str], object], message: str
) -> None:
    checkout_id = paycheckout_sandbox.control("POST", "trigger", event="checkout")["id"]
    before = paycheckout_sandbox.control("GET", "events", last=0)
    with pytest.raises(AssertionError, match=message):
        does(paycheckout_sandbox, checkout_id)
    assert paycheckout_sandbox.control("GET", "events", after=before["cursor"])["events"] == []


def test_a_wrong_number_of_worlds_is_refused() -> None:
    with pytest.raises(ValueError, match="worlds must be 0 or more"):
        Sandbox(worlds=-1)


def test_the_fields_of_a_reading_call_select_what_it_gives(paycheckout_sandbox: Sandbox) -> None:
    for email in ("a+1@example.com", "b@example.com"):
        client(paycheckout_sandbox).auth.register(email, "password", "Ada")
    [mail] = paycheckout_sandbox.control("GET", "mails", to="a+1@example.com")
    assert mail["to"] == "a+1@example.com"


STOPPED = datetime(2024, 2, 29, 12, tzinfo=UTC)


def test_switches_change_and_a_snapshot_brings_the_sandbox_back(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox
) -> None:
    checkout_id = paycheckout.start("o-1").checkout_id
    snapshot, began = paycheckout_sandbox.snapshot(), paycheckout_sandbox.now
    paycheckout_sandbox.change_unknowns(late_payment="refused")
    with pytest.raises(AssertionError, match="takes no payment"):
        paycheckout_sandbox.pay(checkout_id, after_minutes=25 * 60)
    assert abs(paycheckout_sandbox.restore(snapshot) - began) < timedelta(minutes=5)
    paycheckout_sandbox.change_unknowns(late_payment=None)
    assert paycheckout_sandbox.pay(checkout_id)["deposit"]["status"] == "completed"
    with pytest.raises(AssertionError, match="no value"):
        paycheckout_sandbox.change_unknowns(late_payment="never")
    with pytest.raises(AssertionError, match="cut off"):
        paycheckout_sandbox.restore(snapshot[:-9])


@pytest.mark.parametrize(
    "stops",
    [lambda: freeze_time(STOPPED), lambda: time_machine.travel(STOPPED, tick=False)],
    ids=["freezegun", "travel"],
)
def test_calls_in_standing_time_are_signed_by_the_sandboxs_clock(
    paycheckout: PayCheckout, paycheckout_sandbox: Sandbox, stops: Callable[[], AbstractContextManager[Any]]
) -> None:
    # A merchant's tests use the machine's time.
    world(paycheckout_sandbox.app).clock.machine = machine_time
    with stops():
        checkout = paycheckout.start("o-1")
        assert checkout.created_at == STOPPED
        paycheckout_sandbox.pay(checkout.checkout_id, after_minutes=16)
        assert paycheckout_sandbox.now == STOPPED + timedelta(minutes=16)
        paycheckout.reconcile()
        assert paycheckout.explain("o-1").status == "paid"
        assert client(paycheckout_sandbox).deposits.get(checkout.checkout_id).status == "completed"
        assert paycheckout_sandbox.restore(paycheckout_sandbox.snapshot()) == STOPPED + timedelta(minutes=16)


OPERATION = "POST /v1/checkout"


def test_the_server_is_reached_over_its_port_and_told_apart_from_others(
    paycheckout_sandbox_server: Sandbox, paycheckout_sandbox: Sandbox
) -> None:
    config = paycheckout_sandbox_server.config
    keys = {"client_id": config["PAYCHECKOUT_CLIENT_ID"], "client_secret": config["PAYCHECKOUT_CLIENT_SECRET"]}
    with PaymentsClient(config["PAYCHECKOUT_BASE_URL"], **keys, timeout=60) as over_socket:
        link = over_socket.checkouts.create(Pay("12.50", "USD"))
        assert link.url.startswith(paycheckout_sandbox_server.base_url)
        paycheckout_sandbox_server.pay(link.id)
        assert over_socket.deposits.get(link.id).status == "completed"
    paycheckout_sandbox_server.requests.expect(OPERATION, times=1)
    paycheckout_sandbox.requests.expect(OPERATION, times=0)


def test_the_control_client_does_what_the_fixture_does(paycheckout_sandbox_server: Sandbox) -> None:
    remote = SandboxControl(f"{paycheckout_sandbox_server.base_url}/", "in-process-control")
    assert remote.config == paycheckout_sandbox_server.config
    before, kept = remote.now, remote.snapshot()
    assert remote.advance(minutes=5) >= before + timedelta(minutes=5)
    remote.fault(OPERATION, "error", statusCode=500)
    assert remote.account("second").client_id != remote.account("default").client_id
    world = remote.control("POST", "worlds", name="anna")
    world_of_anna = SandboxControl(world["baseUrl"], world["controlToken"])
    assert world_of_anna.config["PAYCHECKOUT_CLIENT_ID"] == world["clientId"]
    assert world_of_anna.control("POST", "trigger", event="paid")["status"] == "completed"
    assert remote.restore(kept) < before + timedelta(minutes=5)
    with pytest.raises(AssertionError, match="POST /_sandbox/faults: 4"):
        remote.fault(OPERATION, "earthquake")
    with pytest.raises(AssertionError, match="/_sandbox/clock: 40"):
        SandboxControl(remote.base_url, "wrong").advance()


def test_a_shop_on_a_socket_gets_its_webhooks(paycheckout_sandbox_server: Sandbox) -> None:
    got: list[Any] = []
    shop = Flask("shop")

    @shop.post("/hook")
    def hook() -> str:
        got.append(request.get_json())
        return ""

    sandbox = SandboxControl(paycheckout_sandbox_server.base_url, "in-process-control")
    sandbox.account("anna")
    paid = [sandbox.control("POST", "trigger", event="paid", account=name)["id"] for name in ("default", "anna")]
    with served(shop) as address:
        sandbox.deliver_to(f"{address}/hook")
        for name in ("default", "anna", "bo"):
            sandbox.account(name)
            paid.append(sandbox.control("POST", "trigger", event="paid", account=name)["id"])
        paycheckout_sandbox_server.deliver_to(shop.test_client())
        paycheckout_sandbox_server.deliver_to(f"{address}/hook")
        paid.append(sandbox.control("POST", "trigger", event="paid")["id"])
    assert [webhook["orderId"] for webhook in got] == paid


def test_a_sandbox_that_others_use_has_accounts_too() -> None:
    # Its webhooks cannot go to this machine.
    shared = create_sandbox(control_token="known to few people", allow_remote_control=True)
    with served(shared) as address:
        account = SandboxControl(address, "known to few people").account("anna")
    assert account.client_id


def test_a_server_without_http_at_the_shops_address_is_reported(paycheckout_sandbox: Sandbox) -> None:
    with closing(RawServer(says(b"SSH-2.0\r\n"))) as server:
        paycheckout_sandbox.deliver_to(server.base_url)
        paycheckout_sandbox.control("POST", "trigger", event="paid")
    [attempt] = paycheckout_sandbox.webhooks[0]["attempts"]
    assert "no HTTP answer" in (attempt["error"] or "")


def test_expect_returns_the_calls_and_names_them_when_it_fails(paycheckout_sandbox: Sandbox) -> None:
    shop = client(paycheckout_sandbox)
    checkout_id = shop.checkouts.create(Pay("12.50", "USD")).id
    for _ in range(2):
        with pytest.raises(NotFound):
            shop.deposits.get(checkout_id)
    requests = paycheckout_sandbox.requests
    assert [request["method"] for request in requests] == ["POST", "GET", "GET"]
    (create,) = requests.expect(OPERATION, times=1)
    assert '"12.50"' not in create["requestBody"]
    assert len(requests.expect("GET /v1/deposit/{id}")) == 2
    with pytest.raises(AssertionError, match="there were 2; requests: POST"):
        requests.expect("GET /v1/deposit/{id}", times=1)
    with pytest.raises(AssertionError, match="expected any of POST /v2/disbursement/fiat, and there were 0"):
        requests.expect("POST /v2/disbursement/fiat")
