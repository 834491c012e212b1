"""Merchant accounts: the keys that the shop returns for each, and a client of the service for each account in use.

The shop's function is called for an account's keys when the account is used, again after some time, and at once if the
service refused them. Changed keys get a new client. All accounts of a service share its connections.
"""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from flask_paycheckout.client import BearerToken, PaymentsClient, PaymentsError, Signer, TransportFailed, Unauthorized
from flask_paycheckout.client.client import observed
from flask_paycheckout.client.signing import RenewedToken
from flask_paycheckout.config import Settings, require_real_service
from flask_paycheckout.config.accounts import SETTINGS, AccessToken, Account
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.per_process import Guarded

if TYPE_CHECKING:
    import httpx


T = TypeVar("T")

# The maximum number of accounts whose keys are kept.
_MOST_CLIENTS = 100


@dataclass(frozen=True)
class Clients:
    """Makes the clients of one app.

    :param observe: called at the end of each call.
    :param relaxed: whether the app is in debug or testing mode, in which an account may use a sandbox.
    """

    settings: Settings
    transport: httpx.BaseTransport | None
    observe: Callable[[str, PaymentsError | None, float], object]
    relaxed: bool
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
        """The client of a merchant account, with the account's own values, and the settings' for values left out."""
        token = self.settings.access_token if account.access_token is SETTINGS else account.access_token
        address = account.base_url or self.settings.base_url
        # Accounts of the same service share its connections, so that a further account needs no TLS handshake.
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
            if not self.relaxed:
                require_real_service(replace(self.settings, base_url=address), "its base_url")
            self._elsewhere[address] = self._client(address)
        return self._elsewhere[address]

    def _client(self, address: str, **keys: Any) -> PaymentsClient:
        timeout, transport = self.settings.timeout, self.transport
        try:
            return observed(PaymentsClient(address, **keys, timeout=timeout, transport=transport), self.observe)
        except ValueError as fault:
            # The client refuses some addresses that the settings accept. Its message never quotes the address.
            raise ConfigurationError(f"PAYCHECKOUT_BASE_URL cannot be used: {fault}") from None

    def _authorization(self, token: str | Callable[[], str] | None) -> Signer | None:
        """An access token as a signer for the client; a function is called again if the service refuses its token."""
        scheme = self.settings.authorization_scheme
        if token is None:
            return None
        return RenewedToken(token, scheme) if callable(token) else BearerToken(token, scheme)


class AccountUnavailable(TransportFailed):
    """The shop returned no usable keys for an account, so nothing was sent."""

    def __init__(self, operation: str, name: str, why: str) -> None:
        super().__init__(operation, f"account {name!r}: {why}", request_sent=False)
        self.account = name
        self.args = (operation, name, why)


class AccountGone(AccountUnavailable):
    """The shop answered that it knows no such account."""


class _InUse(msgspec.Struct):
    """An account with its client, and the time when the shop's function last returned it."""

    account: Account
    client: PaymentsClient
    asked_at: float


