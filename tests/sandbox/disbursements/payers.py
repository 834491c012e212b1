"""The actor in the tests of disbursements: a payer, which creates with an access token and reads with a signature."""

from __future__ import annotations

from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from tests.sandbox.actors import Answer, Merchant, call

ACCESS_TOKEN = "sandbox-access-token"
#: Recipients of the start state, by the currency of their account.
RECIPIENTS = {
    "USD": "5a6d00000000000000000101",
    "GBP": "5a6d00000000000000000102",
    "EUR": "5a6d00000000000000000103",
    "IDR": "5a6d00000000000000000104",
    "JPY": "5a6d00000000000000000105",
}
USDC = "usdc-polygon"
WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
STELLAR_WALLET = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"


def given(name: str | None = "Zoë Quist", **bank: Any) -> dict[str, Any]:
    """A recipient for the request itself, which is not saved."""
    account = {
        "bankName": "Some Bank",
        "accountName": "Z. Quist",
        "accountNumber": "00991",
        "bankCode": "us_first_sandbox",
    }
    recipient: dict[str, Any] = {"bank": account | bank}
    return recipient if name is None else recipient | {"name": name, "email": "zoe@example.com"}


class Payer(Merchant):
    """Creates with the access token, reads with a signature."""

    access_token = ACCESS_TOKEN

    @classmethod
    def of(cls, app: Flask, account: dict[str, Any]) -> Payer:
        """A payer with the keys of a further account."""
        payer = cls(app, account["clientSecret"], account["clientId"])
        payer.access_token = account["accessToken"]
        return payer

    def sends(self, method: str, path: str, body: Any = None) -> Answer:
        return call(self.app, method, path, body, {"Authorization": f"Bearer {self.access_token}"})

    def reads(self, path: str) -> Answer:
        return self.calls("GET", path)

    def pays_v1(self, *items: dict[str, Any]) -> Answer:
        return self.sends("POST", "/v1/disbursement/fiat", {"disburseData": items})

    def pays(self, *items: dict[str, Any], currency: str = "USD") -> Answer:
        return self.sends("POST", "/v2/disbursement/fiat", {"currency": currency, "disburseData": items})

    def pays_one(self, amount: Any = 12.5, currency: str = "USD", **more: Any) -> str:
        """Pay a recipient of the start state; returns the disbursement's id."""
        answer = self.pays({"recipientId": RECIPIENTS[currency], "amount": amount} | more, currency=currency)
        return str(answer.data["disburseData"][0]["disbursementId"])

    def sends_tokens(self, *receivers: dict[str, Any], token: str = USDC) -> Answer:
        return self.sends("POST", "/v1/disbursement/crypto", {"token": token, "receivers": receivers})

    def sends_one(self, **more: Any) -> str:
        """Send tokens; returns the disbursement's id."""
        answer = self.sends_tokens({"amount": 5, "receiverWalletAddress": WALLET} | more)
        return str(answer.data["disburseData"][0]["disbursementId"])

    def forces(self, disbursement_id: str, status: Any = "completed") -> Answer:
        return self.sends("PATCH", f"/v1/disbursement/{disbursement_id}", {"status": status})

    def sees(self, disbursement_id: str) -> Any:
        """Read a fiat disbursement."""
        return self.reads(f"/v1/disbursement/fiat/{disbursement_id}").data

    def lists(self, query: str = "") -> Any:
        return self.reads(f"/v1/disbursement/fiat?{query}".rstrip("?")).data

    def downloads(self, disbursement_id: str) -> TestResponse:
        return self.gets(f"/v1/disbursement/fiat/{disbursement_id}/report")
