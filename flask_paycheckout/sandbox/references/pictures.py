"""`GET /pictures/<name>.svg`: the logos and images of reference records, drawn from their names."""

from __future__ import annotations

from flask import Blueprint, Response, abort

from flask_paycheckout.sandbox.checkouts.tables import BANK_TRANSFER, CRYPTO, QR
from flask_paycheckout.sandbox.money.tokens import TOKENS
from flask_paycheckout.sandbox.references.countries import COUNTRIES
from flask_paycheckout.sandbox.references.onramp_methods import ONRAMP_METHODS

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
