"""Access tokens that run out: another one is asked for, once in a call, when the service refuses the one it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from flask_paycheckout.client.errors import Unauthorized
from flask_paycheckout.client.per_process import PerProcess
from flask_paycheckout.client.signing import bearer_header, header_value

if TYPE_CHECKING:
    from flask_paycheckout.client.retries import Pace

__all__ = ["RenewedToken", "Renewing"]

T = TypeVar("T")

_LONGEST_WAIT = 60.0
# With less time than this a second attempt would only replace the refusal by a timeout.
_SHORTEST_ATTEMPT = 0.05


class RenewedToken:
    """Sends the access token that a function returns, and asks it again when the service refuses the token.

    The function is called when the first token is needed, and after a 401, at most once in a call. Of threads that are
    refused together one asks, and the others take its token. It is what `PaymentsClient(access_token=function)` makes.

    :param ask: returns the token, such as one that a program stored, or that a new login gave.
    :param scheme: the word before the token; empty for the token alone.
    """

    __slots__ = ("_ask", "_held", "_lock", "_scheme")

    def __init__(self, ask: Callable[[], str], scheme: str = "Bearer") -> None:
        if not callable(ask):
            raise TypeError(f"ask must be a function that returns an access token, not {type(ask).__name__}")
        self._ask = ask
        self._scheme = header_value("scheme", scheme) if scheme else ""
        self._held: tuple[str] | None = None
        # One for each process: after a fork, nobody would release a lock that another thread held.
        self._lock = PerProcess(Lock)

    @property
    def held(self) -> object:
        """Stands for the token in use, and shows nothing of it; another one is another object."""
        return self._held

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        """The one header.

        :raises Exception: what the function raises; also a `TypeError` or `ValueError` for what is no token.
        """
        held = self._held or self.renew(None)
        return {"Authorization": held[0]}

    def renew(self, refused: object) -> tuple[str]:
        """Another token, unless another thread got one since.

        :param refused: `held`, as it was before the call that was refused.
        :raises TimeoutError: another thread has been asking for a minute.
        """
        with self._locked():
            if self._held is None or self._held is refused:
                self._held = (bearer_header(self._ask(), self._scheme),)
            return self._held

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self._lock()
        if not lock.acquire(timeout=_LONGEST_WAIT):
            raise TimeoutError("another thread has been asking for an access token for a minute")
        try:
            yield
        finally:
            lock.release()

    def __repr__(self) -> str:
        return "<RenewedToken>"


class Renewing(Generic[T]):
    """Makes the attempts of one call, one of them again with another token after a 401.

    A 401 is certain: the service carried nothing out, so that a call which moves money may be sent again too.
    """

    def __init__(self, token: RenewedToken, attempt: Callable[[float], T], pace: Pace) -> None:
        self._token, self._attempt, self._elapsed = token, attempt, pace.elapsed
        self._renewed = False

    def run(self, left: float) -> T:
        """The result of an attempt.

        :raises Exception: of the function, when it gives no first token.
        :raises Unauthorized: the new token is refused as well, or there is none: then its cause is what the function
            raised.
        """
        until = self._elapsed() + left
        held = self._token.held or self._token.renew(None)
        try:
            return self._attempt(left)
        except Unauthorized as error:
            if error.status_code != 401 or self._renewed:
                raise
            refused = error
        self._renewed = True
        try:
            self._token.renew(held)
        except Exception as failed:
            raise refused from failed
        left = until - self._elapsed()
        if left < _SHORTEST_ATTEMPT:
            raise refused
        return self._attempt(left)
