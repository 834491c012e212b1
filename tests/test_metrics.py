"""Metrics for Prometheus: they count events and waiting work, have a bounded cost, and never stop a payment."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event, text

from flask_paycheckout import Account, ConfigurationError, metrics, order_paid, payout_sent
from flask_paycheckout.books.alarms import REGISTERED
from flask_paycheckout.books.report import read_gauges
from flask_paycheckout.wiring import Observation
from tests.conftest import OpenPayer, OpenShop
from tests.docs.pages import read
from tests.plans import plans
from tests.scripted import Shop, garbage, make_app, raising, refusal
from tests.test_bounds import has_attempts, statements
from tests.views.pages import presses_pay

TOKEN = "canary-metrics-token-0123456789"
PATH = "/paycheckout/metrics"

Figures = dict[str, float]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each scrape read again, although the tests' clock stands still."""
    monkeypatch.setattr(metrics, "_SHARE", 0)


@pytest.fixture
def measured(open_shop: OpenShop) -> Shop:
    return measures(open_shop(PAYCHECKOUT_METRICS_TOKEN=TOKEN))


def measures(shop: Shop, **options: Any) -> Shop:
    metrics.init_app(shop.app, **{"cache": 0.0} | options)
    return shop


def figures(text: str) -> Figures:
    """Every sample, by its name and labels as they are written: `name{label="value"}`."""
    return {
        sample.name
        + ("{" + ",".join(f'{label}="{value}"' for label, value in sorted(sample.labels.items())) + "}")
        * bool(sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrapes(shop: Shop, token: str = TOKEN) -> Figures:
    answer = shop.browser.get(PATH, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain")
    return figures(answer.text)


def counted(before: Figures, after: Figures) -> Figures:
    """The differences of the counters between two scrapes, without durations."""
    more = {name: value - before.get(name, 0) for name, value in after.items() if "_total" in name}
    return {name.removeprefix("paycheckout_"): value for name, value in more.items() if value}


# The view


def test_without_a_token_there_is_no_view(shop: Shop) -> None:
    measures(shop)
    assert shop.browser.get(PATH).status_code == 404
    registry = CollectorRegistry()
    registry.register(metrics.collector(shop.app))
    assert "paycheckout_database_up 1.0" in generate_latest(registry).decode()


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer \xe9"],
)
def test_a_scraper_without_the_token_sees_nothing_and_costs_the_database_nothing(
    measured: Shop, header: str | None
) -> None:
    with statements(measured) as seen:
        answer = measured.browser.get(PATH, headers={} if header is None else {"Authorization": header})
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "paycheckout_" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert seen == []


def test_each_of_several_tokens_is_taken(open_shop: OpenShop) -> None:
    shop = measures(open_shop(PAYCHECKOUT_METRICS_TOKEN=[TOKEN, TOKEN[::-1]]))
    assert scrapes(shop, TOKEN) == scrapes(shop, TOKEN[::-1])


def test_the_order_of_the_calls_is_told(open_shop: OpenShop) -> None:
    app = make_app()
    with pytest.raises(ConfigurationError, match=r"paycheckout\.init_app\(app, db\) first"):
        metrics.init_app(app)
    with pytest.raises(ConfigurationError, match=r"Call metrics\.init_app"):
        metrics.collector(app)
    shop = measures(open_shop())
    with pytest.raises(ConfigurationError, match="once"):
        metrics.init_app(shop.app)


def test_a_registry_of_the_shops_own_takes_the_metrics_and_several_apps_have_one_each(open_shop: OpenShop) -> None:
    registry = CollectorRegistry()
    shop, other = open_shop("one"), open_shop("other")
    with statements(shop) as seen:
        measures(shop, registry=registry)
        measures(other)
    assert seen == [], "to be set up needs no database: it may not be there yet"
    shop.starts()
    samples = figures(generate_latest(registry).decode())
    assert samples['paycheckout_calls_total{operation="POST /v1/checkout",outcome="answered"}'] == 1
    assert samples['paycheckout_checkouts{account="",status="created"}'] == 1


# Counters


def test_a_payment_is_counted_from_start_to_delivery(measured: Shop) -> None:
    shop = measured
    before = scrapes(shop)
    shop.browser.post("/paycheckout/webhook", data="no JSON")
    shop.browser.post("/paycheckout/webhook", json={"orderId": "of a stranger"})
    shop.browser.post("/paycheckout/webhook", json={"disbursementId": "d-1"})
    checkout_id = shop.has_deposit("completed")
    with order_paid.connected_to(lambda app, **facts: None, sender=shop.app):
        shop.browser.post("/paycheckout/webhook", json={"orderId": checkout_id})
    after = scrapes(shop)
    assert counted(before, after) == {
        'calls_total{operation="POST /v1/checkout",outcome="answered"}': 1,
        'calls_total{operation="GET /v1/deposit/{id}",outcome="answered"}': 1,
        'reads_total{outcome="moved",via="webhook"}': 1,
        'webhooks_total{outcome="malformed"}': 1,
        'webhooks_total{outcome="useless"}': 1,
        'webhooks_total{outcome="payout"}': 1,
        'webhooks_total{outcome="read"}': 1,
        'deliveries_total{outcome="unheard",signal="checkout_created"}': 1,
        'deliveries_total{outcome="delivered",signal="order_paid"}': 1,
    }
    assert after['paycheckout_call_seconds_count{operation="GET /v1/deposit/{id}"}'] == 1
    assert after['paycheckout_delivery_seconds_count{signal="order_paid"}'] == 1
    assert after['paycheckout_checkouts{account="",status="paid"}'] == 1


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (refusal(500), "failed"),
        (refusal(401), "unauthorized"),
        (refusal(404, "Deposit not found"), "not_found"),
        (garbage(), "no_answer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_call_is_counted_by_how_it_ended(measured: Shop, answer: Any, outcome: str) -> None:
    measured.service.fails(measured.starts(), answer)
    before = scrapes(measured)
    measured.reconciles()
    seen = counted(before, scrapes(measured))
    assert seen.pop(f'calls_total{{operation="GET /v1/deposit/{{id}}",outcome="{outcome}"}}') == 1
    read = "unchanged" if outcome == "not_found" else "no_answer"
    assert seen == {f'reads_total{{outcome="{read}",via="reconcile"}}': 1}


def test_a_service_that_fails_opens_a_circuit_and_refused_requests_are_counted(measured: Shop) -> None:
    shop = measured
    shop.service.instead_of_created = [garbage()] * 3
    before = scrapes(shop)
    for _ in range(5):
        presses_pay(shop)
    after = scrapes(shop)
    assert after["paycheckout_circuits_open"] == 1
    seen = counted(before, after)
    assert seen['calls_total{operation="POST /v1/checkout",outcome="no_answer"}'] == 3
    assert seen['calls_total{operation="POST /v1/checkout",outcome="not_asked"}'] == 2
    shop.waits(seconds=10)
    presses_pay(shop)
    assert scrapes(shop)["paycheckout_circuits_open"] == 0


def test_payouts_and_receivers_that_fail_are_counted(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_METRICS_TOKEN=TOKEN)
    shop = measures(payer.shop)
    before = scrapes(shop)
    with payout_sent.connected_to(raising(RuntimeError()), sender=shop.app):
        payer.owes()
        payer.sends()
    seen = counted(before, after := scrapes(shop))
    assert seen['payout_moves_total{kind="payout",status="sent"}'] == 1
    assert seen['deliveries_total{outcome="failed",signal="payout_sent"}'] == 1
    assert seen['calls_total{operation="POST /v2/disbursement/fiat",outcome="answered"}'] == 1
    assert after['paycheckout_payouts{account="",status="sent"}'] == 1
    assert after['paycheckout_alarms{kind="undelivered-events",severity="today"}'] == 1


# Gauges


def test_gauges_tell_what_waits_and_what_alarms_as_the_report_does(measured: Shop) -> None:
    shop = measured
    quiet = scrapes(shop)
    assert {value for name, value in quiet.items() if name.startswith("paycheckout_alarms")} == {0}
    shop.has_held("o-2")
    shop.has_deposit("pending")
    shop.waits(minutes=20)
    samples = scrapes(shop)
    assert samples['paycheckout_checkouts{account="",status="held"}'] == 1
    assert samples['paycheckout_alarms{kind="held-payments",severity="today"}'] == 1
    assert samples['paycheckout_alarms{kind="late-reads",severity="now"}'] == 1


@pytest.mark.on_each_database
def test_accounts_beyond_the_bound_share_a_label_and_nothing_is_lost(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_METRICS_TOKEN=TOKEN)
    shop.paycheckout.account(lambda name: Account(name, "canary-key"))
    accounts = ["ada", "bo", "cy", "cy", metrics.OTHERS]
    shop.stores_like(
        shop.starts(), [{"checkout_id": f"c-{n}", "account": account} for n, account in enumerate(accounts)]
    )
    measures(shop, accounts=3)
    samples = {name: value for name, value in scrapes(shop).items() if 'status="created"' in name or value}
    checkouts = {name: value for name, value in samples.items() if name.startswith("paycheckout_checkouts{")}
    labels = {name.split('"')[1] for name in checkouts}
    assert labels == {"", metrics.OTHERS, "ada"}, "the first in alphabetical order: they stay the same"
    assert sum(checkouts.values()) == 6


def test_named_accounts_have_their_label_without_any_row(open_shop: OpenShop) -> None:
    samples = scrapes(measures(open_shop(PAYCHECKOUT_METRICS_TOKEN=TOKEN), accounts=["ada"]))
    assert samples['paycheckout_checkouts{account="ada",status="held"}'] == 0


# Cost


@pytest.mark.on_each_database
def test_a_scrape_reads_indexes_a_bounded_number_of_times(measured: Shop) -> None:
    shop = measured
    has_attempts(shop, 2000)
    engine = shop.engine
    with engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    with statements(shop) as seen:
        scrapes(shop)
    assert len(seen) <= 36
    with plans(engine) as explained:
        scrapes(shop)
    counts = [plan for statement, plan in explained if "GROUP BY paycheckout_checkout.account" in statement]
    assert len(counts) == 1
    if engine.dialect.name == "sqlite":
        assert "COVERING INDEX ix_paycheckout_checkout_account_state" in counts[0]
        whole = [plan for _, plan in explained if "SCAN paycheckout_checkout" in plan and "INDEX" not in plan]
        assert whole == []


def test_gauges_are_kept_for_a_while(open_shop: OpenShop) -> None:
    shop = measures(open_shop(PAYCHECKOUT_METRICS_TOKEN=TOKEN), cache=10.0)
    scrapes(shop)
    shop.starts()
    with statements(shop) as seen:
        assert scrapes(shop)['paycheckout_checkouts{account="",status="created"}'] == 0
    assert seen == []
    shop.waits(seconds=10)
    assert scrapes(shop)['paycheckout_checkouts{account="",status="created"}'] == 1


def test_a_database_that_is_down_is_a_gauge_and_counters_go_on(
    measured: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shop = measured
    engine = shop.engine
    away = [True]

    def refuses(*_: object) -> None:
        if away:
            raise OSError("no route to the database")

    event.listen(engine, "connect", refuses)
    engine.dispose()
    for _ in range(3):
        samples = scrapes(shop)
    assert samples["paycheckout_database_up"] == 0
    assert [name for name in samples if name.startswith(("paycheckout_checkouts{", "paycheckout_alarms"))] == []
    assert samples['paycheckout_webhooks_total{outcome="useless"}'] == 0
    assert len([record for record in caplog.records if "gauges could not be read" in record.message]) == 1
    away.clear()
    assert scrapes(shop)["paycheckout_database_up"] == 1


def test_a_database_that_hangs_holds_up_one_scrape_only(measured: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = measured
    monkeypatch.setattr(metrics, "_PATIENCE", 0.2)
    began, may_go_on = threading.Semaphore(0), threading.Event()

    def hangs(*arguments: Any, **options: Any) -> Any:
        began.release()
        assert may_go_on.wait(120)
        return read_gauges(*arguments, **options)

    monkeypatch.setattr("flask_paycheckout.metrics.read_gauges", hangs)
    with ThreadPoolExecutor(1) as first:
        scrape = first.submit(scrapes, shop)
        try:
            assert began.acquire(timeout=60)
            assert scrapes(shop)["paycheckout_database_up"] == 0
            assert not began.acquire(blocking=False), "one read at a time, however many scrape"
        finally:
            may_go_on.set()
        assert scrape.result()["paycheckout_database_up"] == 1


# The page


def test_the_page_names_every_metric_and_alarm_and_its_alerts_name_what_exists(measured: Shop) -> None:
    page = read("docs/monitoring.md")
    answer = measured.browser.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"}).text
    kinds = re.findall(r"^# TYPE (paycheckout_\w+?)(?:_total)? \w+$", answer, re.MULTILINE)
    table = page.split("## Metrics")[1].split("## Alerts")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert named == {name for name in kinds if not name.endswith("_created")}
    alerts = "".join(re.findall(r"^\| `\w+` \| `(.*?)` \|", page.split("## Alerts")[1], re.MULTILINE))
    selectors = re.findall(r'(paycheckout_\w+)(?:\{(\w+=)~?("[^"]*"))?', alerts.replace("\\|", '"|"'))
    assert len(selectors) >= 9
    measured.starts()
    samples = scrapes(measured)
    for name, label, values in selectors:
        for value in values.split("|"):
            assert [sample for sample in samples if sample.startswith(name) and label + value in sample], name
    listed = page.split("## Alarms")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| (\w+) \|", listed, re.MULTILINE)
    assert dict(rows) == {kind: severity.value for kind, (severity, *_) in REGISTERED.items()}


# Observers


def test_an_observer_of_the_shops_own_sees_all_and_one_that_raises_costs_no_payment(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Observation] = []

    def raises(observation: Observation) -> None:
        seen.append(observation)
        raise RuntimeError("statsd is down")

    shop.paycheckout.observe(shop.app, raises)
    shop.has_paid()
    kinds = [f"{one.kind} {one.subject} {one.outcome}" for one in seen]
    assert kinds == [
        "call POST /v1/checkout answered",
        "delivery checkout_created unheard",
        "call GET /v1/deposit/{id} answered",
        "read settle moved",
        "delivery order_paid delivered",
    ]
    assert len([record for record in caplog.records if "an observer raised" in record.message]) == 1
