"""Every PAYCHECKOUT_* setting with its meaning and default, and the checks that `init_app` makes."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from flask_paycheckout.client.hidden import Hidden, concealed
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.rules.schedule import PendingFor
from flask_paycheckout.security.origins import is_loopback, origin_of, reaches_this_machine
from flask_paycheckout.signals import NEEDS_RECEIVER
from flask_paycheckout.totals import decimals_of, exact_decimal
from flask_paycheckout.translations.catalogues import LANGUAGES

__all__ = ["PREFIX", "Settings", "load_settings"]

PREFIX = "PAYCHECKOUT_"
_SANDBOX_HINT = "run 'flask paycheckout sandbox' for a local one, which prints its settings"
_MISSING = object()
_PENDING_FOR = timedelta(hours=24)
_FERNET_BYTES = 32
_SECRET = frozenset({"client_secret", "access_token", "webhook_secret", "seal_key"})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The checked settings of one app. The configuration key is PAYCHECKOUT_ with the name in capitals.

    In the configuration, durations are numbers of seconds. The environment variables for
    `app.config.from_prefixed_env()` are FLASK_PAYCHECKOUT_...; there, a list may be written with commas.
    """

    base_url: str
    """The address of the payments service, or of a sandbox. Required."""

    client_id: str | None = None
    """The client id that signs every request. Required unless SIGNER is set."""

    client_secret: str | None = field(default=None, repr=False)
    """The client secret that signs every request. Required unless SIGNER is set."""

    access_token: str | Callable[[], str] | None = field(default=None, repr=False)
    """The access token, for calls that need the Authorization header; or a function that returns it, called each time.

    Payouts are sent only with one.
    """

    signer: Any = field(default=None, repr=False)
    """An object with `sign(method, target, body, timestamp) -> dict of headers`; replaces the built-in signing."""

    timeout: float = 15.0
    """The most seconds that one call of the service may take, retries included."""

    web_timeout: float = 5.0
    """The most seconds that all calls of one web request may take together; TIMEOUT limits each call as well."""

    web_calls: int | None = None
    """The most web requests of a process that may wait for the service at once.

    By default half of gunicorn's `--threads` (from its command line or GUNICORN_CMD_ARGS), or 2 when that is unknown.
    """

    checkout_origins: tuple[str, ...] = ()
    """The origins to which a customer may be redirected; by default any with https, and http on this machine only."""

    url_prefix: str = "/paycheckout"
    """The path below which the extension's routes are registered."""

    public_url: str | None = None
    """The base of absolute URLs, such as https://shop.example.

    Required outside debug and testing, unless SERVER_NAME or TRUSTED_HOSTS is set.
    """

    webhook_secret: tuple[str, ...] = field(default=(), repr=False)
    """The secret part of the webhook's path: when set, only /webhook/<secret> is served.

    Of a list, the first is shown and each is served, so that a secret can be replaced without losing a webhook.
    """

    webhook_cooldown: timedelta = timedelta(seconds=5)
    """The least seconds between two reads of one deposit that webhooks cause."""

    closed_deposit_statuses: frozenset[str] = frozenset({"failed", "expired", "cancelled", "rejected"})
    """The statuses, in lower case, with which a deposit ends without a payment."""

    pending_for: PendingFor = _PENDING_FOR
    """The seconds after which an unchanged pending deposit counts as abandoned.

    Or a mapping by payment method: {"crypto": 3600, "bank": 259200, "default": 86400}; a bank's code overrides "bank".
    """

    watch_for: timedelta = timedelta(days=7)
    """The seconds for which an abandoned checkout is still read, with growing intervals."""

    token_max_age: timedelta = timedelta(days=90)
    """The seconds for which links to payment and status pages are valid."""

    defer_webhooks: bool = False
    """Whether the webhook only stores and answers, so that a task or reconcile reads the deposit."""

    reconcile_readers: int = 32
    """The most deposits that one reconcile process reads at once; fewer while the service fails."""

    languages: tuple[str, ...] = LANGUAGES
    """The codes of the customer pages' languages; the first is the default for customers who prefer another one."""

    show_total: bool = False
    """Whether the status page shows the amount to pay to everyone who has its link. Needs Babel."""

    payout_batch: int = 100
    """The most payouts that one call of the service sends."""

    approve_over: Mapping[str, Decimal] = field(default_factory=dict)
    """For each currency the amount from which on a payout waits for a person: {"USD": "500.00"}."""

    seal_key: tuple[str, ...] = field(default=(), repr=False)
    """The Fernet key that seals account numbers in the database; of a list, the first seals and each opens.

    Make one with `python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'`.
    """

    unheard: frozenset[str] = frozenset()
    """Signals among order_paid, payment_held, payment_resolved and those of payouts that need no receiver in this shop.

    Without a receiver, their events then count as delivered, instead of waiting for one.
    """

    separate_database: bool = False
    """Whether the shop accepts that its own tables are in another database than the payment tables.

    The effects of its receivers then happen at least once, instead of exactly once.
    """

    allow_sandbox: bool = False
    """Whether a loopback BASE_URL is accepted outside debug and testing too."""


