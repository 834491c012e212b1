"""Every setting: its accepted values, and an error that names the key, the fault and the remedy, never a secret."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import ConfigurationError, PayCheckout
from flask_paycheckout.config import Settings, load_settings
from tests.scripted import CLIENT_SECRET, SETTINGS, make_app

CANARY = "canary-5d1f"


class Signer:
    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        return {}


def load(*, relaxed: bool = True, **changed: Any) -> Settings:
    """The settings of a complete configuration with these keys changed; None removes a key."""
    config = SETTINGS | changed
    return load_settings(config.get, relaxed=relaxed)


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("BASE_URL", "https://api.example.com/v/", "https://api.example.com/v"),
        ("TIMEOUT", "2.5", 2.5),
        ("CHECKOUT_ORIGINS", "https://a.example, https://B.example:443", ("https://a.example", "https://b.example")),
        ("URL_PREFIX", "/pay/here/", "/pay/here"),
        ("PUBLIC_URL", "https://shop.example/sub/", "https://shop.example/sub"),
        ("WEBHOOK_SECRET", "aZ0-_.~", ("aZ0-_.~",)),
        ("WEBHOOK_SECRET", "new, old", ("new", "old")),
        ("METRICS_TOKEN", f"{'n' * 16}, {'o' * 16}", ("n" * 16, "o" * 16)),
        ("WEBHOOK_COOLDOWN", 0, timedelta(0)),
        ("REMIND_AFTER", [timedelta(days=1), 3600, "3600"], (timedelta(hours=1), timedelta(days=1))),
        ("PENDING_FOR", timedelta(minutes=5), timedelta(minutes=5)),
        ("PENDING_FOR", {"us_qr": timedelta(1), "default": "5"}, {"us_qr": timedelta(1), "default": timedelta(0, 5)}),
        ("TOKEN_MAX_AGE", 60.5, timedelta(seconds=60.5)),
        ("CLOSED_DEPOSIT_STATUSES", "Failed, VOID", frozenset({"failed", "void"})),
        ("DEFER_WEBHOOKS", "yes", True),
        ("LANGUAGES", "ja, en", ("ja", "en")),
        ("SHOW_TOTAL", "off", False),
        ("TIME_ZONE", "Europe/Berlin", ZoneInfo("Europe/Berlin")),
        ("WEBHOOK_SECRET", "", ()),
        ("TIMEOUT", "", 15.0),
        ("WEB_CALLS", "8", 8),
    ],
)
def test_taken(key: str, value: object, kept: object) -> None:
    changed: dict[str, Any] = {f"PAYCHECKOUT_{key}": value}
    assert getattr(load(**changed), key.lower()) == kept


WRONG = [
    ("BASE_URL", f"api.example.com/{CANARY}", "absolute", "https://host"),
    ("BASE_URL", f"https://user:{CANARY}@api.example.com", "host", "https://host"),
    ("BASE_URL", f"https://api.example.com/?key={CANARY}", "query", "https://host"),
    ("BASE_URL", "https://api.example.com/\r\nx", "control characters", "Copy it again"),
    ("CLIENT_ID", f"{CANARY}é", "ASCII", "dashboard"),
    ("CLIENT_ID", f"{CANARY}\nX: y", "control characters", "Copy it again"),
    ("CLIENT_ID", CANARY * 24, "more than 255 characters", "Copy it again"),
    ("CLIENT_SECRET", [CANARY], "a string, not list", "quotes"),
    ("SIGNER", "unsigned", "sign", "Give an object"),
    ("SEAL_KEY", {CANARY: 1}, "a string, not dict", "quotes"),
    ("TIMEOUT", 0, "0", "15"),
    ("TIMEOUT", "soon", "number", "15"),
    ("TIMEOUT", True, "number", "15"),
    ("TIMEOUT", 10**400, "below", "15"),
    ("WEB_CALLS", 0, "1 to 1000", "such as 4"),
    ("TOKEN_MAX_AGE", 0, "no link works", "90 days"),
    ("CHECKOUT_ORIGINS", 7, "list", r"\["),
    ("CHECKOUT_ORIGINS", ["pay.example"], "absolute", "https://host"),
    ("CHECKOUT_ORIGINS", ["https://pay.example/checkout"], "path", "https://pay.example"),
    ("URL_PREFIX", "//pay", "path", "/paycheckout"),
    ("URL_PREFIX", "/<token>", "path", "/paycheckout"),
    ("URL_PREFIX", "/.", "path", "/paycheckout"),
    ("URL_PREFIX", "/pay/../here", "path", "/paycheckout"),
    ("WEBHOOK_SECRET", f"{CANARY}/x", "letters", "token_urlsafe"),
    ("WEBHOOK_SECRET", ["good", f"{CANARY}/x"], "letters", "token_urlsafe"),
    ("WEBHOOK_SECRET", [], "empty list", "list one"),
    ("METRICS_TOKEN", CANARY[:15], "fewer than 16", "token_urlsafe"),
    ("METRICS_TOKEN", [f"{CANARY} of the shop"], "spaces", "token_urlsafe"),
    ("WEBHOOK_COOLDOWN", timedelta(seconds=-1), "number", "15"),
    ("WATCH_FOR", timedelta.max, "below", "15"),
    ("PENDING_FOR", {"bank": timedelta.max}, "below", "15"),
    ("REMIND_AFTER", 3600, "must be a list", "3600, 86400"),
    ("REMIND_AFTER", [0], "has a time of 0", "3600, 86400"),
    ("PENDING_FOR", {"crypto": "an hour"}, "number", "15"),
    ("PENDING_FOR", {" ": 60}, "is no payment method", "crypto"),
    ("PRUNE_AFTER", 86399, "less than a day", "31536000"),
    ("CLOSED_DEPOSIT_STATUSES", 7, "list", "failed"),
    ("CLOSED_DEPOSIT_STATUSES", ["failed", "Completed"], "paid", "Remove it"),
    ("DEFER_WEBHOOKS", "maybe", "neither", "True or False"),
    ("LANGUAGES", ["de", "xx"], "is not a list of these languages: en, de", r"Write \['en', 'de'\]"),
    ("TIME_ZONE", "Europe/Nowhere", "IANA", "Europe/Berlin"),
    ("TIME_ZONE", "../UTC", "IANA", "Europe/Berlin"),
    ("RECONCILE_READERS", 101, "1 to 100", "such as 32"),
    ("ACCOUNT_CODES", ["8400"], "must map", '"payment": "8400"'),
    ("ACCOUNT_CODES", {"payment": 8400}, "must map", '"payment": "8400"'),
    ("ACCOUNT_CODES", {"sale": "8400"}, "has the unknown kind 'sale'", "payment, held"),
]


@pytest.mark.parametrize(
    ("key", "value", "fault", "remedy"), [pytest.param(*row, id=f"{row[0]}-{row[1]!r:.30}") for row in WRONG]
)
def test_refused_at_init_app_by_key_fault_and_remedy(key: str, value: Any, fault: str, remedy: str) -> None:
    app = make_app(**{f"PAYCHECKOUT_{key}": value})
    with pytest.raises(ConfigurationError, match=rf"^PAYCHECKOUT_{key} .*{fault}.*{remedy}") as refused:
        PayCheckout(app, SQLAlchemy(app))
    assert CANARY not in str(refused.value)
    assert CLIENT_SECRET not in str(refused.value)


@pytest.mark.parametrize("empty", [None, ""], ids=["missing", "empty"])
@pytest.mark.parametrize("key", ["BASE_URL", "CLIENT_ID", "CLIENT_SECRET"])
def test_a_missing_setting_is_named(key: str, empty: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"^PAYCHECKOUT_{key} is not set\. .*flask paycheckout sandbox"):
        load_settings((SETTINGS | {f"PAYCHECKOUT_{key}": empty}).get, relaxed=True)


def test_a_signer_replaces_id_and_secret() -> None:
    signer = Signer()
    assert load(PAYCHECKOUT_SIGNER=signer, PAYCHECKOUT_CLIENT_ID=None, PAYCHECKOUT_CLIENT_SECRET=None).signer is signer


def test_a_sandbox_is_allowed_in_debug_and_testing_and_where_the_shop_says_so() -> None:
    url = "http://localhost:8790"
    assert load(relaxed=True, PAYCHECKOUT_BASE_URL=url).base_url == url
    allowed = load(relaxed=False, PAYCHECKOUT_BASE_URL=url, PAYCHECKOUT_ALLOW_SANDBOX=True, SERVER_NAME="shop.example")
    assert allowed.base_url == url


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:8790", "localhost", "[::1]:1", "localhost.", "shop.LOCALHOST", "shop.localhost."),
        *("0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),  # noqa: S104
    ],
)
def test_this_machine_is_refused_in_production_in_any_spelling(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^PAYCHECKOUT_BASE_URL .*PAYCHECKOUT_ALLOW_SANDBOX"):
        load(relaxed=False, PAYCHECKOUT_BASE_URL=f"https://{host}/", SERVER_NAME="shop.example")


def test_a_scheme_in_capitals_is_the_same_one() -> None:
    url = "HTTPS://api.example.com"
    assert load(relaxed=False, PAYCHECKOUT_BASE_URL=url, SERVER_NAME="shop.example").base_url == url


@pytest.mark.parametrize("host", ["10.0.0.1", "[::ffff:10.0.0.1]", "[::2]", "localhost.example", "localhost.example."])
def test_another_machine_is_none_of_them(host: str) -> None:
    settings = load(relaxed=False, PAYCHECKOUT_BASE_URL=f"https://{host}", SERVER_NAME="shop.example")
    assert settings.base_url == f"https://{host}"


def test_plain_http_to_another_machine_is_refused_in_production() -> None:
    with pytest.raises(ConfigurationError, match=r"^PAYCHECKOUT_BASE_URL is not https"):
        load(relaxed=False, PAYCHECKOUT_BASE_URL="http://api.example.com", SERVER_NAME="shop.example")


@pytest.mark.parametrize(
    "settings",
    [{"PAYCHECKOUT_PUBLIC_URL": "https://shop.example"}, {"SERVER_NAME": "shop.example"}, {"TRUSTED_HOSTS": ["a.b"]}],
    ids=["PUBLIC_URL", "SERVER_NAME", "TRUSTED_HOSTS"],
)
def test_a_production_app_must_know_its_address(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"^PAYCHECKOUT_PUBLIC_URL is not set\. .*Host header"):
        load(relaxed=False, SERVER_NAME="", TRUSTED_HOSTS=[])
    load(relaxed=False, **settings)


def test_a_missing_secret_key_is_named_with_the_command_that_makes_one() -> None:
    app = make_app(SECRET_KEY=None)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY is not set.*secrets\.token_hex"):
        PayCheckout(app, SQLAlchemy(app))


def test_no_repr_shows_a_secret() -> None:
    settings = load(
        PAYCHECKOUT_CLIENT_SECRET=f"{CANARY}-1",
        PAYCHECKOUT_ACCESS_TOKEN=f"{CANARY}-2",
        PAYCHECKOUT_WEBHOOK_SECRET=f"{CANARY}-3",
    )
    assert CANARY not in repr(settings)
    assert CANARY not in str(settings)
