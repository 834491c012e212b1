"""The checks of single settings: each takes a value, and returns the value for the code, or raises a `Fault`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, timedelta, tzinfo
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from flask_paycheckout.client.hidden import Hidden, concealed, given_type
from flask_paycheckout.security.origins import origin_of
from flask_paycheckout.text import MAX_ID, is_printed
from flask_paycheckout.totals import decimals_of, exact_decimal
from flask_paycheckout.translations.catalogues import LANGUAGES

PendingFor = timedelta | Mapping[str, timedelta]
"""The time to wait for a pending deposit, in total or by payment method.

A mapping must have the key "default", and may have "crypto", "bank" (any bank), and bank codes, which override "bank".
"""


class PayoutFees(StrEnum):
    """The meaning of the fee that the service reports with a disbursement; the interface does not say."""

    ON_TOP = "on top"
    """The account pays the fee in addition to the amount."""

    INCLUDED = "included"
    """The fee is part of the amount."""


PREFIX = "PAYCHECKOUT_"
PENDING_FOR = timedelta(hours=24)
IN_QUOTES = "Put it in quotes; in an environment variable that Flask reads as JSON, as '\"123\"'."
_SHORTEST_TOKEN = 16
# Excludes the characters that have a meaning in a link.
_EMAIL = re.compile(r"[^\s@/:?&#%]+@[^\s@/:?&#%]+")
_COLOUR = re.compile("#[0-9A-Fa-f]{6}")
# An app's own scheme, and a host.
_APP_ORIGIN = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]+)?")
# Browsers and servers remove an empty or dotted segment from an address.
_PREFIX = re.compile(r"/|(/(?!\.{1,2}(/|$))[^/<>?#\\ ]+)+/?")


class Fault(Exception):
    """A value cannot be used. The text gives the fault and the remedy; the caller puts the setting's key before it."""


def check_text(value: object) -> str:
    if not isinstance(value, str):
        raise Fault(f"must be a string, not {given_type(value)}. {IN_QUOTES}")
    if not value.isprintable() or value != value.strip():
        raise Fault("has spaces at its ends or control characters. Copy it again, without line breaks or tabs.")
    return value


def check_words(value: object) -> str:
    """A text for people, such as the shop's name, which may contain blanks of other keyboards."""
    if isinstance(value, str) and is_printed(value) and value == value.strip():
        return value
    return check_text(value)


def check_header_text(value: object) -> str:
    text = check_text(value)
    if not text.isascii():
        raise Fault("contains characters outside ASCII. Copy it again from the service's dashboard.")
    return text


def check_client_id(value: object) -> str:
    text = check_header_text(value)
    if len(text) > MAX_ID:
        raise Fault(f"has more than {MAX_ID} characters. Copy it again from the service's dashboard.")
    return text


def check_address(value: object) -> str:
    text = check_text(value)
    try:
        origin_of(text)
    except ValueError as fault:
        raise Fault(f"{fault}. Write it like 'https://host' or 'https://host/path'.") from None
    if "?" in text or "#" in text:
        raise Fault("contains a query or a fragment. Write it like 'https://host' or 'https://host/path'.")
    return text.rstrip("/")


def check_contact(value: object) -> str:
    """The address of a link: `mailto:` with an e-mail address, or a page's address."""
    text = check_text(value)
    if _EMAIL.fullmatch(text):
        return f"mailto:{text}"
    try:
        return check_address(text)
    except Fault:
        raise Fault(
            "is neither an e-mail address nor the address of a page."
            " Write 'help@shop.example' or 'https://shop.example/contact'."
        ) from None


def check_logo(value: object) -> str:
    text = check_text(value)
    if not (text.startswith("data:image/") or (text.startswith("/") and not text.startswith("//"))):
        raise Fault("is no path of the shop, and pages load nothing of other hosts. Write it like '/static/logo.svg'.")
    return text


def check_colour(value: object) -> str:
    text = check_text(value)
    if not _COLOUR.fullmatch(text):
        raise Fault("is no colour of six hexadecimal digits. Write it like '#8a2b0b'.")
    return text.lower()


