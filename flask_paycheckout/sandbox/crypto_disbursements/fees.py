"""Fees of sending a token, in that token: a flat fee, a percentage and the network's fee."""

from __future__ import annotations

from decimal import Decimal

from flask_paycheckout.sandbox.disbursements.fees import FeeTerms
from flask_paycheckout.sandbox.money.tokens import Token

_PERCENTAGE = Decimal("0.2")
# Flat fee of a stablecoin.
_FLAT = Decimal("0.10")
_NETWORK = {
    "ethereum": "1.50",
    "optimism": "0.02",
    "bsc": "0.05",
    "polygon": "0.01",
    "base": "0.02",
    "arbitrum": "0.03",
    "avalanche": "0.04",
    "stellar": "0.0001",
}
# Flat and network fee of a network's own coin, by token id; about as much as the fees above.
_COINS = {
    "eth-ethereum": ("0.00003", "0.0004"),
    "eth-base": ("0.00003", "0.000006"),
    "eth-arbitrum": ("0.00003", "0.00001"),
    "pol-polygon": ("0.4", "0.04"),
    "avax-avalanche": ("0.005", "0.002"),
    "bnb-bsc": ("0.0002", "0.0001"),
    "xlm-stellar": ("0.5", "0.00001"),
}


def fees_of(token: Token) -> FeeTerms:
    if token.is_native:
        flat, network = _COINS[token.id]
        return FeeTerms(Decimal(flat), _PERCENTAGE, Decimal(network))
    return FeeTerms(_FLAT, _PERCENTAGE, Decimal(_NETWORK[token.network]))
