"""The checks of one shop: its settings, database, service, receivers, webhook route, tasks and alarms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from urllib.parse import urlsplit

import click
from sqlalchemy import QueuePool
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.books.alarms import Severity
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.checkouts.shop_answers import ShopFailed
from flask_paycheckout.cli import paycheckout, system_user
from flask_paycheckout.cli.options import account_option, json_option, known_account
from flask_paycheckout.config import KEYS, Settings
from flask_paycheckout.config.checks import PREFIX
from flask_paycheckout.database.database_errors import database_text
from flask_paycheckout.doctor.checks import Check, Level, failure, ok, warning
from flask_paycheckout.doctor.database import check_database, check_host
from flask_paycheckout.doctor.pages import DATABASE, NO_ORDER, check_pages, check_webhook
from flask_paycheckout.doctor.service import check_accounts, check_service
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.runtime import Runtime, for_writing, runtime
from flask_paycheckout.security.origins import leads_to_loopback
from flask_paycheckout.signals import NEEDS_RECEIVER
from flask_paycheckout.text import moment_text
from flask_paycheckout.views.order_urls import (
    development_address,
    is_beside_sandbox,
    webhook_address,
    webhook_url,
)

_SHORT_KEY = 16
# The number of threads per process with which docs/production.md starts gunicorn.
_USUAL_THREADS = 4


@dataclass(frozen=True)
class Diagnosis:
    """All results of `flask paycheckout doctor`; `str()` gives one line for each, with its remedy."""

    checks: tuple[Check, ...]
    webhook_url: str
    """The address to register in the service's dashboard; contains PAYCHECKOUT_WEBHOOK_SECRET when that is set."""

    @property
    def failed(self) -> bool:
        """Whether any check found a failure."""
        return any(check.level is Level.FAILURE for check in self.checks)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), "", f"Webhook URL to register: {self.webhook_url}"])


def examine(shop: Runtime, account: str | None = None) -> Diagnosis:
    """Run every check on the shop of the current app, and change nothing.

    Calls the service once, and once more for each merchant account that has open payments.

    :param account: check only this merchant account.
    :raises click.BadParameter: there is no such account.
    """
    # Check this first, because the other checks open connections.
    forks = tuple(_forks(shop))
    if faults := tuple(check_host(shop)):
        return Diagnosis((*_configuration(shop), *faults), webhook_address(shop))
    shop.sessions.refuse_uncommitted("doctor")
    account = known_account(account)
    checks: tuple[Callable[[Runtime], Iterator[Check]], ...] = (
        _configuration,
        _public_address,
        _installation,
        check_database,
        _web_calls,
        _pool,
        partial(check_service, account=account),
        partial(check_accounts, account=account),
        _order_total,
        _receivers,
        check_webhook,
        check_pages,
        _deferred,
        partial(_alarms, account=account),
    )
    return Diagnosis((*forks, *(result for check in checks for result in check(shop))), webhook_address(shop))


@paycheckout.command(short_help="Check shop, database and service; print the webhook URL.")
@account_option
@click.option("--moved-here", is_flag=True, help="The shop has moved: its database belongs to this address now.")
@json_option
def doctor(account: str | None, moved_here: bool, as_json: bool) -> None:
    """Check that the shop, its database and the service work together; print the webhook URL to register.

    Checks configuration, tables, clock, credentials (by one signed read), the shop's own functions, its routes, and
    whether reconcile keeps up. Changes nothing, unless --moved-here says that the shop has moved: from another address
    than before no payouts and reminders are sent. Of several merchant accounts, each that has open payments is
    checked by a signed read, 100 at most.

    Exit code 0: no check failed, though there may be warnings. 1: a check failed. 2: there is no such account.
    """
    if moved_here:
        for_writing("doctor --moved-here").installation.move_here(system_user())
    diagnosis = examine(runtime(), account)
    click.echo(json.dumps(asdict(diagnosis) | {"failed": diagnosis.failed}, indent=2) if as_json else str(diagnosis))
    raise SystemExit(1 if diagnosis.failed else 0)


