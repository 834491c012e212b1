"""Merchant accounts: the keys that the shop gives for each, and a client of the service for those in use.

The shop is asked for an account's keys when it is used, and again after some time, or at once when the service refused
them. Keys that have changed get a client of their own, over the connections that all accounts of a service share.
"""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from flask_paycheckout.client import BearerToken, PaymentsClient, PaymentsError, Signer, TransportFailed
from flask_paycheckout.client.signing import RenewedToken
from flask_paycheckout.config import Settings, check_account
from flask_paycheckout.database.order_ids import MAX_ID, is_order_id
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.service.limits import Guarded

if TYPE_CHECKING:
    import httpx


class _FromSettings(Enum):
    """As an `Account`'s `access_token`: its payouts are sent with PAYCHECKOUT_ACCESS_TOKEN, whose account then pays."""

    SETTINGS = "settings"


SETTINGS = _FromSettings.SETTINGS

AccessToken = str | Callable[[], str] | Literal[_FromSettings.SETTINGS]

# The most accounts whose keys are kept.
_MOST_CLIENTS = 100


@dataclass(frozen=True, slots=True, init=False)
class Account:
    """The keys of a merchant account. What is left out, or None, comes from the PAYCHECKOUT_ settings.

    Its own keys never do: an account without client id and secret is refused, unless its `signer` needs none, and the
    payouts of one without an access token wait.

    :param client_id: signs every request, together with `client_secret`.
    :param base_url: the address of the payments service.
    :param access_token: for payouts; a string, a function that returns one, or `SETTINGS` for that of the settings,
        whose account then pays.
    :param signer: replaces the built-in signing.
    :param checkout_origins: the origins to which a customer may be redirected.
    :param public_url: the base of absolute links to its orders and refunds.
    :param shop_name: the shop's name on its customers' pages.
    :param languages: the codes of its pages' languages; the first is the default.
    :param time_zone: the name of the time zone of its pages, and of its months in the owner's books.
    :raises ConfigurationError: a value cannot be used; the message names it, and never shows a secret.
    """

    client_id: str
    client_secret: str = field(repr=False)
    base_url: str | None
    access_token: AccessToken | None = field(repr=False)
    signer: Any = field(repr=False)
    checkout_origins: tuple[str, ...] | None
    public_url: str | None
    shop_name: str | None
    languages: tuple[str, ...] | None
    time_zone: tzinfo | None

    def __init__(
        self,
        client_id: str | None,
        client_secret: str | None,
        *,
        base_url: str | None = None,
        access_token: AccessToken | None = None,
        signer: Any = None,
        checkout_origins: Sequence[str] | None = None,
        public_url: str | None = None,
        shop_name: str | None = None,
        languages: Sequence[str] | None = None,
        time_zone: str | None = None,
    ) -> None:
        own_token = None if access_token is SETTINGS else access_token
        keys = (client_id, client_secret, base_url, own_token, signer)
        values = (*keys, checkout_origins, public_url, shop_name, languages, time_zone)
        given = dict(zip(self.__slots__, values, strict=True))
        try:
            checked = check_account({name: value for name, value in given.items() if value is not None})
        except ConfigurationError as fault:
            failure = fault.with_traceback(None)
        else:
            for name in self.__slots__:
                object.__setattr__(self, name, checked.get(name))
            if access_token is SETTINGS:
                object.__setattr__(self, "access_token", SETTINGS)
            return
        # An error tracker that reports the variables of each frame must not send the keys.
        del self, keys, values, given, client_secret, access_token, own_token
        failure.__context__ = None
        raise failure


@dataclass(frozen=True)
class Clients:
    """Makes the clients of one app.

    :param observe: called at the end of each call.
    """

    settings: Settings
    transport: httpx.BaseTransport | None
    observe: Callable[[str, PaymentsError | None, float], object]
    _elsewhere: dict[str, PaymentsClient] = field(default_factory=dict, init=False)

    @cached_property
    def of_settings(self) -> PaymentsClient:
        """The client of the PAYCHECKOUT_ settings.

        :raises ConfigurationError: the client refuses the service's address.
        """
        settings = self.settings
        return self._client(
            settings.base_url,
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            access_token=self._authorization(settings.access_token),
            signer=settings.signer,
        )

    def of_account(self, account: Account) -> PaymentsClient:
        """The client of a merchant account, which has its own keys, and what it leaves out from the settings."""
        token = self.settings.access_token if account.access_token is SETTINGS else account.access_token
        address = account.base_url or self.settings.base_url
        # All accounts of one service share its connections, so that many accounts are not as many TLS handshakes.
        connected = self.of_settings if address == self.settings.base_url else self._connected_to(address)
        return connected.of_account(
            account.client_id,
            account.client_secret,
            access_token=self._authorization(token),
            signer=account.signer or self.settings.signer,
        )

    def _connected_to(self, address: str) -> PaymentsClient:
        """A client without keys, whose connections the accounts of another service share."""
        if address not in self._elsewhere:
            self._elsewhere[address] = self._client(address)
        return self._elsewhere[address]

    def _client(self, address: str, **keys: Any) -> PaymentsClient:
        timeout, transport = self.settings.timeout, self.transport
        try:
            return PaymentsClient(address, **keys, timeout=timeout, transport=transport, observe=self.observe)
        except ValueError as fault:
            # The client refuses some addresses that the settings accept. Its message never quotes the address.
            raise ConfigurationError(f"PAYCHECKOUT_BASE_URL cannot be used: {fault}") from None

    def _authorization(self, token: str | Callable[[], str] | None) -> Signer | None:
        """An access token as the client takes it; a function is asked again when the service refuses its token."""
        scheme = self.settings.authorization_scheme
        if token is None:
            return None
        return RenewedToken(token, scheme) if callable(token) else BearerToken(token, scheme)


