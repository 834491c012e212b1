"""Every PAYCHECKOUT_* setting with its meaning and default, and the checks that `init_app` makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, timedelta, tzinfo
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from flask_paycheckout.client.hidden import Hidden, concealed
from flask_paycheckout.config import checks
from flask_paycheckout.config.checks import PENDING_FOR, PREFIX, PayoutFees, PendingFor
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.security.origins import is_loopback
from flask_paycheckout.translations.catalogues import LANGUAGES

_SANDBOX_HINT = "run 'flask paycheckout sandbox' for a local one, which prints its settings"


def setting(
    check: Callable[[object], object],
    default: Any = MISSING,
    *,
    factory: Any = MISSING,
    secret: bool = False,
) -> Any:
    """A field of `Settings`, with the function that checks its value and returns what the code uses."""
    return field(default=default, default_factory=factory, repr=not secret, metadata={"check": check})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The checked settings of one app. The configuration key is PAYCHECKOUT_ with the name in capitals.

    In the configuration, durations are numbers of seconds. The environment variables for
    `app.config.from_prefixed_env()` are FLASK_PAYCHECKOUT_...; there, a list may be written with commas.
    """

    base_url: str = setting(checks.check_address)
    """The address of the payments service, or of a sandbox. Required."""

    client_id: str | None = setting(checks.check_client_id, None)
    """The client id that signs every request. Required unless SIGNER is set."""

    client_secret: str | None = setting(checks.check_text, None, secret=True)
    """The client secret that signs every request. Required unless SIGNER is set."""

    access_token: str | Callable[[], str] | None = setting(checks.check_access_token, None, secret=True)
    """The access token, for calls that need the Authorization header; or a function that returns it, called each time.

    Payouts are sent only with an access token.
    """

    authorization_format: str = setting(checks.check_authorization_format, "Bearer {token}")
    """The value of the Authorization header, for all access tokens; "{token}" sends the token alone."""

    signer: Any = setting(checks.check_signer, None, secret=True)
    """An object with `sign(method, target, body, timestamp) -> dict of headers`; replaces the built-in signing."""

    timeout: float = setting(checks.check_timeout, 15.0)
    """The maximum seconds that one call to the service may take, including retries."""

    web_timeout: float = setting(checks.check_timeout, 5.0)
    """The maximum seconds that all calls of one web request may take together; TIMEOUT also limits each call."""

    web_calls: int = setting(
        checks.whole(1000, "Write the most requests of a process that may wait for the service, such as 4."), 1000
    )
    """The maximum number of web requests of a process that may wait for the service at once; fewer while it is slow.

    The default exceeds the number of threads of any server, so that only slow calls are limited.
    """

    checkout_origins: tuple[str, ...] = setting(checks.check_origins, ())
    """The origins to which a customer may be redirected; by default any origin with https, and http on this machine."""

    origins: tuple[str, ...] = setting(checks.check_page_origins, ())
    """The origins whose pages may call the customers' routes with JSON, such as a storefront at its own address."""

    url_prefix: str = setting(checks.check_prefix, "/paycheckout")
    """The path below which the extension's routes are registered."""

    public_url: str | None = setting(checks.check_address, None)
    """The base of absolute URLs, such as https://shop.example.

    Required outside debug and testing, unless SERVER_NAME or TRUSTED_HOSTS is set.
    """

    webhook_secret: tuple[str, ...] = setting(checks.each(checks.check_path_secret), (), secret=True)
    """The secret part of the webhook's path: when set, only /webhook/<secret> is served.

    In a list, the first secret is shown and each secret is served, so that it can be replaced without losing a webhook.
    """

    webhook_cooldown: timedelta = setting(checks.check_seconds, timedelta(seconds=5))
    """The minimum seconds between two reads of one deposit that webhooks cause."""

    closed_deposit_statuses: frozenset[str] = setting(
        checks.check_statuses, frozenset({"failed", "expired", "cancelled", "rejected"})
    )
    """The statuses, in lower case, with which a deposit ends without a payment."""

    pending_for: PendingFor = setting(checks.check_pending_for, PENDING_FOR)
    """The seconds after which an unchanged pending deposit counts as abandoned.

    Or a mapping by payment method: {"crypto": 3600, "bank": 259200, "default": 86400}; a bank's code overrides "bank".
    """

    watch_for: timedelta = setting(checks.check_seconds, timedelta(days=7))
    """The seconds for which an abandoned checkout is still read, with growing intervals."""

    remind_after: tuple[timedelta, ...] = setting(checks.check_times, ())
    """The seconds after which `payment_reminder` is sent while an order waits for its payment, such as [3600, 86400].

    They count from the order's first checkout, or from the creation of the payment request.
    """

    token_max_age: timedelta = setting(checks.check_validity, timedelta(days=90))
    """The seconds for which links to payment and status pages are valid."""

    prune_after: timedelta | None = setting(checks.check_retention, None)
    """The age, in seconds, from which `flask paycheckout prune` removes ended orders by default."""

    defer_webhooks: bool = setting(checks.check_switch, False)
    """Whether the webhook route only stores the webhook and answers, so that a task or reconcile reads the deposit."""

    reconcile_readers: int = setting(checks.whole(100, "Write the most reads that may run at once, such as 32."), 32)
    """The maximum number of deposits that one reconcile process reads at once; fewer while the service fails."""

    languages: tuple[str, ...] = setting(checks.check_languages, LANGUAGES)
    """The codes of the customer pages' languages; the first is the default for customers who prefer another one."""

    shop_name: str | None = setting(checks.check_words, None)
    """The shop's name on all pages; by default the app's name."""

    logo: str | None = setting(checks.check_logo, None)
    """The shop's logo on all pages: a path of the shop, such as "/static/logo.svg", or a data: URL of an image."""

    accent: str | None = setting(checks.check_colour, None)
    """The shop's colour, such as "#8a2b0b", for buttons and links of all pages.

    It is made darker or lighter until it is readable on light and dark pages.
    """

    contact: str | None = setting(checks.check_contact, None)
    """The e-mail address, or the https address of a page, to contact the shop; shown on all customer pages."""

    seller: str | None = setting(checks.check_words, None)
    """The line at the bottom of customer pages: the seller's name, address and numbers, as the law requires."""

    new_tab: bool = setting(checks.check_switch, False)
    """Whether pay buttons open the service's payment page in a new tab, which leaves the shop's page open."""

    show_total: bool = setting(checks.check_switch, True)
    """Whether status pages show the order's id and its due, received and refunded amounts to everyone with the link."""

    time_zone: tzinfo = setting(checks.check_time_zone, UTC)
    """The time zone of pages and of the books' days and months."""

    account_cache: timedelta = setting(checks.check_seconds, timedelta(seconds=60))
    """The seconds for which a merchant account's keys are cached; after a 401 the shop is asked again at once."""

    payout_batch: int = setting(checks.whole(1000, "Write the most payouts that one call may send, such as 100."), 100)
    """The maximum number of payouts that one call to the service sends."""

    payout_fees: PayoutFees = setting(checks.check_payout_fees, PayoutFees.ON_TOP)
    """Whether the fee that the service reports with a disbursement is "on top" of its amount, or "included" in it.

    The service's interface does not say. A change of this setting affects `net` in new lines of the books.
    """

    account_codes: Mapping[str, str] = setting(checks.check_codes, factory=dict)
    """The bookkeeping account number for each kind of line in the export for bookkeepers."""

    audit_months: bool = setting(checks.check_switch, True)
    """Whether reconcile compares each month with the service after it has closed."""

    approve_over: Mapping[str, Decimal] = setting(checks.check_amounts, factory=dict)
    """The amount, by currency, from which a payout waits for a person's approval: {"USD": "500.00"}."""

    daily_limit: Mapping[str, Decimal] = setting(checks.check_amounts, factory=dict)
    """The maximum amount, by currency, that one merchant account sends in a UTC day: {"USD": "5000.00"}.

    A payout that would exceed it waits for the next day, or for a person.
    """

    approve_by_another: bool = setting(checks.check_switch, False)
    """Whether a payout or refund must be approved by another person than the one who requested it."""

    seal_key: tuple[str, ...] = setting(checks.each(checks.check_seal_key), (), secret=True)
    """The Fernet key that encrypts account numbers in the database; in a list, the first encrypts and each decrypts.

    Make one with `python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'`.
    """

    metrics_token: tuple[str, ...] = setting(checks.each(checks.check_bearer_token), (), secret=True)
    """The bearer token that Prometheus sends for the metrics page; in a list, each is accepted. Without one: no page.

    The page exists once `flask_paycheckout.metrics.init_app(app)` was called.
    """

    separate_database: bool = setting(checks.check_switch, False)
    """Whether the shop accepts that its own tables are in another database than the payment tables.

    The effects of its receivers then happen at least once instead of exactly once.
    """

    allow_sandbox: bool = setting(checks.check_switch, False)
    """Whether a loopback BASE_URL is also accepted outside of debug and testing mode."""

    @property
    def authorization_scheme(self) -> str:
        """The word before an access token in the Authorization header; empty for the token alone."""
        return self.authorization_format.removesuffix("{token}").rstrip()