def _configuration(shop: Runtime) -> Iterator[Check]:
    service = shop.settings.base_url
    if leads_to_loopback(service) and not shop.strict:
        yield warning(
            "configuration",
            f"payments go to a sandbox, {service}",
            "Set PAYCHECKOUT_BASE_URL to the service's address for real payments.",
        )
    else:
        yield ok("configuration", f"payments go to {service}")
    key = shop.app.secret_key or ""
    if len(key) < _SHORT_KEY and not shop.strict:
        yield warning(
            "configuration",
            f"SECRET_KEY has {len(key)} characters; whoever guesses it can forge the owner's session, and the links by"
            " which customers say where their refunds go",
            "Make one with: python -c 'import secrets; print(secrets.token_hex(32))'.",
        )
    # This is no error at start, because a shop may use its own settings with this prefix.
    for unknown in sorted(key for key in shop.app.config if key.startswith(PREFIX) and key not in KEYS):
        near = get_close_matches(unknown, KEYS, 1, 0.9)
        remedy = f"Did you mean {near[0]}?" if near else "Remove it, unless the shop itself uses it."
        yield warning("configuration", f"{unknown} is no setting of flask_paycheckout", remedy)


def _web_calls(shop: Runtime) -> Iterator[Check]:
    number = shop.settings.web_calls
    given_by = "the default" if number == Settings.web_calls else "PAYCHECKOUT_WEB_CALLS"
    yield ok(
        "web calls",
        f"of a process {number} ({given_by}) web requests wait for the service at once, and 2 while it is slow",
    )


def _public_address(shop: Runtime) -> Iterator[Check]:
    remedy = "Set PAYCHECKOUT_PUBLIC_URL to the shop's own https address, such as https://shop.example."
    if not (shop.settings.public_url or shop.app.config.get("SERVER_NAME")):
        if is_beside_sandbox(shop):
            found = f"{development_address()}, where flask run serves it without --port"
            yield ok("address", f"{found}; for another port set FLASK_RUN_PORT, or PAYCHECKOUT_PUBLIC_URL")
        else:
            yield warning("address", "only requests know the shop's own address; commands and tasks do not", remedy)
        return
    address = urlsplit(webhook_url())
    is_here = leads_to_loopback(webhook_url())
    if is_here and not leads_to_loopback(shop.settings.base_url):
        yield warning("address", f"the service cannot send webhooks to {address.hostname}", remedy)
    elif address.scheme != "https" and not is_here:
        yield warning("address", "plain http: an eavesdropper can use the links to pay and to status pages", remedy)
    else:
        yield ok("address", f"{address.scheme}://{address.netloc}")


def _installation(shop: Runtime) -> Iterator[Check]:
    """Check that the database belongs to this shop; an alarm reports the same after a round has run."""
    here, stored = shop.installation.address, None
    # If this fails, the check of the database reports it.
    with suppress(SQLAlchemyError):
        stored = shop.installation.stored()
    if stored not in (None, here):
        yield failure(
            "address",
            f"the database belongs to the shop at {stored}, so this copy sends no payouts and no reminders",
            "If the shop has moved here: flask paycheckout doctor --moved-here. Otherwise see docs/copies.md.",
        )


def _order_total(shop: Runtime) -> Iterator[Check]:
    try:
        total, _ = shop.answers.order(NO_ORDER)
    except Exception as failed:
        error = failed.error if isinstance(failed, ShopFailed) else failed
        if isinstance(error, ConfigurationError):
            yield failure("order_total", str(error), "Without it no order can be paid.")
            return
        yield warning(
            "order_total",
            f"raised {type(error).__name__} for an order that does not exist",
            DATABASE if isinstance(error, SQLAlchemyError) else "Return None for an order that cannot be paid.",
        )
    else:
        if total is None:
            yield ok("order_total", "registered; None for an order that does not exist")
        else:
            yield warning("order_total", "gave a price for an order that does not exist", "Return None for it.")


