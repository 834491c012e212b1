"""Errors: every call ends with a record or with one of these errors.

    PaymentsError
      TransportFailed        no usable answer: connection, timeout, too large, not the envelope
        OutcomeUnknown       ... for a call that may have moved money: look it up, never resend blindly
      RequestRefused         the service's error envelope
        NotFound             404
        Unauthorized         401, 403
        Invalid              400, 409, 422 and every other 4xx
        RateLimited          429
        ServiceFault         5xx

The numbers come from the body's `statusCode`. Errors can be pickled, print on one line, and contain text of
limited length and never a secret.

Every error itself says what may be done next, so that no caller needs to know its class:

    carried_out  "no" if the failed call certainly changed nothing, "unknown" if it may have been carried out
    retryable    whether the same call may be retried later: it does nothing twice, and may succeed

                                                    a read         checkouts.create  another write
    no connection was made                          "no", True     "no", True        "no", True
    401 or 429 in the service's envelope            "no", True     "no", True        "no", True
    another 4xx in the service's envelope           "no", False    "no", False       "no", False
    5xx, a lost answer, or one that is unreadable   "no", True     "unknown", True   "unknown", False

Writes are all calls except GET: disbursements and payments, and also recipients and updates. A checkout whose answer
was lost is created again, because nobody knows its address. After a 401, a new access token may help, except if the
call itself contains the password (`client.auth`). The answer of a proxy is unreadable, with any HTTP status.

    >>> try:
    ...     made = client.fiat_disbursements.create("USD", items).disburse_data
    ... except PaymentsError as error:
    ...     if error.carried_out == "unknown":
    ...         ...  # look it up: client.fiat_disbursements.find(references)
    ...     elif error.retryable:
    ...         ...  # send it again, with back-off
    ...     else:
    ...         ...  # it failed: correct what `error.message` names

Both describe only the failed call. A payout whose first call lost its answer may have been carried out, although a
second call is refused, for instance because its reference is already used.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

from flask_paycheckout.client.transport import ResponseHeaders

CarriedOut = Literal["no", "unknown"]
"""Whether a call that failed may have been carried out."""

# Refusals that may be over later, with new credentials or after some time.
_PASSING = (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
# Long enough for every message of the service, short enough for a log line.
_MAX_TEXT = 300
# The maximum number of references in an error's text; its attribute has all.
_NAMED = 5


def _one_line(text: str | None) -> str | None:
    """`text` in one line of limited length without control characters, because it is untrusted and will be logged."""
    if text is None:
        return None
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    line = " ".join(printable.split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 3] + "..."


class PaymentsError(Exception):
    """A call to the service that did not succeed; the root of every error here.

    :ivar operation: the call, such as `"GET /v1/deposit/{id}"`.
    :ivar message: the error in one line of at most 300 characters; None if the service gave no message.
    :ivar retry_after: the seconds that the service asked to wait, or None.
    :ivar carried_out: `"no"` if the call certainly changed nothing; `"unknown"` if it may have been carried out.
    :ivar retryable: whether the same call may be retried later: it does nothing twice, and may succeed.
    :ivar http_status: the HTTP status; None without a response.
    :ivar headers: the response's headers by case-insensitive name; `repr` shows only names. None without a response.
    :ivar requested_id: the id or reference in the call's path; None if it has none.
    :ivar references: the references by which a call that may have moved money can be looked up; empty for other calls.
    :ivar lookup: the advice how to look it up, a part of a sentence; None if the operation has no advice.
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
        listed = ", ".join(repr(_one_line(reference[:60])) for reference in self.references[:_NAMED])
        if len(self.references) > _NAMED:
            listed += f" and {len(self.references) - _NAMED} more"
        carried = f"references: {listed}" if listed else "it carried no reference"
        advice = f"; it may have been carried out ({carried}): before sending it again, {self.lookup}"
        return f"{self.summary}{advice if self.lookup else ''}"

    @property
    def summary(self) -> str:
        """The call and the error in one line, without the advice for the caller."""
        return f"{self.operation}: {self._words()}".rstrip()

    def _words(self) -> str:
        return self.message or "failed"


class TransportFailed(PaymentsError):
    """There was no usable answer: no connection, a timeout, or an answer that is too large, encoded, or no envelope.

    :ivar request_sent: False if the service certainly received nothing of the request, True if it may have.
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
    """The answer to a call that may have moved money was lost: the call may have been carried out.

    Look the transaction up before doing anything else; never resend it blindly.
    """

    @property
    def reference(self) -> str | None:
        """The first of `references`, by which the transaction can be looked up; None without a reference."""
        return next(iter(self.references), None)


class RequestRefused(PaymentsError):
    """The service answered with its error envelope.

    :ivar status_code: the body's `statusCode`.
    :ivar error: the body's `error`, with limited length like `message`; None if it is missing.
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
    """404: no such resource. For a deposit it is also a state: the customer has not picked a payment method yet."""


class Unauthorized(RequestRefused):
    """401 or 403: the credentials are wrong, or lack the permission."""


class Invalid(RequestRefused):
    """400, 409, 422 or another 4xx: the service refuses this request."""


class RateLimited(RequestRefused):
    """429: too many calls; `retry_after` has the wait if the service named one."""


class ServiceFault(RequestRefused):
    """5xx: the service itself reports a failure.

    A call that moves money may still have been carried out; the error then says how to look it up, like
    `OutcomeUnknown`. It is no `OutcomeUnknown`, because there was an answer, with the service's own message.
    """


_BY_STATUS: dict[int, type[RequestRefused]] = {401: Unauthorized, 403: Unauthorized, 404: NotFound, 429: RateLimited}


def refusal_for(status_code: int) -> type[RequestRefused]:
    """The error class of a `statusCode` between 400 and 599."""
    return _BY_STATUS.get(status_code, ServiceFault if status_code >= 500 else Invalid)
