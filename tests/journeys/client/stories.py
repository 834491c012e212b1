"""The work of a shop's developer with each part of the service, done through the client alone.

It computes with the fields that a record always has, so that type checkers see that none of them may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from flask_paycheckout.client import (
    BankDetails,
    BearerToken,
    CryptoReceiver,
    FiatItem,
    FiatItemV1,
    NewRecipient,
    NotFound,
    PaymentsClient,
    PayoutBank,
    Recipient,
    RequestRefused,
    Signer,
)
from flask_paycheckout.testing import Sandbox
from flask_paycheckout.totals import Pay
from tests.client.samples import PERSON

ACCESS_TOKEN = "sandbox-access-token"
WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


@dataclass
class Desk:
    """A developer's tools: the client, and the sandbox with its switches."""

    sandbox: Sandbox
    client: PaymentsClient
    unknowns: dict[str, str]

    def otp_of(self, email: str) -> str:
        """The newest one-time password in a mailbox."""
        otp: str = self.sandbox.control("GET", f"mails?to={email}")[0]["otp"]
        return otp


def token_header(token: str, unknowns: dict[str, str]) -> Signer:
    """The `Authorization` header in the form that this sandbox wants."""
    return BearerToken(token, scheme="" if unknowns.get("authorization_format") == "raw" else "Bearer")


def refuses(call: Callable[[], object]) -> RequestRefused:
    try:
        call()
    except RequestRefused as refused:
        return refused
    raise AssertionError("the service accepted it")


def logs_in(desk: Desk) -> None:
    auth = desk.client.auth
    token = auth.register("new@example.com", "a long pass phrase 1", "New Person", country="France", national_id="N1")
    first = auth.verify_login(token, desk.otp_of("new@example.com"))
    assert (first.user.email, first.user.country) == ("new@example.com", "France")
    token = auth.login("merchant@example.com", "sandbox-password")
    login = auth.verify_login(token, desk.otp_of("merchant@example.com"), disable_expire=True)
    assert login.user.organization_id.org_name.lower()
    assert login.user.created_at.year
    client = desk.client.authorized(token_header(login.access_token, desk.unknowns))
    assert client.fiat_disbursements.payment_methods()
    assert "canary" not in str(refuses(lambda: auth.login("merchant@example.com", "canary password")))
    refuses(lambda: auth.verify_login(token, "000000"))


def follows_a_checkout(desk: Desk) -> None:
    link = desk.client.checkouts.create(Pay("12.50", "USD"))
    assert isinstance(refuses(lambda: desk.client.deposits.get(link.id)), NotFound)
    desk.sandbox.pick(link.id)
    assert desk.client.deposits.get(link.id).status == "pending"
    paid = desk.client.deposits.sandbox_update(link.id, "completed")
    assert (paid.deposit_id, paid.status, paid.input_amount) == (link.id, "completed", Decimal("12.5"))
    assert paid.output_amount + paid.fee.amount + paid.fee.percentage + paid.exchange_info.exchange_rate
    assert min(paid.created_at, paid.activity_history[0].updated_at) < paid.expired_at
    assert paid.payment_fiat
    assert paid.payment_fiat.bank_name.lower() + paid.input_currency.lower()


def make_recipient(desk: Desk, name: str = "Zoë Łukasz") -> Recipient:
    account = BankDetails(
        account_name=name,
        currency="USD",
        country="United States",
        bank_name="First Sandbox Bank",
        account_number="1234567890",
    )
    return desk.client.recipients.create(bank=account, recipient_type="Individual", **PERSON | {"name": name})


def keeps_recipients(desk: Desk) -> None:
    recipients = desk.client.recipients
    recipient = make_recipient(desk)
    (bank,) = recipient.bank
    assert (recipient.name, bank.account_number) == ("Zoë Łukasz", "1234567890")
    assert recipients.get(recipient.id) == recipient
    changed = recipients.update(recipient.id, bank=BankDetails(account_name="Zoë Łukasz"), **PERSON)
    assert (changed.id, changed.name) == (recipient.id, PERSON["name"])
    others = [make_recipient(desk, f"Person {number}").id for number in range(5)]
    everyone = [record.id for record in recipients.iterate(limit=2, sort="-createdAt")]
    assert {recipient.id, *others} <= set(everyone)
    assert len(everyone) == len(set(everyone)) == recipients.list().total_docs
    assert recipient.id in {
        record.id for record in recipients.iterate(currency="USD", country="United States", limit=3)
    }
    following = desk.client.next_page(recipients.list(limit=1))
    assert following
    assert (len(following), following.offset) == (1, 1)
    assert recipients.delete(recipient.id).id == recipient.id
    refuses(lambda: recipients.get(recipient.id))