def load_settings(config: Mapping[str, Any], *, relaxed: bool) -> Settings:
    """Read and check the settings of an app.

    :param config: the app's configuration.
    :param relaxed: whether the app is in debug or testing, where a sandbox and a missing public address are fine.
    :raises ConfigurationError: the message names the key, the fault and the remedy.
    """
    try:
        return _checked(config, relaxed)
    except ConfigurationError as fault:
        failure = fault.with_traceback(None)
    # An error tracker that reports the variables of each frame must not send the whole configuration.
    failure.__context__ = None
    del config
    raise failure


def _checked(config: Mapping[str, Any], relaxed: bool) -> Settings:
    values: dict[str, Any] = {}
    for name, check in _CHECKS.items():
        value = config.get(PREFIX + name.upper(), _MISSING)
        # An empty environment variable counts as unset.
        if value is not _MISSING and value is not None and value != "":
            values[name] = check(PREFIX + name.upper(), concealed(value) if name in _SECRET else value)
    if "base_url" not in values:
        raise _fault("BASE_URL", "is not set", f"Set the service's address, or {_SANDBOX_HINT}.")
    settings = Settings(**values)
    _require_credentials(settings)
    _require_real_service(settings, relaxed)
    _require_public_address(settings, config, relaxed)
    return settings


def _require_credentials(settings: Settings) -> None:
    for name in ("client_id", "client_secret"):
        if settings.signer is None and getattr(settings, name) is None:
            raise _fault(name.upper(), "is not set", f"Copy it from the service's dashboard, or {_SANDBOX_HINT}.")


def _require_real_service(settings: Settings, relaxed: bool) -> None:
    host = urlsplit(settings.base_url).hostname or ""
    if reaches_this_machine(host) and not (relaxed or settings.allow_sandbox):
        raise _fault(
            "BASE_URL",
            "is an address of this machine, but the app runs neither in debug nor in testing",
            "Set the real service's address. For a sandbox run the app in debug (FLASK_DEBUG=1), or set"
            " PAYCHECKOUT_ALLOW_SANDBOX = True for a demo.",
        )
    if not (is_loopback(host) or relaxed) and not settings.base_url.startswith("https://"):
        raise _fault(
            "BASE_URL", "is not https", "Use the service's https address; plain http is for this machine only."
        )


def _require_public_address(settings: Settings, config: Mapping[str, Any], relaxed: bool) -> None:
    if relaxed or settings.public_url or config.get("SERVER_NAME") or config.get("TRUSTED_HOSTS"):
        return
    raise _fault(
        "PUBLIC_URL",
        "is not set",
        "Set the shop's own address, such as 'https://shop.example' (or Flask's SERVER_NAME or TRUSTED_HOSTS),"
        " so that no Host header can decide where links lead.",
    )


def _fault(name: str, fault: str, remedy: str) -> ConfigurationError:
    key = name if name.startswith(PREFIX) else PREFIX + name
    return ConfigurationError(f"{key} {fault}. {remedy}")


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _fault(
            key,
            f"must be a string, not {type(value).__name__}",
            "Put it in quotes; in an environment variable that Flask reads as JSON, as '\"123\"'.",
        )
    if not value.isprintable() or value != value.strip():
        raise _fault(key, "has spaces at its ends or control characters", "Copy it again, without line breaks or tabs.")
    return value


