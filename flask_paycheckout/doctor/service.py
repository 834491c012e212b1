"""The checks of the service: whether it answers and accepts each account's keys, and whether the clocks agree."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple
from uuid import uuid4

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.payments import says_absent
from flask_paycheckout.client import NotFound, PaymentsClient, PaymentsError, RequestRefused, Unauthorized
from flask_paycheckout.client.client import clock_of
from flask_paycheckout.client.waiting import moment_of
from flask_paycheckout.doctor.checks import Check, Level, failure, ok, warning
from flask_paycheckout.runtime import Runtime
from flask_paycheckout.service.accounts import AccountUnavailable

_CHECKED = 100
# The usual difference of synchronised clocks, and the difference that many services accept, in seconds.
_USUAL_SKEW, _MOST_SKEW = 5, 60
# The number of concurrent reads, and the timeout of each in seconds: all accounts take about a minute at most.
_AT_ONCE = 8
_LONGEST = 5.0
_ONE = "Check one: flask paycheckout doctor --account NAME"
_OF_SETTINGS = (
    "Check PAYCHECKOUT_BASE_URL, _CLIENT_ID and _CLIENT_SECRET, and, if the service expects another kind of signature,"
    " _SIGNER; and that this machine can reach the service."
)
_OF_ACCOUNT = "Let @paycheckout.account return its present keys and base_url; until then its payments are not read."


def check_service(shop: Runtime, account: str | None) -> Iterator[Check]:
    """Check the account of the settings; if the shop does not use it, a failure is only a warning."""
    if account:
        return
    try:
        probe = _probe(shop.client)
        check = _check_of(probe.refusal)
        yield _clock(probe.clock_ahead)
    except Exception as error:
        check = _check_of(error)
    if check.level is Level.FAILURE and account is None and not _needs_default(shop):
        found = f"{check.found} (no payment uses the account of the settings)"
        check = replace(check, level=Level.WARNING, found=found)
    yield check


class _Probe(NamedTuple):
    """The service's answer to a signed read of a deposit that cannot exist."""

    refusal: RequestRefused | None
    clock_ahead: float | None
    """The minimum by which the signing clock is ahead of the service's, in seconds; None if the answer has no time.

    Negative if it is behind, 0 if the two may agree. The service sends whole seconds.
    """


def _probe(client: PaymentsClient) -> _Probe:
    """Read a deposit that cannot exist.

    :raises PaymentsError: there was no usable answer.
    """
    clock, refusal = clock_of(client), None
    sent = clock()
    try:
        # Do not retry: a second answer would say nothing about the time of the first request.
        answer = client.deposits.get(f"no-such-deposit-{uuid4().hex}", retries=0).response
        headers = answer and answer.headers
    except RequestRefused as refused:
        refusal, headers = refused.with_traceback(None), refused.headers
    received, date = clock(), moment_of(headers.get("date") if headers else None)
    if date is None:
        return _Probe(refusal, None)
    # The result is 0 if the interval from `sent` to `received` overlaps the second that begins at the date.
    return _Probe(refusal, max(0.0, sent - (date + 1)) or min(0.0, received - date))


def _check_of(answer: Exception | None, account: str | None = None) -> Check:
    """The check that follows from the answer to a signed read.

    :param answer: the refusal or error; None for an answer with a deposit.
    :param account: the account whose keys signed it; None for the account of the settings.
    """
    about, prefix, remedy = "credentials", "", _OF_SETTINGS
    if account is not None:
        about, prefix, remedy = "accounts", f"account {account!r}: ", _OF_ACCOUNT
    if answer is None or (isinstance(answer, NotFound) and says_absent(answer)):
        return ok(about, f"{prefix}the service accepted a signed read", account)
    if isinstance(answer, NotFound):
        found = f"{prefix}answered 404, but not as the service does: {answer}"
    elif isinstance(answer, Unauthorized):
        found = f"{prefix}refused: {answer}"
    elif isinstance(answer, RequestRefused):
        found = f"{prefix}not checked, since the service answered: {answer}"
        return Check(about, Level.WARNING, found, "Run this again later.", account)
    elif isinstance(answer, PaymentsError):
        found = f"{prefix}{answer}"
    else:
        # Show no message: the shop's own code may have put a secret in it.
        found = f"{prefix}the request could not be made ({type(answer).__name__})"
    return failure(about, found, remedy, account)


def _clock(ahead: float | None) -> Check:
    if ahead is None:
        return warning("clock", "the service's answer has no Date header", "Synchronise this machine's clock by NTP.")
    if abs(ahead) <= _USUAL_SKEW:
        return ok("clock", "agrees with the service's")
    found = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the service's"
    remedy = "Synchronise this machine's clock by NTP: requests are signed with its time."
    return failure("clock", found, remedy) if abs(ahead) > _MOST_SKEW else warning("clock", found, remedy)


def check_accounts(shop: Runtime, account: str | None) -> Iterator[Check]:
    """Make a signed read with the keys of each account that has open checkouts or payouts.

    :param account: check only this account, even if it has nothing open.
    """
    accounts = [] if account is None else [account]
    # If this fails, the check of the database reports it.
    with suppress(SQLAlchemyError):
        # Ask for one account more than are checked, and for the account of the settings.
        accounts = accounts or shop.merchants.open(_CHECKED + 2)
    names = [name for name in accounts if name]
    if len(names) > _CHECKED:
        names = names[:_CHECKED]
        yield warning("accounts", f"more than {_CHECKED} have open payments; the others were not checked", _ONE)
    clients: dict[str, PaymentsClient] = {}
    for name in names:
        # Ask the shop for new keys now, instead of using cached ones.
        shop.accounts.refused(name)
        try:
            clients[name] = shop.accounts.client_of(name)
        except AccountUnavailable as error:
            yield failure("accounts", str(error), _OF_ACCOUNT, name)
    seconds, accepted = min(_LONGEST, shop.settings.timeout), 0

    def probe(client: PaymentsClient) -> Exception | None:
        try:
            return _probe(client.within(seconds)).refusal
        except Exception as error:
            # A signer of the shop's own may raise anything.
            return error

    with ThreadPoolExecutor(_AT_ONCE, "paycheckout-doctor") as pool:
        for name, answer in zip(clients, pool.map(probe, clients.values()), strict=True):
            check = _check_of(answer, name)
            if check.level is not Level.OK or account:
                yield check
            accepted += check.level is Level.OK
    if accepted and not account:
        yield ok("accounts", f"the service accepted a signed read with the keys of {accepted} of {len(names)}")


def _needs_default(shop: Runtime) -> bool:
    """Whether the shop uses the account of the settings: it names no other, has payments with it, or pays with it."""
    if shop.callbacks.account_of is None:
        return True
    with suppress(SQLAlchemyError):
        return any(not shop.merchants.payer_of(name)[0] for name in shop.merchants.names())
    return True
