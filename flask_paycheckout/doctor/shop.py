"""Whether shop, database and service can work together: `flask paycheckout doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import QueuePool
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.settlement import says_absent
from flask_paycheckout.client import NotFound, PaymentsError, Probe, RequestRefused, Unauthorized
from flask_paycheckout.doctor.alarms import check_alarms
from flask_paycheckout.doctor.checks import Check, Level, failure, ok, warning
from flask_paycheckout.doctor.database import check_database, words
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.rules.receivers import receivers_of, unheard_signals
from flask_paycheckout.runtime import Runtime
from flask_paycheckout.security.origins import is_loopback, origin_of
from flask_paycheckout.signals import ASKS_FOR_A_DEED
from flask_paycheckout.store.shop_session import refuse_uncommitted
from flask_paycheckout.views.order_urls import development_address, webhook_path, webhook_url

__all__ = ["Diagnosis", "examine", "webhook_address"]

# Clocks of two machines that are looked after; and what a signature's timestamp may be off at many services.
_USUAL_SKEW, _MOST_SKEW = 5, 60
_SHORT_SECRET = 16
_NO_ORDER = "no order of this shop: a question of flask paycheckout doctor"


@dataclass(frozen=True)
class Diagnosis:
    """Every check that was made; `str()` tells them with their remedies."""

    checks: tuple[Check, ...]
    webhook_url: str
    """To register in the service's dashboard. Holds PAYCHECKOUT_WEBHOOK_SECRET, when that is set."""

    @property
    def failed(self) -> bool:
        """Whether anything does not work, or may lose a payment."""
        return any(check.level is Level.FAILURE for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self) | {"failed": self.failed}

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), "", f"Webhook URL to register: {self.webhook_url}"])


def examine(shop: Runtime) -> Diagnosis:
    """Make every check on the current app's shop. Reads the service once; nothing stays changed."""
    refuse_uncommitted(shop.db, "doctor", only_if_blocking=True)
    return Diagnosis(tuple(check for look in _LOOKS for check in look(shop)), webhook_address(shop))


def webhook_address(shop: Runtime) -> str:
    """The webhook's absolute URL, with a place left for the shop's address when that is not known."""
    if shop.settings.public_url or shop.app.config.get("SERVER_NAME") or _is_beside_sandbox(shop):
        return webhook_url()
    return f"https://<the shop's address>{webhook_path()}"


def _configuration(shop: Runtime) -> Iterator[Check]:
    settings = shop.settings
    service = urlsplit(settings.base_url)
    if is_loopback(service.hostname or "") and not _at_home(shop):
        yield warning(
            "configuration",
            f"payments go to a sandbox, {settings.base_url}",
            "Set PAYCHECKOUT_BASE_URL to the service's address for real payments.",
        )
    else:
        yield ok("configuration", f"payments go to {settings.base_url}")
    key = shop.app.secret_key or ""
    if len(key) < _SHORT_SECRET and not _at_home(shop):
        yield warning(
            "configuration",
            f"SECRET_KEY has {len(key)} characters; who guesses it can make links to every order's page",
            "Make one with: python -c 'import secrets; print(secrets.token_hex(32))'.",
        )


def _public_address(shop: Runtime) -> Iterator[Check]:
    public = shop.settings.public_url
    remedy = "Set PAYCHECKOUT_PUBLIC_URL to the shop's own https address, such as https://shop.example."
    if _is_beside_sandbox(shop) and public is None and not shop.app.config.get("SERVER_NAME"):
        yield ok("address", f"{development_address()}, where flask run serves; PAYCHECKOUT_PUBLIC_URL says another")
        return
    if public is None and not shop.app.config.get("SERVER_NAME"):
        yield warning("address", "the shop's own address is known to requests only, not to commands or tasks", remedy)
        return
    address = urlsplit(webhook_url())
    if is_loopback(address.hostname or "") and not is_loopback(urlsplit(shop.settings.base_url).hostname or ""):
        yield warning("address", f"the service cannot send webhooks to {address.hostname}", remedy)
    elif address.scheme != "https" and not is_loopback(address.hostname or ""):
        yield warning("address", "plain http: whoever listens can use the links to pay and to status pages", remedy)
    else:
        yield ok("address", f"{address.scheme}://{address.netloc}")