def _header_text(key: str, value: object) -> str:
    text = _text(key, value)
    if not text.isascii():
        raise _fault(key, "contains characters outside ASCII", "Copy it again from the service's dashboard.")
    return text


def _address(key: str, value: object) -> str:
    text = _text(key, value)
    try:
        origin_of(text)
    except ValueError as fault:
        raise _fault(key, str(fault), "Write it like 'https://host' or 'https://host/path'.") from None
    if "?" in text or "#" in text:
        raise _fault(key, "contains a query or a fragment", "Write it like 'https://host' or 'https://host/path'.")
    return text.rstrip("/")


def _origins(key: str, value: object) -> tuple[str, ...]:
    listed = [part for part in value.replace(",", " ").split() if part] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple, set, frozenset)):
        raise _fault(key, f"must be a list of origins, not {type(value).__name__}", "Write ['https://pay.example'].")
    addresses = [_address(key, entry) for entry in listed]
    for address in addresses:
        if urlsplit(address).path:
            raise _fault(key, "contains a path", "An origin is scheme, host and port only: 'https://pay.example'.")
    return tuple(origin_of(address) for address in addresses)


def _number(key: str, value: object) -> float:
    if isinstance(value, bool):
        raise _fault(key, "must be a number of seconds, not a boolean", "Write a number, such as 15.")
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever float refuses is the fault reported below
    except (TypeError, ValueError):
        raise _fault(key, "is not a number of seconds", "Write a number, such as 15.") from None
    if not 0 <= number < 10**9:
        raise _fault(key, "is not a positive number of seconds", "Write a number, such as 15.")
    return number


def _timeout(key: str, value: object) -> float:
    number = _number(key, value)
    if number == 0:
        raise _fault(key, "is 0, which leaves no time for any call", "Write a number of seconds, such as 15.")
    return number


def _seconds(key: str, value: object) -> timedelta:
    return value if isinstance(value, timedelta) and value >= timedelta(0) else timedelta(seconds=_number(key, value))


def _pending_for(key: str, value: object) -> PendingFor:
    if not isinstance(value, Mapping):
        return _seconds(key, value)
    for method in value:
        if not isinstance(method, str) or not method.strip() or not method.isprintable():
            raise _fault(
                key,
                f"has the key {method!r}, which is no payment method",
                "Write 'crypto', 'bank', a bank's code or 'default'.",
            )
    times = {method: _seconds(f"{key} for {method!r}", seconds) for method, seconds in value.items()}
    return MappingProxyType({"default": _PENDING_FOR, **times})


def _readers(key: str, value: object) -> int:
    return _few(key, value, 100, "Write the most reads that may run at once, such as 32.")


def _calls(key: str, value: object) -> int:
    return _few(key, value, 1000, "Write the most requests of a process that may wait for the service, such as 4.")


def _batch(key: str, value: object) -> int:
    return _few(key, value, 1000, "Write the most payouts that one call may send, such as 100.")


def _few(key: str, value: object, most: int, remedy: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and 1 <= int(text[:5]) <= most):
        raise _fault(key, f"is not a whole number from 1 to {most}", remedy)
    return int(text)


def _prefix(key: str, value: object) -> str:
    text = _text(key, value)
    if not text.startswith("/") or text.startswith("//") or any(c in text for c in "<>?#\\ "):
        raise _fault(key, "is not a path", "Write it like '/paycheckout'.")
    return text.rstrip("/")


def _path_secrets(key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) and "," in value:
        value = [Hidden(part.strip()) for part in value.split(",")]
    listed = value if isinstance(value, (list, tuple)) else [value]
    return tuple(concealed(_path_secret(key, concealed(one))) for one in listed)


def _path_secret(key: str, value: object) -> str:
    text = _text(key, value)
    if not all(c.isascii() and (c.isalnum() or c in "-_.~") for c in text) or text.strip(".") == "":
        raise _fault(
            key,
            "must consist of letters, digits, '-', '_', '.' and '~', as it is part of a URL",
            "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'.",
        )
    return text