def check_origins(value: object) -> tuple[str, ...]:
    addresses = [check_address(entry) for entry in _words(value, "origins", "['https://pay.example']")]
    for address in addresses:
        if urlsplit(address).path:
            raise Fault("contains a path. An origin is scheme, host and port only: 'https://pay.example'.")
    return tuple(origin_of(address) for address in addresses)


def check_page_origins(value: object) -> tuple[str, ...]:
    """The origins of pages, as browsers send them; also an app's, such as capacitor://localhost."""
    listed = _words(value, "origins", "['https://store.example']")
    of_apps = [entry for entry in listed if _APP_ORIGIN.fullmatch(entry)]
    return (*check_origins([entry for entry in listed if entry not in of_apps]), *of_apps)


def check_number(value: object) -> float:
    try:
        number = float("nan" if isinstance(value, bool) else value)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if not 0 <= number < 10**9:
        raise Fault("is not a positive number of seconds below 10**9. Write a number, such as 15.")
    return number


def check_timeout(value: object) -> float:
    number = check_number(value)
    if number == 0:
        raise Fault("is 0, which leaves no time for any call. Write a number of seconds, such as 15.")
    return number


def check_seconds(value: object) -> timedelta:
    # The limit of `check_number` keeps the time short enough to be added to a date.
    return timedelta(seconds=check_number(value.total_seconds() if isinstance(value, timedelta) else value))


def check_times(value: object) -> tuple[timedelta, ...]:
    listed = _listed(value)
    if not isinstance(listed, (list, tuple)):
        raise Fault("must be a list of seconds. Write [3600, 86400].")
    times = sorted({check_seconds(entry) for entry in listed})
    if times and not times[0]:
        raise Fault("has a time of 0. Write [3600, 86400].")
    return tuple(times)


def check_retention(value: object) -> timedelta:
    age = check_seconds(value)
    if age < timedelta(days=1):
        raise Fault("is less than a day. Write how many seconds are kept, such as 31536000 for a year.")
    return age


def check_validity(value: object) -> timedelta:
    duration = check_seconds(value)
    if not duration:
        raise Fault("is 0, with which no link works. Write a number of seconds, such as 7776000 for 90 days.")
    return duration


def check_pending_for(value: object) -> PendingFor:
    if not isinstance(value, Mapping):
        return check_seconds(value)
    times = {"default": PENDING_FOR}
    for method, seconds in value.items():
        if not isinstance(method, str) or not method.strip() or not method.isprintable():
            raise Fault(
                f"has the key {method!r}, which is no payment method."
                " Write 'crypto', 'bank', a bank's code or 'default'."
            )
        try:
            times[method] = check_seconds(seconds)
        except Fault as fault:
            raise Fault(f"for {method!r} {fault}") from None
    return MappingProxyType(times)


def check_payout_fees(value: object) -> PayoutFees:
    try:
        return PayoutFees(value)  # type: ignore[arg-type]  # whatever it refuses is the fault reported below
    except ValueError:
        raise Fault("is not known. Write 'on top', or 'included'.") from None


def whole(most: int, remedy: str) -> Callable[[object], int]:
    """A check of a whole number from 1 to `most`."""

    def check(value: object) -> int:
        text = str(value)
        if isinstance(value, bool) or not (text.isascii() and text.isdigit() and 1 <= int(text[:5]) <= most):
            raise Fault(f"is not a whole number from 1 to {most}. {remedy}")
        return int(text)

    return check