def load_settings(configured: Callable[[str], Any], *, relaxed: bool) -> Settings:
    """Read and check the settings of an app.

    :param configured: returns the value of a configuration key. The configuration itself must not be a variable here,
        because error trackers report the locals of each frame.
    :param relaxed: whether the app is in debug or testing mode, in which a sandbox and a missing public address are
        accepted.
    :raises ConfigurationError: the message names the key, the fault and the remedy.
    """
    values: dict[str, Any] = {}
    for name in _FIELDS:
        key = PREFIX + name.upper()
        value = concealed(configured(key))
        # An empty environment variable counts as unset.
        if value is not None and value != "":
            values[name] = _check(name, key, value)
    if "base_url" not in values:
        raise ConfigurationError(f"PAYCHECKOUT_BASE_URL is not set. Set the service's address, or {_SANDBOX_HINT}.")
    settings = Settings(**values)
    for name in ("client_id", "client_secret"):
        if settings.signer is None and getattr(settings, name) is None:
            hint = f"Copy it from the service's dashboard, or {_SANDBOX_HINT}."
            raise ConfigurationError(f"{PREFIX}{name.upper()} is not set. {hint}")
    if not relaxed:
        require_real_service(settings, "PAYCHECKOUT_BASE_URL")
        if not (settings.public_url or configured("SERVER_NAME") or configured("TRUSTED_HOSTS")):
            raise ConfigurationError(
                "PAYCHECKOUT_PUBLIC_URL is not set. Set the shop's own address, such as 'https://shop.example' (or"
                " Flask's SERVER_NAME or TRUSTED_HOSTS), so that no Host header can decide where links lead."
            )
    return settings