class AccountUnavailable(TransportFailed):
    """The shop gave no usable keys for an account, so nothing was sent."""

    def __init__(self, operation: str, name: str, why: str) -> None:
        super().__init__(operation, f"account {name!r}: {why}", request_sent=False)
        self.args = (operation, name, why)
        self.name = name


class _InUse(msgspec.Struct):
    """An account with its client, and when the shop was last asked for it."""

    account: Account | None
    client: PaymentsClient
    asked_at: float


@dataclass(frozen=True)
class Accounts:
    """The clients of one app's accounts."""

    default: PaymentsClient
    """The client of the PAYCHECKOUT_ settings, whose name is ""."""

    make: Callable[[Account], PaymentsClient]
    ask: Callable[[str], Account | None]
    """Asks the shop for an account's keys; None: no such account."""

    cache: float
    """Seconds after which the shop is asked again."""

    now: Callable[[], float]
    most: int = _MOST_CLIENTS
    _kept: Guarded[OrderedDict[str, _InUse]] = field(default_factory=lambda: Guarded(OrderedDict), init=False)
    """By the account's name, the least recently used first; never held while the shop is asked."""

    def client_of(self, name: str, operation: str = "account") -> PaymentsClient:
        """The client of an account, with the keys that the shop gives for it now, or gave a moment ago.

        :raises AccountUnavailable: the shop gives none, or its function failed.
        """
        return self.default if name == "" else self._used(name, operation).client

    def find(self, name: str) -> Account | None:
        """The account of this name; None for the one of the settings.

        :raises AccountUnavailable: the shop gives no such account.
        """
        return None if name == "" else self._used(name, "account").account

    def access_token_of(self, name: str) -> AccessToken | None:
        """The access token of an account; `SETTINGS` for that of the settings, None when it has none.

        :raises AccountUnavailable: the shop gives no such account.
        """
        account = self.find(name)
        return SETTINGS if account is None else account.access_token

    def refused(self, name: str, client: PaymentsClient | None = None) -> None:
        """Have the shop asked again at the next use, since the service refused an account's keys.

        :param client: the one whose keys were refused, which others may have replaced meanwhile; None: the present one.
        """
        with self._kept.held() as in_use:
            known = in_use.get(name)
            if known is not None and client in (None, known.client):
                known.asked_at = float("-inf")

    def _used(self, name: str, operation: str) -> _InUse:
        now = self.now()
        with self._kept.held() as in_use:
            known = in_use.get(name)
            if known is not None and now - known.asked_at < self.cache:
                in_use.move_to_end(name)
                return known
        account = self._asked(name, operation)
        try:
            return self._keep(name, account, now)
        except (ConfigurationError, TypeError, ValueError) as error:
            raise AccountUnavailable(operation, name, str(error)) from error

    def _asked(self, name: str, operation: str) -> Account:
        account: object = None
        fault = "the shop knows no such account"
        try:
            account = self.ask(name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # The messages of an `Account` never show a secret; others could quote the keys.
            is_ours = isinstance(error, ConfigurationError)
            fault = str(error) if is_ours else f"the shop's function raised {type(error).__name__}{_place_of(error)}"
        if isinstance(account, Account):
            return account
        if account is not None:
            fault = f"the shop gave a {type(account).__name__} and no Account"
        # Outside of the handler, so that the error is not its context.
        raise AccountUnavailable(operation, name, fault)

    def _keep(self, name: str, account: Account, now: float) -> _InUse:
        with self._kept.held() as in_use:
            known = in_use.get(name)
            if known is None or known.account != account:
                known = in_use[name] = _InUse(account, self.make(account), now)
            known.asked_at = now
            in_use.move_to_end(name)
            if len(in_use) > self.most:
                in_use.popitem(last=False)
            return known


def require_account_name(name: object) -> str:
    """Return a valid account name unchanged; "" is the account of the settings.

    :raises TypeError: it is not a string.
    :raises ValueError: it is longer than 255 characters, or contains control characters.
    """
    if not isinstance(name, str):
        raise TypeError(f"account must be a string, not {type(name).__name__}; '' is the account of the settings")
    if name and not is_order_id(name):
        raise ValueError(f"account must have {MAX_ID} characters at most, none of them a control character")
    return name


def _place_of(error: BaseException) -> str:
    """The line at which an error was raised, for the shop to look at."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