def _listed(value: object) -> object:
    """The value of a setting that takes a list; in an environment variable, commas separate the entries."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _words(value: object, kind: str, example: str) -> list[str]:
    """The texts of a setting that takes a list."""
    listed = _listed(value)
    if isinstance(listed, (list, tuple, set, frozenset)) and all(isinstance(entry, str) for entry in listed):
        return list(listed)
    raise Fault(f"must be a list of {kind}. Write {example}.")


def check_prefix(value: object) -> str:
    text = check_text(value)
    if not _PREFIX.fullmatch(text):
        raise Fault("is not a path. Write it like '/paycheckout'.")
    return text.rstrip("/")


def each(check: Callable[[object], str]) -> Callable[[object], tuple[str, ...]]:
    """A check of one secret or a list of secrets, which commas separate in an environment variable.

    :param check: checks one secret.
    """

    def check_all(value: object) -> tuple[str, ...]:
        if isinstance(value, str) and "," in value:
            value = [Hidden(part.strip()) for part in value.split(",")]
        entries = value if isinstance(value, (list, tuple)) else [value]
        if not entries:
            raise Fault("is an empty list. Leave it out, or list one at least.")
        return tuple(concealed(check(concealed(entry))) for entry in entries)

    return check_all


def check_path_secret(value: object) -> str:
    text = check_text(value)
    if not all(c.isascii() and (c.isalnum() or c in "-_.~") for c in text) or text.strip(".") == "":
        raise Fault(
            "must consist of letters, digits, '-', '_', '.' and '~', as it is part of a URL."
            " Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    return text


def check_bearer_token(value: object) -> str:
    token = check_text(value)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or " " in token:
        raise Fault(
            f"has fewer than {_SHORTEST_TOKEN} characters, spaces, or characters outside ASCII."
            " Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    return token


def check_statuses(value: object) -> frozenset[str]:
    listed = _words(value, "strings", "['failed', 'expired']")
    statuses = frozenset(entry.strip().lower() for entry in listed)
    if "completed" in statuses:
        raise Fault("lists 'completed', which means paid. Remove it.")
    return statuses


def check_languages(value: object) -> tuple[str, ...]:
    listed, names = _listed(value), ", ".join(LANGUAGES)
    if not isinstance(listed, (list, tuple)) or not listed or any(entry not in LANGUAGES for entry in listed):
        raise Fault(f"is not a list of these languages: {names}. Write {list(LANGUAGES[:2])!r}.")
    return tuple(listed)


def check_time_zone(value: object) -> tzinfo:
    name = check_text(value)
    try:
        # UTC works even if the system has no time zone database.
        return UTC if name == "UTC" else ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        raise Fault(
            "is no time zone of the IANA database. Write one like 'Europe/Berlin', or 'UTC'; where the system knows"
            " none: pip install tzdata."
        ) from None


def check_access_token(value: object) -> object:
    if callable(value):
        return value
    text = check_header_text(value)
    if not text:
        raise Fault("is empty. Leave it out, or give the token of a login.")
    return text


def check_authorization_format(value: object) -> str:
    text = check_header_text(value)
    scheme, token, rest = text.partition("{token}")
    if not token or rest or (scheme and not scheme.endswith(" ")):
        raise Fault("does not end with {token} after a space. Write 'Bearer {token}', or '{token}' alone.")
    return text


def check_amounts(value: object) -> Mapping[str, Decimal]:
    if not isinstance(value, Mapping):
        raise Fault(f'must map currencies to amounts, not be a {given_type(value)}. Write {{"USD": "500.00"}}.')
    limits = {}
    for currency, amount in value.items():
        try:
            limits[currency] = exact_decimal("amount", amount, currency, decimals_of(currency))
        except (TypeError, ValueError) as fault:
            raise Fault(f'cannot be used: {fault}. Write {{"USD": "500.00"}}.') from None
    return MappingProxyType(limits)


def check_codes(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for each in value.items() for text in each):
        raise Fault('must map kinds of lines to texts. Write {"payment": "8400", "refund": "8700"}.')
    return MappingProxyType(dict(value))


def check_seal_key(value: object) -> str:
    # Imported with the first key, so that shops without a key do not load `cryptography` at their start.
    from cryptography.fernet import Fernet

    # `Fernet.generate_key()` returns bytes.
    text = check_text(value.decode(errors="replace") if isinstance(value, bytes) else value)
    try:
        Fernet(text)
    except ValueError:
        raise Fault(
            "is no Fernet key. Make one with:"
            " python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'."
        ) from None
    return text


def check_switch(value: object) -> bool:
    word = str(value).lower()
    if word not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        raise Fault("is neither true nor false. Write True or False.")
    return word in ("1", "true", "yes", "on")


def check_signer(value: object) -> object:
    if not callable(getattr(value, "sign", None)):
        raise Fault("has no method sign(method, target, body, timestamp). Give an object with it, returning headers.")
    return value
