"""The settings, language and notation of a page.

The language is Flask-Babel's if the shop uses it, else the one that the browser prefers. Babel itself, which formats
amounts, times and countries, is imported when a page first needs it.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from decimal import Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from flask import current_app, request
from werkzeug.datastructures import Accept, LanguageAccept, MIMEAccept
from werkzeug.http import parse_accept_header
from werkzeug.wrappers import Response

from flask_paycheckout.config import Settings
from flask_paycheckout.payouts.account_numbers import countries
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import Show, visible
from flask_paycheckout.totals import EXACT, Amount, decimals_of
from flask_paycheckout.translations.catalogues import Language, choose
from flask_paycheckout.views.colours import readable_accents
from flask_paycheckout.wiring.logs import about

if TYPE_CHECKING:
    from babel import Locale

_SETTINGS, _FORMAT = "flask_paycheckout.settings", "flask_paycheckout.format"
_UNKNOWN = "flask_paycheckout.unknown_locale"
# In characters. Browsers send a tenth of it. Servers accept up to 256 KiB, which would take 0.2 seconds to parse.
_MAX_PREFERENCES = 1000


def use_settings(find: Callable[[], Settings]) -> None:
    """Make the page of this request by a merchant account's settings instead of the shop's.

    :param find: returns the settings; called when they are first needed, which JSON answers seldom do.
    """
    request.environ[_SETTINGS] = find
    request.environ.pop(_FORMAT, None)


def page_settings() -> Settings:
    """The settings by which the page of this request is made."""
    settings: Callable[[], Settings] | Settings | None = request.environ.get(_SETTINGS)
    if isinstance(settings, Settings):
        return settings
    # Every request has its own WSGI environment, but not always an application context.
    request.environ[_SETTINGS] = result = runtime().settings if settings is None else settings()
    return result


def use_found_settings() -> None:
    """Use the shop's settings unless others were found already, because the database is unavailable."""
    if not isinstance(request.environ.get(_SETTINGS), Settings):
        use_settings(lambda: runtime().settings)


def shop_shown() -> dict[str, Any]:
    """The facts about the page's shop or merchant account; templates call them `shop`.

    `accents` has the accent colour for light and for dark pages, and is empty if none is set. `contact` is the address
    of a link, and `new_tab` says whether the service's payment page opens in a new tab.
    """
    own = page_settings()
    accents = readable_accents(own.accent) if own.accent else ()
    return {
        "name": own.shop_name or current_app.name,
        "logo": own.logo,
        "accents": accents,
        "contact": own.contact,
        "seller": own.seller,
        "new_tab": own.new_tab,
    }


def of_page() -> Language:
    """The language of our own pages in this request."""
    tags = _wanted_by_shop()
    if tags is None:
        tags = [tag for tag, quality in accepted_by("Accept-Language") if quality > 0]
    return choose(tags, page_settings().languages)


def accepted_by(header: str) -> Accept:
    """The values in the first 1000 characters of `Accept` or `Accept-Language`, parsed once in each request."""
    parsed: Accept | None = request.environ.get(f"flask_paycheckout.{header}")
    if parsed is None:
        kind = LanguageAccept if header == "Accept-Language" else MIMEAccept
        parsed = parse_accept_header(request.headers.get(header, "")[:_MAX_PREFERENCES], kind)
        request.environ[f"flask_paycheckout.{header}"] = parsed
    return parsed


def gettext(text: str) -> str:
    """The translation of a text into the language of the page."""
    return of_page().gettext(text)


def of_shop(order_id: str) -> Language:
    """The language of our elements on the shop's own pages, which follow the shop's language, not the browser's."""
    return choose(_wanted_by_shop() or [], runtime().settings_of_order(order_id).languages)


def add_headers(response: Response, language: str) -> None:
    """Add `Content-Language`, and `Vary`, since the language depends on the reader."""
    response.content_language.add(language)
    response.vary.add("Accept-Language")


def _wanted_by_shop() -> list[str] | None:
    """The locale that Flask-Babel chose for this request; None in a shop that does not use it."""
    # A shop that uses Flask-Babel has imported it. Other extensions register as "babel" too, so check the type.
    flask_babel = sys.modules.get("flask_babel")
    if flask_babel is None or not type(current_app.extensions.get("babel")).__module__.startswith("flask_babel"):
        return None
    # Mails with a pay button are often rendered outside of a request.
    web_request = runtime().web_request() or {}
    if _UNKNOWN in web_request:
        return None
    try:
        locale = flask_babel.get_locale()
    except Exception as error:
        # The shop's locale function may query an unavailable database. The page then has the browser's language.
        web_request[_UNKNOWN] = True
        runtime().log.exception("the locale", "the shop's locale could not be found", extra=about(), error=error)
        return None
    return None if locale is None else [str(locale)]