def require_real_service(settings: Settings, key: str) -> None:
    """Refuse a sandbox, and an address without TLS, whose answers could be forged on the way; for production.

    :param settings: the app's settings, or the settings with an account's own address.
    :param key: names the address in the error.
    :raises ConfigurationError: the address is refused; the message names the remedy.
    """
    address = urlsplit(settings.base_url)
    host = address.hostname or ""
    if is_loopback(host) and not settings.allow_sandbox:
        raise ConfigurationError(
            f"{key} is an address of this machine, but the app runs neither in debug nor in testing."
            " Set the real service's address. For a sandbox run the app in debug (FLASK_DEBUG=1), or set"
            " PAYCHECKOUT_ALLOW_SANDBOX = True for a demo."
        )
    if not is_loopback(host) and address.scheme != "https":
        raise ConfigurationError(
            f"{key} is not https. Use the service's https address; plain http is for this machine only."
        )


def check_account(values: Mapping[str, Any]) -> dict[str, Any]:
    """Check the values of a merchant account, which have the settings' names.

    :raises ConfigurationError: the message names the value, the fault and the remedy, never a secret.
    """
    for name in ("client_id", "client_secret"):
        # The settings' keys must not replace them, or this account's customers would pay into the settings' account.
        if values.get("signer") is None and values.get(name) in (None, ""):
            raise ConfigurationError(
                f"Account({name}=...) is missing. Return None for an account that has no keys yet."
            )
    return {name: _check(name, f"Account({name}=...)", value) for name, value in values.items()}


def _check(name: str, key: str, value: Any) -> Any:
    declared = _FIELDS[name]
    try:
        checked = declared.metadata["check"](concealed(value))
    except checks.Fault as fault:
        raise ConfigurationError(f"{key} {fault}") from None
    # Fields that `repr` omits are secrets.
    return str(checked) if declared.repr and isinstance(checked, Hidden) else checked


_FIELDS = {one.name: one for one in fields(Settings)}

KEYS = [PREFIX + name.upper() for name in _FIELDS]
"""The configuration key of each setting."""
