"""Endpoints of the reference lists below `/v1/reference/` (deprecated)."""

from __future__ import annotations

from flask import Blueprint, Response, abort

from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.checkouts.payment_methods import all_methods
from flask_paycheckout.sandbox.checkouts.tables import BANK_TRANSFER, CRYPTO, QR
from flask_paycheckout.sandbox.money.tokens import TOKENS
from flask_paycheckout.sandbox.references.data import COUNTRIES, ONRAMP_METHODS
from flask_paycheckout.sandbox.references.rules import banks_of, tokens_of
from flask_paycheckout.sandbox.references.schemas import (
    BankQuery,
    BankRecord,
    CryptoQuery,
    CryptoRecord,
    CurrencyRecord,
    MethodQuery,
    PaymentMethodRecord,
    represent_crypto,
    represent_currency,
    represent_method,
)
from flask_paycheckout.sandbox.wire.envelope import Envelope, success
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_query
from flask_paycheckout.sandbox.wire.paging import Page
from flask_paycheckout.sandbox.world.database import transaction

references = Blueprint("references", __name__, url_prefix="/v1/reference")


@references.get("/currencies")
@operation(credentials=Credentials.NONE, deprecated=True)
def list_currencies() -> Envelope[list[CurrencyRecord]]:
    """List countries with their currencies (deprecated)."""
    return success([represent_currency(country) for country in COUNTRIES])


@references.get("/cryptos")
@operation(credentials=Credentials.NONE, query=CryptoQuery, deprecated=True)
def list_cryptos() -> Envelope[list[CryptoRecord]]:
    """List tokens, all or those of one kind (deprecated)."""
    return success([represent_crypto(token) for token in tokens_of(read_query(CryptoQuery))])


@references.get("/banks")
@operation(credentials=Credentials.NONE, query=BankQuery, deprecated=True)
def list_banks() -> Envelope[Page[BankRecord]]:
    """List banks, all or those that can be paid (deprecated)."""
    return success(banks_of(read_query(BankQuery)))


@references.get("/payment-methods")
@operation(credentials=Credentials.NONE, query=MethodQuery, deprecated=True)
def list_payment_methods() -> Envelope[list[PaymentMethodRecord]]:
    """List the ways of paying for crypto, or of paying deposits (deprecated)."""
    if not read_query(MethodQuery).is_for_deposit:
        return success([represent_method(method) for method in ONRAMP_METHODS])
    with transaction() as session:
        # Called without credentials, so that the answer is the same for everybody: the first account's.
        return success([represent_method(method) for method in all_methods(session, USER_ID)])


pictures = Blueprint("pictures", __name__)

_DRAWN = frozenset(
    {country.code.lower() for country in COUNTRIES}
    | {token.symbol.lower() for token in TOKENS}
    | {method.group for method in ONRAMP_METHODS}
    | {BANK_TRANSFER, CRYPTO, QR}
)
_LONGEST = 4


@pictures.get("/pictures/<name>.svg")
def draw(name: str) -> Response:
    """Draw a round badge with the first letters of the name."""
    if name not in _DRAWN:
        abort(404)
    text = name[:_LONGEST].upper()
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" role="img">'
        f"<title>{text}</title>"
        '<circle cx="32" cy="32" r="32" fill="#30475e"/>'
        '<text x="32" y="38" fill="#fff" font-family="sans-serif" font-size="18" text-anchor="middle">'
        f"{text}</text></svg>"
    )
    return Response(svg, content_type="image/svg+xml")