# Keeps a number and its currency on one line.
_NO_BREAK = "\N{NO-BREAK SPACE}"


def format_amount(amount: Decimal, currency: str, language: Language | None = None) -> str:
    """Format an exact amount with its currency, in the notation of the page's language; plainly without Babel.

    :param currency: an ISO 4217 code, or a token id of the service, which is appended unchanged.
    :param language: the language, by default the page's.
    """
    return (page_format() if language is None else _amount_format(language))(amount, currency)


def page_format() -> Show:
    """`format_amount` for a page with many amounts: the language is determined once, for the first amount."""
    show: Show | None = request.environ.get(_FORMAT)
    if show is None:
        request.environ[_FORMAT] = show = _amount_format()
    return show


def _amount_format(language: Language | None = None) -> Show:
    """A function that formats amounts in the notation of this language, by default the page's."""
    locale_of, places_of = cache(_locale), cache(_places)

    def show(amount: Decimal, currency: str) -> str:
        locale = locale_of(language)
        if locale is None:
            return f"{amount:f}{_NO_BREAK}{currency}"
        from babel.numbers import format_currency, format_decimal, parse_pattern

        places = places_of(currency)
        with localcontext(EXACT):
            if places is None:
                number = format_decimal(amount, locale=locale, decimal_quantization=False)
                return f"{number}{_NO_BREAK}{visible(currency)}"
            pattern = parse_pattern(locale.currency_formats["standard"].pattern)
            # Use the decimals of ISO 4217. Babel's own tables have fewer for some currencies, and would round.
            pattern.frac_prec = (places, max(places, -int(amount.as_tuple().exponent)))
            return format_currency(amount, currency, pattern, locale, currency_digits=False)

    return show


def _places(currency: str) -> int | None:
    """The decimals of a currency; None for an unknown code, which the service may report."""
    try:
        return decimals_of(currency)
    except ValueError:
        return None


def shown(amount: Amount) -> str:
    """An amount in the notation of the page's language."""
    return format_amount(amount.amount, amount.currency)


def sum_in_sentence(amount: Decimal, currency: str) -> str:
    """An amount in the page's notation, with ordinary spaces, for sentences and terminals."""
    return " ".join(format_amount(amount, currency).split())


def decimal_mark() -> str:
    """The mark before decimals in the page's language; a point without Babel."""
    locale = _locale()
    if locale is None:
        return "."
    from babel.numbers import get_decimal_symbol

    return get_decimal_symbol(locale)


def format_moment(moment: datetime) -> str:
    """Format a time, in the page's time zone, in the notation of its language; plainly without Babel."""
    local, locale = moment.astimezone(page_settings().time_zone), _locale()
    if locale is None:
        # Browsers would break a date at ordinary hyphens.
        return f"{local:%Y-%m-%d}".replace("-", "\N{NON-BREAKING HYPHEN}") + f" {local:%H:%M %Z}"
    from babel.dates import format_date, format_time

    # In a short date, day and month could be confused.
    date, time = format_date(local, "medium", locale), format_time(local, "short", local.tzinfo, locale)
    return str(locale.datetime_formats["medium"]).format(f"{time}{_NO_BREAK}{local:%Z}", date)


def when(at: datetime) -> str:
    """A time in everyday words: "today, 14:05", "3 Mar, 14:05", "3 Mar 2025".

    The time zone is the shop's, or the one of the account to which the page is limited.
    """
    return spoken_moment(page_settings().time_zone, runtime().clock(), at)


def exact_moment(zone: tzinfo, at: datetime) -> str:
    """A time to the second."""
    local = at.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S}{'Z' if zone is UTC else f' {local:%Z}'}"


def spoken_moment(zone: tzinfo, now: datetime, at: datetime) -> str:
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    name = {-1: "tomorrow", 0: "today", 1: "yesterday"}.get((today - local.date()).days)
    if name:
        return f"{name}, {local:%H:%M}"
    day = f"{local.day} {local:%b}"
    return f"{day}, {local:%H:%M}" if local.year == today.year else f"{day} {local.year}"


def country_names() -> dict[str, str]:
    """The sorted names of all countries in the page's language (English without Babel), by their English names."""
    locale = _locale()
    names = {} if locale is None else locale.territories
    translated = {name: str(names.get(code, name)) for code, name in countries().items()}
    return dict(sorted(translated.items(), key=lambda entry: unicodedata.normalize("NFKD", entry[1]).casefold()))


def _locale(language: Language | None = None) -> Locale | None:
    """Babel's locale of this language, by default the page's, without an unknown region; None without Babel."""
    try:
        from babel import Locale, UnknownLocaleError
    except ModuleNotFoundError:
        return None
    language = language or of_page()
    try:
        return Locale.parse(language.tag, sep="-")
    except (ValueError, UnknownLocaleError):
        return Locale.parse(language.code)
