"""Errors: every call ends with a record or with one of these.

    PaymentsError
      TransportFailed        no usable answer: connection, timeout, too large, not the envelope
        OutcomeUnknown       ... of a call that may have moved money: look it up, never resend blindly
      RequestRefused         the service's error envelope
        NotFound             404
        Unauthorized         401, 403
        Invalid              400, 409, 422 and every other 4xx
        RateLimited          429
        ServiceFault         5xx

The numbers come from the body's `statusCode`. Errors can be pickled, print on one line, hold bounded text
and never a secret.

Every error says by itself what may be done next, so that no caller needs to know which class it has:

    carried_out  "no" when the failed call certainly changed nothing, "unknown" when it may have been carried out
    retryable    whether the same call may be made again, later: it does nothing twice, and may succeed

                                                    a read         checkouts.create  another write
    no connection was made                          "no", True     "no", True        "no", True
    401 or 429 in the service's envelope            "no", True     "no", True        "no", True
    another 4xx in the service's envelope           "no", False    "no", False       "no", False
    5xx, a lost answer, or one that is unreadable   "no", True     "unknown", True   "unknown", False

Writes are all calls but GET: disbursements and payments, but recipients and updates too. A checkout whose answer was
lost is made anew, since nobody knows its address. A 401 may be over with a new access token, except where the call
itself carries the password (`client.auth`). The answer of a proxy is unreadable, whatever its HTTP status.

    >>> try:
    ...     made = client.fiat_disbursements.create("USD", items).disburse_data
    ... except PaymentsError as error:
    ...     if error.carried_out == "unknown":
    ...         ...  # look it up: client.fiat_disbursements.find(references)
    ...     elif error.retryable:
    ...         ...  # send it again, with back-off
    ...     else:
    ...         ...  # it failed: correct what `error.message` names

Both are about the failed call alone. A payout that was sent before, and whose first answer was lost, may be carried
out although a second call is refused, for instance because its reference is used.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

from flask_paycheckout.client.transport import ResponseHeaders

CarriedOut = Literal["no", "unknown"]
"""Whether a call that failed may have been carried out."""

# Refusals that pass: new credentials, or time.
_PASSING = (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
# Long enough for every message of the service, short enough for a log line.
_MAX_TEXT = 300
# References that an error's text names; its attribute holds all.
_NAMED = 5


def _one_line(text: str | None) -> str | None:
    """`text` without control characters, bounded; it may come from a stranger and ends in logs."""
    if text is None:
        return None
    kept = "".join(sign if sign.isprintable() else " " for sign in text)
    line = " ".join(kept.split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 3] + "..."


class PaymentsError(Exception):
    """A call to the service that did not succeed; the root of every error here.

    :ivar operation: the call, as `"GET /v1/deposit/{id}"`.
    :ivar message: what is wrong, one line of at most 300 characters; None when the service gave none.
    :ivar retry_after: seconds that the service asked to wait, or None.
    :ivar carried_out: `"no"` when the call certainly changed nothing; `"unknown"` when it may have been carried out.
    :ivar retryable: whether the same call may be made again, later: it does nothing twice, and may succeed.
    :ivar http_status: of the response; None when none came.
    :ivar headers: the response's headers by name, in any case; `repr` shows the names only. None when none came.
    :ivar requested_id: the id or reference that the call asked for; None where it names none.
    :ivar references: what a call that may have moved money carried to look it up by; empty for other calls.
    :ivar lookup: how to look it up, a sentence's part; None when the operation has no advice of its own.
    """

    http_status: int | None = None
    headers: ResponseHeaders | None = None
    requested_id: str | None = None
    references: tuple[str, ...] = ()
    lookup: str | None = None

    def __init__(self, operation: str, message: str | None = None, retry_after: float | None = None) -> None:
        self.operation = operation
        self.message = _one_line(message)
        # Pickle calls the class with these, and restores the attributes.
        super().__init__(operation, self.message)
        self.retry_after = retry_after
        # Only reads change nothing, however they end.
        self.carried_out: CarriedOut = "no" if operation.startswith("GET ") else "unknown"
        self.retryable = False

    def __str__(self) -> str:
        named = ", ".join(repr(_one_line(reference[:60])) for reference in self.references[:_NAMED])
        if len(self.references) > _NAMED:
            named += f" and {len(self.references) - _NAMED} more"
        carried = f"references: {named}" if named else "it carried no reference"
        advice = f"; it may have been carried out ({carried}): before sending it again, {self.lookup}"
        return f"{self.summary}{advice if self.lookup else ''}"

    @property
    def summary(self) -> str:
        """The call and the error in one line, without the advice for whoever made the call."""
        return f"{self.operation}: {self._words()}".rstrip()

    def _words(self) -> str:
        return self.message or "failed"


class TransportFailed(PaymentsError):
    """No usable answer came: no connection, a timeout, an answer too large, encoded, or not the envelope.

    :ivar request_sent: False when the service certainly saw nothing of the request, True when it may have.
    """

    def __init__(
        self,
        operation: str,
        message: str | None = None,
        retry_after: float | None = None,
        request_sent: bool = True,
    ) -> None:
        super().__init__(operation, message, retry_after)
        self.request_sent = request_sent
        if not request_sent:
            self.carried_out = "no"
        self.retryable = self.carried_out == "no"


class OutcomeUnknown(TransportFailed):
    """The answer of a call that may have moved money was lost: the call may have been carried out.

    Look the transaction up before doing anything else; never send it again blindly.
    """

    @property
    def reference(self) -> str | None:
        """The reference to look the transaction up by, when the call had one; the first of `references`."""
        return next(iter(self.references), None)


class RequestRefused(PaymentsError):
    """The service answered with its error envelope.

    :ivar status_code: the body's `statusCode`.
    :ivar error: the body's `error`, bounded like `message`; None when not given.
    """

    def __init__(
        self,
        operation: str,
        status_code: int,
        error: str | None = None,
        message: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(operation, message, retry_after)
        self.status_code = status_code
        self.error = _one_line(error)
        self.args = (operation, status_code, self.error, self.message)
        if status_code >= 500:
            self.retryable = self.carried_out == "no"
        else:
            self.carried_out, self.retryable = "no", status_code in _PASSING

    def _words(self) -> str:
        return f"{self.status_code} {': '.join(filter(None, (self.error, self.message)))}"


class NotFound(RequestRefused):
    """404: no such thing. For a deposit also a state: the customer has not picked a payment method yet."""


class Unauthorized(RequestRefused):
    """401 or 403: the credentials are wrong, or not allowed to do this."""


class Invalid(RequestRefused):
    """400, 409, 422 or another 4xx: the service will not do this as asked."""


class RateLimited(RequestRefused):
    """429: too many calls; `retry_after` gives the wait when the service named one."""


class ServiceFault(RequestRefused):
    """5xx: the service failed, and says so itself.

    A call that moves money may still have been carried out; the error then says how to look it up, as
    `OutcomeUnknown` does. It is no `OutcomeUnknown` because an answer came, with the service's own words.
    """


_BY_STATUS: dict[int, type[RequestRefused]] = {401: Unauthorized, 403: Unauthorized, 404: NotFound, 429: RateLimited}


def refusal_for(status_code: int) -> type[RequestRefused]:
    """The error class of a `statusCode` between 400 and 599."""
    return _BY_STATUS.get(status_code, ServiceFault if status_code >= 500 else Invalid)
