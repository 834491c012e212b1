"""README's shop together with other tools; a scenario runs if its tool is installed."""

from __future__ import annotations

import sys
import threading
from datetime import datetime
from importlib import import_module

import pytest

from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.merchant import Merchant
from tests.docs.pages import Scene, snippet
from tests.waiting import eventually

PAGE = "docs/beside-other-tools.md"
HUSHED = "hushed-secret-of-the-webhook"
# Requests a customer's link and the webhook, with views that fail, log and answer.
_VISITS = """
import logging
from urllib.parse import urlsplit
from flask import request
with app.test_request_context():
    db.create_all()
    link = urlsplit(paycheckout.status_url("1")).path
view = app.view_functions["paycheckout.order_page"]
def order_page(token):
    logging.getLogger("shop").error("opened %s", request.path)
    if "fail" in request.args:
        raise ZeroDivisionError(f"at {request.url}")
    return view(token)
app.view_functions["paycheckout.order_page"] = order_page
app.config.update(PROPAGATE_EXCEPTIONS=False)
browser = app.test_client()
for path in (link, f"{link}?fail=1"):
    browser.get(path, headers={"Referer": f"http://localhost{link}"})
browser.post("/paycheckout/webhook/SECRET", json={"orderId": "x"})
print("token", link.rsplit("/", 1)[1])
"""
_SENTRY = """
import sentry_sdk
from sentry_sdk.transport import Transport
sent, init = [], sentry_sdk.init
class Kept(Transport):
    def capture_envelope(self, envelope):
        sent.append(envelope.serialize())
sentry_sdk.init = lambda **options: init(transport=Kept, traces_sample_rate=1.0, enable_logs=True, **options)
SENTRY_DSN = "https://key@sentry.example/1"
exec(open("tracker.py").read())
from shop import app, db, paycheckout
VISITS
sentry_sdk.flush()
print("reported", b"".join(sent).decode())
"""
_TRACING = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from shop import app, db, paycheckout
exec(open("tracing.py").read())
VISITS
print("reported", *(span.to_json() for span in exporter.get_finished_spans()))
"""


def _reported(merchant: Merchant, program: str) -> str:
    """The reports of an error tracker about the visits, which must not contain secrets of addresses."""
    merchant.environment["FLASK_PAYCHECKOUT_WEBHOOK_SECRET"] = HUSHED
    merchant.writes("masking.py", snippet(PAGE, "sentry", "masking.py"))
    visits = _VISITS.replace("SECRET", HUSHED)
    printed, _, reported = merchant.runs_program(program.replace("VISITS", visits)).partition("reported ")
    token = printed.rpartition("token ")[2].strip()
    assert len(token) > 40
    assert not {token, HUSHED} & {each for each in (token, HUSHED) if each in reported}
    assert "/paycheckout/orders/***" in reported
    assert "/paycheckout/webhook/***" in reported
    return reported


def sentry(scene: Scene, merchant_with_shop: Merchant) -> None:
    pytest.importorskip("sentry_sdk")
    masking = scene["masking.py"]
    [expression] = [line for line in masking.splitlines() if line.startswith("SECRET")]
    assert expression in snippet("docs/operating.md", "access_log", "gunicorn.conf.py"), "one expression for both"
    merchant_with_shop.writes("tracker.py", scene["tracker.py"])
    reported = _reported(merchant_with_shop, _SENTRY)
    assert "ZeroDivisionError" in reported
    assert "opened /paycheckout/orders/***" in reported


def tracing(scene: Scene, merchant_with_shop: Merchant) -> None:
    for module in ("sdk", "instrumentation.flask", "instrumentation.httpx"):
        pytest.importorskip(f"opentelemetry.{module}")
    merchant_with_shop.writes("tracing.py", scene[""])
    assert "/paycheckout/orders/<token>" in _reported(merchant_with_shop, _TRACING)


def talisman(scene: Scene, make_shop: MakeShop) -> None:
    """The extension's page keeps its headers, and the shop's page gets Talisman's."""
    pytest.importorskip("flask_talisman")
    shop = make_shop(scene.code())
    with shop.app.test_request_context():
        link = shop.paycheckout.status_url("1")
    browser = shop.app.test_client()
    headers = browser.get(link).headers
    assert "'nonce-" in headers["Content-Security-Policy"]
    assert (headers["X-Frame-Options"], headers["Referrer-Policy"]) == ("DENY", "no-referrer, strict-origin")
    assert browser.get("/orders/1").headers["X-Frame-Options"] == "SAMEORIGIN"


