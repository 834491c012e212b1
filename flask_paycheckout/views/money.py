"""Amounts as a customer writes them. Babel knows how; it is loaded when a page first shows an amount."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext

from flask_paycheckout.totals import decimals_of

__all__ = ["written"]

# No amount has as many digits; the thread's own context may be too narrow for what is exact here.
_EXACT = Context(prec=100)
# A number and its unit stay on one line.
_NO_BREAK = "\N{NO-BREAK SPACE}"


def written(amount: Decimal, currency: str, tag: str) -> str:
    """The amount in its currency, exactly, as it is written where people speak so.

    :param currency: ISO 4217 code, or a token id of the service, which stands behind the number as it is.
    :param tag: a language tag such as "de-CH"; a region that Babel does not know is left out.
    """
    from babel import Locale, UnknownLocaleError
    from babel.numbers import format_currency, format_decimal, parse_pattern

    try:
        locale = Locale.parse(tag, sep="-")
    except (ValueError, UnknownLocaleError):
        locale = Locale.parse(tag.partition("-")[0])
    places = decimals_of(currency)
    with localcontext(_EXACT):
        if places is None:
            return f"{format_decimal(amount, locale=locale, decimal_quantization=False)}{_NO_BREAK}{currency}"
        pattern = parse_pattern(locale.currency_formats["standard"].pattern)
        # As many decimals as in ISO 4217: Babel's own tables have fewer for some currencies, and would round.
        pattern.frac_prec = (places, places)
        return format_currency(amount, currency, pattern, locale, currency_digits=False)
