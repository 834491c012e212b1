"""A program that uses every part of the client, as its users write it: type checkers have nothing to say about it."""

from __future__ import annotations

import asyncio
import warnings
from datetime import datetime
from decimal import Decimal

from flask_paycheckout import Pay, Receive
from flask_paycheckout.client import (
    AsyncPaymentsClient,
    BankDetails,
    CryptoReceiver,
    FiatItem,
    FiatItemV1,
    NewRecipient,
    NotFound,
    OutcomeUnknown,
    PaymentsClient,
    PayoutBank,
)
from flask_paycheckout.testing import Sandbox

WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def log_in(client: PaymentsClient, sandbox: Sandbox) -> str:
    client.auth.register("ann@example.com", "a-long-password", "Ann", country="France", country_code="FR")
    token: str = client.auth.login("merchant@example.com", "sandbox-password", retries=0)
    login = client.auth.verify_login(token, sandbox.control("GET", "mails")[0]["otp"])
    organization: str = login.user.organization_id.org_name
    joined: datetime = login.user.created_at
    print(login.user.email.lower(), organization.upper(), joined.year, login.user.country or "nowhere")
    return login.access_token


def take_money(client: PaymentsClient, sandbox: Sandbox) -> Decimal:
    link = client.checkouts.create(Pay("12.50", "USD"), timeout=10)
    client.checkouts.create(Receive("20", "USD", pay_in="USD"))
    try:
        client.deposits.get(link.id)
    except NotFound as error:
        print(error.status_code, (error.message or "").lower())
    sandbox.pick(link.id)
    deposit = client.deposits.sandbox_update(link.id, "completed")
    fee: Decimal = deposit.fee.amount + deposit.fee.percentage
    bank: str = deposit.payment_fiat.bank_name if deposit.payment_fiat else "crypto"
    made: datetime = min(deposit.created_at, deposit.expired_at, deposit.activity_history[0].updated_at)
    print(deposit.input_currency.lower(), fee, bank.title(), made.isoformat(), deposit.exchange_info.exchange_rate + 0)
    return deposit.input_amount - deposit.output_amount


def pay_out(client: PaymentsClient) -> list[str]:
    payouts, tokens = client.fiat_disbursements, client.crypto_disbursements
    method = payouts.payment_methods("USD")[0]
    limits: Decimal = method.max_amount - method.min_amount + method.fee_flat + method.fee_percentage
    account = BankDetails(
        account_name="Bo", currency="USD", country="US", bank_name=method.bank_name, account_number="4000123412"
    )
    bo = client.recipients.create(
        name="Bo", email="bo@example.com", address="1 Main Street", city="Springfield", post_code="12345", bank=account
    )
    client.recipients.update(
        bo.id, name="Bo Quist", email=bo.email, address=bo.address, city=bo.city, post_code=bo.post_code, bank=account
    )
    own = PayoutBank(
        bank_name=method.bank_name, bank_code=method.bank_code, account_name="Ed", account_number="4000123"
    )
    items = [FiatItem(amount=method.min_amount, recipient=NewRecipient(bank=own), reference="p-1")]
    try:
        batch = payouts.create("USD", items)
    except OutcomeUnknown as error:
        return list(payouts.find(error.references))
    total: Decimal = batch.sum_amount + batch.sum_fees + sum((each.amount for each in batch.disburse_data), Decimal())
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        old = payouts.create_v1([FiatItemV1(amount="11.00", currency="USD", recipient_id=bo.id, reference="p-2")])
    sums: dict[str, Decimal] = {each.currency: each.total_amount for each in old.sum_amount}
    first, page = batch.disburse_data[0], payouts.list(limit=1, sort="-createdAt", status="pending")
    payouts.sandbox_update(first.disbursement_id, "completed")
    known = payouts.get(first.disbursement_id)
    bank: str = known.recipient.bank.bank_name + known.recipient.bank.bank_code + (known.recipient.name or "")
    following = client.next_page(page)
    print(len(page) + page.offset, len(following) if following else 0, known.fee_amount + known.amount, bank, limits)
    print(known.created_at.year, known.created_by.upper(), payouts.report(first.disbursement_id)[:4], total, sums)
    estimate = tokens.estimate("usdc-polygon", 100)
    sent = tokens.create("usdc-polygon", [CryptoReceiver(amount="1.5", receiver_wallet_address=WALLET)])
    cost: Decimal = estimate.fee + sent.sum_fees + sent.disburse_data[0].fee_config.fee_network
    print(cost, sent.disburse_data[0].token_decimal + 1, sent.total_receiver + batch.total_recipient)
    names: list[str] = [each.name for each in client.recipients.iterate(search="Bo")]
    account_names: set[str] = {bank.account_name for bank in client.recipients.get(bo.id).bank}
    return [*names, *account_names, client.recipients.delete(bo.id).email, bo.city]


def use_what_is_deprecated(client: PaymentsClient) -> Decimal:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        quote = client.payments.quote(amount=100, input_currency="usdc-polygon", output_currency="USD")
        payment = client.payments.create(
            wallet_address=WALLET,
            input_amount=quote.amount,
            input_currency=quote.coin,
            output_currency=quote.currency,
            sender_name="Sam",
            sender_email="sam@example.com",
            receiver_id=next(client.recipients.iterate(currency="USD")).id,
        )
        same = client.payments.get(payment.payment_id)
        listed: set[str] = {each.payment_id for each in (*client.payments.list(), *client.payments.iterate(limit=5))}
        currencies: dict[str, str] = {each.currency: each.symbol for each in client.references.currencies()}
        chains: list[int] = [each.chain_id + each.decimal for each in client.references.cryptos(blockchain_type="EVM")]
        banks: list[str] = [each.payment_code for each in client.references.banks(limit=2)]
        methods: list[Decimal] = [each.flat_fee_amount for each in client.references.payment_methods(for_deposit=True)]
    print(same.sender.name.upper(), same.receiver.email.upper(), listed, currencies, chains, banks, sum(methods))
    rate: Decimal = quote.rate_amount * quote.amount if quote.status else quote.total_fee_amount
    return rate + payment.input_amount_exact + payment.exchange_fees


async def wait_for_it(client: AsyncPaymentsClient) -> list[Decimal]:
    links = await asyncio.gather(*(client.checkouts.create(Pay(amount, "USD")) for amount in ("12.50", "20")))
    amounts: list[Decimal] = [each.amount async for each in client.fiat_disbursements.iterate(timeout=10)]
    page = await client.recipients.list(limit=1)
    following = await client.next_page(page)
    print([link.url for link in links], following and following.docs[0].name, client)
    return amounts
