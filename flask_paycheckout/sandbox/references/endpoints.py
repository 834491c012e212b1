"""Endpoints of the reference lists below `/v1/reference/` (deprecated)."""

from __future__ import annotations

from flask import Blueprint

from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.checkouts.payment_methods import all_methods
from flask_paycheckout.sandbox.references.countries import COUNTRIES
from flask_paycheckout.sandbox.references.onramp_methods import ONRAMP_METHODS
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