def apiflask(scene: Scene, make_shop: MakeShop) -> None:
    pytest.importorskip("apiflask")
    shop = make_shop(change=lambda readme: scene.code() + readme.replace("app = Flask(__name__)\n", ""))
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"))
    described = shop.app.test_client().get("/openapi.json")
    assert described.status_code == 200
    assert not [path for path in described.json["paths"] if path.startswith("/paycheckout")]


def _on_another_host(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox, imports: str) -> None:
    """The plain shop with other models and another host takes a payment."""

    def change(readme: str) -> str:
        plain = snippet("docs/hosts.md", "plain_shop", "")
        start, end = plain.index("class Model"), plain.index("app = Flask")
        source = f"{plain[:start]}{imports}{scene['models.py']}\n{plain[end:]}"
        start, end = source.index("engine = create_engine"), source.index("@paycheckout.order_total")
        session = source[source.index("def session") : source.index("paycheckout = ")] if "Session(" in imports else ""
        setup = f"engine = create_engine(app.config['DATABASE'])\n{session}" if session else ""
        tail = source[end:].replace("session()", "paycheckout.session")
        return f"{source[:start]}{setup}{scene['host.py']}\n{tail}"

    shop = make_shop(change=change)
    assert "Pay now" in shop.app.test_client().get("/orders/1").text
    paycheckout_sandbox.pay(shop.paycheckout.start("1").checkout_id)
    shop.paycheckout.reconcile()
    assert "see your receipt" in shop.app.test_client().get("/orders/1").text


def sqlmodel_shop(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    pytest.importorskip("sqlmodel")
    _on_another_host(scene, make_shop, paycheckout_sandbox, "# Session(engine) of sqlmodel\n")


def advanced_alchemy_shop(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    pytest.importorskip("advanced_alchemy")
    _on_another_host(scene, make_shop, paycheckout_sandbox, "")


def schedulers(
    scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each scheduler's own job settles the payments since the last run."""
    shop = make_shop()
    monkeypatch.setitem(sys.modules, "shop", shop)
    monkeypatch.syspath_prepend(".")
    for name in ("jobs", "scheduler", "tasks", "cron_jobs"):
        with open(f"{name}.py", "w") as file:  # noqa: PTH123 - in the folder of this test
            file.write(scene[f"{name}.py"])
    monkeypatch.delitem(sys.modules, "jobs", raising=False)
    missing = []
    for number, (module, tool) in enumerate({"scheduler": "apscheduler", "tasks": "huey", "cron_jobs": "rq"}.items()):
        shop.paycheckout.session.add(shop.Order(id=f"o-{number}", total="12.50"))
        shop.paycheckout.session.commit()
        try:
            import_module(tool)
        except ImportError:
            missing.append(tool)
            continue
        monkeypatch.delitem(sys.modules, module, raising=False)
        job = import_module(module)
        paycheckout_sandbox.pay(shop.paycheckout.start(f"o-{number}").checkout_id)
        shop.paycheckout.session.rollback()
        if tool == "apscheduler":
            [planned] = job.scheduler.get_jobs()
            thread = threading.Thread(target=job.scheduler.start)
            planned.modify(next_run_time=datetime.now().astimezone())
            thread.start()
            eventually(lambda: _is_paid(shop, "o-0"), 60)
            job.scheduler.shutdown()
            thread.join()
        elif tool == "huey":
            job.run.call_local()
        else:
            job.reconcile()
        assert _is_paid(shop, f"o-{number}"), tool
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def _is_paid(shop: object, order_id: str) -> bool:
    return bool(shop.paycheckout.order_status(order_id) == "paid")  # type: ignore[attr-defined]
