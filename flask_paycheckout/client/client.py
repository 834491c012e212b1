"""The clients: one object for the whole service, with blocking or awaited methods."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, Unpack, cast

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import query_text
from flask_paycheckout.client.calls import Caller
from flask_paycheckout.client.hidden import concealed, given_type
from flask_paycheckout.client.records import Record
from flask_paycheckout.client.resource import Resource, method
from flask_paycheckout.client.resources.auth import Auth
from flask_paycheckout.client.resources.checkouts import Checkouts
from flask_paycheckout.client.resources.crypto_disbursements import CryptoDisbursements
from flask_paycheckout.client.resources.deposits import Deposits
from flask_paycheckout.client.resources.fiat_disbursements import FiatDisbursements
from flask_paycheckout.client.resources.payments import Payments
from flask_paycheckout.client.resources.recipients import Recipients
from flask_paycheckout.client.resources.references import References
from flask_paycheckout.client.sending import PATH, Access, Operation, Sender, checked_base_url, user_agent
from flask_paycheckout.client.signing import BearerToken, HmacSigner, RenewedToken, Signer
from flask_paycheckout.client.transport import httpx
from flask_paycheckout.client.waiting import Blocking, CallOptions, Pace, Retries

if TYPE_CHECKING:
    from flask_paycheckout.client.awaited import Awaited
    from flask_paycheckout.client.calls import Observe
    from flask_paycheckout.client.envelope import JsonObject
    from flask_paycheckout.client.paging import Page

T = TypeVar("T")
Transport = TypeVar("Transport")

AccessToken = str | Callable[[], str] | Signer

_PATH = re.compile(f"{PATH}+")


# The environment variables with a client's address and keys: id, secret and access token.
_ADDRESS = "PAYCHECKOUT_BASE_URL"
_KEYS = ("PAYCHECKOUT_CLIENT_ID", "PAYCHECKOUT_CLIENT_SECRET", "PAYCHECKOUT_ACCESS_TOKEN")


class _Client(Resource[W], Generic[W, Transport]):
    """The common part of both clients."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        access_token: AccessToken | None = None,
        signer: Signer | None = None,
        timeout: float = 15.0,
        retries: int = 2,
        transport: Transport | None = None,
        app: str | None = None,
    ) -> None:
        client_secret, access_token = concealed(client_secret), concealed(access_token)
        address = os.environ.get(_ADDRESS)
        if base_url is None and not (base_url := address):
            raise ValueError(f"base_url is missing: give the service's address, or set {_ADDRESS}")
        base_url = checked_base_url(base_url)
        # Never send the keys of the environment to another address.
        if client_id is client_secret is access_token is signer is None and address in (None, base_url, f"{base_url}/"):
            client_id, client_secret, access_token = (concealed(os.environ.get(name)) for name in _KEYS)
        signers = _signers(client_id, client_secret, access_token, signer)
        # Sign with the clock of the transport, if it has one, so that a test that moves time moves both ends.
        clock = getattr(transport, "clock", None)
        pace = Pace() if clock is None else Pace(wall=lambda: float(clock().timestamp()))
        budget = Retries(retries, timeout, pace)
        sender = Sender(base_url, client_id, signers, user_agent(app))
        waiting = self._connect(httpx.URL(base_url), transport)
        super().__init__(Caller(waiting, sender, budget))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._caller.sender.base_url!r}, client_id={self.client_id!r})"

    @abstractmethod
    def _connect(self, url: httpx.URL, transport: Transport | None) -> W:
        """Make the connections."""

    @cached_property
    def auth(self) -> Auth[W]:
        """Registration, and login with a one-time password."""
        return Auth(self._caller)

    @cached_property
    def checkouts(self) -> Checkouts[W]:
        """Hosted payment pages."""
        return Checkouts(self._caller)

    @cached_property
    def deposits(self) -> Deposits[W]:
        """The payments behind hosted payment pages."""
        return Deposits(self._caller)

    @cached_property
    def fiat_disbursements(self) -> FiatDisbursements[W]:
        """Bank transfers, in batches."""
        return FiatDisbursements(self._caller)

    @cached_property
    def crypto_disbursements(self) -> CryptoDisbursements[W]:
        """Token transfers, in batches."""
        return CryptoDisbursements(self._caller)

    @cached_property
    def recipients(self) -> Recipients[W]:
        """People and businesses who are paid by bank transfer."""
        return Recipients(self._caller)

    @cached_property
    def payments(self) -> Payments[W]:
        """Deprecated by the service; every method warns."""
        return Payments(self._caller)

    @cached_property
    def references(self) -> References[W]:
        """Deprecated by the service; every method warns."""
        return References(self._caller)

    @property
    def client_id(self) -> str | None:
        """The client id of signed calls; None without one."""
        return self._caller.sender.client_id

    def within(self, timeout: float) -> Self:
        """A client with another timeout that shares this client's connections; closing either closes both.

        :param timeout: the total seconds that one call may take, including retries and waits.
        """
        return self._sharing(retries=self._caller.retries.limited(timeout))

    def authorized(self, access_token: AccessToken) -> Self:
        """A client with another access token that shares this client's connections; closing either closes both.

        :param access_token: as for the client itself.
        """
        access_token = concealed(access_token)
        sender = self._caller.sender
        signers = {**sender.signers, Access.BEARER: _bearer(access_token)}
        return self._sharing(sender=replace(sender, signers=signers))

    def of_account(
        self,
        client_id: str,
        client_secret: str,
        *,
        access_token: AccessToken | None = None,
        signer: Signer | None = None,
    ) -> Self:
        """A client for another account of the same service, over this client's connections, which it does not close.

        Parameters as for the client itself; none of this client's keys is used.
        """
        client_secret, access_token = concealed(client_secret), concealed(access_token)
        signers = _signers(client_id, client_secret, access_token, signer)
        sender = replace(self._caller.sender, client_id=client_id, signers=signers)
        return self._sharing(sender=sender, owns_connections=False)

    def _sharing(self, **changed: Any) -> Self:
        """A client over the same connections."""
        other = type(self).__new__(type(self))
        Resource.__init__(other, replace(self._caller, **changed))
        return other

    @method
    async def call(
        self,
        http_method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: JsonObject | None = None,
        access: Literal["signed", "bearer", "open"] = "signed",
        references: tuple[str, ...] = (),
        **options: Unpack[CallOptions],
    ) -> JsonObject | list[Any] | None:
        """Makes a call for which this client has no method, with the same limits, errors and signature.

        A GET is retried like every read. Every other call is sent once, because it may move money.

        :param http_method: `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
        :param path: the path below the base URL, such as `/v1/deposit/chk_1`; its ids must be quoted already.
        :param query: values under the service's own names; None leaves a value out.
        :param body: values under the service's own names; amounts are of type `Decimal` or `int`.
        :param access: the credentials of the call: the signature, the access token, or none.
        :param references: the references by which the transaction can be looked up if the answer is lost.
        :returns: the response's `data`, with an exact `Decimal` for each fraction; None without data.
        :raises ValueError: the path cannot be sent.
        :raises PaymentsError: see `errors`.
        """
        if not _PATH.fullmatch(path):
            raise ValueError("path must begin with a slash, hold quoted segments only, and neither query nor fragment")
        # The method is signed in the form in which it is sent.
        http_method = http_method.upper()
        operation = Operation(
            http_method, path, Record, may_move_money=http_method != "GET", access=Access[access.upper()]
        )
        return await self._caller.data(operation, query=query_text(query or {}), body=body, references=references)

    @method
    async def close(self) -> None:
        """Closes the connections; a call after that is a `RuntimeError`."""
        if self._caller.owns_connections:
            await self._caller.waiting.close()


