"""A start file: what it makes, how it is refused, and that a reset makes it again."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.command import greeting, main
from flask_paycheckout.sandbox.levers.due import run_due
from flask_paycheckout.sandbox.levers.start_entries import STATES
from flask_paycheckout.sandbox.levers.start_file import MAX_BYTES, StartFileError, load_start, read_start
from flask_paycheckout.sandbox.levers.start_history import build
from flask_paycheckout.sandbox.world.database import transaction
from tests.postgres import empty_database
from tests.sandbox.actors import ACCOUNTS_URL, CONTROL_TOKEN, ENDPOINT, Merchant, Receiver, Tester, exact
from tests.sandbox.databases import disconnect
from tests.sandbox.disbursements.payers import WALLET, Payer
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.levers.wrong_starts import CORA, DOLLARS, ID, PAYMENT, REFUSED, WRONG

FROZEN = "frozen@2026-03-01T00:00:00Z"
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def starts(start: Any, **options: Any) -> Flask:
    return create_sandbox(control_token=CONTROL_TOKEN, seed=1, start=start, clock=FROZEN, **options)


def faults_of(start: Any, **options: Any) -> list[str]:
    """What is said about each entry of a start file that is refused."""
    with pytest.raises(StartFileError) as refused:
        starts(start, **options)
    first, *faults, last = str(refused.value).splitlines()
    assert (first, last) == (
        "the start file cannot be used:",
        "Correct it and start again; nothing was stored.",
    )
    return [fault.strip() for fault in faults]


def age_of(moment: str) -> timedelta:
    return BEGIN - datetime.fromisoformat(moment)


def test_a_checkout_of_every_state_is_what_it_would_be() -> None:
    checkouts = [DOLLARS | {"id": f"{place:024x}", "state": state} for place, state in enumerate(STATES)]
    app = starts({"checkouts": checkouts})
    merchant, tester = Merchant(app), Tester(app)
    deposits = {state: merchant.reads_deposit(f"{place:024x}") for place, state in enumerate(STATES)}
    assert {state: read.code if read.code == 404 else read.data["status"] for state, read in deposits.items()} == {
        "open": 404,
        "picked": "pending",
        "paid": "completed",
        "underpaid": "completed",
        "overpaid": "completed",
        "paid-late": "completed",
        "failed": "failed",
        "expired": "pending",
        "abandoned": 404,
    }
    amounts = {state: read.data["inputAmount"] for state, read in deposits.items() if read.code == 200}
    assert (amounts["paid"], amounts["underpaid"], amounts["overpaid"]) == (12.5, Decimal("6.25"), 25)
    paid, late = deposits["paid"].data, deposits["paid-late"].data
    assert age_of(paid["createdAt"]) == timedelta(days=2, minutes=-1)
    assert age_of(paid["updatedAt"]) == timedelta(days=2, minutes=-2)
    assert age_of(late["updatedAt"]) == timedelta(days=2, minutes=-16)
    assert paid["outputAmount"] == merchant_pays(merchant, tester)["outputAmount"]
    assert datetime.fromisoformat(deposits["expired"].data["expiredAt"]) < BEGIN
    # Both pages are as they would be: one can still be used.
    http = app.test_client()
    pages = [http.get(f"/checkout/{STATES.index(state):024x}").status_code for state in ("open", "abandoned")]
    assert pages == [200, 410]
    assert tester.pays(f"{STATES.index('open'):024x}")["status"] == "completed"
    assert tester.refuses("POST", f"checkouts/{STATES.index('abandoned'):024x}/pay") == (409, "checkout")


def merchant_pays(merchant: Merchant, tester: Tester) -> Any:
    """A deposit that came to be in the usual way."""
    return tester.pays(merchant.makes_checkout())


def test_accounts_methods_recipients_payouts_and_payments() -> None:
    app = starts(
        {
            "accounts": [
                {
                    **{
                        "name": "anna",
                        "clientId": "anna-id",
                        "clientSecret": "anna-secret",
                        "accessToken": "anna-token",
                    },
                    **{
                        "email": "anna@example.com",
                        "password": "pw",
                        "webhookUrl": ACCOUNTS_URL,
                        "checkoutEnabled": False,
                    },
                    "paymentMethods": [{"code": "us_wire", "enabled": True}],
                    "conversions": [{"inputCurrency": "USD", "outputCurrency": "EUR", "enabled": False}],
                },
                {"name": "default", "webhookUrl": ENDPOINT},
            ],
            "paymentMethods": [
                {"code": "us_qr", "flatFeeAmount": 0, "percentFeeAmount": 2, "enabled": True},
                {"code": "se_swish", "name": "Swish", "group": "qr", "currency": "SEK"},
                {
                    **{"code": "se_usdc", "name": "USDC", "group": "crypto", "currency": "SEK"},
                    **{"token": "usdc-polygon", "tokenRate": Decimal("0.1")},
                },
            ],
            "conversions": [
                {"inputCurrency": "SEK", "outputCurrency": "USD", "rate": Decimal("0.1")},
                {"inputCurrency": "GBP", "outputCurrency": "USD", "enabled": False},
            ],
            "recipients": [CORA | {"account": "anna", "id": ID, "age": "4h"}],
            "checkouts": [{"account": "anna", "inputCurrency": "SEK", "outputCurrency": "USD", "inputAmount": 100}],
            "payouts": [
                {"account": "anna", "recipient": "Cora", "amount": 25, "reference": "r-1", "state": "completed"},
                {"account": "anna", "recipient": ID, "amount": 5, "state": "failed", "age": "1d", "note": "two\nlines"},
                {"token": "usdc-polygon", "walletAddress": WALLET, "amount": 7},
            ],
            "payments": [PAYMENT, PAYMENT | {"age": "6m"}, PAYMENT | {"age": "1m", "reason": "why"}],
        }
    )
    tester, anna = Tester(app), Merchant(app, "anna-secret", "anna-id")
    shown = tester.does("GET", "accounts/anna")
    assert (shown["accessToken"], shown["email"], shown["webhookUrl"]) == (
        "anna-token",
        "anna@example.com",
        ACCOUNTS_URL,
    )
    assert tester.does("GET", "webhook-endpoint") == {"url": ENDPOINT}
    assert anna.asks_checkout(**DOLLARS).code == 403 or anna.asks_checkout(**DOLLARS).code == 400
    switches = tester.does("GET", "accounts/anna/switches")
    methods = {one["code"]: one for one in switches["paymentMethods"]}
    assert (methods["us_wire"]["enabled"], methods["us_qr"]["percentFeeAmount"], methods["se_swish"]["minAmount"]) == (
        *(True, 2),
        1,
    )
    pairs = {(one["inputCurrency"], one["outputCurrency"]): one["enabled"] for one in switches["conversions"]}
    assert (pairs["USD", "EUR"], pairs["GBP", "USD"], pairs["SEK", "USD"]) == (False, False, True)
    recipient = anna.calls("GET", f"/v1/recipient/{ID}").data
    assert age_of(recipient["createdAt"]) == timedelta(hours=4)
    listed = [(one["account"], one["status"], one["amount"]) for one in tester.does("GET", "disbursements")]
    assert listed == [("anna", "completed", 25), ("anna", "failed", 5), ("default", "pending", 7)]
    payments = Merchant(app).calls("GET", "/v2/payments?sort=createdAt").data["docs"]
    assert [one["status"] for one in payments] == ["completed", "processed", "pending"]
    assert [age_of(one["updatedAt"]) for one in payments] == [
        timedelta(days=2, minutes=-10),
        *(timedelta(minutes=1), timedelta(minutes=1)),
    ]
    assert Payer(app).pays_one()


def test_a_webhook_is_sent_at_the_start_or_when_somebody_asks(receiver: Receiver) -> None:
    ids = [f"{place:024x}" for place in range(2)]
    paid = DOLLARS | {"state": "paid"}
    start = {"checkouts": [paid | {"id": ids[0]}, paid | {"id": ids[1], "webhook": "waiting"}]}
    app = starts(start, webhook_url=ENDPOINT, send_webhook=receiver)
    with app.app_context():
        run_due()
    assert receiver.order_ids == [ids[1]]
    Tester(app).does("POST", "trigger", {"event": "webhook", "id": ids[0]})
    assert receiver.order_ids == [ids[1], ids[0]]


def test_a_reset_makes_it_again_with_the_same_credentials_on_postgresql_too(postgres_server: str) -> None:
    start = {
        "accounts": [{"name": "bo"}, {"name": "anna"}],
        "checkouts": [DOLLARS | {"state": "paid", "account": "bo"}],
    }
    with empty_database(postgres_server) as address:
        app = starts(start, database=address, accounts={"al": None})
        tester = Tester(app)
        before = state_of(tester)
        tester.makes_account("cy")
        tester.advances(hours=2)
        tester.does("POST", "reset")
        assert state_of(tester) == before
        assert [one["name"] for one in before[0]] == ["default", "al", "anna", "bo"]
        disconnect(app)


def state_of(tester: Tester) -> Any:
    accounts = tester.does("GET", "accounts")
    return accounts, [tester.does("GET", f"accounts/{one['name']}") for one in accounts], tester.webhooks()


def test_a_database_that_holds_a_sandbox_takes_it_at_the_next_reset(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    start = {"checkouts": [DOLLARS | {"id": ID, "state": "paid"}]}
    for made, found in ((None, 404), (start, 404), (None, 404)):
        app = starts(made, database=address)
        assert Merchant(app).reads_deposit(ID).code == found
        disconnect(app)
    app = starts(None, database=address)
    Tester(app).does("POST", "reset")
    assert Merchant(app).reads_deposit(ID).data["status"] == "completed"
    disconnect(app)


def test_a_reset_that_this_process_cannot_make_changes_nothing(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    onramp = PAYMENT | {"inputCurrency": "USD", "outputCurrency": "usdc-polygon"}
    disconnect(starts({"payments": [onramp]}, database=address))
    app = starts(None, database=address, unknowns={"onramp_payments": "refused"})
    tester = Tester(app)
    tester.does("POST", "unknowns", {"register_status_code": "201"})
    checkout = Merchant(app).makes_checkout()
    assert tester.refuses("POST", "reset") == (409, "start")
    page = Developer(app).presses("reset")
    assert (page.status_code, "payments[0]" in page.text) == (409, True)
    assert tester.pays(checkout)["status"] == "completed"
    values = {one["name"]: one["value"] for one in tester.does("GET", "unknowns")}
    assert values["register_status_code"] == "201"
    disconnect(app)


def said(app: Flask, start: Any) -> str:
    """What is said about a start file, as far as a reset would come with it."""
    with app.app_context(), pytest.raises(StartFileError) as refused, transaction() as session:
        build(session, read_start(load_start(start)))
    return str(refused.value)


def test_a_fault_is_told_with_its_field_and_remedy(sandbox: Flask) -> None:
    for name, (start, told) in (WRONG | REFUSED).items():
        assert told in said(sandbox, {"recipients": [CORA]} | start if name in REFUSED else start), name
    assert Tester(sandbox).does("GET", "events?last=50")["events"] == []
    assert Merchant(sandbox).calls("GET", "/v1/recipient").data["totalDocs"] == 5


def test_where_the_start_fails_nothing_is_stored(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    for name in ("field", "limits"):
        (fault,) = faults_of({"recipients": [CORA]} | (WRONG | REFUSED)[name][0], database=address)
        assert (WRONG | REFUSED)[name][1] in fault
    app = starts(None, database=address)
    assert Merchant(app).calls("GET", "/v1/recipient").data["totalDocs"] == 5
    disconnect(app)


def test_all_faults_are_told_at_once_up_to_twenty() -> None:
    faults = faults_of({"checkouts": [{"x": 1}] * 15, "payouts": [{"amount": 0}], "accounts": [{}]})
    assert (len(faults), faults[0], faults[-1]) == (21, "accounts[0].name is required.", "and 12 more")


def test_accounts_that_share_what_is_unique_are_refused_at_the_start_and_at_a_reset(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    start = {"accounts": [{"name": name, "email": "same@example.com"} for name in "ab"]}
    assert faults_of(start) == ["accounts: the account 'b' cannot be made: another account has this email."]
    disconnect(starts(None, database=address))
    app = starts(start, database=address)
    assert Tester(app).refuses("POST", "reset") == (409, "start")
    assert [one["name"] for one in Tester(app).does("GET", "accounts")] == ["default"]
    disconnect(app)


def test_an_account_is_given_once() -> None:
    (fault,) = faults_of({"accounts": [{"name": "anna"}]}, accounts={"anna": None})
    assert fault == "accounts has 'anna', which is an option too; leave out one of them."


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[[checkouts]\n", "is no TOML: Expected"),
        (b"\xff", "is no text in UTF-8"),
        (b"#" * (MAX_BYTES + 1), "is larger than 1 MiB"),
        (
            b'[[checkouts]]\ninputCurrency = "USD"\ninputAmount = 1e999999\n',
            "checkouts[0].inputAmount must have at most",
        ),
        (b'[[checkouts]]\ninputCurrency = "USD"\ninputAmount = nan\n', "inputAmount must be a number"),
        (b"[[checkouts]]\ninputCurrency = 2020-01-01\ninputAmount = 5\n", "checkouts[0].inputCurrency"),
        (None, "cannot be read"),
    ],
)
def test_the_command_ends_with_2_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, told: str
) -> None:
    file = tmp_path / "start.toml"
    if content is not None:
        file.write_bytes(content)
    assert main(["--start", str(file), "--port", "0"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("The sandbox could not start: the start file cannot be used:")
    assert told in said.err


def test_the_greeting_tells_the_credentials_of_its_accounts(tmp_path: Path) -> None:
    file = tmp_path / "start.toml"
    file.write_text('[[accounts]]\nname = "anna"\nclientId = "anna-id"\n\n[[accounts]]\nname = "default"\n')
    told = exact(greeting(starts(file), Namespace(json=True, account=[], start=str(file))))
    assert [one["clientId"] for one in told["accounts"]] == ["anna-id"]


def test_exact_amounts_of_the_file_stay_exact(tmp_path: Path) -> None:
    file = tmp_path / "start.toml"
    file.write_text(
        f'[[checkouts]]\nid = "{ID}"\nstate = "paid"\ninputCurrency = "eth-ethereum"\n'
        "inputAmount = 0.123456789012345678\n"
    )
    assert Merchant(starts(file)).reads_deposit(ID).data["inputAmount"] == Decimal("0.123456789012345678")
