"""Every page in each of its states: shop, status page, payment page, inspector, and errors.

The demo behind them is built once, by the actors of the other tests, and only read afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from flask import Flask
from playwright.sync_api import Page
from sqlalchemy import select

from example_shop.database import db
from example_shop.payments import paycheckout
from example_shop.serving import Demo
from flask_paycheckout import Pay, ToWallet
from flask_paycheckout.sandbox.auth.start_state import INVITED_ID, USER_ID
from tests.example_shop.conftest import Owner, Shopper
from tests.example_shop.test_refunds import ACCOUNT
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.disbursements.payers import USDC, WALLET, Payer
from tests.sandbox.payments.customers import makes

#: The endpoints that answer a GET but are not pages for people.
NO_PAGES = {
    *("static", "paycheckout.static", "paycheckout.order_status", "paycheckout_owner.give_proof"),
    *("paycheckout_owner.download_month", "owner.logout", "pictures.draw", "health.show_health"),
    # Swagger UI makes the page of the docs.
    *("description.show_docs", "description.show_description", "inspector.search"),
}
NO_PAGES_BELOW = ("/_sandbox/", "/v1/", "/v2/")
#: The states that the order's own page shows differently, and the states that its status page shows differently.
SHOWN_AT_SHOP = ("created", "paid", "held", "cancelled")
SHOWN_STATUSES = (
    "unpaid",
    "created",
    "pending",
    "part",
    "paid",
    "refunded",
    "held",
    "rejected",
    "abandoned",
    "cancelled",
)
#: The states of a refund that its page and the owner's page show differently.
SHOWN_REFUNDS = ("claimable", "waiting", "failed", "completed", "cancelled")
#: The languages of the extension's own pages besides English.
LANGUAGES = ("de", "es", "id", "ja")


#: A word without break, such as a transaction's hash, and a text of several lines.
_UNBROKEN = "0x9c1e4f7ab2d05368e1c94b7f20a6d83f5e7b1c08d94a2f63b5e0c7189fd24a6b"
_LONG = "Sunshine from noon for the guests, a breeze for the veil, and no rain before the last dance. " * 11
_COOKIE = "sandbox_"
"""The beginning of the name of the cookie with which a browser controls a sandbox."""


@dataclass(frozen=True)
class Scene:
    """One page in one state. Its name has parts with slashes between them, like a path."""

    name: str
    show: Callable[[Page], object]
    holds: str = "h1"
    """The selector of an element that occurs once on the named page."""


class Gallery:
    """A running demo with pages in every state."""

    def __init__(self, demo: Demo) -> None:
        self.demo = demo
        self.shopper, self.owner = Shopper(demo.app), Owner(demo.app)
        self.merchant, self.tester = Merchant(demo.sandbox), Tester(demo.sandbox, demo.control_token)
        self.orders: dict[str, str] = {}
        self.checkouts: dict[str, str] = {}
        #: References of payouts, and the links of refunds, by their state.
        self.payouts: dict[str, str] = {}
        self.refund_urls: dict[str, str] = {}
        self.request_urls: dict[str, str] = {}
        self._live()

    def _live(self) -> None:
        """Make orders and payments in every state, first the states for which time must pass."""
        for state in ("abandoned", "pending"):
            self._starts(state)
        self._ask()
        self.tester.picks(self.checkouts["pending"])
        self._pay_back()
        for minutes in (17, 1):
            self.tester.advances(minutes=minutes)
            self.demo.reconcile()

        self.orders["unpaid"] = self.shopper.orders(first_snow=2, sea_breeze=1)
        for state in ("created", "paid", "held", "rejected", "cancelled", "qr", "bank", "crypto", "closed"):
            self._starts(state)
        methods = {"qr": "us_qr", "bank": "us_bank_transfer", "crypto": "us_usdc_polygon", "closed": "us_qr"}
        # For this many jars, a fifth is charged first.
        self._starts("part", jars=9)
        self.tester.picks(self.checkouts["part"])
        self.tester.pays(self.checkouts["part"])
        for state, method in methods.items():
            self.tester.picks(self.checkouts[state], method)
        self.merchant.forces_status(self.checkouts["closed"], "failed")
        self.tester.picks(self.checkouts["paid"], reference=_UNBROKEN)
        self.tester.pays(self.checkouts["paid"])
        for state in ("held", "rejected"):
            self.tester.pays(self.checkouts[state], 1)
        self.owner.logs_in(self.demo.owner_password)
        self.owner.decides(self.checkouts["rejected"], "reject", "Too little arrived.")
        self.shopper.cancels(self.orders["cancelled"])
        self._work()

    def _pay_back(self) -> None:
        """Make refunds and a payout; the bank completes sent ones within minutes."""
        self._starts("refunded")
        checkout_id = self.checkouts["refunded"]
        self.tester.pays(checkout_id)
        with self.demo.app.app_context():
            for state in SHOWN_REFUNDS:
                self._refunds(checkout_id, state)
            self.payouts["unknown"] = "thanks-to-puddle"
            paycheckout.pay_out(self.payouts["unknown"], 5, USDC, ToWallet(WALLET), order_id=self.orders["refunded"])
            db.session.commit()
            for reference, amount, currency in (("prize", "5", "USD"), ("tip", "0.123456789012345678", USDC)):
                paycheckout.pay_out(reference, amount, currency, by="Ada")
            self.claim_url, self.payouts["claimed-by-receiver"] = paycheckout.claim_url("prize"), "prize"
            self.wallet_url = paycheckout.claim_url("tip")
            db.session.commit()
            self.tester.orders_fault("POST /v1/disbursement/crypto", "lose_response")
            paycheckout.send_payouts()
            failed = paycheckout.Payout.reference == self.payouts["failed"]
            sent = db.session.scalars(select(paycheckout.Payout.disbursement_id).where(failed)).one()
        self.tester.does("POST", f"disbursements/{sent}/finish", {"status": "failed"})

    def _refunds(self, checkout_id: str, state: str) -> None:
        reference = paycheckout.refund(checkout_id, 1, by="Ada", why="The jar arrived broken.").reference
        db.session.commit()
        self.payouts[state], self.refund_urls[state] = reference, paycheckout.refund_url(reference)
        if state in ("waiting", "failed", "completed"):
            headers = {"Origin": self.demo.shop_url, "Sec-Fetch-Site": "same-origin"}
            answer = self.shopper.browser.post(self.refund_urls[state], data=ACCOUNT, headers=headers)
            assert answer.status_code == 303, answer.text
        if state in ("failed", "completed"):
            paycheckout.approve_payout(reference, by="Ada", seen=1)
        if state == "cancelled":
            paycheckout.cancel_payout(reference, by="Ada", why="It was found whole.")

    def _ask(self) -> None:
        """Make payment requests in every state without a payment, with the longest possible texts."""
        ends = {"expired": timedelta(minutes=10), "withdrawn": None, "unpaid": timedelta(days=14)}
        with self.demo.app.app_context():
            for state, end in ends.items():
                title, note = f"Weather for a wedding, {state}", "Sunshine from noon, and a breeze for the veil."
                request = paycheckout.request(Pay("250.00", "USD"), title=title, note=note, expires=end, by="Ada")
                self.request_urls[state] = paycheckout.request_url(request.reference)
                db.session.commit()
                if state == "withdrawn":
                    paycheckout.withdraw_request(request.reference, by="Ada", why="The wedding is off.")
            paycheckout.request(Pay("9" * 12, "USD"), title=_LONG[:255], note=_LONG[:1000])
            foreign = paycheckout.request(Pay("30.00", "EUR"), title="Weather for a wedding, abroad")
            db.session.commit()
            checkout_id = paycheckout.start(foreign.order_id).checkout_id
        self.tester.picks(checkout_id)
        self.tester.pays(checkout_id)

    def _starts(self, state: str, jars: int = 2) -> None:
        self.orders[state] = self.shopper.orders(first_snow=jars)
        self.checkouts[state] = self.shopper.starts_to_pay(self.orders[state])

    def _work(self) -> None:
        """Make all other objects for the inspector."""
        payer = Payer(self.demo.sandbox)
        self.fiat = payer.pays_one(reference="supplier-2031", note="Straw and string")
        payer.sends_tokens({"amount": 5, "receiverWalletAddress": WALLET}, token=USDC)
        self.payment = makes(self.merchant, senderName=_LONG[:200].strip(), reason=_UNBROKEN)
        self.merchant.calls("GET", f"/v1/deposit/{_UNBROKEN}", signed_by="wrong")
        self.merchant.calls("POST", "/v1/checkout", b'{"inputCurrency": "USD"}', signed_by="0" * 64)
        self.rejected_request = int(self.tester.requests()[0]["id"])
        login = {"email": "merchant@example.com", "password": "sandbox-password"}
        self.demo.sandbox.test_client().post("/v1/auth/login", json=login)
        self.tester.orders_fault("POST /v1/checkout", "error", times=1, statusCode=503, message=_LONG[:200])
        self.tester.orders_fault("webhook", "delay", seconds=30)

    def scenes(self) -> list[Scene]:
        """All scenes, in an order in which one browser can open them as a visitor of the shop."""
        return [
            *self._payment_pages(),
            *self._inspector(),
            *self._shop(),
            *self._status_pages(),
            *self._refund_pages(),
            *self._request_pages(),
            *self._desk(),
        ]

    def _payment_pages(self) -> list[Scene]:
        pages = {
            "choose": ("created", "fieldset.methods"),
            "scan": ("qr", "figure:has(svg.qr) + dl:has-text('Scan to pay')"),
            "transfer": ("bank", "dl:has-text('US bank transfer')"),
            "chain": ("crypto", "figure:has(svg.qr) + dl:has-text('usdc-polygon')"),
            "completed": ("paid", ".outcome"),
            "late": ("pending", "button:text('arrive late')"),
            "expired": ("abandoned", "p:has-text('no payment method was chosen')"),
            "closed": ("closed", "p strong:text('failed')"),
        }
        scenes = [
            self._sandbox(f"hosted/{name}", f"/checkout/{self.checkouts[which]}", holds)
            for name, (which, holds) in pages.items()
        ]
        people = {"verify": INVITED_ID, "verified": USER_ID, "missing": "nobody"}
        return [
            *scenes,
            self._sandbox("hosted/missing", "/checkout/nothing"),
            *(self._sandbox(f"identity/{name}", f"/identity/{user_id}") for name, user_id in people.items()),
        ]

    def _inspector(self) -> list[Scene]:
        names = ("requests", "mails", "webhooks", "control", "reset", "unknowns", "accounts")
        rejected = f"requests/{self.rejected_request}"
        details = {
            "checkout": f"checkouts/{self.checkouts['paid']}",
            "disbursement": f"disbursements/{self.fiat}",
            "payment": f"payments/{self.payment}",
            "request": "requests/1",
            "rejected": rejected,
            "missing": "checkouts/nothing",
            "account": "accounts/default",
        }
        paths = {name: name for name in names} | details
        holds = {"rejected": "pre.exact", "checkout": ".timeline .webhook"}
        scenes = [
            self._sandbox(f"inspector/{name}", f"/inspector/{path}", holds.get(name, "h1"))
            for name, path in paths.items()
        ]
        return [
            self._sandbox("inspector/overview", "/"),
            *scenes,
            Scene("inspector/refused-fault", self._order_a_wrong_fault, "#wrong-fault"),
            self._sandbox("inspector/nowhere", "/nowhere"),
            Scene("inspector/entrance", self._stay_outside, "input[name=token]"),
        ]

    def _order_a_wrong_fault(self, page: Page) -> None:
        page.goto(f"{self.demo.sandbox_url}/inspector/control")
        page.get_by_label("Operation, or one").fill("POST /v1/nothing")
        page.get_by_role("button", name="Arm it").click()

    def _shop(self) -> list[Scene]:
        pages = {
            "window": "/",
            "jar": "/jars/first-snow",
            "basket-empty": "/basket/",
            "missing": "/jars/nothing",
            "owner-login": "/owner/login",
        }
        before = [self._at_shop(name, path) for name, path in pages.items()]
        orders = [
            self._at_shop(f"order-{state}", f"/orders/{self.orders[state]}", f".standing.{state}")
            for state in SHOWN_AT_SHOP
        ]
        return [
            *before,
            Scene("shop/basket", self._fill_the_basket),
            self._at_shop("order-form", "/orders/new"),
            Scene("shop/order-form-refused", self._order_without_an_address, "#name-fault"),
            *orders,
            Scene("shop/warehouse", lambda page: page.goto(self.demo.warehouse_url)),
        ]

    def _fill_the_basket(self, page: Page) -> None:
        page.goto(f"{self.demo.shop_url}/jars/northern-lights")
        page.get_by_role("button", name="Put into basket").click()

    def _order_without_an_address(self, page: Page) -> None:
        page.goto(f"{self.demo.shop_url}/orders/new")
        page.get_by_role("button", name="Place the order").click()

    def _status_pages(self) -> list[Scene]:
        with self.demo.app.app_context():
            urls = {state: paycheckout.status_url(self.orders[state]) for state in SHOWN_STATUSES}
            failed = paycheckout.status_url(self.orders["closed"])
        # An order with a rejected payment may be paid again; a cancelled order keeps its checkout.
        shown_states = {state: state for state in SHOWN_STATUSES} | {
            "rejected": "unpaid",
            "cancelled": "created",
            "refunded": "paid",
        }
        scenes = [_opens(f"status/{state}", url, f"[data-status={shown_states[state]}]") for state, url in urls.items()]
        scenes.append(_opens("status/failed", failed, "h1:text('did not go through')"))
        bad_link = self.demo.shop_url + "/paycheckout/orders/nothing"
        scenes.append(_opens("status/missing", bad_link, "h1:text('This link does not work')"))
        return [
            *scenes,
            *_in_each_language("status/missing", bad_link),
            *_in_each_language("status/abandoned", urls["abandoned"]),
            Scene(
                "status/unavailable", lambda page: self._press_pay_in_vain(page, urls["unpaid"], 503), "[role=alert]"
            ),
            Scene(
                "status/amount-refused",
                lambda page: self._press_pay_in_vain(page, urls["unpaid"], 422),
                "h1:text('online')",
            ),
            Scene("status/too-late", self._press_pay_too_late, "h1:text('Nothing to pay here')"),
        ]

    def _refund_pages(self) -> list[Scene]:
        scenes = [_opens(f"refund/{state}", url, f"[data-status={state}]") for state, url in self.refund_urls.items()]
        scenes += _in_each_language("refund/claimable", self.refund_urls["claimable"])
        scenes.append(_opens("refund/payout", self.claim_url, "h1:text('Where should your money go?')"))
        scenes.append(_opens("refund/wallet", self.wallet_url, "#wallet_address"))
        return [*scenes, Scene("refund/refused", self._claim_without_an_account, "[role=alert]")]

    def _request_pages(self) -> list[Scene]:
        scenes = [_opens(f"request/{state}", url, "h1:text('Weather')") for state, url in self.request_urls.items()]
        return scenes + _in_each_language("request/expired", self.request_urls["expired"])

    def _claim_without_an_account(self, page: Page) -> None:
        page.set_extra_http_headers({"Accept-Language": "en"})
        page.goto(self.refund_urls["claimable"])
        page.locator(".paycheckout-form").evaluate("form => { form.noValidate = true }")
        page.locator(".paycheckout-form button").click()
        page.wait_for_selector("[role=alert]")

    def _press_pay_too_late(self, page: Page) -> None:
        order_id = self.shopper.orders(first_snow=1)
        page.set_extra_http_headers({"Accept-Language": "en"})
        page.goto(f"{self.demo.shop_url}/orders/{order_id}")
        self.shopper.cancels(order_id)
        page.locator(".paycheckout-button button").click()
        page.wait_for_url("**/checkout")

    def _press_pay_in_vain(self, page: Page, url: str, status: int) -> None:
        self.tester.does("DELETE", "faults")
        self.tester.orders_fault("POST /v1/checkout", "error", times=9, statusCode=status)
        page.set_extra_http_headers({"Accept-Language": "en"})
        page.goto(url)
        page.get_by_role("button").click()
        page.wait_for_url("**/checkout")
        self.tester.does("DELETE", "faults")

    def _desk(self) -> list[Scene]:
        """The owner's pages: the shop's own, and the extension's view."""
        views = {
            "orders": "",
            "list": "/orders",
            "pay": "/pay",
            "held": "?status=held",
            "not-found": "?search=nobody",
            "orders-days": "?from=2000-01-01",
            "paybacks": "/paybacks",
            "books": "/books",
            "books-refused": "/books/month",
            "deeds": "/deeds",
            "requests": "/requests",
            "payouts": "/payouts",
            "payouts-none": "/payouts?status=sending",
            "payouts-days": "/payouts?to=2100-01-01",
            "refund": f"/refund?checkout={self.checkouts['refunded']}",
            **{f"payout-{state}": f"/payout?reference={name}" for state, name in self.payouts.items()},
            **{
                f"order-{state}": f"/order?order_id={self.orders[state]}"
                for state in ("refunded", "paid", "held", "rejected")
            },
        }
        return [
            Scene("shop/owner", self._open_the_desk),
            *(self._at_shop(f"owner-{name}", f"/owner/{name}/") for name in ("stock", "letters")),
            *(_opens(f"owner/{name}", f"{self.demo.shop_url}/owner/payments{path}") for name, path in views.items()),
        ]

    def _open_the_desk(self, page: Page) -> None:
        page.goto(f"{self.demo.shop_url}/owner/login")
        page.get_by_label("Password").fill(self.demo.owner_password)
        page.get_by_role("button", name="Open the desk").click()

    def _at_shop(self, name: str, path: str, holds: str = "h1") -> Scene:
        return _opens(f"shop/{name}", self.demo.shop_url + path, holds)

    def _sandbox(self, name: str, path: str, holds: str = "h1") -> Scene:
        scene = _opens(name, self.demo.sandbox_url + path, holds)

        def show(page: Page) -> None:
            if not any(cookie.get("name", "").startswith(_COOKIE) for cookie in page.context.cookies()):
                page.goto(f"{self.demo.sandbox_url}/?token={self.demo.control_token}")
            scene.show(page)

        return Scene(name, show, holds)

    def _stay_outside(self, page: Page) -> None:
        page.context.clear_cookies(name=re.compile(f"{_COOKIE}.*"))
        page.goto(self.demo.sandbox_url)


def _opens(name: str, url: str, holds: str = "h1", language: str = "en") -> Scene:
    def show(page: Page) -> None:
        page.set_extra_http_headers({"Accept-Language": language})
        page.goto(url)

    return Scene(name, show, holds)


def _in_each_language(name: str, url: str) -> list[Scene]:
    """A page in each language, in the state with the longest text."""
    return [_opens(f"{name}-{language}", url, f"html[lang={language}]", language) for language in LANGUAGES]


def pages_of(app: Flask) -> set[str]:
    """The endpoints of an app that answer a GET with a page for people."""
    rules = (rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ()))
    return {rule.endpoint for rule in rules if not rule.rule.startswith(NO_PAGES_BELOW)} - NO_PAGES