class PaymentsClient(_Client[Blocking, httpx.BaseTransport]):
    """The payments service. Safe to share between threads, and usable on both sides of a fork.

    Connections are opened when first needed and kept for the next call. Without credentials, a client can still make
    the calls that need none.

    Without an address, the environment variable `PAYCHECKOUT_BASE_URL` is used. Without any key, the keys in
    `PAYCHECKOUT_CLIENT_ID`, `PAYCHECKOUT_CLIENT_SECRET` and `PAYCHECKOUT_ACCESS_TOKEN` are used, unless
    `PAYCHECKOUT_BASE_URL` has another address.

    :param base_url: the service's address. Its path, if any, precedes every call's path and is signed with it.
    :param client_id: names the account in signed calls; required together with `client_secret`.
    :param client_secret: the key of the signature.
    :param access_token: a login's token, for the calls that require it; or a function that returns it, which is called
        when the first token is needed and again, once in a call, if the service refuses it (401 or 403); or a
        `Signer` that makes other headers than `Authorization: Bearer <token>`.
    :param signer: replaces the built-in signing; it must return every header of the signature.
    :param timeout: the total seconds that one call may take, including retries and waits.
    :param retries: the maximum number of retries of a failed read or `checkouts.create` within that time; every other
        call is retried only if no connection was made, so that certainly nothing was sent. Every method also takes
        `timeout=` and `retries=` for one call; `iterate` and `find` apply them to the call of each page.
    :param transport: an httpx transport, for tests and special networks; the caller closes it.
    :param app: the name and version of the program, such as `my-shop/2.3`, for the `User-Agent` header.
    :raises TypeError: an argument has the wrong type.
    :raises ValueError: an argument cannot be used; the text names it, and never shows a secret.
    """

    def _connect(self, url: httpx.URL, transport: httpx.BaseTransport | None) -> Blocking:
        return Blocking(url, transport)

    def next_page(self, page: Page[T]) -> Page[T] | None:
        """The page of a list that follows this page, read with the same filters; None after the last page.

        :raises PaymentsError: see `errors`.
        """
        return self._caller.waiting.run(_following(page))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncPaymentsClient(_Client["Awaited", httpx.AsyncBaseTransport]):
    """The payments service for `asyncio`: each method of `PaymentsClient`, awaited; `iterate` is for `async for`.

    Parameters as for `PaymentsClient`, except that `transport` is asynchronous. A client belongs to one event loop and
    one process. A cancelled call may have been carried out, like a call whose answer was lost.
    """

    def _connect(self, url: httpx.URL, transport: httpx.AsyncBaseTransport | None) -> Awaited:
        from flask_paycheckout.client.awaited import Awaited

        return Awaited(transport)

    async def next_page(self, page: Page[T]) -> Page[T] | None:
        """The page of a list that follows this page, read with the same filters; None after the last page.

        :raises PaymentsError: see `errors`.
        """
        return await _following(page)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