@dataclass(frozen=True)
class Accounts:
    """The clients of one app's accounts."""

    default: PaymentsClient
    """The client of the PAYCHECKOUT_ settings, whose name is ""."""

    make: Callable[[Account], PaymentsClient]
    ask: Callable[[str], Account | None]
    """The shop's function that returns an account's keys; None if there is no such account."""

    cache: float
    """Seconds after which `ask` is called again."""

    now: Callable[[], float]
    scheme: str = "Bearer"
    """The word before an access token in the Authorization header; empty for the token alone."""

    _kept: Guarded[OrderedDict[str, _InUse]] = field(default_factory=lambda: Guarded(OrderedDict), init=False)
    """The accounts in use by name, the least recently used first; not locked while `ask` runs."""

    def client_of(self, name: str, operation: str = "account") -> PaymentsClient:
        """The client of an account, with its present keys, or keys that were cached a moment ago.

        :raises AccountUnavailable: the shop knows no such account, or its function failed.
        """
        return self.default if name == "" else self._used(name, operation).client

    def find(self, name: str) -> Account | None:
        """The account of this name; None for the account of the settings.

        :raises AccountUnavailable: the shop returned no usable account.
        """
        return None if name == "" else self._used(name, "account").account

    def access_token_of(self, name: str) -> AccessToken | None:
        """The access token of an account; `SETTINGS` for the token in the settings, None without a token.

        :raises AccountUnavailable: the shop returned no usable account.
        """
        account = self.find(name)
        return SETTINGS if account is None else account.access_token

    def payer_of(self, name: str) -> str:
        """The account that pays an account's payouts: itself, or "" (the settings' account) if it shares that token.

        :raises AccountUnavailable: the shop returned no usable account.
        """
        return name if name and self.access_token_of(name) is not SETTINGS else ""

    def paying(
        self, name: str, settings_token: AccessToken | None, call: Callable[[Callable[[], str]], str]
    ) -> PaymentsClient | None:
        """The client of an account with its access token; None without a token.

        :param settings_token: the token of the account of the settings.
        :param call: calls a function that gives a token.
        :raises AccountUnavailable: the shop returned no usable account.
        """
        token = self.access_token_of(name) if name else settings_token
        if token is None or token is SETTINGS:
            return None
        return self.authorized(call(token) if callable(token) else token, name)

    def authorized(self, access_token: str, name: str = "") -> PaymentsClient:
        """The client of an account that sends with this token.

        :raises AccountUnavailable: the shop returned no usable account.
        :raises ValueError: the token contains characters that a header must not contain.
        """
        return self.client_of(name).authorized(BearerToken(access_token, self.scheme))

    def refused(self, name: str, client: PaymentsClient | None = None) -> None:
        """Make the next use of an account call the shop's function again, because the service refused the keys.

        :param client: the client with the refused keys, which may have been replaced meanwhile; None for the present
            client.
        """
        with self._kept.held() as in_use:
            account = in_use.get(name)
            if account is not None and client in (None, account.client):
                account.asked_at = float("-inf")

    def renewing(self, name: str, client: PaymentsClient, call: Callable[[PaymentsClient], T]) -> Callable[[], T]:
        """A function that makes a call with an account's client, and calls `refused` if the service refuses the keys.

        It uses neither the shop's functions nor the database, so it may run in a separate thread.
        """

        def run() -> T:
            try:
                return call(client)
            except Unauthorized:
                self.refused(name, client)
                raise

        return run

    def _used(self, name: str, operation: str) -> _InUse:
        now = self.now()
        with self._kept.held() as in_use:
            cached = in_use.get(name)
            if cached is not None and now - cached.asked_at < self.cache:
                in_use.move_to_end(name)
                return cached
        account = self._asked(name, operation)
        try:
            return self._keep(name, account, now)
        except (ConfigurationError, TypeError, ValueError) as error:
            raise AccountUnavailable(operation, name, str(error)) from error

    def _asked(self, name: str, operation: str) -> Account:
        account: Account | type | None = None
        kind, fault = AccountUnavailable, ""
        try:
            account = _account_or_type(self.ask(name))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # The error messages of `Account` never contain a secret; other messages could quote the keys.
            is_ours = isinstance(error, ConfigurationError)
            fault = str(error) if is_ours else f"the shop's function raised {type(error).__name__}{_place_of(error)}"
        if isinstance(account, Account):
            return account
        if account is not None:
            fault = f"the shop gave a {account.__name__} and no Account"
        elif not fault:
            kind = AccountGone
            fault = "the shop knows no such account; the function of @paycheckout.account returns its keys"
        # Raised outside of the handler, so that the shop's error does not become its context.
        raise kind(operation, name, fault)

    def _keep(self, name: str, account: Account, now: float) -> _InUse:
        with self._kept.held() as in_use:
            cached = in_use.get(name)
            if cached is None or cached.account != account:
                cached = in_use[name] = _InUse(account, self.make(account), now)
            cached.asked_at = now
            in_use.move_to_end(name)
            if len(in_use) > _MOST_CLIENTS:
                in_use.popitem(last=False)
            return cached


def _account_or_type(value: object) -> Account | type | None:
    """The shop's account; only the type of any other object, because an error tracker would show its keys."""
    return value if value is None or isinstance(value, Account) else type(value)


def _place_of(error: BaseException) -> str:
    """The file and line at which an error was raised, for the shop's developer."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
