"""A real browser on a page of another origin, on a machine with a running sandbox."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from playwright.sync_api import Page

from tests.hostile.test_foreign_pages import everything
from tests.hostile.test_sandbox import sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant
from tests.serving import served

__all__ = ["sandbox"]

ATTACK = """async ([sandbox, checkout]) => {
  const seen = [], tries = [];
  const ask = (path, method, body, mode, type) => {
    const headers = body === undefined ? {} : {"Content-Type": type};
    const shown = fetch(sandbox + path, {method, body, mode, headers, credentials: "include"});
    tries.push(shown.then(async (answer) => { if (answer.type !== "opaque") seen.push([path, await answer.text()]); },
      () => {}));
  };
  const user = (name) => JSON.stringify({email: name + "@example.com", password: "long-enough-1", fullName: "Evil"});
  for (const mode of ["cors", "no-cors"]) {
    for (const path of ["/", "/inspector/mails", "/inspector/requests", "/_sandbox/mails", "/_sandbox/requests",
      "/_sandbox/mails?token=levers-0123456789", "/v1/reference/currencies", "/checkout/" + checkout])
      ask(path, "GET", undefined, mode);
    for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
      ask("/v1/auth/register", "POST", user(mode + type.length), mode, type);
      ask("/v1/auth/login", "POST", '{"email": "merchant@example.com", "password": "sandbox-password"}', mode, type);
      ask("/v1/checkout", "POST", '{"inputCurrency": "USD", "inputAmount": 5}', mode, type);
      ask("/checkout/" + checkout + "/method", "POST", "method=us_qr", mode, type);
      ask("/checkout/" + checkout + "/payment", "POST", "", mode, type);
      for (const path of ["/_sandbox/reset", "/_sandbox/clock", "/inspector/reset", "/inspector/clock"])
        ask(path, "POST", '{"advanceSeconds": 900}', mode, type);
    }
  }
  navigator.sendBeacon(sandbox + "/v1/auth/register", user("beacon"));
  const made = (tag, settings) => tries.push(new Promise((resolve) => {
    const element = Object.assign(document.createElement(tag), settings);
    element.onerror = resolve;
    element.onload = () => { try { seen.push([tag, element.contentDocument.body.innerText]); } catch {} resolve(); };
    document.body.append(element);
  }));
  made("script", {src: sandbox + "/v1/reference/currencies"});
  made("iframe", {src: sandbox + "/inspector/mails"});
  for (const enctype of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]) {
    for (const [path, name, value] of [["/inspector/clock", "advanceSeconds", "900"],
      ["/v1/auth/register", user("f"), ""], ["/checkout/" + checkout + "/method", "method", "us_qr"]]) {
      const target = "frame" + document.forms.length;
      made("iframe", {name: target, src: "about:blank"});
      const settings = {method: "post", action: sandbox + path, enctype, target};
      const form = Object.assign(document.createElement("form"), settings);
      form.append(Object.assign(document.createElement("input"), {name, value}));
      document.body.append(form);
      form.submit();
    }
  }
  tries.push(new Promise((resolve) => {
    const socket = new WebSocket(sandbox.replace("http", "ws") + "/_sandbox/clock");
    socket.onopen = () => { seen.push(["websocket", "open"]); resolve(); };
    socket.onerror = resolve;
  }));
  await Promise.all(tries);
  return seen.filter(([, text]) => text);
}"""


@pytest.fixture
def addresses(sandbox: Flask) -> Iterator[tuple[str, str]]:
    """The addresses of the sandbox and of the hostile page."""
    evil = Flask("evil")
    evil.add_url_rule("/", view_func=lambda: "<!doctype html><title>Evil</title><body>")
    with served(sandbox) as of_sandbox, served(evil) as of_page:
        yield of_sandbox, of_page


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["another-port", "another-site"])
def test_it_reads_nothing_and_moves_nothing(page: Page, sandbox: Flask, addresses: tuple[str, str], host: str) -> None:
    checkout = Merchant(sandbox).makes_checkout()
    before = everything(sandbox)
    # The browser is a developer's, who has opened the inspector.
    page.goto(f"{addresses[0]}/?token={CONTROL_TOKEN}")
    page.goto(addresses[1].replace("127.0.0.1", host))
    assert page.evaluate(ATTACK, [addresses[0], checkout]) == []
    assert everything(sandbox) == before
    assert Merchant(sandbox).reads_deposit(checkout).code == 404


def test_its_link_opens_the_page_to_pay_on(page: Page, sandbox: Flask, addresses: tuple[str, str]) -> None:
    checkout = Merchant(sandbox).makes_checkout()
    page.goto(addresses[1].replace("127.0.0.1", "localhost"))
    with page.expect_navigation():
        page.evaluate("address => { location = address }", f"{addresses[0]}/checkout/{checkout}")
    with page.expect_navigation():
        page.evaluate("document.querySelector('[name=method]').form.requestSubmit()")
    assert Merchant(sandbox).reads_deposit(checkout).data["status"] == "pending"


QUOTE = """async ([sandbox, query]) => {
  const answer = await fetch(sandbox + "/v2/payment/quote?" + query, {headers: {"X-Client-ID": "sandbox-client"}});
  return [answer.status, await answer.json()];
}"""


def test_a_shops_page_quotes_with_its_client_id_alone(page: Page, addresses: tuple[str, str]) -> None:
    page.goto(addresses[1].replace("127.0.0.1", "localhost"))
    query = "amount=100&inputCurrency=usdc-polygon&outputCurrency=USD"
    status, answer = page.evaluate(QUOTE, [addresses[0], f"{query}&withLimit=true"])
    assert (status, answer["data"]["total_received_amount_in_currency"]) == (200, 98.99)
    # The page can also read a refusal.
    status, answer = page.evaluate(QUOTE, [addresses[0], query])
    assert (status, answer["statusCode"]) == (401, 401)
