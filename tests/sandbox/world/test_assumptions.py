"""The switches: unknown names and values are refused, and each value has its effect on a call.

Switches that change more than one answer are tested with the part of the service that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask

from tests.sandbox.actors import Answer, Merchant, Tester, call, exact, machine_seconds
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer
from tests.sandbox.payments.customers import details, makes, quotes, sends as sends_payment
from tests.sandbox.recipients.payees import bank, creates, found, reads


def test_http_status_always_200_leaves_the_code_to_the_body(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(http_status="always_200"))
    refused = merchant.reads_deposit("none")
    assert (refused.http_status, refused.code) == (200, 404)
    assert merchant.calls("GET", "/v1/nothing").http_status == 200


ADA = {"recipientId": RECIPIENTS["USD"], "amount": 5}
NAMED = ADA | {"reference": "r"}
TOKENS = {"receiverWalletAddress": WALLET, "amount": 5}
TO_POUNDS = {"inputCurrency": "USD", "outputCurrency": "GBP", "inputAmount": 5}
ESTIMATE = "/v1/disbursement/crypto/estimate?token=usdc-polygon&amount=7.5"
FILTERED = (
    *("/v1/recipient?country=states", "/v2/payments?receiverName=EXAMPLE", "/v2/payments?reason=VOICE"),
    *("/v2/payments?blockchain=poly", "/v1/reference/banks?country=kingd&limit=100"),
)
NOBODY = "/v1/recipient?search=nobody&page=3"
REPORT = "/v1/disbursement/fiat/{}/report"


def registers_twice(app: Flask) -> Answer:
    Visitor(app).registers()
    return Visitor(app).registers()


def bank_of(app: Flask) -> Any:
    """The bank in the answer about a recipient."""
    bank_fields = bank(accountNumber="4000123412", ifsc="SAND0001")
    return creates(Merchant(app), bank=bank_fields).data["bank"][0]


def picks(app: Flask, method: str = "us_qr", minutes: int = 0) -> Any:
    checkout = Merchant(app).makes_checkout(100)
    Tester(app).advances(minutes=minutes)
    return Tester(app).picks(checkout, method)


def lifetime(app: Flask) -> int:
    """The seconds for which a deposit can be paid whose method was picked after ten minutes."""
    deposit = picks(app, minutes=10)
    created, ended = (datetime.fromisoformat(deposit[name]) for name in ("createdAt", "expiredAt"))
    return round((ended - created).total_seconds())


def forces_deposit(app: Flask, status: str, *, paid: bool = False) -> Answer:
    checkout = picks(app)["depositId"]
    if paid:
        Tester(app).pays(checkout)
    return Merchant(app).forces_status(checkout, status)


def refused_deposit(app: Flask) -> Any:
    checkout = picks(app)["depositId"]
    Tester(app).does("POST", f"checkouts/{checkout}/fail")
    return Merchant(app).reads_deposit(checkout).data["status"]


def told_by_webhook(app: Flask) -> Any:
    Tester(app).pays(Merchant(app).makes_checkout())
    return exact(Tester(app).webhooks()[0]["attempts"][0]["request"]["body"])


def forces_payout(app: Flask, *statuses: str) -> Answer:
    payer = Payer(app)
    disbursement_id = payer.pays_one()
    return [payer.forces(disbursement_id, status) for status in statuses][-1]


def payment_later(app: Flask) -> list[str]:
    """The status of a payment after an hour, and the statuses of its history."""
    payment_id = makes(Merchant(app))
    Tester(app).advances(hours=1)
    read = details(Merchant(app), payment_id).data
    return [read["status"], *(entry["status"] for entry in read["activityHistory"])]


def lists(app: Flask, target: str) -> Any:
    return Merchant(app).calls("GET", target).data


def filtered(app: Flask) -> list[int]:
    """The number of items of each list that pass a filter by a part of a text."""
    disbursement_id = Payer(app).pays_one()
    makes(Merchant(app), reason="Invoice 7")
    targets = (*FILTERED, f"/v1/disbursement/fiat?disbursementId={disbursement_id[3:20]}")
    return [lists(app, target)["totalDocs"] for target in targets]


def searched(app: Flask) -> list[int]:
    texts = ("ada", "ada@example.com", "example", "ADA example")
    return [len(found(Merchant(app), f"search={quote(text)}")) for text in texts]


def signed_two_minutes_ago(app: Flask) -> Answer:
    return Merchant(app).calls("GET", "/v1/deposit/none", timestamp=str(int(machine_seconds(app)) - 120))


#: A switch, the results of a call under some of its values, and the call. The result of an answer is its code; a list
#: of numbers has the values, which are also the results.
CHANGED: list[tuple[str, list[int] | dict[str, Any], Callable[[Flask], Any]]] = [
    ("absent_fields", {"null": None}, lambda app: bank_of(app)["ibanNumber"]),
    ("access_token_error", [403], lambda app: call(app, "PATCH", "/v1/disbursement/x", {})),
    ("account_number_type", {"string": "4000123412"}, lambda app: bank_of(app)["accountNumber"]),
    (
        "activity_updated_at",
        {"object": {"$date"}},
        lambda app: set(Payer(app).sees(Payer(app).pays_one())["activityHistory"][0]["updatedAt"]),
    ),
    ("bank_pages", {"numbered": 2, "first": 1}, lambda app: lists(app, "/v1/reference/banks?page=2")["page"]),
    ("checkout_status_code", [201], lambda app: Merchant(app).asks_checkout()),
    ("conversion_refused", [422], lambda app: Merchant(app).asks_checkout(**TO_POUNDS)),
    ("conversion_refused", [422], lambda app: quotes(Merchant(app), outputCurrency="CHF")),
    ("deposit_after_refusal", {"failed": "failed", "rejected": "rejected", "cancelled": "cancelled"}, refused_deposit),
    ("deposit_fee", {"included": Decimal("98.70"), "billed": 100}, lambda app: picks(app)["outputAmount"]),
    ("deposit_lifetime", {"24h": 86_400, "15m": 900, "checkout_end": 300}, lifetime),
    ("deposit_type", {"checkout": "checkout", "method": "qr"}, lambda app: picks(app)["depositType"]),
    ("disbursement_not_found", [400], lambda app: Payer(app).reads("/v1/disbursement/fiat/none")),
    ("disbursement_status_code", [201], lambda app: Payer(app).pays(ADA)),
    ("disbursement_status_code", [201], lambda app: Payer(app).sends_tokens(TOKENS)),
    ("email_taken_error", [400, 422], registers_twice),
    (
        "empty_query_values",
        {"refused": 400, "absent": 200},
        lambda app: Merchant(app).calls("GET", "/v1/recipient?search=&limit=&country="),
    ),
    ("estimate_amount", {"decimal": Decimal("0.125")}, lambda app: lists(app, ESTIMATE)["fee"]),
    ("field_error", [422], lambda app: creates(Merchant(app), name=None)),
    (
        "forced_disbursement_status",
        {"known": 400, "any": 200, "completed": 400},
        lambda app: forces_payout(app, "odd"),
    ),
    ("forced_status", {"known": 400}, lambda app: forces_deposit(app, "in review")),
    (
        "forced_update_of_completed",
        {"accepted": 200, "refused": 400},
        lambda app: forces_deposit(app, "failed", paid=True),
    ),
    (
        "forced_update_of_settled",
        {"accepted": 200, "refused": 400},
        lambda app: forces_payout(app, "failed", "completed"),
    ),
    ("id_format", {"uuid": 36, "hex64": 64}, lambda app: len(Tester(app).makes_account("anna")["userId"])),
    ("limit_above_maximum", {"refused": 400}, lambda app: Merchant(app).calls("GET", "/v1/recipient?limit=101")),
    (
        "limit_maximum",
        {"100": 100, "25": 25, "1000": 1000},
        lambda app: lists(app, "/v1/recipient?limit=5000")["limit"],
    ),
    ("onramp_payments", {"refused": 400}, lambda app: sends_payment(Merchant(app), inputCurrency="EUR")),
    (
        "pages_of_nothing",
        {"0": (0, None)},
        lambda app: (lists(app, NOBODY)["totalPages"], lists(app, NOBODY)["prevPage"]),
    ),
    (
        "payment_crypto",
        {
            "transfer": {"token", "network", "address", "amount"},
            **{"wallet": {"walletAddress", "blockchain"}, "empty": set()},
        },
        lambda app: set(picks(app, "us_usdc_polygon")["paymentCrypto"]),
    ),
    ("payment_not_found", [400], lambda app: details(Merchant(app), "none")),
    (
        "payment_progress",
        {
            "pending": ["pending", "pending"],
            "processed": ["processed", "pending", "completed", "pending"],
            "failed": ["failed", "pending", "completed", "pending", "failed"],
        },
        payment_later,
    ),
    ("quote_above_daily_limit", {"refused": 400}, lambda app: quotes(Merchant(app), amount=10**6, withLimit="true")),
    ("quote_without_limit_flag", {"limited": False}, lambda app: quotes(Merchant(app), amount=10**6).data["status"]),
    ("reference_error", [409, 422], lambda app: Payer(app).pays(NAMED, NAMED)),
    ("recipient_not_found", [400], lambda app: reads(Merchant(app), "nothing")),
    ("recipient_search", {"prefix": [1, 1, 0, 1], "exact": [0, 1, 0, 1]}, searched),
    ("recipient_status_code", [201], lambda app: creates(Merchant(app))),
    ("register_status_code", [201], lambda app: Visitor(app).registers()),
    ("report_of_unfinished", [400, 404, 409], lambda app: Payer(app).reads(REPORT.format(Payer(app).pays_one()))),
    ("signature_error", [403], lambda app: Merchant(app, secret="guessed").reads_deposit("x")),
    ("text_filters", {"whole": [0, 0, 0, 0, 0, 0], "part": [1, 1, 1, 1, 3, 1]}, filtered),
    ("timestamp_window", {"60": 401, "900": 404, "off": 404}, signed_two_minutes_ago),
    ("transaction_hash", {"empty": "", "null": None}, lambda app: sends_payment(Merchant(app)).data["transactionHash"]),
    ("unusable_error", [404, 422], lambda app: quotes(Merchant(app), amount="0.0000001")),
    ("unspecified_messages", {"empty": ""}, lambda app: Merchant(app).forces_status("none").message),
    ("verification_token_error", [400, 410], lambda app: Visitor(app).confirms("made up", "123456")),
    ("webhook_payload", {"full": Decimal("12.50")}, lambda app: told_by_webhook(app)["inputAmount"]),
    ("wrong_otp_error", [400, 403], lambda app: Visitor(app).confirms(Visitor(app).begins(), Visitor(app).wrong_otp())),
    ("wrong_password_error", [400, 403], lambda app: Visitor(app).logs_in(password="guessed")),
]


@pytest.mark.parametrize(("switch", "results", "calls"), CHANGED, ids=[row[0] for row in CHANGED])
def test_an_answer_is_what_the_switch_says(
    make_sandbox: MakeSandbox, switch: str, results: list[int] | dict[str, Any], calls: Callable[[Flask], Any]
) -> None:
    for value, expected in (
        results.items() if isinstance(results, dict) else [(str(number), number) for number in results]
    ):
        result = calls(make_sandbox(**{switch: value}))
        if isinstance(result, Answer):
            assert expected in result.body.values()
            result = result.http_status
        assert result == expected, value