def _receivers(shop: Runtime) -> Iterator[Check]:
    """Check that this process has a receiver for payments, and that receivers share the payment's transaction."""
    count = len(shop.receivers.of(NEEDS_RECEIVER))
    if count:
        yield ok(NEEDS_RECEIVER, f"{count} receiver{'' if count == 1 else 's'}")
    else:
        remedy = f"Connect one in a module that every process of the shop imports: @{NEEDS_RECEIVER}.connect."
        yield failure(NEEDS_RECEIVER, "no receiver: the shop learns of no payment, and the events wait", remedy)
    metadatas = shop.sessions.database.metadatas
    binds = [key for key, metadata in metadatas.items() if metadata.tables and key != shop.models.bind_key]
    if binds and not shop.settings.separate_database:
        others = ", ".join(sorted("the default database" if key is None else key for key in binds))
        yield warning(
            "receivers",
            f"the tables of {others} are in another database than those of payments: a receiver that writes there"
            " through db.session fails, since no transaction covers both",
            "Keep orders and payments in one database, or see 'Tables in a second database' in docs/receivers.md.",
        )


def _deferred(shop: Runtime) -> Iterator[Check]:
    if shop.settings.defer_webhooks and "celery" not in shop.app.extensions:
        yield warning(
            "tasks",
            "PAYCHECKOUT_DEFER_WEBHOOKS is set, but the app has no Celery app: webhooks wait for reconcile",
            'Put it at app.extensions["celery"], or remove the setting.',
        )


def _alarms(shop: Runtime, account: str | None) -> Iterator[Check]:
    """Yield each alarm of the report: a failure, or a warning for a note."""
    try:
        alarms = find_alarms(shop.alarm_context(account))
    except SQLAlchemyError as error:
        yield failure("alarms", database_text(error), DATABASE)
        return
    for alarm in alarms:
        level = Level.WARNING if alarm.severity is Severity.NOTE else Level.FAILURE
        first = f"; the first: {alarm.examples[0]}" if alarm.examples else ""
        found = f"{alarm.what}, since {moment_text(alarm.since)}{first}"
        yield Check(alarm.kind, level, found, "\n".join(alarm.remedies) or None, alarm.account)
    if all(alarm.severity is Severity.NOTE for alarm in alarms):
        yield ok("alarms", "nothing needs a person, and no read is overdue or fails")


def _forks(shop: Runtime) -> Iterator[Check]:
    """Warn of open connections that forked workers would share."""
    engine = shop.sessions.engine_if_known()
    opened = engine.pool.checkedin() if engine is not None and isinstance(engine.pool, QueuePool) else 0
    if opened and not shop.strict:
        yield warning(
            "forks",
            f"the app opens {opened} database connection{'' if opened == 1 else 's'} while it is made;"
            " with gunicorn --preload all workers would share them",
            "Call db.engine.dispose(close=False) in gunicorn's post_fork hook, as docs/production.md shows.",
        )


def _pool(shop: Runtime) -> Iterator[Check]:
    """Check that the connection pool serves the threads of a process."""
    pool = shop.sessions.engine().pool
    overflow = int((shop.app.config.get("SQLALCHEMY_ENGINE_OPTIONS") or {}).get("max_overflow", 10))
    if not isinstance(pool, QueuePool) or pool.size() == 0 or overflow < 0:
        return
    most = pool.size() + overflow
    finding = f"{most} connection{'' if most == 1 else 's'}: a process serves as many threads without a wait"
    if most < _USUAL_THREADS:
        remedy = "Set pool_size in SQLALCHEMY_ENGINE_OPTIONS to the threads of a process; see docs/outages.md."
        yield warning("pool", finding, remedy)
    else:
        yield ok("pool", finding)
