"""The checks of the service: whether it answers, takes the keys of each merchant account, and agrees about the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.books.account_names import is_stored, open_accounts
from flask_paycheckout.client import NotFound, PaymentsClient, PaymentsError, Probe, RequestRefused, Unauthorized
from flask_paycheckout.doctor.checks import Check, Level, failure, ok, warning
from flask_paycheckout.parts import Callbacks
from flask_paycheckout.runtime import Runtime
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.service.calls import says_absent

T = TypeVar("T")
Progress = Callable[[int, int], object]
"""Called with the number of accounts that were checked, and of all."""

_CHECKED = 100
# Seconds by which two synchronised clocks usually differ, and by which many services let a signature's time differ.
_USUAL_SKEW, _MOST_SKEW = 5, 60
# Reads at once, and the most seconds of each: the check of all accounts takes about a minute at most.
_AT_ONCE = 8
_LONGEST = 5.0
_ONE = "Check one: flask paycheckout doctor --account NAME"
_KEYS = "Let @paycheckout.account return its present keys; until then its payments are not read."


def check_service(shop: Runtime, account: str | None) -> Iterator[Check]:
    """Check the account of the settings; a shop that does not use it is only warned."""
    if account:
        return
    used = account is not None or _needs_default(shop)
    for check in _signed_read(shop):
        is_warning = check.level is Level.FAILURE and check.about != "clock" and not used
        found = f"{check.found} (no payment uses the account of the settings)"
        yield replace(check, level=Level.WARNING, found=found) if is_warning else check


def _signed_read(shop: Runtime) -> Iterator[Check]:
    try:
        probe = shop.client.probe()
    except PaymentsError as error:
        yield failure("service", str(error), "Check PAYCHECKOUT_BASE_URL, and that this machine can reach it.")
        return
    except ValueError as error:
        yield failure("credentials", str(error), "Check PAYCHECKOUT_CLIENT_ID, _CLIENT_SECRET and _SIGNER.")
        return
    yield _credentials(probe.refusal)
    yield _clock(probe)


def _credentials(refusal: RequestRefused | None) -> Check:
    if refusal is None or (isinstance(refusal, NotFound) and says_absent(refusal)):
        return ok("credentials", "the service accepted a signed read")
    if isinstance(refusal, Unauthorized):
        return failure(
            "credentials",
            f"refused: {refusal}",
            "Check PAYCHECKOUT_CLIENT_ID and _CLIENT_SECRET, this machine's clock, and, if the service expects another"
            " kind of signature, PAYCHECKOUT_SIGNER.",
        )
    if isinstance(refusal, NotFound):
        return failure(
            "service",
            f"answered 404, but not as the service does: {refusal}",
            "Check the path in PAYCHECKOUT_BASE_URL: paths such as /v1/checkout are appended to it.",
        )
    return warning("credentials", f"not checked, since the service answered: {refusal}", "Run this again later.")


def _clock(probe: Probe) -> Check:
    ahead = probe.clock_ahead
    if ahead is None:
        return warning("clock", "the service's answer has no Date header", "Synchronise this machine's clock by NTP.")
    if abs(ahead) <= _USUAL_SKEW:
        return ok("clock", "agrees with the service's")
    found = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the service's"
    remedy = "Synchronise this machine's clock by NTP: requests are signed with its time."
    return failure("clock", found, remedy) if abs(ahead) > _MOST_SKEW else warning("clock", found, remedy)


def check_accounts(shop: Runtime, account: str | None, progress: Progress) -> Iterator[Check]:
    """Make a signed read with the keys of each account that has open checkouts or payouts.

    :param account: only this one, whatever it has open.
    """
    yield from _functions(shop.callbacks)
    # One more than is checked, and the account of the settings.
    found = asked(shop, lambda connection: open_accounts(connection, shop.models, _CHECKED + 2), otherwise=list[str]())
    names = [name for name in (found if account is None else [account]) if name]
    if not names:
        return
    if len(names) > _CHECKED:
        names = names[:_CHECKED]
        yield warning("accounts", f"more than {_CHECKED} have open payments; the others were not checked", _ONE)
    clients: dict[str, PaymentsClient] = {}
    for name in names:
        # The shop is asked now, whatever it said a moment ago.
        shop.accounts.refused(name)
        try:
            clients[name] = shop.accounts.client_of(name)
        except AccountUnavailable as error:
            yield failure("accounts", str(error), _KEYS, name)
    accepted = 0
    answers = _read(clients, min(_LONGEST, shop.settings.timeout), progress)
    for name in clients:
        fault = _fault(name, answers[name])
        if fault is None:
            accepted += 1
        else:
            yield fault
    if accepted and account:
        yield ok("accounts", f"account {account!r}: the service accepted a signed read with its keys", account)
    elif accepted:
        yield ok("accounts", f"the service accepted a signed read with the keys of {accepted} of {len(names)}")


def _needs_default(shop: Runtime) -> bool:
    """Whether the shop uses the account of the settings: it names no other, or has payments with it."""
    if shop.callbacks.account_of is None:
        return True
    return asked(shop, lambda connection: is_stored(connection, shop.models, ""), otherwise=True)


def asked(shop: Runtime, ask: Callable[[Connection], T], *, otherwise: T) -> T:
    """The answer of the database; `otherwise` where it fails, which the check of the database tells."""
    try:
        with shop.engine().connect() as connection:
            return ask(connection)
    except SQLAlchemyError:
        return otherwise


def _functions(callbacks: Callbacks) -> Iterator[Check]:
    if callbacks.account_of is not None and callbacks.account is None:
        found = "account_of names the accounts of orders, and no function gives their keys"
        yield failure("accounts", found, "Register the function that gives them: @paycheckout.account.")
    elif callbacks.account is not None and callbacks.account_of is None:
        found = "account gives keys, and no function names an order's account: all use the one of the settings"
        yield failure("accounts", found, "Register the function that names it: @paycheckout.account_of.")


def _read(
    clients: Mapping[str, PaymentsClient], seconds: float, progress: Progress
) -> dict[str, Exception | RequestRefused | None]:
    """Read with each client, some at a time; the refusal, error, or None of each account."""

    def probe(client: PaymentsClient) -> Exception | RequestRefused | None:
        try:
            return client.within(seconds).probe().refusal
        except Exception as error:
            # A signer of the shop's own may raise anything.
            return error

    with ThreadPoolExecutor(_AT_ONCE, "paycheckout-doctor") as pool:
        reads = {pool.submit(probe, client): name for name, client in clients.items()}
        answers = {}
        for done, read in enumerate(as_completed(reads), start=1):
            answers[reads[read]] = read.result()
            progress(done, len(reads))
    return answers


def _fault(name: str, answer: Exception | RequestRefused | None) -> Check | None:
    if answer is None or (isinstance(answer, NotFound) and says_absent(answer)):
        return None
    if isinstance(answer, RequestRefused):
        return failure("accounts", f"account {name!r}: refused: {answer}", _KEYS, name)
    if isinstance(answer, PaymentsError):
        return failure("accounts", f"account {name!r}: {answer}", "Check the base_url of its Account.", name)
    # Without its message, which the shop's signer may have made of the secret.
    words = f"account {name!r}: its request could not be signed ({type(answer).__name__})"
    return failure("accounts", words, "Check the keys and the signer that @paycheckout.account returns.", name)