def _statuses(key: str, value: object) -> frozenset[str]:
    listed = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple, set, frozenset)) or not all(isinstance(entry, str) for entry in listed):
        raise _fault(key, "must be a list of strings", "Write ['failed', 'expired'].")
    statuses = frozenset(entry.strip().lower() for entry in listed)
    if "completed" in statuses:
        raise _fault(key, "lists 'completed', which means paid", "Remove it.")
    return statuses


def _signals(key: str, value: object) -> frozenset[str]:
    listed = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple, set, frozenset)) or not all(isinstance(entry, str) for entry in listed):
        raise _fault(key, "must be a list of signals' names", "Write ['payment_resolved'].")
    unknown = sorted(set(listed) - NEEDS_RECEIVER)
    if unknown:
        known = ", ".join(sorted(NEEDS_RECEIVER))
        raise _fault(key, f"lists {unknown[0]!r}, which is none of {known}", "Remove it: others need no receiver.")
    return frozenset(listed)


def _languages(key: str, value: object) -> tuple[str, ...]:
    listed = value.replace(",", " ").split() if isinstance(value, str) else value
    known = ", ".join(LANGUAGES)
    if not isinstance(listed, (list, tuple)) or not listed or any(entry not in LANGUAGES for entry in listed):
        raise _fault(key, f"is not a list of these languages: {known}", f"Write {list(LANGUAGES[:2])!r}.")
    return tuple(listed)


def _access_token(key: str, value: object) -> object:
    return value if callable(value) else _header_text(key, value)


def _approve_over(key: str, value: object) -> Mapping[str, Decimal]:
    if not isinstance(value, Mapping):
        raise _fault(
            key, f"must map currencies to amounts, not be a {type(value).__name__}", 'Write {"USD": "500.00"}.'
        )
    limits = {}
    for currency, amount in value.items():
        try:
            limits[currency] = exact_decimal("amount", amount, currency, decimals_of(currency))
        except (TypeError, ValueError) as fault:
            raise _fault(key, f"cannot be used: {fault}", 'Write {"USD": "500.00"}.') from None
    return MappingProxyType(limits)


def _seal_keys(key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) and "," in value:
        value = [Hidden(part.strip()) for part in value.split(",")]
    listed = value if isinstance(value, (list, tuple)) else [value]
    return tuple(_seal_key(key, concealed(one)) for one in listed)


def _seal_key(key: str, value: object) -> str:
    text = concealed(_text(key, value))
    try:
        usable = text.isascii() and len(urlsafe_b64decode(text)) == _FERNET_BYTES
    except ValueError:
        usable = False
    if not usable:
        raise _fault(
            key,
            "is no Fernet key",
            "Make one with: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'.",
        )
    return text


def _switch(key: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if str(value).lower() not in words:
        raise _fault(key, "is neither true nor false", "Write True or False.")
    return words[str(value).lower()]


def _amounts(key: str, value: object) -> bool:
    shown = _switch(key, value)
    if shown and find_spec("babel") is None:
        raise _fault(key, "needs Babel, which is not installed", "Run: pip install 'flask-paycheckout[babel]'.")
    return shown


def _signer(key: str, value: object) -> object:
    if not callable(getattr(value, "sign", None)):
        raise _fault(
            key, "has no method sign(method, target, body, timestamp)", "Give an object with it, returning headers."
        )
    return value


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "base_url": _address,
    "client_id": _header_text,
    "client_secret": _text,
    "access_token": _access_token,
    "signer": _signer,
    "timeout": _timeout,
    "web_timeout": _timeout,
    "web_calls": _calls,
    "checkout_origins": _origins,
    "url_prefix": _prefix,
    "public_url": _address,
    "webhook_secret": _path_secrets,
    "webhook_cooldown": _seconds,
    "closed_deposit_statuses": _statuses,
    "pending_for": _pending_for,
    "watch_for": _seconds,
    "token_max_age": _seconds,
    "defer_webhooks": _switch,
    "reconcile_readers": _readers,
    "languages": _languages,
    "show_total": _amounts,
    "payout_batch": _batch,
    "approve_over": _approve_over,
    "seal_key": _seal_keys,
    "unheard": _signals,
    "separate_database": _switch,
    "allow_sandbox": _switch,
}