def _database(shop: Runtime) -> Iterator[Check]:
    return check_database(shop.engine(), shop.models)


def _service(shop: Runtime) -> Iterator[Check]:
    try:
        probe = shop.client.probe()
    except PaymentsError as error:
        yield failure("service", str(error), "See PAYCHECKOUT_BASE_URL, and whether this machine reaches it.")
        return
    except ValueError as error:
        yield failure("credentials", str(error), "See PAYCHECKOUT_CLIENT_ID, _CLIENT_SECRET and _SIGNER.")
        return
    yield _credentials(probe.refusal)
    yield _clock(probe)


def _credentials(refusal: RequestRefused | None) -> Check:
    if refusal is None or (isinstance(refusal, NotFound) and says_absent(refusal)):
        return ok("credentials", "the service took a signed read")
    if isinstance(refusal, Unauthorized):
        return failure(
            "credentials",
            f"refused: {refusal}",
            "See PAYCHECKOUT_CLIENT_ID and _CLIENT_SECRET, this machine's clock, and PAYCHECKOUT_SIGNER, should the"
            " service sign in another way.",
        )
    if isinstance(refusal, NotFound):
        return failure(
            "service",
            f"another 404 than the service's own: {refusal}",
            "See the path in PAYCHECKOUT_BASE_URL: paths such as /v1/checkout are put behind it.",
        )
    return warning("credentials", f"not known, the service said: {refusal}", "Run this again later.")


def _clock(probe: Probe) -> Check:
    ahead = probe.clock_ahead
    if ahead is None:
        return warning("clock", "the service's answer has no time in it", "Keep this machine's clock by NTP.")
    if abs(ahead) <= _USUAL_SKEW:
        return ok("clock", "agrees with the service's")
    found = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the service's"
    remedy = "Keep this machine's clock by NTP: requests are signed with its time."
    return failure("clock", found, remedy) if abs(ahead) > _MOST_SKEW else warning("clock", found, remedy)


def _order_total(shop: Runtime) -> Iterator[Check]:
    try:
        total = shop.ask_total(_NO_ORDER)
    except ConfigurationError as error:
        yield failure("order_total", str(error), "Without it nothing can be paid.")
    except Exception as error:
        yield warning(
            "order_total",
            f"raised {type(error).__name__} for an order that does not exist",
            "Return None for what cannot be paid.",
        )
    else:
        if total is None:
            yield ok("order_total", "registered; None for an order that does not exist")
        else:
            yield warning("order_total", "gave a price for an order that does not exist", "Return None for it.")


def _receivers(shop: Runtime) -> Iterator[Check]:
    unheard = unheard_signals(shop.app, shop.settings.unheard)
    for name in sorted(ASKS_FOR_A_DEED):
        count = len(receivers_of(name, shop.app))
        if name == "order_paid" and name in unheard:
            yield failure(name, "no receiver: nobody is told of a payment, and its events wait", _remedy(name))
        elif name in unheard:
            yield warning(name, "no receiver: nobody hears of what needs a person, and its events wait", _remedy(name))
        elif count or name == "order_paid":
            yield ok(name, f"{count} receiver{'' if count == 1 else 's'}")


def _remedy(signal_name: str) -> str:
    return (
        f"Connect one where every process of the shop imports it: @{signal_name}.connect. A shop that wants none lists"
        f" it: PAYCHECKOUT_UNHEARD = ['{signal_name}']."
    )


