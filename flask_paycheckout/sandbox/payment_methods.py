"""The ways a customer can pay a deposit, what each costs, and which currencies convert into which."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from sqlalchemy import String, bindparam, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.database import Table, read_only
from flask_paycheckout.sandbox.quotes import Quote, Terms, quote_paying, quote_receiving

BANK_TRANSFER = "bank_transfer"
QR = "qr"
CRYPTO = "crypto"


class PaymentMethod(Table):
    __tablename__ = "payment_method"

    code: Mapped[str] = mapped_column(String(40), primary_key=True)
    position: Mapped[int]
    """The order in which the hosted page shows them; "the first" means the lowest."""
    name: Mapped[str] = mapped_column(String(80))
    group: Mapped[str] = mapped_column(String(20))
    currency: Mapped[str] = mapped_column(String(40))
    flat_fee: Mapped[Decimal]
    percent_fee: Mapped[Decimal]
    min_amount: Mapped[Decimal]
    max_amount: Mapped[Decimal]
    """Limits of what the customer pays, in the method's currency."""
    token: Mapped[str | None] = mapped_column(String(40))
    """What is sent on the chain, where the method is a crypto one."""
    token_rate: Mapped[Decimal | None]
    """Units of that token per unit of the method's currency."""
    enabled: Mapped[bool]


class Conversion(Table):
    __tablename__ = "conversion"

    input_currency: Mapped[str] = mapped_column(String(40), primary_key=True)
    output_currency: Mapped[str] = mapped_column(String(40), primary_key=True)
    rate: Mapped[Decimal]
    """Units of the output currency per unit of the input currency."""
    enabled: Mapped[bool]


# code, name, group, currency, flat fee, percentage, min, max, token, token rate, enabled
_METHODS: tuple[tuple[str, str, str, str, str, str, str, str, str | None, str | None, bool], ...] = (
    ("us_bank_transfer", "US bank transfer", BANK_TRANSFER, "USD", "0.50", "0.8", "1", "50000", None, None, True),
    ("us_qr", "Scan to pay", QR, "USD", "0.10", "1.2", "1", "2500", None, None, True),
    ("us_usdc_polygon", "USDC on Polygon", CRYPTO, "USD", "0.05", "0.4", "1", "100000", "usdc-polygon", "1", True),
    ("us_wire", "US wire", BANK_TRANSFER, "USD", "15", "0", "1000", "1000000", None, None, False),
    ("sepa_transfer", "SEPA transfer", BANK_TRANSFER, "EUR", "0.35", "0.5", "1", "50000", None, None, True),
    ("eu_qr", "Scan to pay", QR, "EUR", "0.10", "0.9", "1", "3000", None, None, True),
    ("eu_usdc_stellar", "USDC on Stellar", CRYPTO, "EUR", "0.02", "0.4", "1", "90000", "usdc-stellar", "1.0815", True),
    ("uk_faster_payment", "Faster payment", BANK_TRANSFER, "GBP", "0.30", "0.5", "1", "40000", None, None, True),
    ("uk_qr", "Scan to pay", QR, "GBP", "0.10", "0.9", "1", "2000", None, None, True),
    ("jp_bank_transfer", "Bank transfer", BANK_TRANSFER, "JPY", "110", "0.3", "100", "5000000", None, None, True),
    ("jp_qr", "Scan to pay", QR, "JPY", "0", "1.98", "1", "300000", None, None, True),
    ("id_bank_transfer", "Virtual account", BANK_TRANSFER, "IDR", "4000", "0", "10000", "500000000", None, None, True),
    ("id_qris", "QRIS", QR, "IDR", "0", "0.7", "1000", "10000000", None, None, True),
    ("kw_bank_transfer", "Bank transfer", BANK_TRANSFER, "KWD", "0.150", "0.35", "0.500", "15000", None, None, True),
    ("polygon_usdc", "Polygon wallet", CRYPTO, "usdc-polygon", "0.02", "0.3", "1", "100000", "usdc-polygon", "1", True),
    ("tron_usdt", "Tron wallet", CRYPTO, "usdt-tron", "1", "0.3", "5", "100000", "usdt-tron", "1", True),
    (
        "ethereum_eth",
        "Ethereum wallet",
        CRYPTO,
        "eth-ethereum",
        "0.0004",
        "0.3",
        "0.001",
        "50",
        "eth-ethereum",
        "1",
        True,
    ),
)

