"""The client: one object for the whole service."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, Self, cast

from flask_paycheckout.client.calls import Caller
from flask_paycheckout.client.forms import Forms, PaymentsPath, RecipientDelete
from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.client.operations import Access
from flask_paycheckout.client.renewing import RenewedToken
from flask_paycheckout.client.resources.checkouts import Checkouts
from flask_paycheckout.client.resources.deposits import Deposits
from flask_paycheckout.client.retries import Pace, Retries, seconds
from flask_paycheckout.client.sending import Sender
from flask_paycheckout.client.signing import BearerToken, HmacSigner, Signer

if TYPE_CHECKING:
    from types import TracebackType

    import httpx

    from flask_paycheckout.client.calls import Observe
    from flask_paycheckout.client.probing import Probe
    from flask_paycheckout.client.resources.auth import Auth
    from flask_paycheckout.client.resources.crypto_disbursements import CryptoDisbursements
    from flask_paycheckout.client.resources.fiat_disbursements import FiatDisbursements
    from flask_paycheckout.client.resources.payments import Payments
    from flask_paycheckout.client.resources.recipients import Recipients
    from flask_paycheckout.client.resources.references import References

__all__ = ["PaymentsClient"]

AccessToken = str | Callable[[], str] | Signer


class PaymentsClient:
    """The payments service. Safe to share between threads, and usable on both sides of a fork.

    Connections are opened when first needed and kept for the next call. Without credentials a client still makes the
    calls that need none.

    :param base_url: where the service is. A path in it goes before every call's path and is part of what is signed.
    :param client_id: names the account in signed calls; goes together with `client_secret`.
    :param client_secret: the key of the signature.
    :param access_token: a login's token, for the calls that want it; or a function that returns it, which is asked when
        the first token is needed and again, once in a call, when the service refuses the token with 401; or a `Signer`
        that makes the headers in place of `Authorization: Bearer <token>`.
    :param signer: signs in place of the built-in formula, and alone: it gives every header of the signature.
    :param timeout: seconds that one call may take in all, retries and waits included. Every method takes `timeout=` as
        well, for one call; `iterate` and `find` for the call of each page.
    :param retries: how often a failed read or `checkouts.create` is tried again within that time; every other call is
        tried again where no connection was made, so that certainly nothing was sent.
    :param transport: an httpx transport to send through, for tests and special networks; its maker closes it.
    :param observe: called after each call with its operation, such as "POST /v1/checkout", its `PaymentsError` or None,
        and the seconds that it took, retries included. What it raises is ignored.
    :param payments_path: where payments are listed: the interface says `/v2/payments`, its sample `/v2/payment`.
    :param recipient_delete: whether deleting a recipient names it in the `path`, as the interface says, or in the
        `query`, as its sample does.
    :param app: name and version of the program, such as `my-shop/2.3`, for the `User-Agent` of its calls.
    :raises TypeError: an argument has the wrong type.
    :raises ValueError: an argument cannot be used; the text names it, and never shows a secret.

    :ivar client_id: the client id of signed calls; None without one.
    :ivar checkouts: hosted payment pages.
    :ivar deposits: the payments behind them.
    """

    def __init__(
        self,
        base_url: str,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        access_token: AccessToken | None = None,
        signer: Signer | None = None,
        timeout: float = 15.0,
        retries: int = 2,
        transport: httpx.BaseTransport | None = None,
        observe: Observe | None = None,
        payments_path: PaymentsPath = "/v2/payments",
        recipient_delete: RecipientDelete = "path",
        app: str | None = None,
    ) -> None:
        forms = Forms(payments_path, recipient_delete)
        client_secret, access_token = concealed(client_secret), concealed(access_token)
        signers = _signers(client_id, client_secret, access_token, signer)
        budget = Retries(_count(retries), seconds(timeout), _pace(transport))
        self._set_up(Sender(base_url, signers, transport, app), budget, observe, forms, client_id)

    def _set_up(
        self, sender: Sender, retries: Retries, observe: Observe | None, forms: Forms, client_id: str | None
    ) -> None:
        self.client_id = client_id
        self._caller = caller = Caller(sender, retries, observe, forms)
        self.checkouts = Checkouts(caller)
        self.deposits = Deposits(caller)

    def within(self, timeout: float) -> Self:
        """A client with another time budget that shares this one's connections; closing either closes both.

        :param timeout: seconds that one call may take in all, retries and waits included.
        """
        other = type(self).__new__(type(self))
        retries = self._caller.retries.within(timeout)
        other._set_up(self._caller.sender, retries, self._caller.observe, self._caller.forms, self.client_id)
        return other

    def authorized(self, access_token: AccessToken) -> Self:
        """A client with another access token that shares this one's connections; closing either closes both.

        :param access_token: as for the client itself.
        """
        access_token = concealed(access_token)
        other = type(self).__new__(type(self))
        sender = self._caller.sender.signed_by({Access.BEARER: _bearer(access_token)})
        other._set_up(sender, self._caller.retries, self._caller.observe, self._caller.forms, self.client_id)
        return other

    def of_account(
        self,
        client_id: str,
        client_secret: str,
        *,
        access_token: AccessToken | None = None,
        signer: Signer | None = None,
    ) -> Self:
        """A client of the same service for another account, over this one's connections; closing it leaves them open.

        Parameters as for the client itself; nothing of this one's keys is used.
        """
        signers = _signers(client_id, concealed(client_secret), concealed(access_token), signer)
        other = type(self).__new__(type(self))
        sender = self._caller.sender.signed_by(signers, only=True).borrowed()
        other._set_up(sender, self._caller.retries, self._caller.observe, self._caller.forms, client_id)
        return other

    # The parts of the service that a shop need not use are loaded when they are.

    @cached_property
    def auth(self) -> Auth:
        """Registering, and logging in with a one-time password."""
        from flask_paycheckout.client.resources.auth import Auth

        return Auth(self._caller)

    @cached_property
    def fiat_disbursements(self) -> FiatDisbursements:
        """Bank transfers, in batches."""
        from flask_paycheckout.client.resources.fiat_disbursements import FiatDisbursements

        return FiatDisbursements(self._caller)

    @cached_property
    def crypto_disbursements(self) -> CryptoDisbursements:
        """Token transfers, in batches."""
        from flask_paycheckout.client.resources.crypto_disbursements import CryptoDisbursements

        return CryptoDisbursements(self._caller)

    @cached_property
    def recipients(self) -> Recipients:
        """People and businesses who are paid by bank transfer."""
        from flask_paycheckout.client.resources.recipients import Recipients

        return Recipients(self._caller)

    @cached_property
    def payments(self) -> Payments:
        """Deprecated by the service; every method warns."""
        from flask_paycheckout.client.resources.payments import Payments

        return Payments(self._caller)

    @cached_property
    def references(self) -> References:
        """Deprecated by the service; every method warns."""
        from flask_paycheckout.client.resources.references import References

        return References(self._caller)

    def probe(self) -> Probe:
        """Reads a deposit that cannot exist, once: tells whether the credentials are taken and the clocks agree.

        :raises PaymentsError: there was no usable answer.
        """
        from flask_paycheckout.client.probing import probe

        return probe(self._caller)

    def close(self) -> None:
        """Closes the connections; a call after that is a `RuntimeError`."""
        self._caller.sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<PaymentsClient {self._caller.sender.base_url}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PaymentsClient holds secrets and connections: make one in each process, do not pickle it")


def _signers(
    client_id: str | None, client_secret: str | None, access_token: AccessToken | None, signer: Signer | None
) -> dict[Access, Signer]:
    """The signer for each kind of call."""
    signers: dict[Access, Signer] = {}
    if access_token is not None:
        signers[Access.BEARER] = _bearer(access_token)
    if signer is not None:
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
    if callable(getattr(access_token, "sign", None)):
        return cast("Signer", access_token)
    if not callable(access_token):
        raise TypeError(f"access_token must be a string or a Signer, not {type(access_token).__name__}")
    return RenewedToken(access_token)


def _pace(transport: httpx.BaseTransport | None) -> Pace:
    """Signs by the clock that a transport brings along, so that a test which moves or stops time moves both ends."""
    clock = getattr(transport, "clock", None)
    return Pace() if clock is None else Pace(wall=lambda: float(clock().timestamp()))


def _count(retries: int) -> int:
    if isinstance(retries, bool) or not isinstance(retries, int):
        raise TypeError(f"retries must be a whole number, not {type(retries).__name__}")
    if retries < 0:
        raise ValueError(f"retries must not be negative: {retries}")
    return retries