def pays_out(desk: Desk) -> None:
    fiat = desk.client.fiat_disbursements
    method = fiat.payment_methods("USD")[0]
    assert method.max_amount - method.min_amount + method.fee_flat + method.fee_percentage
    recipient = make_recipient(desk)
    bank = PayoutBank(
        bank_name=method.bank_name or "", account_name="Bo", account_number="000123", bank_code=method.bank_code
    )
    items = [
        FiatItem(amount="10.50", recipient_id=recipient.id, reference="pay-1", note="thanks"),
        FiatItem(amount=25, recipient=NewRecipient(bank=bank, email="bo@example.com", name="Bo"), reference="pay-2"),
    ]
    batch = fiat.create("USD", items)
    assert (batch.total_recipient, batch.sum_amount) == (2, Decimal("35.5"))
    first, second = batch.disburse_data
    assert batch.sum_fees + first.amount + first.fee_amount
    assert second.recipient.bank.bank_name + second.recipient.bank.bank_code
    assert (first.reference, first.amount, first.status) == ("pay-1", Decimal("10.5"), "pending")
    refuses(lambda: fiat.create("USD", [replace(item, amount=11) for item in items]))
    refuses(lambda: fiat.report(first.disbursement_id))
    fiat.sandbox_update(first.disbursement_id, "completed")
    done = fiat.get(first.disbursement_id)
    assert (done.status, done.created_at.year > 2000, done.created_by.lower() != "") == ("completed", True, True)
    assert fiat.report(first.disbursement_id).startswith(b"%PDF")
    old = fiat.create_v1([FiatItemV1(amount=n + 10, currency="USD", recipient_id=recipient.id) for n in range(12)])
    assert {each.currency: each.total_amount * 2 for each in old.sum_amount} == {"USD": 372}
    ids = [item.disbursement_id for item in fiat.iterate(limit=5)]
    assert {item.disbursement_id for item in (*batch.disburse_data, *old.disburse_data)} <= set(ids)
    assert len(ids) == len(set(ids))
    assert [payout.reference for payout in fiat.list(disbursement_id=second.disbursement_id)] == ["pay-2"]


def pays_out_tokens(desk: Desk) -> None:
    crypto = desk.client.crypto_disbursements
    estimate = crypto.estimate("usdc-polygon", 100)
    assert estimate.amount == Decimal(100)
    receiver = CryptoReceiver(amount="10.123456", receiver_wallet_address=WALLET, reference="token-1", note="hello")
    batch = crypto.create("usdc-polygon", [receiver])
    (disbursement,) = batch.disburse_data
    assert (
        estimate.fee
        + batch.sum_fees
        + disbursement.fee_config.fee_network
        + disbursement.token_decimal
        + batch.total_receiver
    )
    assert (disbursement.amount, disbursement.status, disbursement.reference) == (
        Decimal("10.123456"),
        "pending",
        "token-1",
    )
    desk.client.fiat_disbursements.sandbox_update(disbursement.disbursement_id, "completed")


def looks_things_up(desk: Desk) -> None:
    references = desk.client.references
    assert {currency.currency: currency.symbol.lower() for currency in references.currencies()}["USD"] == "$"
    chains = [crypto.chain_id + crypto.decimal for crypto in references.cryptos(blockchain_type="STELLAR")]
    assert 0 < len(chains) < len(references.cryptos())
    assert 0 < len([bank.payment_code.lower() for bank in references.banks(limit=3, disbursment_available=True)]) <= 3
    assert sum(method.flat_fee_amount for method in references.payment_methods(for_deposit=True))


def uses_old_payments(desk: Desk) -> None:
    payments = desk.client.payments
    quote = payments.quote(amount=100, input_currency="usdc-polygon", output_currency="USD", with_limit=True)
    assert (quote.coin, quote.currency, quote.amount) == ("usdc-polygon", "USD", Decimal(100))
    created = [
        payments.create(
            input_amount=number,
            reason="salary",
            wallet_address=WALLET,
            sender_name="Ann",
            sender_email="ann@example.com",
            receiver_id=make_recipient(desk).id,
            input_currency="usdc-polygon",
            output_currency="USD",
        )
        for number in (100, 50, 51)
    ]
    assert quote.rate_amount * quote.amount + quote.total_fee_amount
    assert created[0].input_amount_exact + created[0].exchange_fees
    seen = payments.get(created[0].payment_id)
    assert seen.sender.name.lower() + seen.receiver.email.lower()
    assert (seen.reason, seen.status, seen.input_amount) == ("salary", "pending", Decimal(100))
    page = payments.list(status="pending", min_input_amount=100, max_input_amount="100.00", reason="salary")
    assert created[0].payment_id in {payout.payment_id for payout in page.docs}
    assert {payment.payment_id for payment in created} <= {payment.payment_id for payment in payments.iterate(limit=2)}


STORIES: list[Callable[[Desk], None]] = [
    *(logs_in, follows_a_checkout, keeps_recipients, pays_out, pays_out_tokens, looks_things_up, uses_old_payments)
]
