"""Django set up for a shop of a peer's, on the database of the run."""

import os
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command


def configure(urls: str, *applications: str, **others: Any) -> None:
    """Settings as a small shop has them in production: no middleware that its routes have no use for."""
    settings.configure(
        SECRET_KEY="bench-" + "x" * 50,
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": _database(os.environ["BENCH_DATABASE"])},
        INSTALLED_APPS=list(applications),
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        ROOT_URLCONF=urls,
        USE_TZ=True,
        LOGGING_CONFIG=None,
        # The tables as they are now, not by way of all that they once were.
        MIGRATION_MODULES={name.rpartition(".")[2]: None for name in applications},
        **others,
    )
    django.setup()


def _database(address: str) -> dict[str, Any]:
    url = urlsplit(address)
    if url.scheme == "sqlite":
        options = {"timeout": 30, "transaction_mode": "IMMEDIATE"}
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url.path[1:], "OPTIONS": options, "CONN_MAX_AGE": None}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path[1:]),
        "USER": url.username,
        "HOST": parse_qs(url.query)["host"][0],
        "CONN_MAX_AGE": None,
    }


def served() -> WSGIHandler:
    return WSGIHandler()


def make_tables() -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