async def _following(page: Page[T]) -> Page[T] | None:
    """The next page; None after the last page."""
    if not page.has_next_page:
        return None
    if (read := page.read_page) is None:
        raise ValueError("this page was not read by a client, so that none can follow it")
    return await read()


def observed(client: PaymentsClient, observe: Observe) -> PaymentsClient:
    """The client, which calls `observe` after each call of the service; over the same connections."""
    return client._sharing(observe=observe)


def clock_of(client: PaymentsClient) -> Callable[[], float]:
    """The clock for signatures, as Unix time in seconds."""
    return client._caller.retries.pace.wall


def _signers(
    client_id: str | None, client_secret: str | None, access_token: AccessToken | None, signer: Signer | None
) -> dict[Access, Signer]:
    """The signer for each kind of call."""
    signers: dict[Access, Signer] = {}
    if access_token is not None:
        signers[Access.BEARER] = _bearer(access_token)
    if signer is not None:
        if not callable(getattr(signer, "sign", None)):
            raise TypeError("signer must have a method sign(method, target, body, timestamp) that returns headers")
        signers[Access.SIGNED] = signer
    elif client_id is not None and client_secret is not None:
        signers[Access.SIGNED] = HmacSigner(client_id, client_secret)
    elif client_id is not None or client_secret is not None:
        missing = "client_id" if client_id is None else "client_secret"
        raise ValueError(f"{missing} is missing: client_id and client_secret go together")
    return signers


def _bearer(access_token: AccessToken) -> Signer:
    if isinstance(access_token, str):
        return BearerToken(access_token)
    if hasattr(access_token, "sign"):
        return cast("Signer", access_token)
    if not callable(access_token):
        kinds = "a string, a function that returns one, or a signer"
        raise TypeError(f"access_token must be {kinds}, not {given_type(access_token)}")
    return RenewedToken(access_token)
