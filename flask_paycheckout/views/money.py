"""Amounts in the customer's notation, by Babel, which is imported when a page first shows an amount."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext

from flask_paycheckout.totals import decimals_of

__all__ = ["format_amount", "plain_or_formatted"]

# More digits than any amount has; the thread's own context could round.
_EXACT = Context(prec=100)
# Keeps a number and its currency on one line.
_NO_BREAK = "\N{NO-BREAK SPACE}"


def format_amount(amount: Decimal, currency: str, tag: str) -> str:
    """Format an exact amount with its currency, in the notation of a language and region.

    :param currency: an ISO 4217 code, or a token id of the service, which is appended unchanged.
    :param tag: a language tag such as "de-CH"; a region that Babel does not know is ignored.
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
        # The decimals of ISO 4217: Babel's own tables have fewer for some currencies, and would round.
        pattern.frac_prec = (places, places)
        return format_currency(amount, currency, pattern, locale, currency_digits=False)


def plain_or_formatted(amount: Decimal, currency: str, tag: str) -> str:
    """`format_amount`, or the plain number with its currency where Babel is not installed."""
    try:
        return format_amount(amount, currency, tag)
    except ModuleNotFoundError:
        return f"{amount:f}{_NO_BREAK}{currency}"
