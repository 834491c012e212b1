"""Where the customer sends the money: invented bank accounts, QR codes and wallet addresses.

All of it is derived from the deposit's id, so that a seed always produces the same page.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from flask_paycheckout.sandbox.checkouts.tables import CRYPTO, QR, PaymentMethod
from flask_paycheckout.sandbox.money.arithmetic import EXACT
from flask_paycheckout.sandbox.money.currencies import unit_of
from flask_paycheckout.sandbox.world.ids import derived


@dataclass(frozen=True)
class Instructions:
    """Instructions for the chosen method; the fields are columns of the deposit."""

    bank_code: str | None = None
    bank_name: str | None = None
    qr_data: str | None = None
    token: str | None = None
    token_amount: Decimal | None = None
    address: str | None = None


def instructions(method: PaymentMethod, deposit_id: str, amount: Decimal) -> Instructions:
    """Return the instructions for paying a deposit by a method."""
    if method.group == CRYPTO and method.token is not None:
        return _chain(method, method.token, deposit_id, amount)
    qr_data = f"SANDBOX-PAY|{method.code}|{deposit_id}|{method.currency}|{amount:f}" if method.group == QR else ""
    return Instructions(bank_code=method.code, bank_name=f"Sandbox Bank ({method.name})", qr_data=qr_data)


def account_number(deposit_id: str) -> str:
    """The bank account number of a deposit. Each has its own, so the transfer needs no reference."""
    return str(int(derived(f"account:{deposit_id}", 6), 16)).rjust(15, "0")


def _chain(method: PaymentMethod, token: str, deposit_id: str, amount: Decimal) -> Instructions:
    exact = EXACT.multiply(amount, method.token_rate or Decimal(1))
    token_amount = exact.quantize(unit_of(token), rounding=ROUND_UP, context=EXACT)
    address = f"sandbox-{network_of(token)}-{derived(f'address:{deposit_id}', 16)}"
    return Instructions(
        token=token, token_amount=token_amount, address=address, qr_data=f"{address}?amount={token_amount:f}"
    )


def network_of(token: str) -> str:
    return token.partition("-")[2]