def _webhook(shop: Runtime) -> Iterator[Check]:
    secrets = shop.settings.webhook_secret
    shortest = min(map(len, secrets), default=_SHORT_SECRET)
    if shortest < _SHORT_SECRET:
        yield warning(
            "webhook",
            f"PAYCHECKOUT_WEBHOOK_SECRET has {shortest} characters",
            "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'.",
        )
    elif not secrets:
        yield ok("webhook", "no PAYCHECKOUT_WEBHOOK_SECRET; a forged webhook costs a read at most")
    yield _post_to_it(shop)


def _post_to_it(shop: Runtime) -> Check:
    """A webhook about no checkout, through all that the shop puts before its routes."""
    hosts = shop.app.config.get("TRUSTED_HOSTS") or ["localhost"]
    public = shop.settings.public_url
    base = origin_of(public) if public else None if shop.app.config.get("SERVER_NAME") else f"http://{hosts[0]}"
    try:
        answer = shop.app.test_client().post(webhook_path(), base_url=base, json={"orderId": _NO_ORDER})
    except Exception as error:
        return failure(
            "webhook", f"its route raised {type(error).__name__}", "See what runs before and after requests."
        )
    if answer.status_code == 200:
        return ok("webhook", "its route answers")
    remedy = "Something before the route refuses it: a login, a redirect, or a check of the host."
    if "csrf" in shop.app.extensions:
        remedy = "Exempt it from Flask-WTF: csrf.exempt(app.blueprints['paycheckout']); its forms have their own guard."
    return failure("webhook", f"its route answered {answer.status_code} to a well-formed webhook", remedy)


def _deferred(shop: Runtime) -> Iterator[Check]:
    if not shop.settings.defer_webhooks:
        return
    celery_app = shop.app.extensions.get("celery")
    if celery_app is None or find_spec("celery") is None:
        yield warning(
            "tasks",
            "PAYCHECKOUT_DEFER_WEBHOOKS is set, but the app has no Celery app: webhooks wait for reconcile",
            'Put it at app.extensions["celery"], or take the setting out.',
        )
        return
    from flask_paycheckout.tasks import ask_broker

    try:
        ask_broker(celery_app)
    except Exception as error:
        found = f"the broker does not answer ({type(error).__name__}): webhooks wait for reconcile"
        yield warning("tasks", found, "Start the broker, or see Celery's broker_url.")
    else:
        yield ok("tasks", "the broker answers")


def _alarms(shop: Runtime) -> Iterator[Check]:
    try:
        yield from check_alarms(shop.alarms())
    except SQLAlchemyError as error:
        yield failure("reconcile", words(error), "See database, above.")


def _forks(shop: Runtime) -> Iterator[Check]:
    """Connections that were opened while the app was made are shared by workers that are forked from it."""
    pool = shop.engine().pool
    opened = pool.checkedin() if isinstance(pool, QueuePool) else 0
    if opened and not _at_home(shop):
        yield warning(
            "forks",
            f"the app opens {opened} database connection{'' if opened == 1 else 's'} while it is made;"
            " with gunicorn --preload all workers would share them",
            "Call db.engine.dispose(close=False) in gunicorn's post_fork hook, as README's gunicorn.conf.py does.",
        )


_LOOKS: tuple[Callable[[Runtime], Iterator[Check]], ...] = (
    # First, before anything here opens connections.
    _forks,
    _configuration,
    _public_address,
    _database,
    _service,
    _order_total,
    _receivers,
    _webhook,
    _deferred,
    _alarms,
)


def _is_beside_sandbox(shop: Runtime) -> bool:
    """Whether a sandbox on this machine could send webhooks to `flask run`'s usual address."""
    in_debug = shop.app.debug and not shop.app.testing
    return in_debug and is_loopback(urlsplit(shop.settings.base_url).hostname or "")


def _at_home(shop: Runtime) -> bool:
    """Whether this is development or a test, where a sandbox and short secrets are as they should be."""
    return shop.app.debug or shop.app.testing
