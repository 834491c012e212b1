"""What belongs to one team of a shared sandbox, after it did something in every part of the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Flask

from tests.sandbox.access.sharing import TEAMS
from tests.sandbox.actors import Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.payments.customers import makes


@dataclass
class Side:
    """One team's account after it did something in every part of the service."""

    name: str
    merchant: Payer
    tester: Tester
    checkout: str
    disbursement: str
    payment: str
    webhook: str
    shown: dict[str, Any]
    recipient: str

    @property
    def marks(self) -> set[str]:
        """What shows that something belongs to it."""
        keys = ("userId", "clientId", "clientSecret", "accessToken", "email", "password")
        ids = {self.checkout, self.disbursement, self.payment, self.webhook, self.recipient}
        return ids | {self.shown[key] for key in keys} | {self.name, f"reference-{self.name}"}


def lives(app: Flask, name: str) -> Side:
    tester = Tester(app, TEAMS[name][1])
    shown = tester.does("GET", f"accounts/{name}")
    merchant = Payer(app, shown["clientSecret"], shown["clientId"])
    merchant.access_token = shown["accessToken"]
    recipient = merchant.calls("GET", "/v1/recipient?currency=USD").data["docs"][0]["id"]
    checkout = merchant.makes_checkout()
    tester.does("PUT", f"accounts/{name}/webhook-endpoint", {"url": f"http://127.0.0.1:9/{name}"})
    tester.picks(checkout, reference=f"reference-{name}")
    tester.pays(checkout)
    Visitor(app).begins(shown["email"], shown["password"])
    payment = makes(merchant, receiverId=recipient)
    return Side(
        name=name,
        merchant=merchant,
        tester=tester,
        checkout=checkout,
        disbursement=merchant.sends_one(),
        payment=payment,
        webhook=tester.webhooks()[0]["id"],
        shown=shown,
        recipient=recipient,
    )
