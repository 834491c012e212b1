"""Amounts, times and countries in the customer's notation, by Babel, which is imported when a page first needs it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from decimal import Context, Decimal, localcontext
from typing import TYPE_CHECKING

from flask_paycheckout.clock import as_utc
from flask_paycheckout.payouts.countries import countries
from flask_paycheckout.text import moment_text, visible
from flask_paycheckout.totals import decimals_of

if TYPE_CHECKING:
    from babel import Locale

__all__ = ["country_names", "format_amount", "format_moment"]

# More digits than any amount has; the thread's own context could round.
_EXACT = Context(prec=100)
# Keeps a number and its currency on one line.
_NO_BREAK = "\N{NO-BREAK SPACE}"


def format_amount(amount: Decimal, currency: str, tag: str) -> str:
    """Format an exact amount with its currency, in the notation of a language and region; plainly without Babel.

    :param currency: an ISO 4217 code, or a token id of the service, which is appended unchanged.
    :param tag: a language tag such as "de-CH"; a region that Babel does not know is ignored.
    """
    locale = _locale(tag)
    if locale is None:
        return f"{amount:f}{_NO_BREAK}{currency}"
    from babel.numbers import format_currency, format_decimal, parse_pattern

    try:
        places = decimals_of(currency)
    except ValueError:
        # The service reported it, and nobody knows it.
        places, currency = None, visible(currency)
    with localcontext(_EXACT):
        if places is None:
            return f"{format_decimal(amount, locale=locale, decimal_quantization=False)}{_NO_BREAK}{currency}"
        pattern = parse_pattern(locale.currency_formats["standard"].pattern)
        # The decimals of ISO 4217: Babel's own tables have fewer for some currencies, and would round.
        pattern.frac_prec = (places, max(places, -int(amount.as_tuple().exponent)))
        return format_currency(amount, currency, pattern, locale, currency_digits=False)


def format_moment(moment: datetime, tag: str) -> str:
    """Format a time, in UTC, in the notation of a language and region; plainly without Babel."""
    locale = _locale(tag)
    if locale is None:
        return moment_text(moment)
    from babel.dates import format_datetime

    return f"{format_datetime(as_utc(moment), 'medium', locale=locale)} UTC"


def country_names(tag: str) -> Mapping[str, str]:
    """The names of all countries by code, in this language, sorted; in English without Babel."""
    locale = _locale(tag)
    names = {} if locale is None else locale.territories
    shown = {code: str(names.get(code, name)) for code, name in countries().items()}
    return dict(sorted(shown.items(), key=lambda named: unicodedata.normalize("NFKD", named[1]).casefold()))


def _locale(tag: str) -> Locale | None:
    """Babel's locale of a language and region; None where Babel is not installed."""
    try:
        from babel import Locale, UnknownLocaleError
    except ModuleNotFoundError:
        return None
    try:
        return Locale.parse(tag, sep="-")
    except (ValueError, UnknownLocaleError):
        return Locale.parse(tag.partition("-")[0])