_CONVERSIONS = (
    ("USD", "usdc-polygon", "0.9985", True),
    ("USD", "usdc-stellar", "0.9985", True),
    ("USD", "EUR", "0.9217", True),
    ("USD", "eth-ethereum", "0.000371", False),
    ("EUR", "USD", "1.0815", True),
    ("EUR", "usdc-polygon", "1.0799", True),
    ("GBP", "USD", "1.2704", True),
    ("JPY", "USD", "0.00667", True),
    ("IDR", "USD", "0.0000613", True),
    ("IDR", "usdc-polygon", "0.0000612", True),
    ("KWD", "USD", "3.2551", True),
    ("usdc-polygon", "USD", "0.9979", True),
)


def add_start_methods(session: Session) -> None:
    """The methods and conversions of the start state."""
    session.add_all(_method(position, *row) for position, row in enumerate(_METHODS))
    session.add_all(
        Conversion(input_currency=paid, output_currency=received, rate=Decimal(rate), enabled=enabled)
        for paid, received, rate, enabled in _CONVERSIONS
    )


def _method(
    position: int,
    code: str,
    name: str,
    group: str,
    currency: str,
    flat: str,
    percent: str,
    least: str,
    most: str,
    token: str | None,
    token_rate: str | None,
    enabled: bool,
) -> PaymentMethod:
    return PaymentMethod(
        position=position,
        code=code,
        name=name,
        group=group,
        currency=currency,
        flat_fee=Decimal(flat),
        percent_fee=Decimal(percent),
        min_amount=Decimal(least),
        max_amount=Decimal(most),
        token=token,
        token_rate=None if token_rate is None else Decimal(token_rate),
        enabled=enabled,
    )


_ENABLED = (
    select(PaymentMethod.__table__)
    .where(PaymentMethod.currency == bindparam("currency"), PaymentMethod.enabled)
    .order_by(PaymentMethod.position)
)


def all_methods(session: Session) -> list[PaymentMethod]:
    """Every method, enabled or not, in the page's order."""
    return list(session.scalars(select(PaymentMethod).order_by(PaymentMethod.position)))


def enabled_methods(session: Session, currency: str) -> list[PaymentMethod]:
    """The enabled methods that take a currency, in the page's order."""
    return read_only(session, PaymentMethod, _ENABLED, currency=currency)


def find_rate(session: Session, input_currency: str, output_currency: str) -> Decimal | None:
    """Units received per unit paid; None when the pair is not enabled for conversion."""
    if input_currency == output_currency:
        return Decimal(1)
    return session.execute(
        select(Conversion.rate).where(
            Conversion.input_currency == input_currency,
            Conversion.output_currency == output_currency,
            Conversion.enabled,
        )
    ).scalar_one_or_none()


def terms_of(method: PaymentMethod, output_currency: str, rate: Decimal) -> Terms:
    return Terms(method.currency, output_currency, method.flat_fee, method.percent_fee, rate)


def quote(
    method: PaymentMethod,
    output_currency: str,
    rate: Decimal,
    input_amount: Decimal | None,
    output_amount: Decimal | None,
) -> Quote:
    """What this method makes of the amount that was asked for; exactly one of the two is given."""
    terms = terms_of(method, output_currency, rate)
    if input_amount is not None:
        return quote_paying(terms, input_amount)
    if output_amount is None:
        raise TypeError("either input_amount or output_amount is needed")
    return quote_receiving(terms, output_amount)


def is_within_limits(method: PaymentMethod, made: Quote) -> bool:
    """Whether the method takes this payment, and leaves something of it."""
    return method.min_amount <= made.input_amount <= method.max_amount and made.output_amount > 0


def usable(offers: Iterable[tuple[PaymentMethod, Quote]]) -> list[tuple[PaymentMethod, Quote]]:
    return [(method, made) for method, made in offers if is_within_limits(method, made)]
